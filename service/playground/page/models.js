/** What each served model can do on this page: give vectors, or put candidates in order. */

/** @typedef {import("./types.js").ModelCard} ModelCard */

const BY_RERANKERS = ["sigmoid", "logit"];

/**
 * Each model once; `/v1/models` lists it again under each of its other names.
 * @param {ModelCard[]} cards
 */
export function servedModels(cards) {
  return cards.filter((card) => card.id === card.root);
}

/**
 * True of a model that gives one vector for an item. A reranker gives none; a late-interaction or sparse model gives
 * others, and only its order is shown.
 * @param {ModelCard} card
 */
export function givesVectors(card) {
  return !isReranker(card) && card.pooling !== "multi_vector" && card.outputs.includes("dense");
}

/** @param {ModelCard} card */
export function isReranker(card) {
  return BY_RERANKERS.includes(card.scoring ?? "");
}

/**
 * The chosen models by their names, or the first that fit: a reranker fits a model that takes the same kinds of items.
 * @param {ModelCard[]} models
 * @param {string} model name of the first stage; empty or unknown for the first one
 * @param {string | null} second name of the second stage; null for what fits, empty for none
 * @returns {{embedder: ModelCard | null, reranker: ModelCard | null}} of a model that gives no vectors the order alone is shown
 */
export function chosenModels(models, model = "", second = null) {
  const first = models.find((card) => card.id === model) ?? models.find((card) => !isReranker(card)) ?? models[0];
  if (!first) return { embedder: null, reranker: null };
  if (!givesVectors(first)) return { embedder: null, reranker: first };
  const kinds = first.modalities.join();
  const fits = (/** @type {ModelCard} */ card) => (second === null ? card.modalities.join() === kinds : card.id === second);
  return { embedder: first, reranker: models.find((card) => isReranker(card) && fits(card)) ?? null };
}
