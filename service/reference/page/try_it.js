/** A request that is sent from the page: the example's body, to be changed, and what this server answers. */

import { BASE, authorization, useKey } from "../playground/api.js";
import { inFull, shortAnswer } from "../playground/answers.js";
import { copyButton } from "../playground/clipboard.js";
import { element } from "../playground/element.js";

/**
 * @typedef {{path: string, method: string, operation: any}} Found an operation of the document
 * @typedef {{model: any}} Sent what a body is known to have, at least
 */

const HEADERS = ["x-total-time", "x-inference-time", "x-request-id", "retry-after"];

/** @type {Map<string, Promise<any>>} */
const known = new Map();

/**
 * A document of this server as JSON; asked for again after a refusal.
 * @param {string} path
 */
function read(path) {
  const asked = known.get(path) ?? fetch(`${BASE}/${path}`, { headers: authorization() }).then((answer) => (answer.ok ? answer.json() : Promise.reject(answer.status)));
  known.set(path, asked);
  asked.catch(() => known.delete(path));
  return asked;
}

/**
 * @param {string} id
 * @returns {Promise<Found>}
 */
async function operationOf(id) {
  const { paths } = await read("openapi.json");
  for (const [path, methods] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      if (operation.operationId === id) return { path, method: method.toUpperCase(), operation };
    }
  }
  throw new Error(`this server has no ${id}`);
}

/**
 * Draw the form, or ask for a key where the server wants one.
 * @param {HTMLElement} place
 * @param {string} id of the operation
 * @param {string} example by its name in the document; empty where there is no body
 */
export async function drawTrial(place, id, example) {
  try {
    const [found, { data: models }] = await Promise.all([operationOf(id), read("v1/models")]);
    draw(place, found, example, models.map((/** @type {{id: string}} */ card) => card.id));
  } catch (status) {
    if (status === 401) return askForKey(place, () => void drawTrial(place, id, example));
    place.replaceChildren(element("p", { class: "soft" }, status === 503 ? "The model is loading. Press “Try it” again in a moment." : "The server did not answer."));
  }
}

/**
 * @param {HTMLElement} place
 * @param {() => void} then
 */
function askForKey(place, then) {
  const field = element("input", { type: "password", autocomplete: "off", spellcheck: "false", "aria-label": "API key" });
  const form = element("form", {}, element("p", {}, "This server asks for an API key. The page keeps it in memory until it is left."));
  form.append(element("span", { class: "line" }, field, element("button", { type: "submit" }, "Use the key")));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    useKey(field.value);
    then();
  });
  place.replaceChildren(form);
  field.focus();
}

/**
 * @param {HTMLElement} place
 * @param {Found} found
 * @param {string} example
 * @param {string[]} models
 */
function draw(place, { path, method, operation }, example, models) {
  const [[type, content]] = Object.entries(operation.requestBody?.content ?? { "": null });
  const value = content?.examples?.[example]?.value;
  const body = element("textarea", { spellcheck: "false", "aria-label": "Body", rows: 1 });
  const model = element("select", { "aria-label": "Model" }, ...models.map((name) => element("option", {}, name)));
  const hasModel = value !== undefined && !Array.isArray(value) && "model" in value;
  if (hasModel && models.includes(value.model)) model.value = value.model;
  const state = element("p", { class: "soft", role: "status" });
  const answer = element("div", { class: "answer" });
  const send = element("button", { type: "submit", class: "main", "aria-keyshortcuts": "Control+Enter" }, "Send");
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
  const fields = names.map((name) => element("input", { type: "text", "aria-label": name, value: models[0] ?? "" }));
  const line = element("p", { class: "line" }, element("span", { class: `method ${method.toLowerCase()}` }, method), element("code", {}, path));
  const form = element("form", {}, element("div", { class: "bar-line" }, line, send), ...fields, hasModel ? model : null, value === undefined ? null : body, state);
  place.replaceChildren(form, answer);
  if (value !== undefined) write(hasModel ? { ...value, model: model.value } : value);

  /** @param {unknown} sent */
  function write(sent) {
    body.value = JSON.stringify(sent, null, type.endsWith("ndjson") ? undefined : 2);
    body.rows = Math.min(20, body.value.split("\n").length + 1);
  }
  model.addEventListener("change", () => {
    try {
      write({ ...JSON.parse(body.value), model: model.value });
    } catch {
      state.textContent = "The body is no JSON: its model was left as it is.";
    }
  });
  body.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const address = names.reduce((all, name, i) => all.replace(`{${name}}`, encodeURIComponent(fields[i].value)), path);
    const sent = value === undefined ? undefined : body.value + (type.endsWith("ndjson") ? "\n" : "");
    const headers = { ...(type ? { "content-type": type } : {}), ...authorization() };
    void exchange({ method, headers, body: sent }, `${BASE}${address}`, send, state, answer, place);
  });
}

/**
 * Send it, and show status, times and answer.
 * @param {RequestInit} options
 * @param {string} address
 * @param {HTMLButtonElement} button
 * @param {HTMLElement} state
 * @param {HTMLElement} place of the answer
 * @param {HTMLElement} trial
 */
async function exchange(options, address, button, state, place, trial) {
  button.disabled = true;
  state.textContent = "Sending …";
  const began = performance.now();
  try {
    const answer = await fetch(address, options);
    const bytes = new Uint8Array(await answer.arrayBuffer());
    const ms = Math.round(performance.now() - began);
    const told = HEADERS.flatMap((name) => (answer.headers.has(name) ? `${name} ${answer.headers.get(name)}` : []));
    state.textContent = `${answer.status} ${answer.statusText} in ${ms} ms, ${bytes.length.toLocaleString("en")} bytes. ${told.join(" · ")}`;
    place.replaceChildren(...shown(bytes, answer));
    if (answer.status === 401) askForKey(trial, () => trial.replaceChildren());
  } catch {
    state.textContent = "The server did not answer.";
    place.replaceChildren();
  } finally {
    button.disabled = false;
  }
}

/**
 * @param {Uint8Array} bytes
 * @param {Response} answer
 */
function shown(bytes, answer) {
  const type = answer.headers.get("content-type") ?? "";
  if (type.startsWith("application/octet-stream")) return [element("p", { class: "soft" }, "Bytes, which the copied calls write to a file.")];
  const text = new TextDecoder().decode(bytes);
  const code = element("pre", { tabindex: 0, "aria-label": "Answer", class: answer.ok ? "" : "fault-answer" }, shortAnswer(text));
  return [copyButton(() => inFull(text)), code];
}
