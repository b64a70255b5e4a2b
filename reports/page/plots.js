"use strict";
// Data sheets, of one device or of several side by side: behaviours as a table, each quantity as a
// plot by Chart.js and as a table of the same figures.

const DEVICE_COLOURS = {
  light: ["#1a5aa3", "#b4500f", "#24703f", "#842683", "#8a5800", "#0d7377", "#b9231b", "#59616c"],
  dark: ["#82b8f2", "#f0a56b", "#63c98c", "#dd9ad9", "#e9b654", "#5fc9cd", "#ff8278", "#9ea8b5"],
};
const INK = {light: {text: "#59616c", line: "#dad7cf"}, dark: {text: "#9ea8b5", line: "#343b44"}};
const POINTS = ["circle", "triangle", "rect", "rectRot", "star", "cross", "crossRot", "dash"];
const MOST_POINTS = 400; // of one series in one plot
const darkTheme = matchMedia("screen and (prefers-color-scheme: dark)"); // as the style
const drawnPlots = [];

function thinned(sorted) {
  if (sorted.length <= MOST_POINTS) return sorted;
  return Array.from({length: MOST_POINTS}, (_, i) =>
    sorted[Math.round(i * (sorted.length - 1) / (MOST_POINTS - 1))]);
}

// "0.2 %", "code 14" and "16KiB" by their numbers; labels without one keep their places.
function sizeOf(label) {
  const [, number, kibi] = label.match(/(\d[\d.]*)(KiB)?/) ?? [];
  return number === undefined ? 0 : Number(number) * (kibi ? 1024 : 1);
}
const bySize = list => [...list].sort((a, b) => sizeOf(a.label ?? a) - sizeOf(b.label ?? b));

// The same quantity of each device: [{name, quantity}], without devices that lack it.
function quantitiesOf(sheets) {
  const all = new Map();
  for (const {name, sheet} of sheets) {
    for (const quantity of sheet?.quantities ?? []) {
      if (!all.has(quantity.name)) all.set(quantity.name, {title: quantity.title, unit: quantity.unit, of: []});
      all.get(quantity.name).of.push({name, quantity, place: sheets.findIndex(one => one.name === name)});
    }
  }
  return [...all.values()];
}

const positive = values => values.every(value => value > 0);
const wide = values => values.length && Math.max(...values) > 20 * Math.min(...values);

function scaleOf(values, unit, ink, title) {
  const log = positive(values) && wide(values);
  return {
    type: log ? "logarithmic" : "linear",
    title: {display: Boolean(title), text: title, color: ink.text},
    grid: {color: ink.line},
    ticks: {color: ink.text, maxTicksLimit: 7, callback: value => log && Math.log10(value) % 1 ? "" : amount(value, unit)},
  };
}

// One setting: how many of the samples are at most x. Several: each sample over its setting, and
// what the setting asks for.
function chartOf(one, theme) {
  const ink = INK[theme];
  const colour = place => DEVICE_COLOURS[theme][place % DEVICE_COLOURS[theme].length];
  const values = one.of.flatMap(each => each.quantity.series.flatMap(series => series.samples));
  const single = one.of.every(each => each.quantity.series.length === 1 && !each.quantity.series[0].label);
  const tooltip = {callbacks: {label: item => `${item.dataset.label ? item.dataset.label + ": " : ""}${
    amount(single ? item.parsed.x : item.parsed.y, one.unit)}${single ? `, ${Math.round(item.parsed.y)} %` : ""}`}};
  const options = {
    animation: false, responsive: true, maintainAspectRatio: false,
    plugins: {legend: {display: one.of.length > 1, labels: {color: ink.text, usePointStyle: true}}, tooltip},
  };
  if (single) {
    const datasets = one.of.map(each => {
      const sorted = [...each.quantity.series[0].samples].sort((a, b) => a - b);
      const shown = thinned(sorted);
      const points = shown.map((x, i) => ({x, y: 100 * (i + 1) / shown.length}));
      return {label: each.name, data: [{x: shown[0], y: 0}, ...points], showLine: true, stepped: "before",
        borderColor: colour(each.place), backgroundColor: colour(each.place), pointRadius: shown.length < 40 ? 2 : 0, borderWidth: 2};
    });
    options.scales = {
      x: scaleOf(values, one.unit, ink, ""),
      y: {min: 0, max: 100, grid: {color: ink.line}, ticks: {color: ink.text, stepSize: 25, callback: value => value + " %"}},
    };
    return {type: "scatter", data: {datasets}, options};
  }
  const labels = bySize(new Set(one.of.flatMap(each => each.quantity.series.map(series => series.label))));
  const asked = labels.map(label => one.of.flatMap(each => each.quantity.series)
    .find(series => series.label === label)?.asked ?? null);
  const datasets = one.of.map(each => ({
    type: "scatter", label: each.name || "measured",
    data: each.quantity.series.flatMap(series => thinned([...series.samples].sort((a, b) => a - b)).map(y => ({x: series.label, y}))),
    borderColor: colour(each.place), backgroundColor: colour(each.place), pointRadius: 3,
    pointStyle: POINTS[each.place % POINTS.length],
  }));
  if (asked.some(value => value != null)) {
    datasets.push({type: "line", label: "asked for", data: labels.map((x, i) => ({x, y: asked[i]})),
      borderColor: ink.text, backgroundColor: "transparent", borderDash: [4, 4], borderWidth: 1, pointRadius: 0, spanGaps: true});
    options.plugins.legend.display = true;
  }
  options.scales = {
    x: {type: "category", labels, offset: true, grid: {color: ink.line}, ticks: {color: ink.text, autoSkip: true, maxRotation: 60}},
    y: scaleOf([...values, ...asked.filter(value => value != null)], one.unit, ink, ""),
  };
  return {type: "scatter", data: {labels, datasets}, options};
}

function figures(one) {
  const several = one.of.length > 1;
  const labelled = one.of.some(each => each.quantity.series.some(series => series.label));
  const asked = one.of.some(each => each.quantity.series.some(series => series.asked != null));
  const names = [several && "device", labelled && "setting", asked && "asked for", "samples", "least", "median", "90 %", "most"];
  const rows = one.of.flatMap(each => bySize(each.quantity.series).filter(series => series.samples.length).map(series => {
    const short = spread(series.samples);
    const cells = [several && each.name, labelled && series.label,
      asked && (series.asked == null ? "" : amount(series.asked, one.unit)), String(short.count),
      ...[short.least, short.median, short.p90, short.most].map(value => amount(value, one.unit))];
    return element("tr", {}, cells.filter(cell => cell !== false).map(cell => element("td", {}, cell)));
  }));
  return element("details", {}, element("summary", {}, "Figures"), element("div", {class: "scroll"},
    element("table", {class: "figures"},
      element("thead", {}, element("tr", {}, names.filter(Boolean).map(name => element("th", {scope: "col"}, name)))),
      element("tbody", {}, rows))));
}

function behaviourTable(sheets) {
  const titles = new Map();
  for (const {sheet} of sheets) for (const one of sheet?.behaviours ?? []) titles.set(one.name, one.title);
  if (!titles.size) return null;
  const several = sheets.length > 1;
  const cell = (sheet, name) => element("td", {}, (sheet?.behaviours ?? []).filter(one => one.name === name)
    .map(one => element("p", {}, element("b", {}, one.kind), element("span", {class: "soft"}, one.evidence ? " " + one.evidence : ""))));
  return element("div", {class: "scroll"}, element("table", {class: "behaviours"},
    several ? element("thead", {}, element("tr", {}, element("th", {scope: "col"}, ""), sheets.map(one => element("th", {scope: "col"}, one.name)))) : null,
    element("tbody", {}, [...titles].map(([name, title]) => element("tr", {},
      element("th", {scope: "row"}, title), sheets.map(one => cell(one.sheet, name)))))));
}

function showSheets(box, sheets, title = "Data sheet: measured, not judged") {
  if (sheets.every(one => !one.sheet)) return;
  box.hidden = false;
  box.append(element("h2", {}, title));
  const classes = behaviourTable(sheets);
  if (classes) box.append(element("div", {class: "card"}, classes));
  const grid = element("div", {class: "plots"});
  box.append(grid);
  for (const one of quantitiesOf(sheets)) {
    const canvas = element("canvas", {role: "img", "aria-label": `${one.title}: the figures below as a plot`});
    grid.append(element("section", {class: "card"}, element("h3", {}, one.title), element("div", {class: "plot"}, canvas), figures(one)));
    drawnPlots.push({canvas, one, chart: null});
  }
  drawPlots(darkTheme.matches ? "dark" : "light");
  darkTheme.addEventListener("change", () => drawPlots(darkTheme.matches ? "dark" : "light"));
  // A canvas does not follow the style of print.
  addEventListener("beforeprint", () => drawPlots("light"));
  addEventListener("afterprint", () => drawPlots(darkTheme.matches ? "dark" : "light"));
}

function drawPlots(theme) {
  for (const plot of drawnPlots) {
    plot.chart?.destroy();
    plot.chart = new Chart(plot.canvas, chartOf(plot.one, theme));
  }
}
