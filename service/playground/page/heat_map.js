/** The similarity matrix as a heat map: a grid through which the arrow keys lead, with numbers that can be read. */

import { element, thumbnail } from "./element.js";
import { nameOf } from "./items.js";
import { along, paint } from "./ramp.js";

/**
 * @typedef {import("./types.js").Matrix} Matrix
 * @typedef {import("./types.js").Row} Row
 */

const STEPS = [0, 0.25, 0.5, 0.75, 1];

/** @param {number} value */
const short = (value) => value.toFixed(2).replace(/^(-?)0\./, "$1.").replace("-.00", ".00");

/**
 * A row in words.
 * @param {Row} row
 */
export function rowName(row) {
  return row.instruction === null ? nameOf(row.item) : `${nameOf(row.item)}, ${row.instruction}`;
}

/**
 * @param {HTMLElement} place
 * @param {Row[]} rows
 * @param {[number, number]} domain
 * @param {(pair: [number, number] | null) => void} onPair told which two rows are looked at
 * @returns {(matrix: Matrix) => void} fills the cells; called again for each size and format
 */
export function drawHeatMap(place, rows, domain, onPair) {
  const told = element("p", { class: "told soft" }, "Arrow keys lead through the grid.");
  const cells = rows.map((_, i) => rows.map((__, j) => cell(i, j, begins(rows, j))));
  const head = element("tr", {}, element("td", {}), ...rows.map((row, j) => columnHead(row, rows, j)));
  const body = rows.map((row, i) => element("tr", { class: begins(rows, i) ? "begins" : "" }, rowHead(row), ...cells[i]));
  const table = element("table", { role: "grid", "aria-labelledby": "heat-title", class: rows.length > 24 ? "dense" : "" });
  table.append(element("thead", {}, head), element("tbody", {}, ...body));
  if (cells.length) cells[0][0].tabIndex = 0;

  /** @param {number} i @param {number} j */
  function look(i, j) {
    told.textContent = `${cells[i][j].dataset.exact}  ${rowName(rows[i])}  ×  ${rowName(rows[j])}`;
    onPair([i, j]);
  }
  table.addEventListener("keydown", (event) => move(event, cells));
  for (const kind of ["focusin", "pointerover"]) {
    table.addEventListener(kind, (event) => {
      const found = event.target instanceof HTMLElement ? event.target.closest("td[data-at]") : null;
      if (found instanceof HTMLElement) look(Number(found.dataset.i), Number(found.dataset.j));
    });
  }
  table.addEventListener("pointerleave", () => onPair(null));
  place.replaceChildren(element("div", { class: "scroll" }, table), told, legend(domain));
  return (matrix) => fill(cells, matrix, domain);
}

/**
 * @param {HTMLElement[][]} cells
 * @param {Matrix} matrix
 * @param {[number, number]} domain
 */
function fill(cells, { size, values }, domain) {
  cells.forEach((line, i) =>
    line.forEach((cell, j) => {
      const value = values[i * size + j];
      cell.textContent = i === j ? "1" : short(value);
      cell.dataset.exact = value.toFixed(4);
      paint(cell, along(value, domain));
    }),
  );
}

/**
 * @param {number} i
 * @param {number} j
 * @param {boolean} isFirst whether another instruction begins with this column
 */
function cell(i, j, isFirst) {
  const kind = `${i === j ? "self" : ""} ${isFirst ? "parted" : ""}`;
  return element("td", { role: "gridcell", tabindex: -1, class: kind, "data-at": true, "data-i": i, "data-j": j });
}

/**
 * Whether another instruction begins here.
 * @param {Row[]} rows
 * @param {number} i
 */
function begins(rows, i) {
  return i > 0 && rows[i].tone !== rows[i - 1].tone;
}

/** @param {Row} row */
function rowHead(row) {
  const label = row.item.image === null ? row.item.text : row.item.name.replace(/\.\w+$/, "");
  const tone = element("span", { class: `tone tone-${row.tone % 6}`, "aria-hidden": "true" });
  const words = element("span", { class: "words", "aria-hidden": "true" }, label);
  const named = element("span", { class: "unseen" }, rowName(row));
  return element("th", { scope: "row", title: rowName(row) }, element("span", {}, tone, thumbnail(row.item), words, named));
}

/**
 * @param {Row} row
 * @param {Row[]} rows
 * @param {number} j
 */
function columnHead(row, rows, j) {
  const tone = element("span", { class: `tone tone-${row.tone % 6}`, "aria-hidden": "true" });
  const named = element("span", { class: "unseen" }, rowName(row));
  const kind = begins(rows, j) ? "parted" : "";
  const shown = row.item.image === null ? element("span", { class: "words", "aria-hidden": "true" }, row.item.text) : thumbnail(row.item);
  return element("th", { scope: "col", class: kind, title: rowName(row) }, element("span", {}, shown, named, tone));
}

/**
 * Arrow keys, Home and End; with Control to the corners.
 * @param {KeyboardEvent} event
 * @param {HTMLElement[][]} cells
 */
function move(event, cells) {
  const from = event.target;
  if (!(from instanceof HTMLElement) || from.dataset.i === undefined) return;
  const [i, j, last] = [Number(from.dataset.i), Number(from.dataset.j), cells.length - 1];
  /** @type {Record<string, [number, number]>} */
  const ways = {
    ArrowUp: [i - 1, j], ArrowDown: [i + 1, j], ArrowLeft: [i, j - 1], ArrowRight: [i, j + 1],
    Home: [event.ctrlKey ? 0 : i, 0], End: [event.ctrlKey ? last : i, last],
  };
  const to = ways[event.key];
  if (!to) return;
  event.preventDefault();
  const next = cells[Math.min(last, Math.max(0, to[0]))][Math.min(last, Math.max(0, to[1]))];
  from.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
}

/** @param {[number, number]} domain */
function legend([least, most]) {
  const steps = STEPS.map((t) => {
    const step = element("span", {}, `${t ? "" : "≤ "}${(least + t * (most - least)).toFixed(2)}`);
    paint(step, t);
    return step;
  });
  return element("p", { class: "ramp", "aria-label": "Color ramp: similarity" }, ...steps);
}
