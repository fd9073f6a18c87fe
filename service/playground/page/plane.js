/**
 * Thousands of vectors on a plane: their first two principal components, by iterating a subspace of a few directions.
 *
 * Source: Golub and Van Loan, "Matrix Computations", sections 8.2.4 (orthogonal iteration) and 8.3.4 (Ritz acceleration).
 */

import { diagonalize } from "./scaling.js";
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
  const { axes, strengths } = turned(directions, directions.map((direction) => spreadAlong(centered, direction)));
  const all = centered.reduce((sum, row) => sum + dot(row, row), 0);
  const points = centered.map((row) => /** @type {Point} */ ([dot(row, axes[0]), dot(row, axes[1])]));
  return { points, share: all ? (strengths[0] + strengths[1]) / all : 1 };
}

/**
 * The two strongest axes of the plane's own space: close ones are told apart by its small matrix, not by more steps.
 * @param {Float32Array[]} directions orthonormal
 * @param {Float32Array[]} spreads `X^T X v` of each
 */
function turned(directions, spreads) {
  const size = directions.length;
  const small = Float64Array.from({ length: size * size }, (_, at) => dot(directions[Math.floor(at / size)], spreads[at % size]));
  const vectors = diagonalize(small, size);
  const order = directions.map((_, i) => i).sort((i, j) => small[j * size + j] - small[i * size + i]).slice(0, 2);
  const axes = order.map((axis) => directions[0].map((_, k) => directions.reduce((sum, one, i) => sum + vectors[i * size + axis] * one[k], 0)));
  return { axes, strengths: order.map((axis) => small[axis * size + axis]) };
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
