/** Similarities of every pair of rows. */

import { dot } from "./vectors.js";

/** @typedef {import("./types.js").Matrix} Matrix */

/**
 * Fill a symmetric table with ones on its diagonal.
 * @param {number} size
 * @param {(i: number, j: number) => number} of similarity of two different rows
 * @returns {Matrix}
 */
function symmetric(size, of) {
  const values = new Float64Array(size * size);
  for (let i = 0; i < size; i++) {
    values[i * size + i] = 1;
    for (let j = 0; j < i; j++) values[i * size + j] = values[j * size + i] = of(i, j);
  }
  return { size, values };
}

/**
 * Cosines: `a·b / (‖a‖ ‖b‖)`, of floats or of int8 integers as they are.
 * @param {(Float32Array | Int8Array)[]} rows
 * @returns {Matrix}
 */
export function cosines(rows) {
  const lengths = rows.map((row) => Math.sqrt(dot(row, row)));
  return symmetric(rows.length, (i, j) => dot(rows[i], rows[j]) / (lengths[i] * lengths[j]));
}

/** How many bits of a byte are set. */
const ONES = Uint8Array.from({ length: 256 }, (_, byte) => byte.toString(2).replaceAll("0", "").length);

/**
 * `1 - 2 h / d` with the Hamming distance h: the cosine of vectors of plus and minus one.
 * @param {Uint8Array[]} rows eight components to a byte
 * @returns {Matrix}
 */
export function bitCosines(rows) {
  return symmetric(rows.length, (i, j) => {
    let distance = 0;
    for (let k = 0; k < rows[i].length; k++) distance += ONES[rows[i][k] ^ rows[j][k]];
    return 1 - (2 * distance) / (8 * rows[i].length);
  });
}
