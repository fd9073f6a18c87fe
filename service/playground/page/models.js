/** Which of the served models the page asks: one for vectors, and one that puts candidates in order. */

/** @typedef {import("./types.js").ModelCard} ModelCard */

const BY_RERANKERS = ["sigmoid", "logit"];

/**
 * The first embedder and the first reranker, each null where none is served.
 * @param {ModelCard[]} cards the list of `/v1/models`, in which a model stands again under each of its other names
 */
export function chosenModels(cards) {
  const models = cards.filter((card) => card.id === card.root);
  const isReranker = (/** @type {ModelCard} */ card) => BY_RERANKERS.includes(card.scoring ?? "");
  return {
    embedder: models.find((card) => !isReranker(card)) ?? null,
    reranker: models.find(isReranker) ?? null,
  };
}
