/** Starts the page and handles its buttons: find the models, embed, put in order, show. */

import { ApiError, ask, useKey } from "./api.js";
import { blameFor, drawForm, forgive, offer, startForm } from "./compose.js";
import { byId, element } from "./element.js";
import { offerFiles, startFiles } from "./files.js";
import { inputs, readyItems } from "./items.js";
import { chosenModels } from "./models.js";
import { callOf, planAsks, rowsOf } from "./requests.js";
import { showResults } from "./results.js";
import { loadSamples } from "./samples.js";
import { candidatesOf, rank } from "./second_stage.js";
import { startTheme } from "./theme.js";

/**
 * @typedef {import("./types.js").Answered} Answered
 * @typedef {import("./types.js").Ask} Ask
 * @typedef {import("./types.js").ModelCard} ModelCard
 */

/** Most rows of the matrix: a table of more cells is slow and cannot be read. */
const MAX_ROWS = 120;
const LEAST_WAIT_S = 1;

/** @type {{embedder: ModelCard | null, reranker: ModelCard | null}} */
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
    models = chosenModels(list.data);
    showModels();
  } catch (error) {
    const isLoading = error instanceof ApiError && error.status === 503;
    if (!isLoading) return fail(error);
    byId("model", HTMLElement).textContent = "The model is loading …";
    setTimeout(() => void findModel(), 1000 * Math.max(LEAST_WAIT_S, error.retryAfterS));
  }
}

function showModels() {
  const { embedder, reranker } = models;
  const told = [embedder, reranker].filter((card) => card !== null).flatMap(named);
  byId("model", HTMLElement).replaceChildren(...told.slice(1));
  byId("key-form", HTMLElement).hidden = true;
  offer(embedder, reranker);
  offerFiles(embedder ?? reranker);
  if (!embedder) showRankingAlone();
  if (embedder?.pooling !== "multi_vector") return;
  fail("This model gives a vector for each token; the page shows models that give one for each item. Ask /v2/embed for multi_float.");
  for (const id of ["embed", "samples", "samples-too"]) byId(id, HTMLButtonElement).disabled = true;
}

/** @param {ModelCard} card @returns {(string | Node)[]} */
function named(card) {
  const facts = [card.modalities.join(", "), card.dtype, card.device];
  const told = card === models.embedder ? [`${card.dimensions} dimensions`, ...facts] : ["reranker", ...(models.embedder ? [] : facts)];
  return [" · ", element("strong", {}, card.id), ` ${told.join(" · ")}`];
}

/** Say of the page what is true of it without an embedder. */
function showRankingAlone() {
  byId("compose-title", HTMLElement).textContent = "What to put in order";
  byId("second-part-title", HTMLElement).textContent = "Query";
  byId("second-title", HTMLElement).textContent = "Order";
  byId("rank", HTMLButtonElement).className = "main";
  byId("empty-title", HTMLElement).textContent = "One query, several candidates.";
  byId("empty-words", HTMLElement).textContent = "The reranker reads the query with each candidate, and scores how well it answers.";
}

/**
 * @param {string} model
 * @param {Ask} one
 * @returns {Promise<Answered>}
 */
async function embedOne(model, one) {
  const { path, body } = callOf(model, one, null, "float");
  const { answer, facts } = await blameFor(one.items, () => ask(path, body));
  const vectors = answer.data.map((/** @type {{embedding: number[]}} */ entry) => Float32Array.from(entry.embedding));
  return { ask: one, vectors, facts };
}

/** Send what is in the form, one instruction after the other, and show what comes back. */
async function embed() {
  const button = byId("embed", HTMLButtonElement);
  const card = models.embedder;
  if (button.disabled) return; // the keyboard asks again while an answer is under way, or where there is none
  if (models.reranker && !card) return putInOrder();
  const asks = planAsks(readyItems(), card?.takes_instructions ? inputs.instructions : [], inputs.textsOnce);
  const numRows = rowsOf(asks).length;
  byId("error", HTMLElement).hidden = true;
  forgive();
  if (!card) return say("The model is still loading.");
  if (numRows < 3) return say("Add at least three things to compare: images, texts, or one image under several instructions.");
  if (numRows > MAX_ROWS) return fail(`${numRows} rows (items × instructions), and this page shows at most ${MAX_ROWS}.`);
  button.disabled = true;
  try {
    const answers = [];
    for (const one of asks) {
      say(`Request ${answers.length + 1} of ${asks.length} …`);
      answers.push(await embedOne(card.id, one));
    }
    await showResults(card, answers, { say, fail });
    say(`${numRows} vectors in ${asks.length} ${asks.length === 1 ? "request" : "requests"}.`);
  } catch (error) {
    fail(error);
  } finally {
    button.disabled = false;
  }
}

/** Put the items in order for the query, by the embedder and then by the reranker, and show both orders. */
async function putInOrder() {
  const button = byId("rank", HTMLButtonElement);
  const asked = { query: inputs.query.trim(), instruction: inputs.queryInstruction.trim() };
  const cards = [models.embedder, models.reranker].filter((card) => card !== null);
  if (button.disabled || !models.reranker) return;
  const candidates = candidatesOf(cards, readyItems());
  byId("error", HTMLElement).hidden = true;
  forgive();
  if (!asked.query) return say("Write a query first.");
  if (candidates.length < 2) return say("Add at least two things to put in order: images or texts that both models take.");
  if (candidates.length > MAX_ROWS) return fail(`${candidates.length} candidates, and this page shows at most ${MAX_ROWS}.`);
  button.disabled = true;
  try {
    await rank(cards, candidates, asked, { say });
    const numLeft = readyItems().length - candidates.length;
    if (numLeft) say(`${candidates.length} items in order; images are left out (${numLeft}), which not all models take.`);
  } catch (error) {
    fail(error);
  } finally {
    button.disabled = false;
  }
}

/** The same, and move to where the orders are: the form may be far from them. */
async function rankAndLook() {
  await putInOrder();
  byId("second-result", HTMLElement).scrollIntoView({ block: "nearest" });
}

async function trySamples() {
  const card = models.embedder ?? models.reranker;
  if (!card) return say("The model is still loading.");
  await loadSamples({ images: card.modalities.includes("image"), instructions: card.takes_instructions });
  drawForm();
  if (models.embedder) await embed();
  if (models.reranker) await putInOrder();
  byId("results", HTMLElement).focus({ preventScroll: true });
}

/** @param {Event} event */
function onKeyForm(event) {
  event.preventDefault();
  useKey(byId("key", HTMLInputElement).value);
  void findModel();
}

startTheme();
startForm(() => void rankAndLook());
startFiles({ say, fail });
byId("rank", HTMLButtonElement).addEventListener("click", () => void rankAndLook());
byId("key-form", HTMLFormElement).addEventListener("submit", onKeyForm);
byId("compose", HTMLFormElement).addEventListener("submit", (event) => {
  event.preventDefault();
  void embed();
});
addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) byId("compose", HTMLFormElement).requestSubmit();
});
for (const id of ["samples", "samples-too"]) byId(id, HTMLButtonElement).addEventListener("click", () => void trySamples());
void findModel();
