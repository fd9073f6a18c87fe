/** A text file in the form: its lines are items, and one row stands for all of them. */

import { element } from "./element.js";
import { inputs } from "./items.js";

/** @typedef {import("./types.js").Item} Item */

const NUM_SHOWN = 3;

/**
 * @param {{name: string}} file
 * @param {(label: string, isGone: (item: Item) => boolean) => HTMLButtonElement} removal
 */
export function fileRow(file, removal) {
  const lines = inputs.items.filter((item) => item.file === file);
  const name = element("span", { class: "name", title: file.name }, file.name);
  const count = element("span", { class: "soft" }, `${lines.length.toLocaleString("en")} ${lines.length === 1 ? "line" : "lines"}`);
  const remove = removal(`Remove ${file.name}`, (item) => item.file === file);
  const first = lines.slice(0, NUM_SHOWN).map((item) => element("li", { class: "soft name" }, item.text));
  return element("li", { class: "pdf" }, element("div", { class: "line" }, name, count, remove), element("ul", { class: "lines" }, ...first));
}
