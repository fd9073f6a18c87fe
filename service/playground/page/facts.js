/** What each request cost: images from the cache and through the vision tower, tokens, and where the time went. */

import { element, scrollable } from "./element.js";

/** @typedef {import("./types.js").Answered} Answered */

const STAGES = /** @type {const} */ ([
  ["media", "Images read and decoded", "mediaMs"],
  ["queue", "Before the language model, encoding images included", "queueMs"],
  ["inference", "Language model", "inferenceMs"],
]);

/** @param {number} ms */
export const shown = (ms) => (Number.isNaN(ms) ? "–" : `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`);

/**
 * @param {HTMLElement} place
 * @param {Answered[]} answers
 */
export function drawFacts(place, answers) {
  const longest = Math.max(...answers.map(({ facts }) => facts.totalMs || 0), 1);
  const titles = ["Request", "Encoded", "From the cache", "Tokens", "Time"];
  const head = titles.map((title) => element("th", { scope: "col" }, title));
  const table = element("table", { class: "facts" }, element("thead", {}, element("tr", {}, ...head)));
  table.append(element("tbody", {}, ...answers.map((answer) => line(answer, longest))));
  const [hits, misses] = [sum(answers, "hits"), sum(answers, "misses")];
  const told = `${hits + misses} images asked for, ${misses} encoded, ${hits} from the cache.`;
  const keys = STAGES.map(([name, words]) => element("li", {}, element("span", { class: `stage ${name}` }), words));
  keys.push(element("li", {}, element("span", { class: "stage rest" }), "The rest"));
  place.replaceChildren(element("p", { class: "soft" }, hits + misses ? told : "No images were asked for."));
  place.append(scrollable("Requests", table), element("ul", { class: "keys" }, ...keys));
}

/**
 * @param {Answered[]} answers
 * @param {"hits" | "misses"} name
 */
function sum(answers, name) {
  return answers.reduce((total, { facts }) => total + facts[name], 0);
}

/**
 * @param {Answered} answered
 * @param {number} longest ms of the bar that fills its cell
 */
function line({ ask, facts }, longest) {
  const name = element("th", { scope: "row" }, element("span", { class: `tone tone-${ask.tone % 6}` }), ask.instruction ?? "The model’s own instruction");
  const told = STAGES.map(([, words, key]) => `${words}: ${shown(facts[key])}`).join("; ");
  const bar = element("span", { class: "bar", role: "img", "aria-label": told, title: told });
  const named = STAGES.map(([kind, , key]) => /** @type {const} */ ([kind, facts[key] || 0]));
  const rest = Math.max(0, (facts.totalMs || 0) - named.reduce((total, [, ms]) => total + ms, 0));
  for (const [kind, ms] of [...named, /** @type {const} */ (["rest", rest])]) {
    const part = element("span", { class: `stage ${kind}` });
    part.style.inlineSize = `${(100 * ms) / longest}%`;
    bar.append(part);
  }
  const numbers = [facts.misses, facts.hits, facts.tokens.toLocaleString("en")];
  const cells = numbers.map((number) => element("td", { class: "number" }, String(number)));
  return element("tr", {}, name, ...cells, element("td", { class: "time" }, bar, element("span", { class: "ms" }, shown(facts.totalMs))));
}
