"use strict";
// The analysis page's script. Text from outside goes into the page by textContent and append alone,
// never as markup; the page's content security policy allows this script and no other.

const byId = id => document.getElementById(id);
const data = JSON.parse(byId("data").textContent);
const {analysis, graphs} = data;
const capture = analysis.capture;
const graphOf = new Map(graphs.map(graph => [graph.connection, graph.directions]));
const MARKS = [ // name, text, colour
  ["again", "sent again", "#d29922"], ["late", "came late", "#8957e5"],
  ["sequence-nak", "sequence NAK", "#c62828"], ["rnr-nak", "RNR NAK", "#e36209"],
  ["fatal-nak", "fatal NAK", "#000000"], ["timeout", "sent again after a timeout", "#bf3989"],
  ["cnp", "CNP", "#0a7ea4"],
];
const FIRST_ROWS = 500; // of the list; more are reached by the command

function element(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name === "on") for (const event in value) node.addEventListener(event, value[event]);
    else if (value != null) node.setAttribute(name, value);
  }
  node.append(...children.flat().filter(child => child != null).map(child =>
    child instanceof Node ? child : String(child)));
  return node;
}

function scaled(value, unit) {
  let prefix = 0;
  while (value >= 999.5 && prefix < 5) { value /= 1000; ++prefix; }
  return `${+value.toPrecision(3)} ${["", "k", "M", "G", "T", "P"][prefix]}${unit}`;
}
const bytes = value => scaled(value, "B");
const rate = value => scaled(value * 8, "bit/s");
function time(ns) {
  if (ns == null) return "";
  const size = Math.abs(ns);
  if (size < 999.5) return `${+ns.toPrecision(3)} ns`;
  if (size < 999.5e3) return `${+(ns / 1e3).toPrecision(3)} µs`;
  if (size < 999.5e6) return `${+(ns / 1e6).toPrecision(3)} ms`;
  return `${+(ns / 1e9).toPrecision(4)} s`;
}
const hex = qp => qp == null ? "?" : "0x" + qp.toString(16).padStart(6, "0");
const endText = end => `${end.address} QP ${hex(end.qp)}`;
const sum = values => values.reduce((all, value) => all + value, 0);
const of = (connection, value) => sum(connection.directions.map(value));
const resent = direction => sum(Object.values(direction.resent));

function fill(table, heads, rows) {
  const row = (cells, tag) => element("tr", null, cells.map((cell, i) =>
    element(tag, {class: heads[i].startsWith("~") ? "text" : null}, cell)));
  const body = element("tbody", null, rows.map(cells => row(cells, "td")));
  const head = element("thead", null, row(heads.map(text => text.replace("~", "")), "th"));
  table.replaceChildren(...(rows.length ? [head, body] : []));
  return body;
}

// --- graphs --------------------------------------------------------------------------------------

// One of several graphs over the same time, which are zoomed together.
class Graph {
  constructor(axis, draw, low, label) {
    this.canvas = element("canvas", {tabindex: 0, role: "img", "aria-label": label, class: low ? "low" : null});
    this.axis = axis;
    this.draw = draw;
    axis.graphs.push(this);
    const at = event => (event.clientX - this.canvas.getBoundingClientRect().left) / this.canvas.clientWidth;
    this.canvas.addEventListener("wheel", event => {
      event.preventDefault();
      axis.zoom(at(event), Math.exp(event.deltaY / 400));
    }, {passive: false});
    let from = null;
    this.canvas.addEventListener("pointerdown", event => {
      from = at(event);
      this.canvas.setPointerCapture(event.pointerId);
    });
    this.canvas.addEventListener("pointermove", event => {
      if (from == null) return this.tell?.(event);
      axis.move(from - at(event));
      from = at(event);
    });
    this.canvas.addEventListener("pointerup", () => { from = null; });
    this.canvas.addEventListener("dblclick", () => axis.reset());
    this.canvas.addEventListener("keydown", event => {
      const keys = {"+": () => axis.zoom(0.5, 0.5), "-": () => axis.zoom(0.5, 2), 0: () => axis.reset(),
        ArrowLeft: () => axis.move(-0.1), ArrowRight: () => axis.move(0.1)};
      if (!keys[event.key]) return;
      event.preventDefault();
      keys[event.key]();
    });
  }
  paint() {
    const {clientWidth: width, clientHeight: height} = this.canvas;
    const scale = window.devicePixelRatio || 1;
    this.canvas.width = width * scale;
    this.canvas.height = height * scale;
    const context = this.canvas.getContext("2d");
    context.scale(scale, scale);
    context.font = "12px system-ui, sans-serif";
    this.draw(context, width, height, ns => (ns - this.axis.from) / (this.axis.to - this.axis.from) * width);
  }
}

class Axis {
  constructor(from, to) {
    this.graphs = [];
    this.first = [from, Math.max(to, from + 1)];
    [this.from, this.to] = this.first;
  }
  zoom(at, factor) {
    const span = this.to - this.from;
    const wanted = Math.min(Math.max(span * factor, 10), this.first[1] - this.first[0]);
    const middle = this.from + at * span;
    this.from = middle - at * wanted;
    this.to = this.from + wanted;
    this.move(0);
  }
  move(part) {
    const span = this.to - this.from;
    this.from = Math.min(Math.max(this.from + part * span, this.first[0]), this.first[1] - span);
    this.to = this.from + span;
    this.paint();
  }
  reset() {
    [this.from, this.to] = this.first;
    this.paint();
  }
  paint() {
    this.pending ??= requestAnimationFrame(() => {
      this.pending = null;
      for (const graph of this.graphs) graph.paint();
    });
  }
}

const colour = name => getComputedStyle(document.documentElement).getPropertyValue(name);

// The first point that is not before `ns`.
function lowerBound(points, ns) {
  let low = 0, high = points.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (points[middle][0] < ns) low = middle + 1; else high = middle;
  }
  return low;
}

function seen(points, axis) {
  const first = Math.max(0, lowerBound(points, axis.from) - 1);
  return points.slice(first, lowerBound(points, axis.to) + 1);
}

function timeLabels(context, width, height, axis) {
  context.fillStyle = colour("--soft");
  for (let i = 0; i <= 4; ++i) {
    const text = time(axis.from + (axis.to - axis.from) * i / 4);
    context.textAlign = i === 0 ? "left" : i === 4 ? "right" : "center";
    context.fillText(text, width * i / 4, height - 4);
  }
}

function sequence(direction, axis) {
  const lines = [["sent", "--sent"], ["acknowledged", "--acked"]];
  const markLists = MARKS.map(([name, , mark]) => [direction.marks[name] ?? [], mark, name]);
  const graph = new Graph(axis, (context, width, height, x) => {
    let low = Infinity, high = -Infinity;
    const shown = lines.map(([name, line]) => [seen(direction[name], axis), line]);
    const marked = markLists.map(([points, mark, name]) => [points.filter(point =>
      point[0] >= axis.from && point[0] <= axis.to), mark, name]);
    for (const [points] of [...shown, ...marked]) {
      for (const point of points) {
        low = Math.min(low, point[1]);
        high = Math.max(high, point[1]);
      }
    }
    if (low > high) return timeLabels(context, width, height, axis);
    const y = value => height - 20 - (value - low) / Math.max(1, high - low) * (height - 34);
    context.lineWidth = 1.5;
    for (const [points, line] of shown) {
      context.strokeStyle = colour(line);
      context.beginPath();
      points.forEach((point, i) => {
        if (i > 0) context.lineTo(x(point[0]), y(points[i - 1][1]));
        context.lineTo(x(point[0]), y(point[1]));
      });
      context.stroke();
    }
    graph.places = [];
    for (const [points, mark, name] of marked) {
      context.fillStyle = mark === "#000000" ? colour("--text") : mark;
      for (const point of points) {
        context.fillRect(x(point[0]) - 2.5, y(point[1]) - 2.5, 5, 5);
        graph.places.push([x(point[0]), y(point[1]), name, point]);
      }
    }
    context.fillStyle = colour("--soft");
    context.textAlign = "left";
    context.fillText(`PSN ${(direction.first + high) & 0xffffff}`, 4, 12);
    context.fillText(`PSN ${(direction.first + low) & 0xffffff}`, 4, height - 22);
    timeLabels(context, width, height, axis);
  }, false, "PSNs over time");
  return graph;
}

function throughput(series, axis, begin) {
  return new Graph(axis, (context, width, height, x) => {
    const most = Math.max(...series.bytes, 1);
    context.fillStyle = colour("--sent");
    series.bytes.forEach((value, i) => {
      const left = x(begin + i * series.part_ns), right = x(begin + (i + 1) * series.part_ns);
      if (right < 0 || left > width) return;
      const tall = value / most * (height - 36);
      context.fillRect(left, height - 18 - tall, Math.max(1, right - left - 1), tall);
    });
    context.fillStyle = colour("--soft");
    context.textAlign = "left";
    context.fillText(`${rate(most / series.part_ns * 1e9)} in ${time(series.part_ns)}`, 4, 12);
    timeLabels(context, width, height, axis);
  }, true, "Throughput over time");
}

function legend(direction) {
  const items = [["first sent", "var(--sent)"], ["acknowledged", "var(--acked)"]];
  for (const [name, text, mark] of MARKS) {
    const points = direction.marks[name];
    if (points) items.push([`${text} (${points.length})`, mark]);
  }
  const swatches = items.map(([text, mark]) => {
    const swatch = element("span", null, text);
    swatch.style.setProperty("--c", mark);
    return swatch;
  });
  return element("div", {class: "legend"}, swatches);
}

function drawGraphs(connection) {
  const place = byId("graphs");
  place.replaceChildren();
  const drawn = graphOf.get(connection.connection);
  if (!drawn) return place.append(element("p", {class: "soft"}, "No graph was kept of this connection."));
  const begin = (connection.begin - capture.begin) * 1e9, end = (connection.end - capture.begin) * 1e9;
  const axis = new Axis(begin, end);
  connection.directions.forEach((facts, requester) => {
    const direction = drawn[requester];
    if (direction.sent.length + Object.keys(direction.marks).length === 0) return;
    const graph = sequence(direction, axis);
    const tip = element("div", {class: "tip soft"},
      "Wheel or + and - zoom, drag or arrows move, double click or 0 shows all.");
    graph.tell = event => {
      const box = graph.canvas.getBoundingClientRect();
      const [px, py] = [event.clientX - box.left, event.clientY - box.top];
      const near = (graph.places ?? []).find(([x, y]) => Math.hypot(x - px, y - py) < 6);
      if (!near) return;
      const [, , name, [ns, position, number]] = near;
      tip.textContent = `Packet ${number}: ${MARKS.find(mark => mark[0] === name)[1]}, PSN ` +
        `${(direction.first + position) & 0xffffff}, ${time(ns)}`;
    };
    const caption = `Requests of ${endText(connection.ends[requester])}` +
      (direction.thinned ? " (every n-th packet)" : "");
    place.append(element("figure", null, element("figcaption", null, caption), graph.canvas, legend(direction), tip));
    if (!facts.throughput) return;
    const bars = throughput(facts.throughput, axis, (facts.throughput.begin - capture.begin) * 1e9);
    place.append(element("figure", null, element("figcaption", null, "Payload over time"), bars.canvas));
  });
  axis.paint();
  window.onresize = () => axis.paint();
  place.axis = axis;
}

// --- the page ------------------------------------------------------------------------------------

function show(connection) {
  for (const row of byId("list").rows) {
    row.setAttribute("aria-selected", row.dataset.connection === String(connection.connection));
  }
  byId("title").textContent = `#${connection.connection} ${connection.ends.map(endText).join(" ↔ ")}`;
  const pairing = {none: "one direction", inferred: "paired by PSNs", cm: "set up by CM"}[connection.pairing];
  byId("facts").textContent = `${connection.service}, ${pairing}` +
    (connection.mtu ? `, MTU ${connection.mtu}` : "") + `, packets ${connection.first_packet} to ${connection.last_packet}`;
  byId("problems").replaceChildren(...connection.problems.map(text => element("li", null, text)));
  byId("story").textContent = connection.explanation;
  const messages = connection.directions.flatMap((direction, requester) => direction.messages.map(one => [
    one.kind, endText(connection.ends[requester]), one.messages, bytes(one.bytes), bytes(one.size_p50), bytes(one.size_max),
    time(one.latency_p50_ns), time(one.latency_p90_ns), time(one.latency_p99_ns), time(one.latency_max_ns)]));
  fill(byId("messages"), ["~messages", "~from", "count", "bytes", "size p50", "max", "latency p50", "p90", "p99", "max"],
    messages);
  const episodes = connection.episodes.map(one => [one.kind, one.verdict, endText(connection.ends[one.requester]), one.psn,
    one.begin_packet ?? "", one.nak_packet ?? "", one.resent_packet ?? "", one.resent, one.end_packet ?? "not over",
    time(one.detection_ns), time(one.reaction_ns), time(one.duration_ns)]);
  fill(byId("episodes"), ["~episode", "~verdict", "~requester", "PSN", "packet", "NAK", "sent again", "packets", "over",
    "detection", "reaction", "took"], episodes);
  drawGraphs(connection);
  location.replace("#" + connection.connection);
}

function start() {
  byId("files").textContent = data.files.join(", ");
  const facts = [["frames", capture.frames], ["RoCEv2 packets", capture.packets],
    ["payload", bytes(capture.payload_bytes)], ["duration", time((capture.end - capture.begin) * 1e9)],
    ["connections", data.connections], ["damaged packets", capture.damaged], ["CNPs", capture.cnps],
    ["PAUSE and PFC frames", capture.pauses + capture.priority_pauses],
    ["verdict", analysis.capture.healthy ? "healthy" : "not healthy"]];
  byId("totals").append(...facts.map(([name, value]) =>
    element("div", null, element("dt", null, name), element("dd", null, value))));
  const shown = analysis.connections.slice(0, FIRST_ROWS);
  byId("listed").textContent = shown.length < data.connections ? `The first ${shown.length} of ${data.connections}.` : "";
  const rows = shown.map(one => [
    element("button", {on: {click: () => show(one)}}, `#${one.connection}`),
    endText(one.ends[0]), endText(one.ends[1]), one.packets, bytes(one.payload_bytes),
    rate(of(one, direction => direction.goodput)), of(one, resent),
    of(one, direction => direction.sequence_naks + direction.rnr_naks + direction.fatal_naks),
    of(one, direction => direction.timeouts),
    element("span", {class: one.healthy ? "good" : "bad"}, one.died ? "died" : one.healthy ? "healthy" : "unhealthy")]);
  const body = fill(byId("list"), ["~", "~end", "~end", "packets", "payload", "goodput", "sent again", "NAKs", "timeouts",
    "~state"], rows);
  shown.forEach((one, i) => { body.rows[i].dataset.connection = one.connection; });
  const asked = analysis.connections.find(one => String(one.connection) === location.hash.slice(1));
  const first = asked ?? shown[0];
  if (first) show(first);
}

start();
