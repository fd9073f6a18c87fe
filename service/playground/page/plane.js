/**
 * Thousands of vectors on a plane: their first two principal components, by iterating a subspace of a few directions.
 *
 * Source: Golub and Van Loan, "Matrix Computations", section 8.2.4 (orthogonal iteration).
 */

import { dot } from "./vectors.js";

/** @typedef {import("./types.js").Point} Point */

const NUM_STEPS = 40;
/** More directions than are shown, so that the second is found as quickly as the first. */
const NUM_DIRECTIONS = 6;

/**
 * @param {Float32Array[]} rows all of one length
 * @returns {{points: Point[], share: number}} `share`: part of the spread that the plane holds, 0 to 1
 */
export function plane(rows) {
  const centered = aroundMean(rows);
  /** @type {Float32Array[]} */
  let directions = Array.from({ length: NUM_DIRECTIONS }, (_, i) => wave(i, rows[0].length));
  for (let step = 0; step < NUM_STEPS; step++) directions = orthonormal(directions.map((direction) => spreadAlong(centered, direction)));
  const strengths = directions.map((direction) => Math.sqrt(dot(spreadAlong(centered, direction), spreadAlong(centered, direction))));
  const all = centered.reduce((sum, row) => sum + dot(row, row), 0);
  const points = centered.map((row) => /** @type {Point} */ ([dot(row, directions[0]), dot(row, directions[1])]));
  return { points, share: all ? (strengths[0] + strengths[1]) / all : 1 };
}

/** @param {Float32Array[]} rows */
function aroundMean(rows) {
  const mean = new Float64Array(rows[0].length);
  for (const row of rows) row.forEach((value, k) => (mean[k] += value / rows.length));
  return rows.map((row) => row.map((value, k) => value - mean[k]));
}

/**
 * A direction to begin with: the same each time, so that the map is.
 * @param {number} i
 * @param {number} length
 */
function wave(i, length) {
  return Float32Array.from({ length }, (_, k) => Math.cos((k + 1) * (i + 1) * 1.7) + (k === i ? 1 : 0));
}

/**
 * `X^T X v`.
 * @param {Float32Array[]} rows
 * @param {Float32Array} direction
 */
function spreadAlong(rows, direction) {
  const out = new Float32Array(direction.length);
  for (const row of rows) {
    const part = dot(row, direction);
    for (let k = 0; k < out.length; k++) out[k] += part * row[k];
  }
  return out;
}

/**
 * Gram and Schmidt's: each less its parts along those before it, of length 1; 0 where nothing is left.
 * @param {Float32Array[]} directions
 */
function orthonormal(directions) {
  /** @type {Float32Array[]} */
  const out = [];
  for (const direction of directions) {
    const rest = direction.slice();
    for (let pass = 0; pass < 2; pass++) {
      for (const other of out) {
        const part = dot(rest, other);
        rest.forEach((_, k) => (rest[k] -= part * other[k]));
      }
    }
    const length = Math.sqrt(dot(rest, rest));
    out.push(length > 1e-12 ? rest.map((value) => value / length) : rest.fill(0));
  }
  return out;
}
