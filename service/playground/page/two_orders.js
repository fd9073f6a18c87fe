/** Candidates in two orders side by side, with a line from each one's old place to its new one; or in one order. */

import { drawn, element, thumbnail } from "./element.js";
import { nameOf } from "./items.js";

/**
 * @typedef {import("./types.js").Item} Item
 * @typedef {import("./types.js").Ranked} Ranked
 */

/** Of a row of the drawing, which is stretched to that of the list. */
const [WIDTH, HEIGHT] = [100, 10];
/** As high as the style sheet has a row. */
const ROW_REM = 2.25;

/** @param {number} score */
const short = (score) => score.toFixed(3).replace("-0.000", "0.000");

/**
 * @param {Item[]} items
 * @param {Ranked[]} stages the last is the final order; before it there may be one
 */
export function drawOrders(items, stages) {
  const last = stages[stages.length - 1];
  const before = stages.length > 1 ? placesOf(stages[0]) : null;
  const columns = stages.map((stage) => column(items, stage, stage === last ? before : null));
  const lines = before ? [lanes(before, last)] : [];
  return element("div", { class: before ? "orders two" : "orders" }, columns[0], ...lines, ...columns.slice(1));
}

/**
 * Each item's place, counted from 0.
 * @param {Ranked} stage
 */
function placesOf({ results }) {
  return new Map(results.map(({ index }, place) => [index, place]));
}

/**
 * @param {Item[]} items
 * @param {Ranked} stage
 * @param {Map<number, number> | null} before places in the order before this one
 */
function column(items, { title, told, results }, before) {
  const rows = results.map(({ index, relevance_score: score }, place) => {
    const item = items[index];
    const label = item.image === null ? item.text : item.name.replace(/\.\w+$/, "");
    const words = element("span", { class: "words", "aria-hidden": "true" }, label);
    const named = element("span", { class: "unseen" }, nameOf(item));
    const from = before?.get(index);
    const moved = from === undefined ? null : move(from, place);
    const number = element("span", { class: "place" }, String(place + 1));
    return element("li", { title: nameOf(item) }, number, thumbnail(item), words, named, moved, element("span", { class: "score" }, short(score)));
  });
  return element("div", {}, element("h3", {}, title), element("p", { class: "soft" }, told), element("ol", {}, ...rows));
}

/** @param {number} from @param {number} to */
function move(from, to) {
  const sign = from === to ? "·" : from > to ? `↑${from - to}` : `↓${to - from}`;
  return element("span", { class: from > to ? "move risen" : "move" }, sign, element("span", { class: "unseen" }, ` was ${from + 1}`));
}

/**
 * @param {Map<number, number>} before
 * @param {Ranked} after
 */
function lanes(before, { results }) {
  const paths = results.map(({ index }, to) => {
    const from = before.get(index) ?? to;
    const [y0, y1] = [(from + 0.5) * HEIGHT, (to + 0.5) * HEIGHT];
    const kind = from > to ? "lane risen" : from < to ? "lane fallen" : "lane";
    return drawn("path", { class: kind, d: `M0 ${y0}C${WIDTH / 2} ${y0} ${WIDTH / 2} ${y1} ${WIDTH} ${y1}` });
  });
  const box = `0 0 ${WIDTH} ${HEIGHT * results.length}`;
  const made = drawn("svg", { viewBox: box, preserveAspectRatio: "none", "aria-hidden": "true" }, ...paths);
  made.style.blockSize = `${ROW_REM * results.length}rem`;
  return made;
}
