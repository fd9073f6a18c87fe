/** Starts the page and handles its buttons: find the models, embed, put in order, show. */

import { ApiError, ask, useKey } from "./api.js";
import { drawForm, forgive, offer, startForm } from "./compose.js";
import { byId, element } from "./element.js";
import { embedAll, toldOf } from "./embedding.js";
import { offerFiles, startFiles } from "./files.js";
import { inputs, readyItems } from "./items.js";
import { chosenModels, givesVectors, isReranker, servedModels } from "./models.js";
import { planAsks, rowsOf } from "./requests.js";
import { MAX_COMPARED, showResults } from "./results.js";
import { run, startStopping } from "./running.js";
import { loadSamples } from "./samples.js";
import { candidatesOf, rank } from "./second_stage.js";
import { restore, startKeeping } from "./state.js";
import { startTheme } from "./theme.js";

/** @typedef {import("./types.js").ModelCard} ModelCard */

/** Most rows: their vectors are kept in the page, and each is a dot of the map. */
const MAX_ROWS = 5000;
const LEAST_WAIT_S = 1;

/** Every model that is served. @type {ModelCard[]} */
let served = [];

/** The chosen ones. @type {{embedder: ModelCard | null, reranker: ModelCard | null}} */
let models = { embedder: null, reranker: null };

/** @param {string} message */
function say(message) {
  byId("status", HTMLElement).textContent = message;
}

/**
 * Show a refusal: the field, the message, and the id to quote.
 * @param {unknown} error
 */
function fail(error) {
  const place = byId("error", HTMLElement);
  place.hidden = false;
  say("");
  if (!(error instanceof ApiError)) {
    place.replaceChildren(String(error));
    return;
  }
  askForKey(error);
  const facts = [error.status ? `Status ${error.status}` : "", error.code, error.requestId ? `request ${error.requestId}` : ""];
  const field = error.param ? element("code", {}, error.param) : null;
  place.replaceChildren(element("p", {}, field, field ? " " : "", error.message), element("p", { class: "soft" }, facts.filter(Boolean).join(" · ")));
}

/** @param {ApiError} error */
function askForKey(error) {
  if (error.status !== 401) return;
  byId("key-form", HTMLElement).hidden = false;
  for (const link of document.querySelectorAll("[data-pages]")) link.setAttribute("hidden", "");
}

/** Look for the models until they are there: they may still be loading. */
async function findModel() {
  byId("error", HTMLElement).hidden = true;
  try {
    const { answer: list } = await ask("v1/models");
    served = servedModels(list.data);
    showModels();
  } catch (error) {
    const isLoading = error instanceof ApiError && error.status === 503;
    if (!isLoading) return fail(error);
    byId("model", HTMLElement).textContent = "The model is loading …";
    setTimeout(() => void findModel(), 1000 * Math.max(LEAST_WAIT_S, error.retryAfterS));
  }
}

/** Offer what the chosen models take; what was typed stays. */
function showModels() {
  models = chosenModels(served, inputs.model, inputs.reranker);
  const { embedder, reranker } = models;
  const told = [embedder, reranker].filter((card) => card !== null).flatMap(named);
  byId("model", HTMLElement).replaceChildren(...told.slice(1));
  byId("key-form", HTMLElement).hidden = true;
  const first = embedder ?? reranker;
  if (!first) return fail("This server has no model.");
  byId("purpose", HTMLElement).textContent = first.description.charAt(0).toUpperCase() + first.description.slice(1);
  drawChoices(first, reranker);
  offer(embedder, reranker);
  offerFiles(first);
  sayWhatIsTrue(embedder, first);
}

/**
 * @param {ModelCard} first
 * @param {ModelCard | null} reranker
 */
function drawChoices(first, reranker) {
  const rerankers = served.filter(isReranker);
  const choice = byId("choice", HTMLSelectElement);
  choice.replaceChildren(...served.map((card) => element("option", { value: card.id, selected: card === first }, card.id)));
  byId("model-line", HTMLElement).hidden = served.length < 2;
  const second = byId("second-choice", HTMLSelectElement);
  const none = element("option", { value: "" }, "none");
  second.replaceChildren(none, ...rerankers.map((card) => element("option", { value: card.id, selected: card === reranker }, card.id)));
  byId("second-line", HTMLElement).hidden = !rerankers.length || !givesVectors(first);
}

/** @param {ModelCard} card @returns {(string | Node)[]} */
function named(card) {
  const facts = [card.modalities.join(", "), card.dtype, card.device];
  const told = card === models.embedder ? [`${card.dimensions} dimensions`, ...facts] : ["reranker", ...(models.embedder ? [] : facts)];
  return [" · ", element("strong", {}, card.id), ` ${told.join(" · ")}`];
}

/**
 * Say of the page what is true of it with these models.
 * @param {ModelCard | null} embedder null where the order alone is shown
 * @param {ModelCard} first
 */
function sayWhatIsTrue(embedder, first) {
  const takesImages = first.modalities.includes("image");
  const [title, words] = !embedder
    ? ["One query, several candidates.", isReranker(first) ? "The reranker reads the query with each candidate, and scores how well it answers." : "The model compares the query with each candidate; its vectors are not shown here."]
    : takesImages
      ? ["One image, several instructions.", "The samples show how an instruction moves an image: closer to its colors, its shapes, or the number of things in it. The vision tower runs once for each image."]
      : ["One text, its vector; several texts, what they share.", "The samples are pairs that mean nearly the same and share hardly a word. Add texts of your own, or a file whose lines are texts."];
  byId("compose-title", HTMLElement).textContent = embedder ? "What to embed" : "What to put in order";
  byId("rank", HTMLButtonElement).className = embedder ? "" : "main";
  byId("empty-title", HTMLElement).textContent = title;
  byId("empty-words", HTMLElement).textContent = words;
}

/**
 * Send what is in the form, one instruction after the other, and show what comes back.
 * @param {AbortSignal} signal
 */
async function embed(signal) {
  const card = models.embedder;
  if (models.reranker && !card) return putInOrder(signal);
  const items = card ? candidatesOf([card], readyItems()) : [];
  const asks = planAsks(items, card?.takes_instructions ? inputs.instructions : [], inputs.textsOnce);
  const numRows = rowsOf(asks).length;
  byId("error", HTMLElement).hidden = true;
  forgive();
  if (!card) return say("The model is still loading.");
  if (!numRows) return say("Add something to embed first.");
  if (numRows > MAX_ROWS) return fail(`${numRows} rows (items × instructions), and this page shows at most ${MAX_ROWS}.`);
  try {
    const { answers, refused } = await embedAll(card.id, asks, say, signal);
    if (refused.length) failItem(toldOf(refused));
    const num = answers.reduce((sum, { vectors }) => sum + vectors.length, 0);
    if (num) await showResults(card, answers, { say, fail });
    if (signal.aborted) return say(`Stopped: ${num.toLocaleString("en")} of ${numRows.toLocaleString("en")} vectors are here.`);
    const numLeft = refused.length + readyItems().length - items.length;
    const left = numLeft ? ` ${numLeft} left out.` : "";
    say(`${num.toLocaleString("en")} ${num === 1 ? "vector" : "vectors"} in ${asks.length} ${asks.length === 1 ? "request" : "requests"}.${left}`);
  } catch (error) {
    fail(error);
  }
}

/** @param {{name: string, message: string, code: string}} told */
function failItem({ name, message, code }) {
  const place = byId("error", HTMLElement);
  place.hidden = false;
  place.replaceChildren(element("p", {}, element("strong", {}, name), ` ${message}`), element("p", { class: "soft" }, code));
}

/**
 * Put the items in order for the query, by the embedder and then by the reranker, and show both orders.
 * @param {AbortSignal} signal
 */
async function putInOrder(signal) {
  const asked = { query: inputs.query.trim(), instruction: inputs.queryInstruction.trim() };
  const cards = [models.embedder, models.reranker].filter((card) => card !== null);
  if (!cards.length) return;
  const candidates = candidatesOf(cards, readyItems());
  byId("error", HTMLElement).hidden = true;
  forgive();
  if (!asked.query) return say("Write a query first.");
  if (candidates.length < 2) return say("Add at least two things to put in order: images or texts that both models take.");
  if (candidates.length > MAX_COMPARED) return fail(`${candidates.length} candidates, and this page orders at most ${MAX_COMPARED}.`);
  try {
    if (!(await rank(cards, candidates, asked, { say }, signal))) return say("Stopped: the order is not complete.");
    const numLeft = readyItems().length - candidates.length;
    if (numLeft) say(`${candidates.length} items in order; ${numLeft} left out, which not every model takes.`);
  } catch (error) {
    fail(error);
  }
}

/** The same, and move to where the orders are: the form may be far from them. */
async function rankAndLook() {
  await run(putInOrder);
  byId("second-result", HTMLElement).scrollIntoView({ block: "nearest" });
}

/** @param {AbortSignal} signal */
async function trySamples(signal) {
  const card = models.embedder ?? models.reranker;
  if (!card) return say("The model is still loading.");
  await loadSamples({ images: card.modalities.includes("image"), instructions: card.takes_instructions });
  drawForm();
  if (models.embedder) await embed(signal);
  if (!signal.aborted) await putInOrder(signal);
  byId("results", HTMLElement).focus({ preventScroll: true });
}

/** @param {Event} event */
function onKeyForm(event) {
  event.preventDefault();
  useKey(byId("key", HTMLInputElement).value);
  void findModel();
}

restore();
drawForm();
startKeeping();
startTheme();
startStopping();
byId("choice", HTMLSelectElement).addEventListener("change", () => {
  [inputs.model, inputs.reranker] = [byId("choice", HTMLSelectElement).value, null];
  showModels();
  for (const section of byId("results", HTMLElement).children) section.toggleAttribute("hidden", section.id !== "empty");
});
byId("second-choice", HTMLSelectElement).addEventListener("change", () => {
  inputs.reranker = byId("second-choice", HTMLSelectElement).value;
  showModels();
});
startForm(() => void rankAndLook());
startFiles({ say, fail });
byId("rank", HTMLButtonElement).addEventListener("click", () => void rankAndLook());
byId("key-form", HTMLFormElement).addEventListener("submit", onKeyForm);
byId("compose", HTMLFormElement).addEventListener("submit", (event) => {
  event.preventDefault();
  void run(embed);
});
addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) byId("compose", HTMLFormElement).requestSubmit();
});
for (const id of ["samples", "samples-too"]) byId(id, HTMLButtonElement).addEventListener("click", () => void run(trySamples));
void findModel();
