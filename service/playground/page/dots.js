/** Thousands of rows as dots of a canvas: what lies under the pointer, or where the arrow keys lead, is named. */

import { element, roomOf } from "./element.js";
import { rowName } from "./heat_map.js";

/**
 * @typedef {import("./types.js").Point} Point
 * @typedef {import("./types.js").Row} Row
 */

const [HEIGHT, MARGIN, RADIUS, REACH] = [460, 20, 2.5, 14];
const MAX_LABEL = 140;

/**
 * @param {HTMLElement} place
 * @param {Row[]} rows
 * @param {{points: Point[], share: number}} plane
 * @param {(row: number) => void} onChoice told which row was clicked, or chosen by Enter
 */
export function drawDots(place, rows, { points, share }, onChoice) {
  const width = roomOf(place);
  const at = fitted(points, width);
  const inOrder = at.map((_, i) => i).sort((a, b) => at[a][0] - at[b][0]);
  const canvas = element("canvas", { tabindex: 0, role: "img", "aria-label": `Map of ${rows.length} rows; arrow keys lead from one to the next` });
  const label = element("p", { class: "dot-label", "aria-hidden": "true", hidden: true });
  const told = element("p", { class: "told soft", role: "status" }, "Point at a dot, or use the arrow keys; a click or Enter shows its vector and its neighbors.");
  const words = `The two directions in which the ${rows.length.toLocaleString("en")} rows differ most; they hold ${Math.round(share * 100)} % of all differences.`;
  const tones = [0, 1, 2, 3, 4, 5].map((tone) => element("span", { class: `tone tone-${tone}`, "aria-hidden": "true" }));
  place.replaceChildren(element("div", { class: "dots" }, canvas, label), told, element("p", { class: "soft" }, words, element("span", { class: "unseen" }, ...tones)));
  let looked = -1;

  function draw() {
    const scale = devicePixelRatio || 1;
    [canvas.width, canvas.height] = [width * scale, HEIGHT * scale];
    const context = canvas.getContext("2d");
    if (!context) return;
    context.scale(scale, scale);
    const colors = tones.map((tone) => getComputedStyle(tone).backgroundColor);
    context.globalAlpha = 0.75;
    at.forEach(([x, y], i) => dot(context, x, y, RADIUS, colors[rows[i].tone % colors.length]));
    context.globalAlpha = 1;
    if (looked < 0) return;
    dot(context, ...at[looked], RADIUS + 4, getComputedStyle(canvas).color);
    dot(context, ...at[looked], RADIUS + 2, colors[rows[looked].tone % colors.length]);
  }

  /** @param {number} row */
  function look(row) {
    if (row === looked) return;
    looked = row;
    label.hidden = row < 0;
    if (row >= 0) {
      const name = rowName(rows[row]);
      label.textContent = told.textContent = name.length > MAX_LABEL ? `${name.slice(0, MAX_LABEL)}…` : name;
      const [x, y] = at[row];
      label.style.left = `${(100 * x) / width}%`;
      label.style.top = `${y}px`;
      label.classList.toggle("to-left", x > width / 2);
    }
    draw();
  }

  /** @param {PointerEvent | MouseEvent} event */
  function under(event) {
    const box = canvas.getBoundingClientRect();
    const [x, y] = [((event.clientX - box.left) * width) / box.width, ((event.clientY - box.top) * HEIGHT) / box.height];
    let [best, distance] = [-1, REACH * REACH];
    at.forEach(([px, py], i) => {
      const far = (px - x) ** 2 + (py - y) ** 2;
      if (far < distance) [best, distance] = [i, far];
    });
    return best;
  }

  canvas.addEventListener("pointermove", (event) => look(under(event)));
  canvas.addEventListener("pointerleave", () => look(-1));
  canvas.addEventListener("click", (event) => {
    const row = under(event);
    look(row);
    if (row >= 0) onChoice(row);
  });
  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (event.key === "Enter" && !event.ctrlKey && !event.metaKey && looked >= 0) onChoice(looked);
    if (!step) return;
    event.preventDefault();
    const from = looked < 0 ? (step > 0 ? -1 : 0) : inOrder.indexOf(looked);
    look(inOrder[(from + step + inOrder.length) % inOrder.length]);
  });
  new MutationObserver(draw).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  draw();
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {number} x
 * @param {number} y
 * @param {number} radius
 * @param {string} color
 */
function dot(context, x, y, radius, color) {
  context.fillStyle = color;
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fill();
}

/**
 * One scale on both axes.
 * @param {Point[]} points
 * @param {number} width
 * @returns {Point[]}
 */
function fitted(points, width) {
  const ends = [0, 1].map((axis) => points.reduce(([low, high], point) => [Math.min(low, point[axis]), Math.max(high, point[axis])], [Infinity, -Infinity]));
  const [[left, right], [low, high]] = ends;
  const scale = Math.min((width - 2 * MARGIN) / (right - left || 1), (HEIGHT - 2 * MARGIN) / (high - low || 1));
  return points.map(([x, y]) => [width / 2 + (x - (left + right) / 2) * scale, HEIGHT / 2 - (y - (low + high) / 2) * scale]);
}
