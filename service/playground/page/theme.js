/** Dark or light: as the system says, until the button is pressed. The choice is kept in this browser. */

import { byId } from "./element.js";

const NAMES = ["system", "light", "dark"];
const KEPT_AS = "cenote-theme";

/** What was chosen before; browsers may forbid to look. */
function remembered() {
  try {
    return localStorage.getItem(KEPT_AS) ?? NAMES[0];
  } catch {
    return NAMES[0];
  }
}

/** @param {string} name */
function choose(name) {
  const button = byId("theme", HTMLButtonElement);
  document.documentElement.dataset.theme = name;
  button.textContent = `Theme: ${name}`;
  try {
    localStorage.setItem(KEPT_AS, name);
  } catch {
    // Then the choice lasts as long as the page.
  }
}

/** Show the theme, and change it when the button is pressed. */
export function startTheme() {
  const before = remembered();
  choose(NAMES.includes(before) ? before : NAMES[0]);
  byId("theme", HTMLButtonElement).addEventListener("click", () => {
    const at = NAMES.indexOf(document.documentElement.dataset.theme ?? "");
    choose(NAMES[(at + 1) % NAMES.length]);
  });
}
