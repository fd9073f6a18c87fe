/** Files become items: by the button, by a drop anywhere, by a paste. */

import { drawForm } from "./compose.js";
import { byId } from "./element.js";
import { imageItem, inputs, lineItems } from "./items.js";
import { isPdf, pageItems } from "./pdf_pages.js";

/**
 * @typedef {import("./types.js").Item} Item
 * @typedef {import("./types.js").ModelCard} ModelCard
 * @typedef {{say: (message: string) => void, fail: (error: unknown) => void}} Tell
 */

/** @type {ModelCard | null} */
let card = null;

/** @param {"image" | "text"} kind */
const takes = (kind) => card?.modalities.includes(kind) ?? false;

/** By type or by name: browsers know few types of texts. @param {File} file */
const isText = (file) => file.type.startsWith("text/") || /\.(txt|md|csv|tsv|jsonl|log)$/i.test(file.name);

/**
 * Offer the kinds of files that the model takes.
 * @param {ModelCard | null} plan
 */
export function offerFiles(plan) {
  card = plan;
  const takesPdfs = card !== null && card.max_pdf_bytes !== null;
  byId("images-part", HTMLElement).hidden = !takes("image");
  byId("add-images", HTMLButtonElement).textContent = takesPdfs ? "Add images or PDFs" : "Add images";
  byId("files", HTMLInputElement).accept = takesPdfs ? "image/*,application/pdf" : "image/*";
}

/**
 * @param {Iterable<File>} files
 * @param {Tell} tell
 */
async function addFiles(files, tell) {
  const all = [...files]; // a drop's list is empty after the first wait
  if (!all.length) return;
  if (!card) return tell.say("The model is still loading.");
  if (!takes("text") && all.some(isText)) return tell.fail(`${card.id} takes no texts.`);
  if (!takes("image") && !all.every(isText)) return tell.fail(`${card.id} takes no images, and no pages of PDFs.`);
  byId("error", HTMLElement).hidden = true;
  const read = [];
  for (const file of all) read.push(...(await itemsOf(file, card, tell)));
  if (!read.length) return;
  inputs.items = [...inputs.items.filter((item) => item.image !== null), ...read, ...inputs.items.filter((item) => item.image === null)];
  drawForm();
  tell.say(told(read));
}

/**
 * @param {File} file
 * @param {ModelCard} model
 * @param {Tell} tell
 * @returns {Promise<Item[]>}
 */
async function itemsOf(file, model, tell) {
  if (isPdf(file)) return readPdf(file, model, tell);
  return isText(file) ? lineItems(file.name, await file.text()) : [await imageItem(file, file.name)];
}

/**
 * @param {File} file
 * @param {ModelCard} model
 * @param {Tell} tell
 * @returns {Promise<Item[]>} none where it is refused
 */
async function readPdf(file, model, { say, fail }) {
  if (model.max_pdf_bytes === null) {
    fail(`${file.name}: this server cannot read PDFs without its extra \`pdf\`. Whoever runs it can install it, pip install 'cenote[pdf]', and start it again; until then, add the pages as images.`);
    return [];
  }
  say(`Rendering the pages of ${file.name} …`);
  try {
    return await pageItems(file, model.id);
  } catch (error) {
    fail(error);
    return [];
  }
}

/** @param {Item[]} read */
function told(read) {
  const images = read.filter((item) => item.image !== null && !item.page).length;
  const files = [...new Set(read.flatMap((item) => item.file ?? []))].map((file) => {
    const num = read.filter((item) => item.file === file).length;
    return `${num.toLocaleString("en")} ${num === 1 ? "line" : "lines"} of ${file.name}`;
  });
  const pdfs = [...new Set(read.flatMap((item) => item.page?.pdf ?? []))].map((pdf) => {
    const num = read.filter((item) => item.page?.pdf === pdf).length;
    const first = num < pdf.numPages ? `the first ${num} of ${pdf.numPages}` : num;
    return `${first} ${pdf.numPages === 1 ? "page" : "pages"} of ${pdf.name}`;
  });
  const listed = [...(images ? [`${images} ${images === 1 ? "image" : "images"}`] : []), ...pdfs, ...files].join(", ");
  return `${listed.charAt(0).toUpperCase()}${listed.slice(1)} added.`;
}

/**
 * Listen to the button, to drops and to pastes.
 * @param {Tell} tell
 */
export function startFiles(tell) {
  const files = byId("files", HTMLInputElement);
  byId("add-images", HTMLButtonElement).addEventListener("click", () => files.click());
  const texts = byId("text-files", HTMLInputElement);
  byId("add-lines", HTMLButtonElement).addEventListener("click", () => texts.click());
  for (const field of [files, texts]) {
    field.addEventListener("change", async () => {
      await addFiles(field.files ?? [], tell);
      field.value = "";
    });
  }
  addEventListener("dragover", (event) => {
    event.preventDefault();
    document.body.classList.toggle("dragging", takes("image") || takes("text"));
  });
  addEventListener("dragleave", (event) => {
    if (event.relatedTarget === null) document.body.classList.remove("dragging");
  });
  addEventListener("drop", (event) => {
    event.preventDefault();
    document.body.classList.remove("dragging");
    void addFiles(event.dataTransfer?.files ?? [], tell);
  });
  addEventListener("paste", (event) => {
    void addFiles(event.clipboardData?.files ?? [], tell);
  });
}
