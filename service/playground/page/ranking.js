/**
 * What a cheaper form of the vectors costs in ranking: each row ranks all the others, once by whole float vectors (the
 * truth) and once by the cheaper ones, and the two orders are compared. Figures are means over the rows.
 */

/**
 * @typedef {import("./types.js").Matrix} Matrix
 * @typedef {import("./types.js").Kept} Kept
 */

/**
 * The other rows, nearest first; of equals the one with the lower number comes first.
 * @param {Matrix} matrix
 * @param {number} row
 * @returns {number[]}
 */
export function ranked({ size, values }, row) {
  const others = Array.from({ length: size }, (_, i) => i).filter((i) => i !== row);
  return others.sort((a, b) => values[row * size + b] - values[row * size + a] || a - b);
}

/**
 * Kendall's tau-b of two lists of scores: pairs in the same order less pairs in the opposite one, over
 * `sqrt(pairs not tied in x * pairs not tied in y)`; 0 where one of the lists says nothing.
 *
 * Source: Kendall 1945, "The treatment of ties in ranking problems".
 * @param {number[]} x
 * @param {number[]} y
 * @returns {number}
 */
export function kendallTau(x, y) {
  let balance = 0;
  let inX = 0;
  let inY = 0;
  for (let i = 1; i < x.length; i++) {
    for (let j = 0; j < i; j++) {
      const a = Math.sign(x[i] - x[j]);
      const b = Math.sign(y[i] - y[j]);
      balance += a * b;
      inX += a * a;
      inY += b * b;
    }
  }
  return inX && inY ? balance / Math.sqrt(inX * inY) : 0;
}

/**
 * How many neighbors are compared among so many rows.
 * @param {number} size rows of the matrix
 */
export function numNeighbors(size) {
  return Math.max(1, Math.min(5, Math.floor((size - 1) / 2)));
}

/**
 * @param {Matrix} truth
 * @param {Matrix} cheap
 * @returns {Kept}
 */
export function kept(truth, cheap) {
  const { size } = truth;
  const k = numNeighbors(size);
  const sum = { nearest: 0, neighbors: 0, tau: 0 };
  for (let row = 0; row < size; row++) {
    const [is, was] = [ranked(cheap, row), ranked(truth, row)];
    const best = was.slice(0, k);
    sum.nearest += Number(is[0] === was[0]);
    sum.neighbors += is.slice(0, k).filter((other) => best.includes(other)).length / k;
    sum.tau += kendallTau(
      was.map((other) => truth.values[row * size + other]),
      was.map((other) => cheap.values[row * size + other]),
    );
  }
  return { nearest: sum.nearest / size, neighbors: sum.neighbors / size, tau: sum.tau / size };
}
