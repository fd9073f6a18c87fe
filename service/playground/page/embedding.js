/** The requests for vectors: one an instruction, thousands of texts in parts; an item that is refused is named and left out. */

import { ask } from "./api.js";
import { blame } from "./compose.js";
import { nameOf } from "./items.js";
import { callOf } from "./requests.js";

/**
 * @typedef {import("./types.js").Answered} Answered
 * @typedef {import("./types.js").Ask} Ask
 * @typedef {import("./types.js").Item} Item
 * @typedef {{item: Item, error: {message: string, code: string, param?: string}}} Refused
 */

/**
 * Ask one after the other, so that an image is found in the cache under the second instruction.
 * @param {string} model
 * @param {Ask[]} asks
 * @param {(message: string) => void} say
 * @param {AbortSignal} signal
 * @returns {Promise<{answers: Answered[], refused: Refused[]}>} without what was refused; if stopped, what came before
 * @throws {import("./api.js").ApiError} where a request is refused as a whole
 */
export async function embedAll(model, asks, say, signal) {
  /** @type {Answered[]} */
  const answers = [];
  /** @type {Map<Item, Refused>} */
  const refused = new Map();
  for (const [i, planned] of asks.entries()) {
    say(`Request ${i + 1} of ${asks.length} …`);
    const asked = { ...planned, items: planned.items.filter((item) => !refused.has(item)) };
    if (!asked.items.length) continue;
    const { path, body } = callOf(model, asked, null, "float");
    const came = await ask(path, { ...body, on_error: "per_item" }, signal).catch((error) => unlessStopped(error, signal));
    if (!came) break;
    const { answer, facts } = came;
    const fine = answer.data.filter((/** @type {{error?: unknown}} */ entry) => !entry.error);
    for (const { index, error } of answer.data.filter((/** @type {{error?: unknown}} */ entry) => entry.error)) {
      const item = asked.items[index];
      refused.set(item, { item, error });
      blame(item, error.message);
    }
    const items = fine.map((/** @type {{index: number}} */ { index }) => asked.items[index]);
    const vectors = fine.map((/** @type {{embedding: number[]}} */ { embedding }) => Float32Array.from(embedding));
    if (items.length) answers.push({ ask: { ...asked, items }, vectors, facts, answer });
  }
  return { answers, refused: [...refused.values()] };
}

/**
 * @param {unknown} error
 * @param {AbortSignal} signal
 * @returns {null} where the error is that somebody has stopped the request
 */
export function unlessStopped(error, signal) {
  if (!signal.aborted) throw error;
  return null;
}

/**
 * What was left out, in a sentence; the first item's error is given in full.
 * @param {Refused[]} refused at least one
 */
export function toldOf(refused) {
  const [{ item, error }] = refused;
  const others = refused.length > 1 ? ` So were ${refused.length - 1} others.` : "";
  return { name: nameOf(item), message: `was left out: ${error.message}${others}`, code: error.code };
}
