"use strict";
// The ladder of packets between two ends, and the packet that is chosen in it. A page gives it
// {packets, findings, violations, trees, lanes}: packets and the first two as in results.json.

const SILENCE_NS = 20e3;   // that the ladder shows as a gap
const PAPER_PIECE = 150;   // pixels of a ladder that stay on one page
const NARROW_CHARACTER = 6.63; // pixels of a character on a phone
const CHARACTER = 7.53;    // elsewhere
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

let redraw = null; // the ladder that is open

// A ladder in `left`, and beside it the packet that is chosen. redraw() draws it, once it has a
// width.
function ladderBox(detail, left) {
  const side = element("div", {class: "side card", tabindex: "0", "aria-live": "polite", "aria-label": "The chosen packet"});
  const frame = element("div", {class: "ladder"});
  const legend = element("div", {class: "legend"});
  const marked = marks(detail);
  const steps = hostSteps(detail);
  redraw = () => {
    frame.replaceChildren(ladder(detail, {marked, steps}, side, frame.clientWidth));
    legend.replaceChildren(...meanings(marked, steps));
  };
  const first = detail.packets[0].timing.latest_ns;
  const last = detail.packets.at(-1).timing.latest_ns;
  left.append(element("h3", {}, `On the wire: ${plural(detail.packets.length, "packet")} in ${duration(last - first)}`),
    frame, legend);
  return element("div", {class: "two"}, left, side);
}

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

// What the application on the device's host did; how its QPs were set up is left out.
function hostSteps(detail) {
  const blamed = new Set(detail.findings.filter(one => one.packet == null).map(one => one.actual));
  return (detail.host ?? [])
    .filter(one => one.before > 0 || !one.text.includes("modify state="))
    .map(one => ({...one, at: one.timing.at_ns, bad: blamed.has(one.text)}));
}

function meanings(marked, steps) {
  const rows = [
    [marked.some(one => one.bad), "▮ what the finding is about"],
    [marked.some(one => one.lost), "✕ taken away by a fault rule"],
    [marked.some(one => one.injected && !one.lost), "┄ changed, delayed or made by a fault rule"],
    [marked.some(one => one.again), "↻ sent again"],
    [steps.length > 0, "■ what the device's application asked for, or was told"],
  ];
  return rows.filter(([shown]) => shown).map(([, text]) => element("span", {}, text));
}

// Rows in the order of time; like packets in a row are folded.
function ladderRows(marked, steps, unfolded) {
  const rows = [];
  const next = new Map(); // the steps before each packet
  for (const step of steps) {
    const place = Math.min(step.before, marked.length);
    if (!next.has(place)) next.set(place, []);
    next.get(place).push({step});
  }
  for (let from = 0; from < marked.length;) {
    rows.push(...next.get(from) ?? []);
    let to = from;
    const first = marked[from];
    const like = one => one.plain && first.plain && one.packet.from === first.packet.from
      && one.name === first.name && one.again === first.again;
    while (to < marked.length && like(marked[to]) && (to === from || !next.has(to))) ++to;
    if (to - from >= FOLD_FROM && !unfolded) {
      rows.push({one: first}, {folded: marked.slice(from + 1, to - 1)}, {one: marked[to - 1]});
      from = to;
    } else {
      rows.push({one: first});
      ++from;
    }
  }
  rows.push(...next.get(marked.length) ?? []);
  return rows;
}

const laneLine = (x, from, to) =>
  drawn("line", {class: "rail", x1: x, x2: x, y1: from, y2: to, stroke: "var(--soft)", "stroke-width": 1.2});

// Paper: a drawing that is higher than a page leaves pages blank and is cut anywhere, so its rows go
// to drawings of a few rows each, one below the other.
function cutForPaper(svg) {
  const {width, height} = svg.viewBox.baseVal;
  const lines = [...svg.querySelectorAll("line.rail")].map(line => line.x1.baseVal.value);
  const rows = [...svg.children].filter(node => !node.matches("line.rail"))
    .map(node => ({node, top: node.getBBox().y})).sort((a, b) => a.top - b.top);
  const pieces = [{top: 0, nodes: []}];
  for (const {node, top} of rows) {
    if (top - pieces.at(-1).top > PAPER_PIECE && node.matches(".packet")) pieces.push({top, nodes: []});
    pieces.at(-1).nodes.push(node);
  }
  svg.replaceWith(...pieces.map(({top, nodes}, place) => {
    const end = pieces[place + 1]?.top ?? height;
    const piece = drawn("svg", {viewBox: `0 ${top} ${width} ${end - top}`});
    piece.append(...lines.map(x => laneLine(x, Math.max(26, top), place + 1 < pieces.length ? end : end - 8)), ...nodes);
    return piece;
  }));
}
addEventListener("beforeprint", () => document.querySelectorAll(".ladder > svg").forEach(cutForPaper));
addEventListener("afterprint", () => redraw?.());

// Who is on the left and who on the right.
const lanes = detail => detail.lanes ?? ["tester", "device"];

function ladder(detail, {marked, steps}, side, available) {
  const width = Math.max(340, available - 2);
  const narrow = width < 560;
  const left = narrow ? 66 : 96;
  const right = narrow ? width - 14 : width - 170;
  const middle = (left + right) / 2;
  const [near, far] = lanes(detail);
  const svg = drawn("svg", {role: "group", "aria-label": `Packets in order of time, ${near} on the left, ${far} on the right`});
  const places = new Map();
  let y = 44;
  let before = null;
  let chosen = null;
  const choosePacket = (group, one) => {
    chosen?.classList.remove("chosen");
    chosen = group;
    group.classList.add("chosen");
    side.replaceChildren(...packetSheet(one, detail));
    for (const line of document.querySelectorAll(".script div[data-line]")) {
      line.classList.toggle("chosen", line.dataset.line === String(one.packet.line));
    }
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
  const rows = ladderRows(marked, steps, detail.unfolded);
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
    const at = one ? one.packet.timing.latest_ns : row.step.at;
    if (before != null && at - before > SILENCE_NS) {
      svg.append(drawn("line", {x1: left, x2: right, y1: y - 4, y2: y - 4, stroke: "var(--line)", "stroke-dasharray": "2 5"}),
        drawn("text", {x: middle, y, "text-anchor": "middle", class: "time", style: "paint-order:stroke;stroke:var(--card);stroke-width:8px"},
          `${duration(at - before)} of silence`));
      y += 24;
    }
    if (row.step) {
      svg.append(hostStep(row.step, {y, right, left, showTime: at !== before}));
      before = at;
      y += 24;
      continue;
    }
    const group = button(`packet ${one.place + 1} at ${duration(at)}: ${one.packet.text} ${one.packet.remarks.join("; ")}`,
      () => choosePacket(group, one));
    if (one.bad) group.classList.add("bad");
    group.addEventListener("mouseenter", () => choosePacket(group, one));
    group.addEventListener("focus", () => choosePacket(group, one));
    arrow(group, one, {y, left, right, middle, width, narrow, showTime: at !== before, at, fromLeft: one.packet.from === near});
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
    svg.prepend(laneLine(x, 26, y));
  }
  svg.append(drawn("text", {x: left, y: 17, "text-anchor": "middle", class: "lane"}, near),
    drawn("text", {x: right, y: 17, "text-anchor": narrow ? "end" : "middle", class: "lane"}, far));
  svg.setAttribute("viewBox", `0 0 ${width} ${y + 8}`);
  svg.setAttribute("width", width);
  svg.setAttribute("height", y + 8);
  const wanted = marked.find(one => one.bad) ?? marked.find(one => one.rule) ?? marked[0];
  const start = places.get(wanted.place) ?? places.get(0);
  if (start) choosePacket(start.group, start.one);
  return svg;
}

// A step of the application: a mark on the device's lane, and its words before it.
function hostStep(step, {y, right, left, showTime}) {
  const failed = /status=(?!SUCCESS)|refused/.test(step.text);
  const colour = step.bad ? "var(--FAIL)" : failed ? "var(--WARN)" : "var(--soft)";
  const group = drawn("g", {class: "step"});
  const room = Math.floor((right - left - 16) / NARROW_CHARACTER);
  const label = (step.bad ? "▮ " : "") + step.text;
  group.append(drawn("title", {}, step.text));
  if (showTime) group.append(drawn("text", {x: 6, y: y + 6, class: "time"}, duration(step.at)));
  group.append(drawn("rect", {x: right - 4, y: y - 2, width: 8, height: 8, fill: colour}),
    drawn("text", {x: right - 10, y: y + 6, "text-anchor": "end", "font-size": 11, style: `fill:${colour}`},
      label.length > room ? label.slice(0, room - 1) + "…" : label));
  return group;
}

function arrow(group, one, at) {
  const begin = at.fromLeft ? at.left : at.right;
  const far = at.fromLeft ? at.right : at.left;
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
  let label = `${one.again ? "↻ " : ""}${one.name} ${at.narrow ? short.replace(/(^| )(len|dmalen|msn)=\S+/g, "") : short}`;
  const room = Math.floor((at.right - at.left - 12) / (at.narrow ? NARROW_CHARACTER : CHARACTER));
  if (label.length > room) label = label.slice(0, room - 1) + "…"; // whole below
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
    packet.line ? element("p", {class: "soft"}, `Line ${packet.line} of the script.`) : "",
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
