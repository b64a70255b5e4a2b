"use strict";
// The script of pages that compare runs, after tools.js: what changed between two, or cases by
// devices.

const cell = verdict => verdict ? element("td", {class: "verdict"}, verdictSign(verdict))
  : element("td", {class: "soft verdict"}, head.kind === "diff" ? "not played" : "–");

function table(attributes, names, rows) {
  return element("div", {class: "scroll"}, element("table", attributes,
    element("thead", {}, element("tr", {}, names.map(name => element("th", {scope: "col"}, name)))),
    element("tbody", {}, rows)));
}

function section(title, count, ...content) {
  const box = element("section", {class: "card"}, element("h2", {}, count == null ? title : `${title}: ${count}`), content);
  byId("sections").append(box);
  return box;
}

function showDevices() {
  const names = [...new Set(head.runs.flatMap(run => run.facts.map(([name]) => name)))];
  const label = (run, place) => head.kind === "diff" ? ["before", "after"][place] : String(place + 1);
  byId("devices").append(
    element("thead", {}, element("tr", {}, element("th", {scope: "col"}, ""),
      head.runs.map((run, place) => element("th", {scope: "col"}, `${label(run, place)}: ${run.name}`)))),
    element("tbody", {}, names.map(name => element("tr", {}, element("th", {scope: "row"}, name),
      head.runs.map(run => element("td", {}, run.facts.find(fact => fact[0] === name)?.[1] ?? ""))))));
}

// --- what changed between two runs -------------------------------------------------------------

function showDiff() {
  for (const one of head.sections) {
    if (!one.rows.length) continue;
    section(one.title, one.rows.length, table({class: "changes"}, ["run", "before", "after", "what"],
      one.rows.map(row => element("tr", {}, element("th", {scope: "row", class: "mono"}, row.id),
        cell(row.before), cell(row.after), element("td", {}, row.summary)))));
  }
  for (const one of head.rules) {
    if (!one.rows.length) continue;
    section(one.title, one.rows.length, table({class: "changes"}, ["rule", "text", "runs"],
      one.rows.map(row => element("tr", {}, element("th", {scope: "row", class: "mono"}, row.rule),
        element("td", {}, row.text), element("td", {class: "mono"}, row.ids.join(" "))))));
  }
  if (head.facts.length) {
    section("The device changed", head.facts.length, table({class: "changes"}, ["what", "before", "after"],
      head.facts.map(row => element("tr", {}, element("th", {scope: "row"}, row.name),
        element("td", {}, row.before), element("td", {}, row.after)))));
  }
  if (head.measures.length) {
    const short = (one, unit) => `${amount(one.median, unit)} (${amount(one.least, unit)} … ${amount(one.most, unit)}, ${plural(one.samples, "sample")})`;
    section("Measures beyond their spread", head.measures.length, table({class: "changes"}, ["run", "measure", "before", "after", "factor"],
      head.measures.map(row => element("tr", {}, element("th", {scope: "row", class: "mono"}, row.id || "data sheet"),
        element("td", {}, row.measure), element("td", {}, short(row.before, row.unit)), element("td", {}, short(row.after, row.unit)),
        element("td", {}, row.before.median ? `× ${+(row.after.median / row.before.median).toPrecision(3)}` : "")))));
  }
  if (!byId("sections").children.length) section("Nothing changed", null);
}

// --- cases by devices --------------------------------------------------------------------------

const VIEWS = [
  ["differing", "Devices differ", row => new Set(row.verdicts).size > 1],
  ["wrong", "Not passed everywhere", row => row.verdicts.some(one => one !== "PASS")],
  ["all", "All cases", () => true],
];
const view = {name: head.all ? "all" : "wrong", text: ""};

function showMatrix() {
  const found = element("p", {class: "soft", "aria-live": "polite"});
  const search = element("input", {type: "search", placeholder: "Search cases", "aria-label": "Search cases",
    on: {input: event => { view.text = event.target.value.trim().toLowerCase(); fill(); }}});
  const body = element("tbody", {});
  const names = element("tr", {}, element("th", {scope: "col"}, "case"),
    head.runs.map((run, place) => element("th", {scope: "col", title: run.name}, element("b", {}, String(place + 1)), " " + run.name)));
  for (const [name, title, wanted] of VIEWS) {
    byId("counts").append(element("button", {"data-view": name, "aria-pressed": "false",
      on: {click: () => { view.name = name; fill(); }}},
    element("b", {}, String(head.rows.filter(wanted).length)), title));
  }
  const totals = element("tfoot", {}, WORST_FIRST.map(verdict => {
    const counts = head.runs.map((run, place) => head.rows.filter(row => row.verdicts[place] === verdict).length);
    return counts.some(Boolean) ? element("tr", {}, element("th", {scope: "row"}, verdictSign(verdict)),
      counts.map(count => element("td", {}, String(count)))) : null;
  }));
  section("Cases by devices", null, element("div", {class: "tools"}, search), found,
    element("div", {class: "scroll wall"}, element("table", {class: "wall"}, element("thead", {}, names), body, totals)));
  const fill = () => {
    const wanted = VIEWS.find(one => one[0] === view.name)[2];
    const rows = head.rows.filter(row => wanted(row) && row.id.toLowerCase().includes(view.text));
    for (const button of document.querySelectorAll("[data-view]")) {
      button.setAttribute("aria-pressed", String(button.dataset.view === view.name));
    }
    found.textContent = `${rows.length} of ${plural(head.rows.length, "case")}; the gravest verdict of each case's runs`;
    body.replaceChildren(...rows.map(row => element("tr", {}, element("th", {scope: "row"}, row.id),
      row.verdicts.map(verdict => {
        const box = cell(verdict);
        if (verdict) box.style.setProperty("--c", `var(--${verdict})`);
        return box;
      }))));
  };
  fill();
}

// What hello said: one row for each word or limit in which the devices differ.
function showCapabilities() {
  if (!head.words?.length) return;
  section("Capabilities, traits and limits that differ", head.words.length, table({class: "changes"},
    ["", ...head.runs.map((run, place) => `${place + 1}`)],
    head.words.map(row => element("tr", {}, element("th", {scope: "row"}, row.name), row.values.map(value => element("td", {}, value))))));
}

byId("title").textContent = head.headline;
document.title = head.headline;
showDevices();
if (head.kind === "diff") {
  showDiff();
} else {
  showMatrix();
  showCapabilities();
}
if (head.sheets.some(one => one.sheet)) showSheets(byId("sheet"), head.sheets);
