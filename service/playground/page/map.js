/** The rows on a plane, images as themselves, each with its instruction's color. */

import { drawn, element, roomOf } from "./element.js";
import { rowName } from "./heat_map.js";

/**
 * @typedef {import("./types.js").Point} Point
 * @typedef {import("./types.js").Row} Row
 */

const [HEIGHT, MARGIN, THUMB] = [420, 44, 30];
const MAX_LABEL = 24;

/** Pixels from a text's dot up to its words: past an image that lies in the same place. */
const LABEL_LIFT = 19;

/**
 * From coordinates to the drawing, with one scale on both axes.
 * @param {Point[]} points
 * @param {number} width of the drawing
 * @returns {(point: Point) => Point}
 */
function fitted(points, width) {
  const [xs, ys] = [points.map(([x]) => x), points.map(([, y]) => y)];
  const [left, right, low, high] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const scale = Math.min((width - 2 * MARGIN) / (right - left || 1), (HEIGHT - 2 * MARGIN) / (high - low || 1));
  return ([x, y]) => [width / 2 + (x - (left + right) / 2) * scale, HEIGHT / 2 - (y - (low + high) / 2) * scale];
}

/**
 * @param {HTMLElement} place
 * @param {Row[]} rows
 * @returns {{show: (points: Point[], share: number) => void, point: (pair: [number, number] | null) => void}} `show` moves
 *   the marks, `point` draws a line between two
 */
export function drawMap(place, rows) {
  const width = roomOf(place);
  const marks = rows.map(mark);
  const line = drawn("line", { class: "pair", visibility: "hidden" });
  const drawing = drawn("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-labelledby": "map-words" });
  drawing.append(line, ...marks);
  const words = element("p", { id: "map-words", class: "soft" });
  place.replaceChildren(drawing, words);
  /** @type {Point[]} */
  let at = [];
  return {
    show(points, share) {
      at = points.map(fitted(points, width));
      at.forEach(([x, y], i) => marks[i].setAttribute("transform", `translate(${x.toFixed(1)} ${y.toFixed(1)})`));
      words.textContent = `The two directions in which the ${rows.length} rows differ most; they hold ${Math.round(share * 100)} % of all differences.`;
    },
    point(pair) {
      marks.forEach((one, i) => one.classList.toggle("faint", pair !== null && !pair.includes(i)));
      line.setAttribute("visibility", pair ? "visible" : "hidden");
      const ends = pair ? [...at[pair[0]], ...at[pair[1]]] : [];
      ["x1", "y1", "x2", "y2"].forEach((name, i) => line.setAttribute(name, String(ends[i] ?? 0)));
    },
  };
}

/** @param {Row} row */
function mark(row) {
  const group = drawn("g", { class: `mark stroke-${row.tone % 6}` }, drawn("title", {}, rowName(row)));
  if (row.item.image !== null) {
    const box = { x: -THUMB / 2, y: -THUMB / 2, width: THUMB, height: THUMB };
    group.append(drawn("image", { ...box, href: row.item.image, preserveAspectRatio: "xMidYMid slice" }), drawn("rect", { ...box, rx: 4 }));
    return group;
  }
  const text = row.item.text;
  const label = text.length > MAX_LABEL ? `${text.slice(0, MAX_LABEL)}…` : text;
  group.append(drawn("circle", { r: 5 }), drawn("text", { y: -LABEL_LIFT, "text-anchor": "middle" }, label));
  return group;
}
