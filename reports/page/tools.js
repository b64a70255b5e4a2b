"use strict";
// What the scripts of all pages share. Text from outside goes into a page by textContent and append
// alone, never as markup; the page's content security policy allows our scripts and no others.

const byId = id => document.getElementById(id);
const head = JSON.parse(byId("head").textContent);
const SIGNS = {
  PASS: "✓", FAIL: "✕", ERROR: "!", WARN: "△", SKIP: "–", INFO: "i", XFAIL: "≈", XPASS: "✕",
};
const WORST_FIRST = ["FAIL", "XPASS", "ERROR", "WARN", "XFAIL", "INFO", "SKIP", "PASS"];

function element(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value == null) continue;
    if (name === "on") for (const event in value) node.addEventListener(event, value[event]);
    else if (name === "verdict") node.style.setProperty("--c", `var(--${value})`);
    else node.setAttribute(name, value);
  }
  node.append(...children.flat().filter(child => child != null));
  return node;
}

function drawn(tag, attributes, text) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const name in attributes) node.setAttribute(name, attributes[name]);
  if (text != null) node.textContent = text;
  return node;
}

const verdictSign = verdict =>
  element("span", {class: "v", verdict, "data-sign": SIGNS[verdict]}, verdict);
const groupOf = run => run.id.split("/")[0];
const plural = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;

function duration(ns) {
  if (ns < 0) return "−" + duration(-ns);
  if (ns < 1e3) return `${ns} ns`;
  if (ns < 1e6) return `${+(ns / 1e3).toPrecision(4)} µs`;
  if (ns < 1e9) return `${+(ns / 1e6).toPrecision(4)} ms`;
  return `${+(ns / 1e9).toPrecision(4)} s`;
}

// An amount of the data sheet.
function amount(value, unit) {
  if (unit === "ns") return duration(value);
  if (unit === "packets") return plural(value, "packet");
  const [divisor, name] = value >= 1e9 ? [1e9, "Gbit/s"] : value >= 1e6 ? [1e6, "Mbit/s"] : [1e3, "kbit/s"];
  return `${+(value / divisor).toPrecision(3)} ${name}`;
}

// Samples in short: how many, the least, the median, the ninth tenth, the most.
function spread(samples) {
  const sorted = [...samples].sort((a, b) => a - b);
  const at = share => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
  return {count: sorted.length, least: sorted[0], median: at(0.5), p90: at(0.9), most: sorted.at(-1)};
}
