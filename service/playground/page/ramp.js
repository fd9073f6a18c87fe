/**
 * Where a similarity stands on the color ramp. The ramp itself is in the style sheet, between two colors of OKLab, whose
 * steps look equal; here is only how far along it a value is, and on which side numbers must change their color.
 */

/** @typedef {import("./types.js").Matrix} Matrix */

/** How far along the ramp white ink is read better than black, or the other way round, in light and in dark. */
export const TURNS = { light: 0.68, dark: 0.5 };

/** So much of the lowest similarities shares the ramp's lowest color: what is alike is looked for, and needs the room. */
const LOWEST = 0.1;

/**
 * The similarities at the ramp's two ends: of different rows the lowest but for a tenth, and the greatest.
 * @param {Matrix} matrix
 * @returns {[number, number]}
 */
export function domainOf({ size, values }) {
  const others = values.filter((_, at) => at % (size + 1) !== 0).sort();
  if (!others.length) return [0, 1];
  const [least, most] = [others[Math.floor(LOWEST * others.length)], others[others.length - 1]];
  return most - least < 1e-6 ? [least - 0.5, most + 0.5] : [least, most];
}

/**
 * @param {number} value
 * @param {[number, number]} domain
 * @returns {number} from 0 to 1
 */
export function along(value, [least, most]) {
  return Math.min(1, Math.max(0, (value - least) / (most - least)));
}

/**
 * Paint an element.
 * @param {HTMLElement} cell
 * @param {number} t from 0 to 1
 */
export function paint(cell, t) {
  cell.style.setProperty("--t", `${(t * 100).toFixed(1)}%`);
  cell.classList.toggle("past-light", t > TURNS.light);
  cell.classList.toggle("past-dark", t > TURNS.dark);
}
