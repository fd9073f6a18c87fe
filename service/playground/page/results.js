/** Everything behind an answer: vectors, heat map, map, cost, facts and the request, together while size and format change. */

import { ask as askServer } from "./api.js";
import { drawChart } from "./chart.js";
import { Cheaper } from "./cheaper.js";
import { drawCost } from "./cost.js";
import { byId, element } from "./element.js";
import { drawFacts } from "./facts.js";
import { drawDots } from "./dots.js";
import { drawHeatMap } from "./heat_map.js";
import { drawMap } from "./map.js";
import { plane } from "./plane.js";
import { domainOf } from "./ramp.js";
import { kept } from "./ranking.js";
import { drawRequest } from "./request_view.js";
import { callOf, rowsOf } from "./requests.js";
import { aligned, scaled } from "./scaling.js";
import { FORMATS, offeredSizes } from "./sizes.js";
import { drawVector } from "./vector_view.js";

/**
 * @typedef {import("./types.js").Answered} Answered
 * @typedef {import("./types.js").Ask} Ask
 * @typedef {import("./types.js").Format} Format
 * @typedef {import("./types.js").ModelCard} ModelCard
 * @typedef {import("./chart.js").Mark} Mark
 */

/** More rows than these are dots of a map; fewer than three have no order that could be kept. */
export const MAX_COMPARED = 120;
const LEAST_COMPARED = 3;

const ALWAYS = ["vector", "facts", "request"];
const COMPARING = ["cost", "heat", "map", "chart"];
const NO_INSTRUCTION = "The model’s own instruction";

/**
 * The same rows in int8, from the server.
 * @param {string} model
 * @param {Ask[]} asks
 * @param {number} size
 */
async function askInt8(model, asks, size) {
  const rows = [];
  for (const one of asks) {
    const { path, body } = callOf(model, one, size, "int8");
    const { answer } = await askServer(path, body);
    rows.push(...answer.embeddings.int8.map((/** @type {number[]} */ row) => Int8Array.from(row)));
  }
  return rows;
}

/**
 * Show what came back.
 * @param {ModelCard} card
 * @param {Answered[]} answers at least one vector
 * @param {{say: (message: string) => void, fail: (error: unknown) => void}} tell
 */
export async function showResults(card, answers, { say, fail }) {
  const asks = answers.map((answered) => answered.ask);
  const rows = rowsOf(asks);
  const isCompared = rows.length >= LEAST_COMPARED && rows.length <= MAX_COMPARED;
  showParts([...ALWAYS, ...(isCompared ? COMPARING : rows.length > MAX_COMPARED ? ["map"] : [])]);
  const showVector = drawVector(byId("vector", HTMLElement), rows, answers);
  byId("vector-title", HTMLElement).textContent = rows.length === 1 ? "The vector" : "The vectors";
  drawFacts(byId("facts", HTMLElement), answers);
  /** @type {[number, Format]} */
  let chosen = [card.dimensions, "float"];
  const choices = asks.map((one, i) => ({
    name: asks.length > 1 ? `${i + 1}: ${one.instruction ?? NO_INSTRUCTION}` : NO_INSTRUCTION,
    call: () => callOf(card.id, one, chosen[0] === card.dimensions ? null : chosen[0], chosen[1]),
  }));
  const writeRequest = drawRequest(byId("request", HTMLElement), "Instruction", choices, say);
  if (isCompared) {
    return compare(card, asks, answers, { fail }, (size, format) => {
      chosen = [size, format];
      writeRequest();
    });
  }
  if (rows.length <= MAX_COMPARED) return;
  drawDots(byId("map", HTMLElement), rows, plane(answers.flatMap(({ vectors }) => vectors)), (row) => {
    showVector(row);
    byId("vector-part", HTMLElement).scrollIntoView({ block: "nearest" });
  });
}

/** @param {string[]} shown names of the parts; all others are hidden */
function showParts(shown) {
  byId("empty", HTMLElement).hidden = true;
  for (const part of [...ALWAYS, ...COMPARING]) byId(`${part}-part`, HTMLElement).hidden = !shown.includes(part);
}

/**
 * Compare every row with every other, by whole vectors and by cheaper ones.
 * @param {ModelCard} card
 * @param {Ask[]} asks
 * @param {Answered[]} answers
 * @param {{fail: (error: unknown) => void}} tell
 * @param {(size: number, format: Format) => void} onShown told what is shown now
 */
async function compare(card, asks, answers, { fail }, onShown) {
  const rows = rowsOf(asks);
  const cheaper = new Cheaper(answers.flatMap(({ vectors }) => vectors), (size) => askInt8(card.id, asks, size));
  const sizes = offeredSizes(card);
  const truth = await cheaper.matrix(card.dimensions, "float");
  const whole = scaled(truth);
  const map = drawMap(byId("map", HTMLElement), rows);
  const fill = drawHeatMap(byId("heat", HTMLElement), rows, domainOf(truth), map.point);
  drawTones(asks);
  /** @type {[number, Format]} */
  let chosen = [card.dimensions, "float"];
  /** @type {Map<string, Mark>} */
  const found = new Map();

  /** @param {number} size @param {Format} format */
  async function mark(size, format) {
    const name = `${format} ${size}`;
    const one = found.get(name) ?? { size, format, kept: kept(truth, await cheaper.matrix(size, format)) };
    found.set(name, one);
    return one;
  }

  /** @param {Mark} one the chosen one, among all that are known */
  function showChart(one) {
    const marks = FORMATS.flatMap((format) => sizes.map((size) => found.get(`${format} ${size}`)).filter((mark) => mark !== undefined));
    drawChart(byId("chart", HTMLElement), marks, one);
  }

  /** @param {number} size @param {Format} format */
  async function choose(size, format) {
    chosen = [size, format];
    try {
      const [matrix, one] = [await cheaper.matrix(size, format), await mark(size, format)];
      if (chosen[0] !== size || chosen[1] !== format) return; // somebody was quicker
      fill(matrix);
      const { points, share } = scaled(matrix);
      map.show(aligned(points, whole.points), share);
      onShown(size, format);
      showFigures(one);
      showChart(one);
      for (const other of format === "int8" ? sizes : []) {
        await mark(other, format);
        if (chosen[0] === size && chosen[1] === format) showChart(one);
      }
    } catch (error) {
      fail(error);
    }
  }

  for (const format of /** @type {const} */ (["float", "ubinary"])) for (const size of sizes) await mark(size, format);
  const showFigures = drawCost(byId("cost", HTMLElement), sizes, rows.length, (size, format) => void choose(size, format));
}

/** @param {Ask[]} asks */
function drawTones(asks) {
  const entries = asks.map(({ instruction, tone }) => {
    return element("li", {}, element("span", { class: `tone tone-${tone % 6}`, "aria-hidden": "true" }), instruction ?? NO_INSTRUCTION);
  });
  byId("tones", HTMLElement).replaceChildren(...entries);
}
