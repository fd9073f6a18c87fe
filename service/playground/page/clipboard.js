/** Copying text, and the button that does it. */

import { element } from "./element.js";

const TOLD_MS = 2000;

/**
 * The clipboard is for pages of this machine and of https; on others an old command does it.
 * @param {string} text
 */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const field = element("textarea", { class: "unseen", "aria-hidden": "true" });
    field.value = text;
    document.body.append(field);
    field.select();
    document.execCommand("copy");
    field.remove();
  }
}

/**
 * A button that says for a moment that it has done so.
 * @param {() => string} text what is copied, when it is pressed
 * @param {{id?: string, label?: string, then?: () => void}} [options] `label` is for those who do not see what stands beside it
 */
export function copyButton(text, { id, label, then } = {}) {
  const button = element("button", { type: "button", class: "copy", id, "aria-label": label, onclick: () => void copy() }, "Copy");
  async function copy() {
    await copyText(text());
    button.textContent = "Copied";
    then?.();
    setTimeout(() => (button.textContent = "Copy"), TOLD_MS);
  }
  return button;
}
