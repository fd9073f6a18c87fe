/** Bytes of a vector against the order that is kept, one line a format: what each choice costs, at one glance. */

import { drawn, element, roomOf, scrollable } from "./element.js";
import { FORMATS, FORMAT_NAMES, bytesOf } from "./sizes.js";

/**
 * @typedef {import("./types.js").Format} Format
 * @typedef {import("./types.js").Kept} Kept
 * @typedef {{size: number, format: Format, kept: Kept}} Mark one size in one format, and what it keeps
 */

const BOX = { height: 220, left: 40, right: 20, top: 14, bottom: 28 };
const NUM_LINES = 4;

/**
 * @param {HTMLElement} place
 * @param {Mark[]} marks
 * @param {Mark} chosen
 */
export function drawChart(place, marks, chosen) {
  const least = Math.floor(Math.min(0.9, ...marks.map(({ kept }) => kept.tau)) * 10) / 10;
  const logs = marks.map((mark) => Math.log2(bytesOf(mark.size, mark.format)));
  const [from, to] = [Math.min(...logs), Math.max(...logs)];
  const width = roomOf(place);
  /** @param {number} log */
  const x = (log) => BOX.left + ((log - from) / (to - from || 1)) * (width - BOX.left - BOX.right);
  /** @param {number} tau */
  const y = (tau) => BOX.top + ((1 - tau) / (1 - least)) * (BOX.height - BOX.top - BOX.bottom);
  /** @param {Mark} mark */
  const at = (mark) => /** @type {[number, number]} */ ([x(Math.log2(bytesOf(mark.size, mark.format))), y(mark.kept.tau)]);
  const svg = drawn("svg", { viewBox: `0 0 ${width} ${BOX.height}`, role: "img", "aria-label": inWords(marks) });
  svg.append(...axes(least, [from, to], x, y), ...FORMATS.map((format) => curve(marks.filter((mark) => mark.format === format), format, at)));
  const [cx, cy] = at(chosen);
  svg.append(drawn("circle", { class: "chosen", cx, cy, r: 8 }));
  const keys = FORMATS.map((format) => element("li", {}, element("span", { class: `dot ${format}` }), FORMAT_NAMES[format]));
  const about = "Order kept (Kendall’s τ, upwards) by the bytes of a vector (to the right, each step twice as many).";
  place.replaceChildren(element("p", { class: "soft" }, about), element("ul", { class: "keys" }, ...keys), svg, asTable(marks));
}

/**
 * @param {Mark[]} marks of one format
 * @param {Format} format
 * @param {(mark: Mark) => [number, number]} at
 */
function curve(marks, format, at) {
  const points = marks.map(at);
  const line = drawn("polyline", { points: points.map((point) => point.join(",")).join(" ") });
  return drawn("g", { class: `curve ${format}` }, line, ...points.map(([cx, cy]) => drawn("circle", { cx, cy, r: 3.5 })));
}

/**
 * @param {number} least
 * @param {[number, number]} range log2 of the fewest bytes, and of the most
 * @param {(log: number) => number} x
 * @param {(tau: number) => number} y
 */
function axes(least, [from, to], x, y) {
  const lines = Array.from({ length: NUM_LINES + 1 }, (_, i) => least + ((1 - least) * i) / NUM_LINES).flatMap((tau) => [
    drawn("line", { class: "rule", x1: x(from), x2: x(to), y1: y(tau), y2: y(tau) }),
    drawn("text", { x: BOX.left - 8, y: y(tau) + 4, "text-anchor": "end" }, tau.toFixed(2)),
  ]);
  const powers = Array.from({ length: 40 }, (_, i) => i).filter((power) => power >= from - 0.01 && power <= to + 0.01);
  const bytes = powers.map((power) => drawn("text", { x: x(power), y: BOX.height - 8, "text-anchor": "middle" }, (2 ** power).toLocaleString("en")));
  return [...lines, ...bytes];
}

/** @param {Mark[]} marks */
function inWords(marks) {
  const told = marks.map((mark) => `${mark.size} ${FORMAT_NAMES[mark.format]}: ${mark.kept.tau.toFixed(2)}`);
  return `Order kept (Kendall's tau) by size and format. ${told.join("; ")}.`;
}

/** @param {Mark[]} marks */
function asTable(marks) {
  const titles = ["Dimensions", "Format", "Bytes", "Nearest kept", "Neighbors kept", "Order kept, τ"];
  const head = element("tr", {}, ...titles.map((title) => element("th", { scope: "col" }, title)));
  const lines = marks.map(({ size, format, kept }) => {
    const figures = [kept.nearest, kept.neighbors].map((part) => `${Math.round(part * 100)} %`);
    const cells = [size, FORMAT_NAMES[format], bytesOf(size, format).toLocaleString("en"), ...figures, kept.tau.toFixed(3)];
    return element("tr", {}, ...cells.map((cell) => element("td", { class: "number" }, String(cell))));
  });
  const table = element("table", { class: "facts" }, element("thead", {}, head), element("tbody", {}, ...lines));
  return element("details", {}, element("summary", {}, "As a table"), scrollable("Sizes and formats", table));
}
