/** The request to copy, one of those that were sent, in one of three languages. */

import { BASE, hasKey } from "./api.js";
import { copyButton } from "./clipboard.js";
import { element } from "./element.js";
import { curl, forTheScreen, python, typescript } from "./snippets.js";

/** @typedef {import("./types.js").Call} Call */

const LANGUAGES = /** @type {const} */ ([
  ["curl", curl],
  ["Python", python],
  ["TypeScript", typescript],
]);

/** What is looked at; kept from one answer to the next. */
let language = 0;

/**
 * @param {HTMLElement} place
 * @param {string} label what tells the requests apart
 * @param {{name: string, call: () => Call}[]} choices each with the call that gives what is shown
 * @param {(message: string) => void} say
 * @param {string} prefix of ids, for there may be several of these on the page
 * @returns {() => void} writes the code again, after another size or format was chosen
 */
export function drawRequest(place, label, choices, say, prefix = "") {
  const which = element("select", { id: `${prefix}which`, onchange: () => write() });
  which.append(...choices.map(({ name }, i) => element("option", { value: i }, name)));
  const tabs = LANGUAGES.map(([name], i) => tab(name, i));
  const code = element("pre", { id: `${prefix}code`, role: "tabpanel", tabindex: 0, "aria-label": "Code" });
  const copy = copyButton(whole, { id: `${prefix}copy`, then: () => say(`Copied the request as ${LANGUAGES[language][0]}.`) });
  const list = element("div", { role: "tablist", "aria-label": "Language", onkeydown: (event) => turn(event) }, ...tabs);
  const choice = element("p", { class: "line", hidden: choices.length < 2 }, element("label", { for: `${prefix}which` }, label), which);
  place.replaceChildren(choice, element("div", { class: "bar-line" }, list, copy), code);
  place.append(element("p", { class: "soft" }, note()));

  /** @param {string} name @param {number} i */
  function tab(name, i) {
    return element("button", { type: "button", role: "tab", id: `${prefix}tab-${i}`, "aria-controls": `${prefix}code`, onclick: () => choose(i) }, name);
  }

  /** @param {number} i */
  function choose(i) {
    language = i;
    write();
    tabs[i].focus();
  }

  /** @param {Event} event */
  function turn(event) {
    const step = event instanceof KeyboardEvent ? { ArrowRight: 1, ArrowLeft: -1 }[event.key] : undefined;
    if (step) choose((language + step + LANGUAGES.length) % LANGUAGES.length);
  }

  function whole() {
    return LANGUAGES[language][1](BASE, choices[Number(which.value)].call(), hasKey());
  }

  function write() {
    tabs.forEach((one, i) => {
      one.setAttribute("aria-selected", String(i === language));
      one.tabIndex = i === language ? 0 : -1;
    });
    code.setAttribute("aria-labelledby", `${prefix}tab-${language}`);
    code.textContent = forTheScreen(whole());
  }

  write();
  return write;
}

function note() {
  const shortened = "Images are shortened on the screen; the copied code has them in full and runs as it stands.";
  return hasKey() ? `${shortened} The key is read from the environment variable API_KEY.` : shortened;
}
