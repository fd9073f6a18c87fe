/** Which lengths and number formats there are to choose from, and what a vector weighs in each. */

/**
 * @typedef {import("./types.js").ModelCard} ModelCard
 * @typedef {import("./types.js").Format} Format
 */

/** @type {readonly Format[]} */
export const FORMATS = ["float", "int8", "ubinary"];

/** Names for people. */
export const FORMAT_NAMES = { float: "float32", int8: "int8", ubinary: "binary" };

/**
 * Lengths in ascending order: those of the plan, or where any length is fine, halves and three quarters down to the
 * least. Only multiples of 8, since bits are packed; the model's own length is always the last.
 * @param {ModelCard} card
 * @returns {number[]}
 */
export function offeredSizes(card) {
  const sizes = new Set(card.matryoshka_dimensions ?? halves(card.dimensions, card.min_dimensions));
  const fit = [...sizes].filter((size) => size % 8 === 0 && size < card.dimensions);
  return [...fit.sort((a, b) => a - b), card.dimensions];
}

/**
 * @param {number} most
 * @param {number} least
 * @returns {number[]}
 */
function halves(most, least) {
  const sizes = [];
  for (let size = most; size >= least && size >= 1; size /= 2) sizes.push(size, size * 0.75);
  return sizes.filter((size) => size >= least && Number.isInteger(size));
}

/**
 * @param {number} size
 * @param {Format} format
 */
export function bytesOf(size, format) {
  return { float: size * 4, int8: size, ubinary: size / 8 }[format];
}
