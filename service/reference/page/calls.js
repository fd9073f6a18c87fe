/** Calls: their languages as tabs, the chosen one in all of them; a button that copies, and one that lets it be sent. */

import { copyButton } from "../playground/clipboard.js";
import { element } from "../playground/element.js";
import { drawTrial } from "./try_it.js";

const KEPT_AS = "cenote-language";

/** Shows a language in each call that has it. @type {((language: string) => void)[]} */
const listeners = [];

function remembered() {
  try {
    return localStorage.getItem(KEPT_AS) ?? "";
  } catch {
    return "";
  }
}

/** @param {string} language */
function choose(language) {
  for (const show of listeners) show(language);
  try {
    localStorage.setItem(KEPT_AS, language);
  } catch {
    // Then the choice lasts as long as the page.
  }
}

/** Make tabs of every call's languages, and give all other code a button that copies it. */
export function startCalls() {
  for (const call of document.querySelectorAll("details.call")) if (call instanceof HTMLElement) makeTabs(call);
  for (const code of document.querySelectorAll("main details:not(.call) > pre")) code.before(copyOf(() => code));
  const language = remembered();
  if (language) for (const show of listeners) show(language);
}

/** @param {() => Element} code */
function copyOf(code) {
  return copyButton(() => code().textContent ?? "");
}

/** @param {HTMLElement} call */
function makeTabs(call) {
  const id = `${call.dataset.operation}-${call.dataset.example}`;
  const folds = [...call.querySelectorAll(":scope > details")];
  const names = folds.map((fold) => fold.querySelector("summary")?.textContent ?? "");
  const codes = folds.map((fold) => fold.querySelector("pre") ?? element("pre"));
  const tabs = names.map((name, i) => element("button", { type: "button", role: "tab", id: `${id}-tab-${i}`, "aria-controls": `${id}-code`, onclick: () => choose(name) }, name));
  const list = element("div", { role: "tablist", "aria-label": "Language", onkeydown: (event) => turn(event) }, ...tabs);
  const panel = element("div", { role: "tabpanel", id: `${id}-code`, tabindex: 0 });
  const trial = element("div", { class: "trial", hidden: true });
  const send = element("button", { type: "button", class: "send", "aria-expanded": false, onclick: () => toggle() }, "Try it");
  let at = 0;

  /** @param {number} i */
  function show(i) {
    at = i;
    tabs.forEach((tab, j) => {
      tab.setAttribute("aria-selected", String(i === j));
      tab.tabIndex = i === j ? 0 : -1;
    });
    panel.replaceChildren(codes[i]);
    panel.setAttribute("aria-labelledby", tabs[i].id);
  }

  /** @param {Event} event */
  function turn(event) {
    const step = event instanceof KeyboardEvent ? { ArrowRight: 1, ArrowLeft: -1 }[event.key] : undefined;
    if (!step) return;
    const next = (at + step + tabs.length) % tabs.length;
    choose(names[next]);
    tabs[next].focus();
  }

  function toggle() {
    trial.hidden = !trial.hidden;
    send.setAttribute("aria-expanded", String(!trial.hidden));
    if (!trial.hidden && !trial.querySelector("form")) void drawTrial(trial, call.dataset.operation ?? "", call.dataset.example ?? "");
  }

  const buttons = element("span", { class: "line" }, copyOf(() => codes[at]), send);
  for (const fold of folds) fold.remove();
  call.append(element("div", { class: "bar-line" }, list, buttons), panel, trial);
  listeners.push((language) => {
    if (names.includes(language)) show(names.indexOf(language));
  });
  show(0);
}
