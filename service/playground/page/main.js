/** Starts the page and handles its buttons: find the model, embed, show. */

import { ApiError, ask, useKey } from "./api.js";
import { blame, drawForm, forgive, offer, startForm } from "./compose.js";
import { byId, element } from "./element.js";
import { inputs, readyItems } from "./items.js";
import { callOf, planAsks, rowsOf } from "./requests.js";
import { showResults } from "./results.js";
import { loadSamples } from "./samples.js";
import { startTheme } from "./theme.js";

/**
 * @typedef {import("./types.js").Answered} Answered
 * @typedef {import("./types.js").Ask} Ask
 * @typedef {import("./types.js").ModelCard} ModelCard
 */

/** Most rows of the matrix: a table of more cells is slow and cannot be read. */
const MAX_ROWS = 120;
const LEAST_WAIT_S = 1;

/** @type {ModelCard | null} */
let card = null;

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

/** Look for the model until it is there: it may still be loading. */
async function findModel() {
  byId("error", HTMLElement).hidden = true;
  try {
    const { answer: list } = await ask("v1/models");
    const { answer } = await ask(`v1/models/${list.data[0].root}`);
    card = answer;
    showModel(answer);
  } catch (error) {
    const isLoading = error instanceof ApiError && error.status === 503;
    if (!isLoading) return fail(error);
    byId("model", HTMLElement).textContent = "The model is loading …";
    setTimeout(() => void findModel(), 1000 * Math.max(LEAST_WAIT_S, error.retryAfterS));
  }
}

/** @param {ModelCard} plan */
function showModel(plan) {
  const facts = [`${plan.dimensions} dimensions`, plan.modalities.join(", "), plan.dtype, plan.device];
  byId("model", HTMLElement).replaceChildren(element("strong", {}, plan.id), ` ${facts.join(" · ")}`);
  byId("key-form", HTMLElement).hidden = true;
  offer(plan);
  if (plan.pooling !== "multi_vector") return;
  fail("This model gives a vector for each token; the page shows models that give one for each item. Ask /v2/embed for multi_float.");
  for (const id of ["embed", "samples", "samples-too"]) byId(id, HTMLButtonElement).disabled = true;
}

/**
 * @param {string} model
 * @param {Ask} one
 * @returns {Promise<Answered>}
 */
async function embedOne(model, one) {
  const { path, body } = callOf(model, one, null, "float");
  try {
    const { answer, facts } = await ask(path, body);
    const vectors = answer.data.map((/** @type {{embedding: number[]}} */ entry) => Float32Array.from(entry.embedding));
    return { ask: one, vectors, facts };
  } catch (error) {
    if (error instanceof ApiError && error.index !== null) blame(one.items[error.index].id, error.message);
    throw error;
  }
}

/** Send what is in the form, one instruction after the other, and show what comes back. */
async function embed() {
  const button = byId("embed", HTMLButtonElement);
  if (button.disabled) return; // the keyboard asks again while an answer is under way, or where there is none
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

async function trySamples() {
  if (!card) return say("The model is still loading.");
  await loadSamples({ images: card.modalities.includes("image"), instructions: card.takes_instructions });
  drawForm();
  await embed();
  byId("results", HTMLElement).focus({ preventScroll: true });
}

/** @param {Event} event */
function onKeyForm(event) {
  event.preventDefault();
  useKey(byId("key", HTMLInputElement).value);
  void findModel();
}

startTheme();
startForm();
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
