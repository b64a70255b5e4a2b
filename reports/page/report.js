"use strict";
// The script of report.html, after tools.js.

const FIRST_ROWS = 60;
const MORE_ROWS = 200;
const SILENCE_NS = 20e3;   // that the ladder shows as a gap
const FOLD_FROM = 6;       // like packets in a row
const MOST_ARROWS = 4000;  // of one ladder; a table of a million rows helps nobody

// The details of all runs are packed: they are read when the first run is opened.
let unpacking;
function details() {
  unpacking ??= (async () => {
    const packed = Uint8Array.from(atob(byId("body").textContent), c => c.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    return JSON.parse(await new Response(stream).text());
  })();
  return unpacking;
}

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
  const row = 16;
  const height = row * measures.length + 26;
  const values = measures.flatMap(one => [one.least, one.most]).filter(ns => ns > 0);
  const low = Math.floor(Math.log10(Math.min(...values)));
  const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(...values))));
  const x = ns => 6 + (Math.log10(Math.max(ns, 10 ** low)) - low) / (high - low) * (width - 40);
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
    + (filter.group ? ` in ${filter.group}` : "") + (filter.verdict ? `, ${filter.verdict} only` : "");
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

let redraw = null; // the ladder of the run that is open

async function route() {
  const id = decodeURIComponent(location.hash.slice(1));
  const run = head.runs.find(one => one.id === id);
  byId("overview").hidden = Boolean(run);
  byId("one").hidden = !run;
  document.body.classList.toggle("single", Boolean(run));
  redraw = null;
  document.title = run ? `${run.verdict} ${run.id}` : "veriroce report";
  if (!run) return;
  const all = await details();
  if (decodeURIComponent(location.hash.slice(1)) !== id) return;
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
    const side = element("div", {class: "side card", tabindex: "0", "aria-live": "polite", "aria-label": "The chosen packet"});
    const frame = element("div", {class: "ladder"});
    const legend = element("div", {class: "legend"});
    const marked = marks(detail);
    redraw = () => {
      frame.replaceChildren(ladder(detail, marked, side, frame.clientWidth));
      legend.replaceChildren(...meanings(marked));
    };
    const first = detail.packets[0].timing.latest_ns;
    const last = detail.packets.at(-1).timing.latest_ns;
    left.append(element("h3", {}, `On the wire: ${plural(detail.packets.length, "packet")} in ${duration(last - first)}`),
      frame, legend);
    body = element("div", {class: "two"}, left, side);
  } else {
    left.append(element("p", {class: "soft"}, "No packet was on the wire."));
  }
  parts.push(body);
  const source = all.files[detail.file];
  if (source) left.append(element("h3", {}, "Script " + detail.file), scriptBox(source, detail.findings));
  left.append(element("h3", {}, detail.rules.length === 1 ? "Rule" : "Rules"), ...detail.rules.map(rule =>
    element("p", {class: "rule"}, element("code", {}, rule), " ",
      all.rules[rule] ? `${all.rules[rule].level}. ${all.rules[rule].text}` : "")));
  for (const [name, times] of Object.entries(detail.faults)) {
    left.append(element("p", {class: "soft"}, "Fault rule ", element("code", {}, name), ` acted ${plural(times, "time")}.`));
  }
  if (detail.tolerated_retransmissions) {
    left.append(element("p", {class: "soft"}, `${plural(detail.tolerated_retransmissions, "repetition")} needed no line.`));
  }
  left.append(element("h3", {}, "Play it again"), commandBox(detail.command));
  if (detail.capture) left.append(element("p", {class: "soft"}, "Packets: ", element("code", {}, detail.capture)));
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
      `${one.measured}; ${one.allowed}. Packets ${places.join(", ")}`
      + (list.length > 1 ? `, and ${plural(list.length - 1, "more case")}.` : "."));
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
    box.append(element("div", {class: finding ? "hit" : null}, element("i", {}, String(place + 1)),
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

// --- the ladder --------------------------------------------------------------------------------

// What the ladder says of each packet, from its notation and its remarks.
function marks(detail) {
  const seen = new Set();
  const blamed = new Set(detail.findings.map(one => one.packet).filter(place => place != null));
  const broken = new Map();
  for (const one of detail.violations) {
    if (one.packets.length && one.certainty === "certain") broken.set(one.packets[0], one.rule);
  }
  return detail.packets.map((packet, place) => {
    const [, name = "?", rest = ""] = packet.text.match(/^[<>] (\S+)\s*(.*)$/) ?? [, packet.text];
    const injected = packet.remarks.find(text => text.startsWith("injected: "));
    const psn = rest.match(/(?:^| )psn=(\S+)/)?.[1];
    const answer = /^(ACK|NAK|RNR)/.test(name);
    const key = [packet.from, name, psn, rest.match(/ qp=(\S+)/)?.[1]].join();
    const again = psn != null && !answer && !injected && seen.has(key);
    seen.add(key);
    const bad = blamed.has(place) || packet.remarks.some(text => text.includes("forbids it"));
    const lost = packet.on_wire === false && injected !== undefined;
    return {
      packet, place, name, rest, injected, again, bad, lost, rule: broken.get(place),
      plain: !bad && !injected && !broken.has(place) && packet.remarks.length === 0,
    };
  });
}

function meanings(marked) {
  const rows = [
    [marked.some(one => one.bad), "▮ what the finding is about"],
    [marked.some(one => one.lost), "✕ taken away by a fault rule"],
    [marked.some(one => one.injected && !one.lost), "┄ changed, delayed or made by a fault rule"],
    [marked.some(one => one.again), "↻ sent again"],
  ];
  return rows.filter(([shown]) => shown).map(([, text]) => element("span", {}, text));
}

// Rows in the order of the wire; like packets in a row are folded.
function ladderRows(marked, unfolded) {
  const rows = [];
  for (let from = 0; from < marked.length;) {
    let to = from;
    const first = marked[from];
    const like = one => one.plain && first.plain && one.packet.from === first.packet.from
      && one.name === first.name && one.again === first.again;
    while (to < marked.length && like(marked[to])) ++to;
    if (to - from >= FOLD_FROM && !unfolded) {
      rows.push({one: first}, {folded: marked.slice(from + 1, to - 1)}, {one: marked[to - 1]});
      from = to;
    } else {
      rows.push({one: first});
      ++from;
    }
  }
  return rows;
}

function ladder(detail, marked, side, available) {
  const width = Math.max(340, available - 2);
  const narrow = width < 560;
  const left = narrow ? 58 : 96;
  const right = narrow ? width - 14 : width - 170;
  const middle = (left + right) / 2;
  const svg = drawn("svg", {role: "group", "aria-label": "Packets in order of time, the tester on the left, the device on the right"});
  const places = new Map();
  let y = 44;
  let before = null;
  let chosen = null;
  const choosePacket = (group, one) => {
    chosen?.classList.remove("chosen");
    chosen = group;
    group.classList.add("chosen");
    side.replaceChildren(...packetSheet(one, detail));
  };
  const step = (group, key) => {
    const move = {ArrowDown: 1, ArrowUp: -1}[key];
    if (!move) return false;
    const all = [...svg.querySelectorAll(".packet")];
    all[all.indexOf(group) + move]?.focus();
    return true;
  };
  const button = (label, act) => {
    const group = drawn("g", {class: "packet", tabindex: "0", role: "button", "aria-label": label});
    group.addEventListener("click", act);
    group.addEventListener("keydown", event => {
      if (event.key === "Enter" || event.key === " ") act();
      else if (!step(group, event.key)) return;
      event.preventDefault();
    });
    return group;
  };
  const rows = ladderRows(marked, detail.unfolded);
  for (const row of rows.slice(0, MOST_ARROWS)) {
    if (row.folded) {
      const text = `⋮ ${row.folded.length} more ${narrow ? "" : row.folded[0].name}: show all`;
      const group = button(text, () => { detail.unfolded = true; redraw(); });
      group.append(drawn("rect", {class: "hit", x: left, y: y - 11, width: right - left, height: 20}),
        drawn("text", {x: middle, y: y + 4, "text-anchor": "middle", class: "time"}, text));
      svg.append(group);
      y += 24;
      continue;
    }
    const one = row.one;
    const at = one.packet.timing.latest_ns;
    if (before != null && at - before > SILENCE_NS) {
      svg.append(drawn("line", {x1: left, x2: right, y1: y - 4, y2: y - 4, stroke: "var(--line)", "stroke-dasharray": "2 5"}),
        drawn("text", {x: middle, y, "text-anchor": "middle", class: "time", style: "paint-order:stroke;stroke:var(--card);stroke-width:8px"},
          `${duration(at - before)} of silence`));
      y += 24;
    }
    const group = button(`packet ${one.place + 1} at ${duration(at)}: ${one.packet.text} ${one.packet.remarks.join("; ")}`,
      () => choosePacket(group, one));
    if (one.bad) group.classList.add("bad");
    group.addEventListener("mouseenter", () => choosePacket(group, one));
    group.addEventListener("focus", () => choosePacket(group, one));
    arrow(group, one, {y, left, right, middle, width, narrow, showTime: at !== before, at});
    svg.append(group);
    places.set(one.place, {group, one});
    before = at;
    y += 34;
  }
  if (rows.length > MOST_ARROWS) {
    svg.append(drawn("text", {x: middle, y: y + 4, "text-anchor": "middle", class: "time"},
      `${rows.length - MOST_ARROWS} more packets are in the capture`));
    y += 24;
  }
  for (const x of [left, right]) {
    svg.prepend(drawn("line", {x1: x, x2: x, y1: 26, y2: y, stroke: "var(--soft)", "stroke-width": 1.2}));
  }
  svg.append(drawn("text", {x: left, y: 17, "text-anchor": "middle", class: "lane"}, "tester"),
    drawn("text", {x: right, y: 17, "text-anchor": narrow ? "end" : "middle", class: "lane"}, "device"));
  svg.setAttribute("viewBox", `0 0 ${width} ${y + 8}`);
  svg.setAttribute("width", width);
  svg.setAttribute("height", y + 8);
  const wanted = marked.find(one => one.bad) ?? marked.find(one => one.rule) ?? marked[0];
  const start = places.get(wanted.place) ?? places.get(0);
  if (start) choosePacket(start.group, start.one);
  return svg;
}

function arrow(group, one, at) {
  const fromTester = one.packet.from === "tester";
  const begin = fromTester ? at.left : at.right;
  const far = fromTester ? at.right : at.left;
  const forward = Math.sign(far - begin);
  const end = one.lost ? (begin + far) / 2 + forward * 60 : far;
  const colour = one.bad || one.rule ? "var(--FAIL)" : one.injected ? "var(--WARN)" : "var(--ink)";
  const top = at.y + 10;
  const bottom = at.y + (one.lost ? 13 : 16);
  group.append(drawn("rect", {class: "hit", x: 1, y: at.y - 11, width: at.width - 2, height: 33, rx: 4}));
  if (at.showTime) group.append(drawn("text", {x: 6, y: at.y + 8, class: "time"}, duration(at.at)));
  group.append(drawn("line", {
    x1: begin, y1: top, x2: end - forward * (one.lost ? 0 : 7), y2: bottom, stroke: colour,
    "stroke-width": one.bad ? 2.4 : 1.4, "stroke-dasharray": one.injected && !one.lost ? "6 4" : "none",
  }));
  group.append(one.lost
    ? drawn("path", {d: `M${end - 5} ${bottom - 5}l10 10m0-10l-10 10`, stroke: colour, "stroke-width": 2.2, fill: "none"})
    : drawn("path", {d: `M${far} ${bottom}l${-forward * 9} -4.5v8z`, fill: colour}));
  const short = one.rest.replace(/(^| )(va|rkey)=\S+/g, "").trim();
  const label = `${one.again ? "↻ " : ""}${one.name} ${at.narrow ? short.replace(/(^| )(len|dmalen|msn)=\S+/g, "") : short}`;
  group.append(drawn("text", {
    x: at.middle, y: at.y + 4, "text-anchor": "middle", "font-size": at.narrow ? 11 : 12.5,
    "font-weight": one.bad ? 700 : 400, style: `fill:${colour}`,
  }, label));
  if (at.narrow) return;
  const note = one.bad ? "▮ " + (one.rule ?? "see above") : one.rule ?? one.injected?.slice(10).split(/[ ;]/)[0] ?? "";
  if (note) group.append(drawn("text", {x: at.right + 16, y: at.y + 14, class: "note", style: `fill:${colour}`}, note));
}

function packetSheet(one, detail) {
  const packet = one.packet;
  const parts = [
    element("h3", {style: "margin:0 0 4px"}, `Packet ${one.place + 1} at ${duration(packet.timing.latest_ns)}, ${packet.bytes} bytes`),
    element("p", {class: "mono"}, packet.text),
    ...packet.remarks.map(text => element("p", {style: `color:var(--${one.bad || one.rule ? "FAIL" : "WARN"})`}, text)),
  ];
  const decoded = detail.trees?.[one.place];
  if (!decoded) {
    parts.push(element("p", {class: "soft"}, detail.trees ? "The report has no bytes of this packet; the capture may have them."
      : "The report keeps bytes only of runs that did not pass."));
    return parts;
  }
  let layer = null;
  for (const text of decoded.tree.split("\n")) {
    if (/^\S/.test(text)) {
      layer = element("pre", {class: "tree", tabindex: "0"});
      const fold = element("details", {}, element("summary", {}, text), layer);
      fold.open = /InfiniBand|RoCE|BTH|AETH|RETH|Transport|error|warning/i.test(text);
      parts.push(fold);
    } else if (text.trim()) {
      layer?.append(text.replace(/^ {2}/, "") + "\n");
    }
  }
  const bytes = element("details", {}, element("summary", {}, "Bytes"), element("pre", {class: "tree", tabindex: "0"}, decoded.hex));
  parts.push(bytes);
  return parts;
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
