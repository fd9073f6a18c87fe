/** What was typed survives a reload, in this tab alone. Files do not: they are large, and the browser does not give them back. */

import { inputs, textItem } from "./items.js";

const KEPT_AS = "cenote-playground";

/** Put back what was there; nothing where there was nothing, or the browser forbids to look. */
export function restore() {
  try {
    const kept = JSON.parse(sessionStorage.getItem(KEPT_AS) ?? "null");
    if (!kept) return;
    const { texts, ...rest } = kept;
    Object.assign(inputs, rest, { items: texts.map(textItem) });
  } catch {
    // Then the page begins empty.
  }
}

/** Keep what is there when the page is left. */
export function startKeeping() {
  addEventListener("pagehide", () => {
    const { items, ...rest } = inputs;
    const texts = items.filter((item) => item.image === null && !item.file).map((item) => item.text);
    try {
      sessionStorage.setItem(KEPT_AS, JSON.stringify({ ...rest, texts }));
    } catch {
      // Too much, or forbidden.
    }
  });
}
