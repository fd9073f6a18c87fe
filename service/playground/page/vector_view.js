/** One row's vector: its numbers as bars, to copy; its nearest neighbors; and the answer that it came in. */

import { inFull, written } from "./answers.js";
import { copyButton } from "./clipboard.js";
import { drawn, element } from "./element.js";
import { rowName } from "./heat_map.js";
import { dot } from "./vectors.js";

/**
 * @typedef {import("./types.js").Answered} Answered
 * @typedef {import("./types.js").Row} Row
 */

const [NUM_NEAREST, NUM_NUMBERS, HEIGHT] = [10, 8, 64];
const MAX_NAME = 70;

/**
 * @param {HTMLElement} place
 * @param {Row[]} rows
 * @param {Answered[]} answers whose vectors are the rows, in order
 * @returns {(row: number) => void} shows another row
 */
export function drawVector(place, rows, answers) {
  const found = answers.flatMap(({ vectors, answer }) => vectors.map((vector, i) => ({ vector, answer, i })));
  const options = rows.map((row, i) => element("option", { value: i }, short(rowName(row))));
  const which = element("select", { id: "row", onchange: () => show(Number(which.value)) }, ...options);
  const line = element("p", { class: "line", hidden: rows.length < 2 }, element("label", { for: "row" }, "Of"), which);
  const body = element("div", { class: "vector" });
  place.replaceChildren(line, body);

  /** @param {number} row */
  function show(row) {
    which.value = String(row);
    const { vector, answer } = found[row];
    const numbers = [...vector].map((value) => Number(value.toPrecision(7)));
    const told = `${vector.length.toLocaleString("en")} numbers, of length ${Math.sqrt(dot(vector, vector)).toFixed(4)}`;
    const first = `[${numbers.slice(0, NUM_NUMBERS).map((value) => value.toFixed(4)).join(", ")}, …]`;
    const copy = copyButton(() => JSON.stringify([...vector].map((value) => Number(Math.fround(value).toPrecision(9)))), { id: "copy-vector", label: "Copy the vector" });
    const answered = element("pre", { tabindex: 0, "aria-label": "Answer" }, written(answer).split("\n").slice(0, 200).join("\n"));
    const whole = copyButton(() => inFull(JSON.stringify(answer)), { id: "copy-answer", label: "Copy the answer" });
    body.replaceChildren(
      bars(vector),
      element("div", { class: "bar-line" }, element("p", { class: "told" }, told), copy),
      element("pre", { id: "numbers" }, first),
      ...(rows.length > 2 ? [element("h3", {}, "Nearest"), nearest(row)] : []),
      element("details", { open: rows.length === 1 }, element("summary", {}, "The answer"), element("div", { class: "bar-line" }, element("p", { class: "soft" }, "Numbers are shortened on the screen; the copy has them all."), whole), answered),
    );
  }

  /** @param {number} row */
  function nearest(row) {
    const own = found[row].vector;
    const length = Math.sqrt(dot(own, own));
    const scored = found.map(({ vector }, i) => ({ i, cosine: dot(vector, own) / (length * Math.sqrt(dot(vector, vector))) }));
    const best = scored.filter(({ i }) => i !== row).sort((a, b) => b.cosine - a.cosine).slice(0, NUM_NEAREST);
    const lines = best.map(({ i, cosine }) => {
      const look = element("button", { type: "button", class: "quiet", title: rowName(rows[i]), onclick: () => show(i) }, short(rowName(rows[i])));
      return element("li", {}, element("span", { class: "score" }, cosine.toFixed(3)), look);
    });
    return element("ol", { class: "nearest" }, ...lines);
  }

  show(0);
  return show;
}

/** @param {string} name */
function short(name) {
  return name.length > MAX_NAME ? `${name.slice(0, MAX_NAME)}…` : name;
}

/**
 * Each number as a bar from the middle line, the greatest as high as there is room.
 * @param {Float32Array} vector
 */
function bars(vector) {
  const most = vector.reduce((high, value) => Math.max(high, Math.abs(value)), 0) || 1;
  const middle = HEIGHT / 2;
  const path = [...vector].map((value, i) => `M${i + 0.5} ${middle}V${(middle - (value / most) * middle).toFixed(2)}`).join("");
  const svg = drawn("svg", { viewBox: `0 0 ${vector.length} ${HEIGHT}`, preserveAspectRatio: "none", class: "bars", role: "img", "aria-label": `The vector’s ${vector.length} numbers as bars` });
  svg.append(drawn("path", { d: path }));
  return svg;
}
