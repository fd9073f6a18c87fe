/** One run at a time: while it lasts the buttons that start one rest, and another button or Escape stops it. */

import { byId } from "./element.js";

const STARTS = ["embed", "rank", "samples", "samples-too"];

/** @type {AbortController | null} */
let running = null;

/**
 * Do what can be stopped, unless something is under way: the keyboard asks again meanwhile.
 * @param {(signal: AbortSignal) => Promise<void>} work keeps what is done when the signal comes
 */
export async function run(work) {
  if (running) return;
  running = new AbortController();
  show();
  try {
    await work(running.signal);
  } finally {
    running = null;
    show();
  }
}

/** Buttons rest without `disabled`, which would take the keyboard's place away from them. */
function show() {
  const stop = byId("stop", HTMLButtonElement);
  if (document.activeElement === stop) STARTS.map((id) => byId(id, HTMLButtonElement)).find((button) => !button.hidden)?.focus();
  stop.hidden = !running;
  for (const id of STARTS) byId(id, HTMLButtonElement).ariaDisabled = String(running !== null);
}

/** Listen to the button and to Escape, which in a dialog closes the dialog alone. */
export function startStopping() {
  byId("stop", HTMLButtonElement).addEventListener("click", () => running?.abort());
  addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !event.isComposing && !document.querySelector("dialog[open]")) running?.abort();
  });
}
