"use strict";
// The script of inject.html, after tools.js and ladder.js; with plots.js if there was a sweep.

const time = ns => ns == null ? "–" : duration(ns);
const cells = (tag, values) => element("tr", {}, values.map(value =>
  element(tag, tag === "th" ? {scope: "col"} : {}, value)));

function fill(table, names, rows) {
  byId(table).append(element("thead", {}, cells("th", names)),
    element("tbody", {}, rows.map(row => cells("td", row))));
}

function showHead() {
  byId("title").textContent = head.headline;
  for (const [name, value] of head.facts) {
    byId("facts").append(element("div", {}, element("dt", {}, name), element("dd", {}, value)));
  }
}

function showVerdicts() {
  byId("expected").hidden = head.verdicts.length === 0;
  byId("verdicts").append(...head.verdicts.map(one => element("li", {}, element("span", {class: "run"},
    verdictSign(one.met ? "PASS" : "FAIL"), element("span", {class: "mono"}, one.text),
    element("span", {class: "title"}, one.why)))));
}

function showRules() {
  byId("plan").hidden = head.rules.length === 0;
  fill("rules", ["line", "rule", "fired", "selected", "recovered", "least", "median", "most", "sent again"],
    head.rules.map(one => [String(one.line), element("code", {}, one.text), String(one.fired), String(one.selected),
      one.followed ? `${one.recovered} of ${one.followed}` : "–", time(one.least), time(one.median), time(one.most),
      one.followed ? String(one.again) : "–"]));
}

const ladderLink = (one, text) => one.ladder == null ? text
  : element("a", {href: `#fault-${one.number}`}, text);

function showFaults() {
  byId("faulted").hidden = head.fault_count === 0;
  byId("shown").textContent = `${head.faults.length === head.fault_count ? "All" : `The first ${head.faults.length} of`} ${
    plural(head.fault_count, "fault")}; those that are links have a ladder of the packets around them.`;
  fill("faults", ["fault", "at", "line", "connection", "from", "packet", "PSN", "transmission", "detected", "by", "recovered",
    "sent again", "goodput"],
    head.faults.map(one => [ladderLink(one, `fault ${one.number}`), time(one.at), String(one.line),
      one.connection ? String(one.connection) : "–", one.from, one.opcode, String(one.psn), String(one.pass),
      time(one.detection), one.sign, one.followed ? one.recovery == null ? "not recovered" : time(one.recovery) : "nothing to recover",
      one.followed ? String(one.again) : "–", one.dip == null ? "–" : `${-Math.round(one.dip * 100)} %`]));
}

function showConnections() {
  fill("connections", ["connection", "A", "B", "packets", "delivered", "messages", "sent again", "sequence NAKs", "RNR NAKs",
    "fatal NAKs", "faults"],
    head.connections.map(one => [String(one.number), one.a, one.b, String(one.packets), `${one.bytes} bytes`,
      ...[one.messages, one.again, one.sequence_naks, one.rnr_naks, one.fatal_naks, one.faults].map(String)]));
}

function showFabric() {
  byId("fabric").hidden = !head.fabric?.length;
  if (head.fabric?.length) fill("signals", ["what", "A", "B"], head.fabric);
}

async function route() {
  const number = Number(location.hash.match(/^#fault-(\d+)$/)?.[1] ?? 0);
  const fault = head.faults.find(one => one.number === number && one.ladder != null);
  byId("overview").hidden = Boolean(fault);
  byId("one").hidden = !fault;
  document.body.classList.toggle("single", Boolean(fault));
  redraw = null;
  document.title = fault ? `fault ${number}` : "veriroce inject";
  if (!fault) return;
  const detail = (await details()).ladders[fault.ladder];
  if (location.hash !== `#fault-${number}`) return;
  const withLadder = head.faults.filter(one => one.ladder != null);
  const place = withLadder.indexOf(fault);
  const go = (to, text) => withLadder[to] ? element("a", {class: "chip", href: `#fault-${withLadder[to].number}`}, text) : null;
  const shared = detail.faults.length > 1 ? `, with ${plural(detail.faults.length - 1, "other fault")} of it` : "";
  byId("one").replaceChildren(
    element("nav", {class: "tools", "aria-label": "Faults"}, element("a", {class: "chip", href: "#"}, "← The run"),
      go(place - 1, "← Previous"), go(place + 1, "Next →")),
    element("h2", {class: "heading", tabindex: "-1"}, `Fault ${number}`,
      element("span", {class: "mono"}, `line ${fault.line}: ${head.rules.find(one => one.line === fault.line)?.text ?? ""}`)),
    element("p", {}, `${fault.opcode} PSN ${fault.psn} from ${fault.from}, connection ${fault.connection}${shared}. `,
      fault.followed ? `Detected ${fault.detection == null ? "by nothing" : `after ${time(fault.detection)} (${fault.sign})`}, ${
        fault.recovery == null ? "not recovered" : `recovered after ${time(fault.recovery)}`}, ${fault.again} sent again.`
        : "There is nothing to recover from."),
    ladderBox({...detail, findings: detail.marked.filter(one => one.fault === number), violations: []}, element("div", {})),
    detail.whole ? "" : element("p", {class: "soft"}, "The run, or the ladder's room, ended before the recovery."));
  redraw();
  scrollTo(0, 0);
  byId("one").querySelector(".heading").focus({preventScroll: true});
}

showHead();
showVerdicts();
showRules();
showFaults();
showConnections();
showFabric();
if (head.sheet) showSheets(byId("sweep"), [{name: "", sheet: head.sheet}], "Goodput over loss");
addEventListener("hashchange", route);
addEventListener("resize", () => redraw?.());
addEventListener("keydown", event => { if (event.key === "Escape") location.hash = ""; });
route();
