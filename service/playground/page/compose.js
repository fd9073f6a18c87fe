/** The form: items and instructions as rows that can be typed into, added to and taken away, by hand or by keyboard. */

import { ApiError } from "./api.js";
import { byId, element, thumbnail } from "./element.js";
import { fileRow } from "./file_row.js";
import { inputs, textItem } from "./items.js";
import { pdfRow } from "./pdf_row.js";

/**
 * @typedef {import("./types.js").Item} Item
 * @typedef {import("./types.js").ModelCard} ModelCard
 */

/** @type {ModelCard | null} */
let card = null;

const items = () => byId("items", HTMLUListElement);
const instructions = () => byId("instructions", HTMLUListElement);

/** Draw the form as `inputs` has it. */
export function drawForm() {
  items().replaceChildren(...itemRows());
  instructions().replaceChildren(...inputs.instructions.map(instructionRow));
  byId("texts-once", HTMLInputElement).checked = inputs.textsOnce;
  byId("query", HTMLInputElement).value = inputs.query;
  byId("query-instruction", HTMLInputElement).value = inputs.queryInstruction;
}

/**
 * @param {string} label
 * @param {() => void} remove
 */
function removeButton(label, remove) {
  return element("button", { type: "button", class: "remove", "aria-label": label, title: label, onclick: remove }, "×");
}

/**
 * @param {HTMLButtonElement} button
 * @param {string} label
 */
function rename(button, label) {
  button.ariaLabel = button.title = label;
}

/**
 * @param {string} label
 * @param {(item: Item) => boolean} isGone
 */
function removal(label, isGone) {
  return removeButton(label, () => {
    inputs.items = inputs.items.filter((item) => !isGone(item));
    drawForm();
    byId("add-text", HTMLButtonElement).focus();
  });
}

/** One for each item, but one for all pages of a PDF, and for all lines of a text file. */
function itemRows() {
  const left = new Set(inputs.items.map((item) => item.page?.pdf ?? item.file));
  return inputs.items.flatMap((item) => {
    if (item.file) return left.delete(item.file) ? [fileRow(item.file, removal)] : [];
    if (!item.page) return [itemRow(item)];
    return left.delete(item.page.pdf) ? [pdfRow(item.page.pdf, removal)] : [];
  });
}

/** @param {Item} item */
function itemRow(item) {
  const isText = item.image === null;
  const field = element("textarea", {
    rows: 1,
    "aria-label": isText ? "Text" : `Text beside ${item.name}`,
    placeholder: isText ? "A text" : "Text beside it (optional)",
    oninput: () => {
      item.text = field.value;
      fit(field);
      if (isText) rename(remove, `Remove text “${item.text}”`);
    },
    onkeydown: (event) => onEnter(event, isText ? addText : null),
  });
  field.value = item.text;
  fit(field);
  const name = isText ? null : element("span", { class: "name", title: item.name }, item.name);
  const remove = removal(`Remove ${isText ? `text “${item.text}”` : item.name}`, (other) => other === item);
  const hasField = isText || card?.mixes_modalities;
  const middle = element("span", { class: "middle" }, name, hasField ? field : null);
  return element("li", { "data-item": item.id }, thumbnail(item), middle, remove);
}

/**
 * @param {string} text
 * @param {number} at
 */
function instructionRow(text, at) {
  const field = element("input", {
    type: "text",
    list: "known-instructions",
    "aria-label": `Instruction ${at + 1}`,
    placeholder: card?.default_instruction ?? "None",
    oninput: () => {
      inputs.instructions[at] = field.value;
    },
    onkeydown: (event) => onEnter(event, addInstruction),
  });
  field.value = text;
  const remove = removeButton(`Remove instruction ${at + 1}`, () => {
    inputs.instructions.splice(at, 1);
    if (!inputs.instructions.length) inputs.instructions.push("");
    drawForm();
    byId("add-instruction", HTMLButtonElement).focus();
  });
  return element("li", {}, element("span", { class: `tone tone-${at % 6}`, "aria-hidden": "true" }), field, remove);
}

/**
 * As many lines as there are, up to what leaves room for others.
 * @param {HTMLTextAreaElement} field
 */
function fit(field) {
  field.rows = Math.min(8, field.value.split("\n").length);
}

/**
 * Enter adds a row and does not send the form; with Shift it makes a line, and with Control or Command the page sends.
 * @param {Event} event
 * @param {(() => void) | null} add
 */
function onEnter(event, add) {
  if (!(event instanceof KeyboardEvent) || event.key !== "Enter" || event.shiftKey) return;
  event.preventDefault();
  if (!event.ctrlKey && !event.metaKey) add?.();
}

function addText() {
  inputs.items.push(textItem(""));
  drawForm();
  focusLast(items());
}

function addInstruction() {
  inputs.instructions.push("");
  drawForm();
  focusLast(instructions());
}

/** @param {HTMLUListElement} list */
function focusLast(list) {
  const field = list.querySelector("li:last-child :is(input, textarea)");
  if (field instanceof HTMLElement) field.focus();
}

/**
 * Offer what the models take, and nothing else.
 * @param {ModelCard | null} embedder
 * @param {ModelCard | null} reranker one of both is there
 */
export function offer(embedder, reranker) {
  const plan = embedder ?? reranker;
  if (!plan) return;
  card = plan;
  byId("instructions-part", HTMLElement).hidden = !embedder?.takes_instructions;
  byId("embed", HTMLButtonElement).hidden = !embedder;
  byId("add-text", HTMLButtonElement).hidden = byId("add-lines", HTMLButtonElement).hidden = !plan.modalities.includes("text");
  byId("second-part", HTMLElement).hidden = byId("rank", HTMLButtonElement).hidden = !plan.modalities.includes("text");
  const last = reranker ?? plan;
  byId("query-instruction", HTMLInputElement).hidden = !last.takes_instructions;
  byId("query-instruction", HTMLInputElement).placeholder = last.default_instruction ?? "Its instruction (optional)";
  byId("once-words", HTMLElement).hidden = byId("texts-once-line", HTMLElement).hidden = !plan.modalities.includes("image");
  const known = new Set(Object.values(plan.input_types).filter(Boolean));
  const options = [...known].map((text) => element("option", { value: text }));
  byId("known-instructions", HTMLDataListElement).replaceChildren(...options);
  drawForm();
}

/**
 * Listen to the form's own buttons.
 * @param {() => void} onQuery called when Enter is pressed in the query or its instruction
 */
export function startForm(onQuery) {
  for (const [id, name] of /** @type {const} */ ([["query", "query"], ["query-instruction", "queryInstruction"]])) {
    const field = byId(id, HTMLInputElement);
    field.addEventListener("input", () => {
      inputs[name] = field.value;
    });
    field.addEventListener("keydown", (event) => onEnter(event, onQuery));
  }
  byId("add-text", HTMLButtonElement).addEventListener("click", addText);
  byId("add-instruction", HTMLButtonElement).addEventListener("click", addInstruction);
  const once = byId("texts-once", HTMLInputElement);
  once.addEventListener("change", () => {
    inputs.textsOnce = once.checked;
  });
}

/**
 * Say at an item what the server said of it.
 * @param {Item} item
 * @param {string} message
 */
export function blame(item, message) {
  const row = items().querySelector(`[data-item="${item.id}"]`);
  row?.classList.add("at-fault");
  row?.querySelector(".middle")?.append(element("span", { class: "fault" }, message));
}

/**
 * Say at an item what the server said of it, where a request for these items is refused for one of them.
 * @template T
 * @param {Item[]} asked in the order of the request
 * @param {() => Promise<T>} request
 * @returns {Promise<T>}
 * @throws {ApiError} the refusal itself, for the page to show
 */
export async function blameFor(asked, request) {
  try {
    return await request();
  } catch (error) {
    if (error instanceof ApiError && error.index !== null) blame(asked[error.index], error.message);
    throw error;
  }
}

/** Forget what was said at items. */
export function forgive() {
  for (const row of items().querySelectorAll(".at-fault")) {
    row.classList.remove("at-fault");
    row.querySelector(".fault")?.remove();
  }
}
