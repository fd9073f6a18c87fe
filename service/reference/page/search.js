/** The search: operations, fields, types, codes and limits by name and by what is said of them. */

import { BASE } from "../playground/api.js";
import { byId, element } from "../playground/element.js";

/** @typedef {[title: string, where: string, address: string, text: string]} Entry as `search.json` has them */

const MAX_FOUND = 12;
const MAX_WORDS = 110;

/** What a word is worth where it stands: as the title, at its beginning, in it, in what it belongs to, in the text. */
const WORTH = { whole: 100, start: 40, title: 20, where: 8, text: 3 };

/** @type {Promise<Entry[]> | null} */
let entries = null;

/** Asked for once, when somebody searches. */
function allEntries() {
  entries ??= fetch(`${BASE}/docs/search.json`).then((answer) => answer.json());
  return entries;
}

/**
 * What a word is worth in an entry; 0 where it is not there.
 * @param {string} word in lower case
 * @param {Entry} entry
 */
function worthOf(word, [title, where, , text]) {
  const name = title.toLowerCase();
  if (name === word) return WORTH.whole;
  if (name.startsWith(word)) return WORTH.start;
  if (name.includes(word)) return WORTH.title;
  if (where.toLowerCase().includes(word)) return WORTH.where;
  return text.toLowerCase().includes(word) ? WORTH.text : 0;
}

/**
 * The best first; of equals the one that comes first in the reference.
 * @param {Entry[]} all
 * @param {string} query every word of it has to be there
 */
export function found(all, query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const scored = all.map((entry) => ({ entry, worths: words.map((word) => worthOf(word, entry)) }));
  const fit = scored.filter(({ worths }) => worths.length && worths.every((worth) => worth > 0));
  const sum = (/** @type {number[]} */ worths) => worths.reduce((a, b) => a + b, 0);
  return fit.sort((a, b) => sum(b.worths) - sum(a.worths)).slice(0, MAX_FOUND).map(({ entry }) => entry);
}

/**
 * @param {Entry} entry
 * @param {number} at
 */
function option([title, where, address, text], at) {
  const words = text.length > MAX_WORDS ? `${text.slice(0, MAX_WORDS)}…` : text;
  const head = element("span", { class: "line" }, element("strong", {}, title), element("span", { class: "soft" }, where));
  return element("li", { role: "option", id: `found-${at}`, "data-address": address, "aria-selected": at === 0 }, head, element("span", { class: "soft words" }, words));
}

/** Put a button into the head, and listen for `/` and Control+K. */
export function startSearch() {
  const field = element("input", { type: "text", role: "combobox", "aria-label": "Search the reference", "aria-expanded": false });
  for (const [name, value] of [["aria-controls", "found"], ["autocomplete", "off"], ["placeholder", "A field, a path, a code …"]]) field.setAttribute(name, value);
  const list = element("ul", { role: "listbox", id: "found", "aria-label": "Found" });
  const told = element("p", { class: "soft", role: "status" });
  const close = element("button", { type: "button", class: "quiet", onclick: () => dialog.close() }, "Close");
  const dialog = element("dialog", { class: "search", "aria-label": "Search" }, element("div", { class: "line" }, field, close), list, told);
  const button = element("button", { type: "button", id: "search", "aria-keyshortcuts": "/ Control+K", onclick: () => open() }, "Search ", element("kbd", {}, "/"));
  byId("tools", HTMLElement).append(button);
  document.body.append(dialog);

  function open() {
    if (!dialog.open) dialog.showModal();
    field.select();
    void show();
  }

  async function show() {
    const query = field.value;
    const all = await allEntries();
    if (field.value !== query) return; // something else was typed meanwhile
    const fit = found(all, query);
    list.replaceChildren(...fit.map(option));
    field.setAttribute("aria-expanded", String(fit.length > 0));
    mark(0);
    told.textContent = query.trim() === "" ? "Names come first, then words of the descriptions." : fit.length ? "" : "Nothing has all of these words.";
  }

  /** @param {number} at */
  function mark(at) {
    const options = [...list.children];
    options.forEach((one, i) => one.setAttribute("aria-selected", String(i === at)));
    options[at]?.scrollIntoView({ block: "nearest" });
    field.setAttribute("aria-activedescendant", options[at]?.id ?? "");
  }

  /** @param {Element | null | undefined} chosen */
  function go(chosen) {
    if (!(chosen instanceof HTMLElement)) return;
    dialog.close();
    location.assign(`${BASE}/${chosen.dataset.address}`);
  }

  field.addEventListener("input", () => void show());
  field.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const options = [...list.children];
    const at = options.findIndex((one) => one.getAttribute("aria-selected") === "true");
    if (event.key === "Enter") go(options[at]);
    if (!step) return;
    event.preventDefault();
    mark((at + step + options.length) % options.length);
  });
  list.addEventListener("click", (event) => go(event.target instanceof Element ? event.target.closest("li") : null));
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  addEventListener("keydown", (event) => {
    const isTyping = event.target instanceof Element && event.target.matches("input, textarea, select");
    const isShortcut = (event.key === "/" && !isTyping) || (event.key === "k" && (event.ctrlKey || event.metaKey));
    if (!isShortcut) return;
    event.preventDefault();
    open();
  });
}
