/** Answers as they are read: indented, and with the first numbers of each vector alone. */

const MAX_NUMBERS = 8;
const NUM_SHOWN = 4;
const MAX_CHARACTERS = 200;
const MAX_LINES = 400;

/**
 * JSON with two spaces a level and short lists in one line; what is longer on the screen than anybody reads is cut and says so.
 * @param {unknown} value
 * @param {string} [indent]
 * @returns {string}
 */
export function written(value, indent = "") {
  if (typeof value === "string") return value.length > MAX_CHARACTERS ? `${JSON.stringify(value.slice(0, 60)).slice(0, -1)}…" (${value.length.toLocaleString("en")} characters)` : JSON.stringify(value);
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value) && value.length > MAX_NUMBERS && value.every((one) => typeof one === "number")) {
    return `[${value.slice(0, NUM_SHOWN).join(", ")}, … ${value.length.toLocaleString("en")} numbers]`;
  }
  const deeper = `${indent}  `;
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  const entries = Array.isArray(value)
    ? value.map((one) => written(one, deeper))
    : Object.entries(value).map(([name, one]) => `${JSON.stringify(name)}: ${written(one, deeper)}`);
  const line = `${open}${entries.join(", ")}${close}`;
  if (line.length + indent.length <= 80 && !line.includes("\n")) return line;
  return `${open}\n${entries.map((entry) => deeper + entry).join(",\n")}\n${indent}${close}`;
}

/**
 * An answer for the screen: JSON, lines of JSON, or text as it is.
 * @param {string} text
 */
export function shortAnswer(text) {
  const lines = byLine(text, (value) => written(value)).split("\n");
  const rest = lines.length - MAX_LINES;
  return rest > 0 ? [...lines.slice(0, MAX_LINES), `… ${rest.toLocaleString("en")} more lines`].join("\n") : lines.join("\n");
}

/**
 * The whole of it, indented.
 * @param {string} text
 */
export function inFull(text) {
  return byLine(text, (value) => JSON.stringify(value, null, 2));
}

/**
 * @param {string} text
 * @param {(value: unknown) => string} write
 */
function byLine(text, write) {
  try {
    return write(JSON.parse(text));
  } catch {
    try {
      return text.trim().split("\n").map((line) => write(JSON.parse(line))).join("\n");
    } catch {
      return text;
    }
  }
}
