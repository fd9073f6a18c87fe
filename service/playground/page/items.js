/** The inputs: images, texts and instructions. `compose` shows them. */

/**
 * @typedef {import("./types.js").Item} Item
 * @typedef {import("./types.js").Pdf} Pdf
 */

/** The page's one set of inputs; `compose` edits it, `main` reads it. */
export const inputs = {
  /** @type {Item[]} */
  items: [],
  /** @type {string[]} */
  instructions: [""],
  textsOnce: true,
  /** What the second stage asks for, and its instruction; empty for the models' own. */
  query: "",
  queryInstruction: "",
  /** The chosen model, empty for the first one; and that of the second stage, null for one that fits, empty for none. */
  model: "",
  /** @type {string | null} */
  reranker: null,
};

let lastId = 0;

/**
 * @param {string} text
 * @returns {Item}
 */
export function textItem(text) {
  return { id: ++lastId, name: "text", image: null, text };
}

/**
 * The lines of a text file that are not empty.
 * @param {string} name
 * @param {string} content
 * @returns {Item[]}
 */
export function lineItems(name, content) {
  const file = { name };
  const lines = content.split(/\r?\n/).map((line) => line.trim()).filter(Boolean);
  return lines.map((text) => ({ ...textItem(text), file }));
}

/**
 * Read an image file. The server decides by its bytes, not by its name, whether it is one.
 * @param {Blob} file
 * @param {string} name
 * @returns {Promise<Item>}
 */
export async function imageItem(file, name) {
  const type = file.type.startsWith("image/") ? file.type : "image/png";
  return { id: ++lastId, name, image: `data:${type};base64,${await base64(file)}`, text: "" };
}

/**
 * @param {Pdf} pdf
 * @param {number} number counted from 1
 * @param {string} image PNG, base64
 * @returns {Item}
 */
export function pageItem(pdf, number, image) {
  const name = `page ${number} of ${pdf.name}`;
  return { id: ++lastId, name, image: `data:image/png;base64,${image}`, text: "", page: { pdf, number } };
}

/**
 * @param {Blob} file
 * @returns {Promise<string>}
 */
export function base64(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result).replace(/^data:[^,]*,/, ""));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}

/**
 * A row's item in a few words.
 * @param {Item} item
 */
export function nameOf(item) {
  if (item.image === null) return `“${item.text}”`;
  return item.text ? `${item.name} with “${item.text}”` : item.name;
}

/** Those that are there to be embedded: a text that is still empty is not. */
export function readyItems() {
  return inputs.items.filter((item) => item.image !== null || item.text.trim() !== "");
}
