/** A PDF in the form: its pages as they were rendered for the model, each to be looked at or taken away. */

import { element } from "./element.js";
import { inputs } from "./items.js";

/**
 * @typedef {import("./types.js").Item} Item
 * @typedef {import("./types.js").Pdf} Pdf
 */

/**
 * @param {Pdf} pdf
 * @param {(label: string, isGone: (item: Item) => boolean) => HTMLButtonElement} removal
 */
export function pdfRow(pdf, removal) {
  const pages = inputs.items.filter((item) => item.page?.pdf === pdf);
  const remove = removal(`Remove all pages of ${pdf.name}`, (item) => item.page?.pdf === pdf);
  const name = element("span", { class: "name", title: pdf.name }, pdf.name);
  const count = element("span", { class: "soft" }, `${pages.length} of ${pdf.numPages} ${pdf.numPages === 1 ? "page" : "pages"}`);
  const tiles = pages.map((item) => {
    const image = element("img", { src: item.image, alt: "" });
    const look = element("button", { type: "button", class: "look", "aria-label": `Look at ${item.name}`, onclick: () => lookAt(item) }, image);
    const number = element("span", { class: "middle", "aria-hidden": "true" }, String(item.page?.number));
    return element("li", { "data-item": item.id }, look, number, removal(`Remove ${item.name}`, (other) => other === item));
  });
  return element("li", { class: "pdf" }, element("div", { class: "line" }, name, count, remove), element("ul", { class: "pages", "aria-label": pdf.name }, ...tiles));
}

/**
 * The page in a dialog, in its own pixels; Escape, the button and a click on the page close it.
 * @param {Item} item
 */
function lookAt(item) {
  const told = element("p", { class: "soft" }, item.name);
  const image = element("img", {
    src: item.image,
    alt: item.name,
    onload: () => told.append(`, rendered for the model: ${image.naturalWidth} × ${image.naturalHeight} pixels`),
    onclick: () => dialog.close(),
  });
  const close = element("button", { type: "button", onclick: () => dialog.close() }, "Close");
  const dialog = element("dialog", { "aria-label": item.name, onclose: () => dialog.remove() }, image, told, close);
  document.body.append(dialog);
  dialog.showModal();
}
