/** From what is on the page to the bodies that go over the wire. The bodies shown are made here too: they are the same. */

/**
 * @typedef {import("./types.js").Ask} Ask
 * @typedef {import("./types.js").Body} Body
 * @typedef {import("./types.js").Call} Call
 * @typedef {import("./types.js").Format} Format
 * @typedef {import("./types.js").Item} Item
 * @typedef {import("./types.js").Row} Row
 */

/** Texts of one request; thousands go in several, so that the page can say how far it is. */
const MAX_TEXTS = 256;

/**
 * One request an instruction, each with every item, or several where there are more texts than one has; but texts alone,
 * where `textsOnce`, in requests of their own without an instruction, as documents are embedded.
 * @param {Item[]} items
 * @param {string[]} instructions those that are empty mean the model's own
 * @param {boolean} textsOnce only where images are there too
 * @returns {Ask[]}
 */
export function planAsks(items, instructions, textsOnce) {
  const names = [...new Set(instructions.map((one) => one.trim()).filter(Boolean))];
  const wanted = names.length ? names : [null];
  const images = items.filter((item) => item.image !== null);
  const apart = textsOnce && names.length > 0 && images.length > 0 && images.length < items.length;
  /** @type {{instruction: string | null, items: Item[]}[]} */
  const asks = wanted.map((instruction) => ({ instruction, items: apart ? images : items }));
  const texts = { instruction: null, items: items.filter((item) => item.image === null) };
  return (apart ? [...asks, texts] : asks).flatMap((ask, tone) => inParts(ask.items).map((part) => ({ ...ask, tone, items: part })));
}

/**
 * @param {Item[]} items
 * @returns {Item[][]} one part where there are images: all of them are small, or there are few
 */
function inParts(items) {
  const size = items.every((item) => item.image === null) ? MAX_TEXTS : Math.max(1, items.length);
  return Array.from({ length: Math.ceil(items.length / size) }, (_, i) => items.slice(i * size, (i + 1) * size));
}

/**
 * The rows of the answers, in the order of the requests.
 * @param {Ask[]} asks
 * @returns {Row[]}
 */
export function rowsOf(asks) {
  return asks.flatMap(({ instruction, items, tone }) => items.map((item) => ({ item, instruction, tone })));
}

/**
 * The request for vectors of a length in a format: `/v1/embeddings` for floats, `/v2/embed` for the others.
 * @param {string} model
 * @param {Ask} ask
 * @param {number | null} size null for the model's own length
 * @param {Format} format
 * @returns {Call}
 */
export function callOf(model, ask, size, format) {
  const isPlain = ask.items.every((item) => item.image === null);
  const isFloat = format === "float";
  const texts = { [isFloat ? "input" : "texts"]: ask.items.map((item) => item.text) };
  /** @type {Body} */
  const body = {
    model,
    ...(ask.instruction === null ? {} : { instruction: ask.instruction }),
    ...(size === null ? {} : { [isFloat ? "dimensions" : "output_dimension"]: size }),
    ...(isFloat ? {} : { embedding_types: [format] }),
    ...(isPlain ? texts : { inputs: ask.items.map((item) => ({ content: parts(item) })) }),
  };
  return { path: isFloat ? "v1/embeddings" : "v2/embed", body };
}

/**
 * The request for the order of the items under a query.
 * @param {string} model
 * @param {{query: string, instruction: string}} asked an empty instruction is the model's own
 * @param {Item[]} items
 * @returns {Call}
 */
export function rankCall(model, { query, instruction }, items) {
  const documents = items.map((item) => (item.image === null ? item.text : { content: parts(item) }));
  return { path: "v1/rerank", body: { model, query, ...(instruction ? { instruction } : {}), documents } };
}

/** @param {Item} item */
function parts(item) {
  const image = item.image === null ? [] : [{ type: "image_url", image_url: { url: item.image } }];
  const hasText = item.image === null || item.text !== "";
  return [...image, ...(hasText ? [{ type: "text", text: item.text }] : [])];
}
