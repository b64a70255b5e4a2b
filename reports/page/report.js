"use strict";
// The script of report.html, after tools.js and ladder.js.

const FIRST_ROWS = 60;
const MORE_ROWS = 200;

// --- overview ----------------------------------------------------------------------------------

const filter = {text: "", verdict: null, group: null, shown: FIRST_ROWS};
const count = verdict => head.runs.filter(run => run.verdict === verdict).length;
const verdicts = WORST_FIRST.filter(count);
const groups = [...new Set(head.runs.map(groupOf))];
const sorted = head.runs
  .map((run, place) => ({run, place, rank: WORST_FIRST.indexOf(run.verdict)}))
  .sort((a, b) => a.rank - b.rank || a.place - b.place)
  .map(one => one.run);

function showHead() {
  byId("title").textContent = head.headline;
  for (const [name, value] of head.facts) {
    byId("facts").append(element("div", {}, element("dt", {}, name), element("dd", {}, value)));
  }
  for (const verdict of verdicts) {
    const part = element("i", {verdict});
    part.style.flex = count(verdict);
    byId("bar").append(part);
    byId("counts").append(element("button", {
      verdict, "data-verdict": verdict, "aria-pressed": "false",
      on: {click: () => choose({verdict: filter.verdict === verdict ? null : verdict})},
    }, verdictSign(verdict), element("b", {}, String(count(verdict)))));
  }
  if (head.notes.length) {
    byId("notes").append(element("details", {},
      element("summary", {}, `Notes of the run (${head.notes.length})`),
      element("ul", {}, head.notes.map(note => element("li", {}, note)))));
  }
}

function showMatrix() {
  const cells = new Map();
  for (const run of head.runs) {
    const key = groupOf(run) + "/" + run.verdict;
    cells.set(key, (cells.get(key) ?? 0) + 1);
  }
  const most = Math.max(...cells.values());
  const cell = (group, verdict) => {
    const number = cells.get(group + "/" + verdict);
    if (!number) return element("td", {}, element("div", {class: "none"}, "·"));
    const same = () => filter.group === group && filter.verdict === verdict;
    const button = element("button", {
      verdict, "data-group": group, "data-verdict": verdict, "aria-pressed": "false",
      "aria-label": `${group}: ${number} ${verdict}`,
      on: {click: () => choose(same() ? {group: null, verdict: null} : {group, verdict})},
    }, String(number));
    const calm = verdict === "PASS" || verdict === "SKIP";
    button.style.setProperty("--share", `${calm ? 8 + 22 * number / most : 26}%`);
    return element("td", {}, button);
  };
  const row = group => element("tr", {}, element("th", {scope: "row"}, element("button", {
    "data-group": group, "aria-pressed": "false",
    on: {click: () => choose({group: filter.group === group && !filter.verdict ? null : group, verdict: null})},
  }, group)), verdicts.map(verdict => cell(group, verdict)));
  byId("matrix").append(
    element("thead", {}, element("tr", {}, element("th", {scope: "col"}, "Group"),
      verdicts.map(verdict => element("th", {scope: "col"}, verdict)))),
    element("tbody", {}, groups.map(row)));
}

// What was not tested, and why: like reasons together.
function showSkipped() {
  const reasons = new Map();
  for (const run of head.runs) {
    if (run.verdict === "SKIP") reasons.set(run.summary, [...(reasons.get(run.summary) ?? []), run]);
  }
  byId("skipped").hidden = reasons.size === 0;
  for (const [reason, runs] of [...reasons].sort((a, b) => b[1].length - a[1].length)) {
    byId("reasons").append(element("details", {},
      element("summary", {}, `${reason || "no reason"} (${plural(runs.length, "run")})`),
      element("ul", {}, runs.map(run => element("li", {}, link(run, run.id))))));
  }
}

function showMeasures() {
  byId("measured").hidden = head.measures.length === 0;
  for (const one of head.measures) {
    byId("measures").append(element("div", {class: "measure"},
      element("a", {href: "#" + encodeURIComponent(one.run), class: "mono"}, one.name),
      element("span", {}, one.samples === 1 ? duration(one.median)
        : `${duration(one.least)} … ${duration(one.median)} … ${duration(one.most)}`)));
  }
  if (head.measures.length) byId("measures").append(plot(head.measures));
}

// Each measure as a line from its least to its most, with its median, on a logarithmic scale.
function plot(measures) {
  const width = 380;
  const edge = 26; // half of a label
  const row = 16;
  const height = row * measures.length + 26;
  const values = measures.flatMap(one => [one.least, one.most]).filter(ns => ns > 0);
  const low = Math.floor(Math.log10(Math.min(...values)));
  const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(...values))));
  const x = ns => edge + (Math.log10(Math.max(ns, 10 ** low)) - low) / (high - low) * (width - 2 * edge);
  const svg = drawn("svg", {
    viewBox: `0 0 ${width} ${height}`, width: "100%", role: "img",
    "aria-label": "The measures above, on a logarithmic scale",
  });
  for (let decade = low; decade <= high; ++decade) {
    svg.append(drawn("line", {x1: x(10 ** decade), x2: x(10 ** decade), y1: 0, y2: height - 20, stroke: "var(--line)"}),
      drawn("text", {x: x(10 ** decade), y: height - 6, "text-anchor": "middle", class: "time"}, duration(10 ** decade)));
  }
  measures.forEach((one, place) => {
    const y = 10 + row * place;
    svg.append(drawn("line", {x1: x(one.least), x2: x(one.most), y1: y, y2: y, stroke: "var(--soft)", "stroke-width": 2}),
      drawn("circle", {cx: x(one.median), cy: y, r: 4, fill: "var(--accent)"}));
  });
  return svg;
}

const link = (run, ...text) => element("a", {href: "#" + encodeURIComponent(run.id)}, ...text);

function matches(run) {
  if (filter.verdict && run.verdict !== filter.verdict) return false;
  if (filter.group && groupOf(run) !== filter.group) return false;
  if (!filter.text) return true;
  const words = [run.id, run.title, run.rules.join(" "), run.summary].join(" ").toLowerCase();
  return words.includes(filter.text);
}

function choose(change) {
  Object.assign(filter, change, {shown: FIRST_ROWS});
  showList();
}

function row(run) {
  const shown = run.verdict !== "PASS" && run.summary;
  return element("li", {}, element("a", {class: "run", href: "#" + encodeURIComponent(run.id)},
    verdictSign(run.verdict), element("span", {class: "mono"}, run.id),
    element("span", {class: "title"}, run.title),
    shown ? element("span", {class: "why", verdict: run.verdict}, run.summary) : null));
}

function showList() {
  const found = sorted.filter(matches);
  byId("found").textContent = `${found.length} of ${plural(head.runs.length, "run")}`
    + (filter.group ? ` in ${filter.group}` : "") + (filter.verdict ? `, ${filter.verdict} only` : "")
    + (found.length > filter.shown ? `; the first ${filter.shown} are shown` : "");
  for (const button of document.querySelectorAll("[aria-pressed]")) {
    const same = (button.dataset.verdict ?? null) === filter.verdict
      && (button.dataset.group ?? null) === filter.group && (filter.verdict || filter.group);
    button.setAttribute("aria-pressed", String(Boolean(same)));
  }
  byId("clear").hidden = !(filter.verdict || filter.group || filter.text);
  byId("runs").replaceChildren(...found.slice(0, filter.shown).map(row));
  byId("more").hidden = found.length <= filter.shown;
  byId("more").textContent = `Show ${Math.min(MORE_ROWS, found.length - filter.shown)} more`;
}

// --- one run -----------------------------------------------------------------------------------

// The run that the address names; a malformed address names none.
function addressed() {
  try {
    return decodeURIComponent(location.hash.slice(1));
  } catch {
    return "";
  }
}

async function route() {
  const id = addressed();
  const run = head.runs.find(one => one.id === id);
  byId("overview").hidden = Boolean(run);
  byId("one").hidden = !run;
  document.body.classList.toggle("single", Boolean(run));
  redraw = null;
  document.title = run ? `${run.verdict} ${run.id}` : "veriroce report";
  if (!run) return;
  const all = await details();
  if (addressed() !== id) return;
  const found = sorted.filter(matches);
  const place = found.indexOf(run);
  const go = (to, text) => found[to] && place >= 0
    ? element("a", {class: "chip", href: "#" + encodeURIComponent(found[to].id)}, text) : null;
  byId("one").replaceChildren(
    element("nav", {class: "tools", "aria-label": "Runs"},
      element("a", {class: "chip", href: "#"}, "← All runs"), go(place - 1, "← Previous"),
      go(place + 1, "Next →"),
      place >= 0 ? element("span", {class: "soft"}, `${place + 1} of ${found.length}`) : null),
    element("h2", {class: "heading", tabindex: "-1"}, verdictSign(run.verdict),
      element("span", {class: "mono"}, run.id), element("span", {}, run.title)),
    ...sheet(run, all.runs[run.place], all));
  redraw?.();
  scrollTo(0, 0);
  byId("one").querySelector(".heading").focus({preventScroll: true});
}

function sheet(run, detail, all) {
  const left = element("div", {});
  const parts = [...detail.findings.map(finding => findingBox(finding, run.verdict)), ...plays(detail), ...violations(run, detail)];
  let body = left;
  if (detail.packets.length) {
    body = ladderBox(detail, left);
  } else {
    left.append(element("p", {class: "soft"}, ["PASS", "SKIP"].includes(run.verdict)
      ? "No packet was on the wire, or the page has left them out: it shows those of runs that did not pass."
      : "No packet was on the wire."));
    if (detail.host?.length) {
      left.append(element("h3", {}, "What the device's application did"),
        element("pre", {class: "tree", tabindex: "0"}, detail.host.map(step => step.text).join("\n")));
    }
  }
  parts.push(body);
  const source = all.files[detail.file];
  if (source) left.append(element("h3", {}, "Script " + detail.file), scriptBox(source, detail.findings));
  const rules = [...new Set([...detail.rules, ...detail.violations.map(one => one.rule)])];
  left.append(element("h3", {}, rules.length === 1 ? "Rule" : "Rules"), ...rules.map(rule =>
    element("p", {class: "rule"}, element("code", {}, rule), " ",
      all.rules[rule] ? `${all.rules[rule].level}. ${all.rules[rule].text}` : "")));
  for (const [name, times] of Object.entries(detail.faults)) {
    left.append(element("p", {class: "soft"}, "Fault rule ", element("code", {}, name), ` acted ${plural(times, "time")}.`));
  }
  if (detail.tolerated_retransmissions) {
    left.append(element("p", {class: "soft"}, `${plural(detail.tolerated_retransmissions, "repetition")} needed no line.`));
  }
  left.append(element("h3", {}, "Play it again"), commandBox(detail.command));
  if (detail.open_capture) left.append(element("h3", {}, "Open its capture"), commandBox(detail.open_capture));
  return parts;
}

function findingBox(finding, verdict) {
  const box = element("div", {class: "finding", verdict}, element("p", {}, element("b", {}, finding.text)));
  if (finding.differences.length) {
    box.append(element("div", {class: "scroll"}, element("table", {},
      element("thead", {}, element("tr", {}, ["field", "expected", "actual"].map(name => element("th", {scope: "col"}, name)))),
      element("tbody", {}, finding.differences.map(one => element("tr", {},
        element("td", {}, one.field), element("td", {}, one.expected), element("td", {}, one.actual)))))));
  }
  if (finding.expected) box.append(element("p", {}, `Line ${finding.line}: `, element("code", {}, finding.expected)));
  if (finding.actual) box.append(element("p", {}, "Came: ", element("code", {}, finding.actual)));
  if (finding.rules.length) box.append(element("p", {class: "soft"}, "Breaks " + finding.rules.join(", ")));
  return box;
}

// What the other plays of the run came to, like ones together.
function plays(detail) {
  if (!detail.plays) return [];
  const like = new Map();
  for (const one of detail.plays.others) {
    const text = one.verdict + (one.summary ? ": " + one.summary : "");
    like.set(text, (like.get(text) ?? 0) + 1);
  }
  const seen = detail.plays.seen_in ? `Seen in ${detail.plays.seen_in} of ${detail.plays.others.length + 1} plays. ` : "";
  return [element("p", {class: "soft"}, seen, "Other plays: ",
    [...like].map(([text, times]) => (times > 1 ? `${times} times ` : "") + text).join("; "), ".")];
}

// Violations that no finding tells, like ones together.
function violations(run, detail) {
  const told = new Set(detail.findings.filter(one => one.kind === "violation").flatMap(one => one.rules));
  const like = new Map();
  for (const one of detail.violations) {
    if (told.has(one.rule)) continue;
    const key = one.rule + one.allowed;
    like.set(key, [...(like.get(key) ?? []), one]);
  }
  return [...like.values()].map(list => {
    const one = list[0];
    const places = one.packets.map(place => place + 1).sort((a, b) => a - b);
    return element("p", {class: "soft"}, element("code", {}, one.rule), ` (${one.level}, ${one.certainty}): `,
      `${one.measured}; ${one.allowed}.`,
      places.length ? ` Packets ${places.join(", ")}.` : "",
      list.length > 1 ? ` ${list.length} times.` : "");
  });
}

function scriptBox(source, findings) {
  const blamed = new Map(findings.filter(one => one.line).map(one => [one.line, one]).reverse());
  const box = element("pre", {class: "script", tabindex: "0", "aria-label": "The script"});
  source.replace(/\n$/, "").split("\n").forEach((text, place) => {
    const hash = text.indexOf("#");
    const code = hash < 0 ? text : text.slice(0, hash);
    const word = code.match(/^\s*\S+/)?.[0] ?? "";
    const finding = blamed.get(place + 1);
    box.append(element("div", {class: finding ? "hit" : null, "data-line": String(place + 1)}, element("i", {}, String(place + 1)),
      element("b", {}, word), code.slice(word.length),
      hash < 0 ? null : element("span", {class: "comment"}, text.slice(hash))));
    if (finding?.actual) box.append(element("div", {class: "came"}, "came: " + finding.actual));
  });
  return box;
}

function commandBox(command) {
  const code = element("code", {tabindex: "0"}, command);
  const button = element("button", {class: "chip", on: {click: async () => {
    try {
      await navigator.clipboard.writeText(command);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(code);
    }
  }}}, "Copy");
  return element("div", {class: "command"}, code, button);
}

// --- start -------------------------------------------------------------------------------------

showHead();
if (head.runs.length) showMatrix();
if (head.sheet) showSheets(byId("sheet"), [{name: "", sheet: head.sheet}]);
showSkipped();
showMeasures();
showList();
byId("search").addEventListener("input", event => choose({text: event.target.value.trim().toLowerCase()}));
byId("clear").addEventListener("click", () => {
  byId("search").value = "";
  choose({text: "", verdict: null, group: null});
});
byId("more").addEventListener("click", () => {
  filter.shown += MORE_ROWS;
  showList();
});
// Paper has no button for more: it gets all runs but those that are PASS or SKIP.
let shownOnScreen = null;
addEventListener("beforeprint", () => {
  shownOnScreen = filter.shown;
  const telling = sorted.filter(matches).filter(run => run.verdict !== "PASS" && run.verdict !== "SKIP");
  filter.shown = Math.max(filter.shown, telling.length);
  showList();
});
addEventListener("afterprint", () => {
  filter.shown = shownOnScreen ?? filter.shown;
  showList();
});
let resizing;
addEventListener("resize", () => {
  clearTimeout(resizing);
  resizing = setTimeout(() => redraw?.(), 120);
});
addEventListener("keydown", event => {
  if (event.target.matches("input") || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "/" && byId("one").hidden) {
    event.preventDefault();
    byId("search").focus();
  } else if (event.key === "Escape" && !byId("one").hidden) {
    location.hash = "";
  }
});
addEventListener("hashchange", route);
route();
