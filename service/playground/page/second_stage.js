/** The second stage: the items as candidates for a query, by the embedder's cosine and then by the reranker. */

import { ask } from "./api.js";
import { blameFor } from "./compose.js";
import { byId, element } from "./element.js";
import { unlessStopped } from "./embedding.js";
import { shown } from "./facts.js";
import { kendallTau } from "./ranking.js";
import { drawRequest } from "./request_view.js";
import { rankCall } from "./requests.js";
import { drawOrders } from "./two_orders.js";

/**
 * @typedef {import("./types.js").Facts} Facts
 * @typedef {import("./types.js").Item} Item
 * @typedef {import("./types.js").ModelCard} ModelCard
 * @typedef {import("./types.js").Ranked} Ranked
 */

/**
 * What every one of the models can read.
 * @param {ModelCard[]} models
 * @param {Item[]} items
 */
export function candidatesOf(models, items) {
  return items.filter((item) => models.every((card) => card.modalities.includes(item.image === null ? "text" : "image")));
}

/**
 * Ask one model after the other, so that the second finds what the first left in a cache that both have, and show both orders.
 * @param {ModelCard[]} models those that are asked; the last one decides
 * @param {Item[]} items
 * @param {{query: string, instruction: string}} asked an empty instruction is the model's own
 * @param {{say: (message: string) => void}} tell
 * @param {AbortSignal} signal
 * @returns {Promise<boolean>} false if it was stopped; the orders that are there are shown
 */
export async function rank(models, items, asked, { say }, signal) {
  /** @type {Ranked[]} */
  const stages = [];
  const calls = models.map((card) => ({ name: card.id, call: () => rankCall(card.id, asked, items) }));
  for (const [i, card] of models.entries()) {
    say(`Asking ${card.id} …`);
    const { path, body } = calls[i].call();
    const came = await blameFor(items, () => ask(path, body, signal)).catch((error) => unlessStopped(error, signal));
    if (!came) break;
    stages.push({ title: `${card.id}: ${card.scoring}`, told: toldOf(came.facts), results: came.answer.results });
  }
  if (!stages.length) return false;
  byId("empty", HTMLElement).hidden = true;
  byId("second-result", HTMLElement).hidden = false;
  const heading = element("p", { class: "told" }, `“${asked.query}”`, agreement(stages));
  byId("second", HTMLElement).replaceChildren(heading, drawOrders(items, stages));
  drawRequest(byId("second-request", HTMLElement), "Model", calls, say, "second-");
  say(`${items.length} items in the order of ${models[stages.length - 1].id}.`);
  return stages.length === models.length;
}

/** @param {Facts} facts */
function toldOf({ hits, misses, tokens, totalMs }) {
  const images = hits + misses ? `, images: ${misses} encoded, ${hits} cached` : "";
  return `${shown(totalMs)}, ${tokens.toLocaleString("en")} tokens${images}`;
}

/** @param {Ranked[]} stages */
function agreement(stages) {
  if (stages.length < 2) return null;
  const [first, last] = stages.map(({ results }) => {
    return [...results].sort((a, b) => a.index - b.index).map((result) => result.relevance_score);
  });
  return element("span", { class: "soft" }, ` Kendall’s τ of the two orders: ${kendallTau(first, last).toFixed(3)}`);
}
