/** Everything behind an answer: heat map, map, cost, facts and the request, kept together while size and format change. */

import { ask as askServer } from "./api.js";
import { drawChart } from "./chart.js";
import { Cheaper } from "./cheaper.js";
import { drawCost } from "./cost.js";
import { byId, element } from "./element.js";
import { drawFacts } from "./facts.js";
import { drawHeatMap } from "./heat_map.js";
import { drawMap } from "./map.js";
import { domainOf } from "./ramp.js";
import { kept } from "./ranking.js";
import { drawRequest } from "./request_view.js";
import { callOf, rowsOf } from "./requests.js";
import { aligned, scaled } from "./scaling.js";
import { FORMATS, offeredSizes } from "./sizes.js";

/**
 * @typedef {import("./types.js").Answered} Answered
 * @typedef {import("./types.js").Ask} Ask
 * @typedef {import("./types.js").Format} Format
 * @typedef {import("./types.js").ModelCard} ModelCard
 * @typedef {import("./chart.js").Mark} Mark
 */

const PARTS = ["cost", "heat", "map", "chart", "facts", "request"];

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
 * @param {Answered[]} answers
 * @param {{say: (message: string) => void, fail: (error: unknown) => void}} tell
 */
export async function showResults(card, answers, { say, fail }) {
  const asks = answers.map((answered) => answered.ask);
  const rows = rowsOf(asks);
  const cheaper = new Cheaper(answers.flatMap(({ vectors }) => vectors), (size) => askInt8(card.id, asks, size));
  const sizes = offeredSizes(card);
  const truth = await cheaper.matrix(card.dimensions, "float");
  const whole = scaled(truth);
  byId("empty", HTMLElement).hidden = true;
  for (const part of PARTS) byId(`${part}-part`, HTMLElement).hidden = false;

  const map = drawMap(byId("map", HTMLElement), rows);
  const fill = drawHeatMap(byId("heat", HTMLElement), rows, domainOf(truth), map.point);
  drawTones(asks);
  drawFacts(byId("facts", HTMLElement), answers);
  /** @type {[number, Format]} */
  let chosen = [card.dimensions, "float"];
  const choices = asks.map((one) => ({
    name: one.instruction ?? "The model’s own instruction",
    call: () => callOf(card.id, one, chosen[0] === card.dimensions ? null : chosen[0], chosen[1]),
  }));
  const writeRequest = drawRequest(byId("request", HTMLElement), "Instruction", choices, say);
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
      writeRequest();
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
  const entries = asks.map(({ instruction }, i) => {
    return element("li", {}, element("span", { class: `tone tone-${i % 6}`, "aria-hidden": "true" }), instruction ?? "The model’s own instruction");
  });
  byId("tones", HTMLElement).replaceChildren(...entries);
}
