/**
 * Rows on a plane: classical scaling of their similarities, which for vectors of length 1 is their principal components.
 *
 * The double-centered similarities `G = J S J` are decomposed by Jacobi's rotations, and a row's coordinates are
 * `sqrt(λ) v` of the two greatest eigenvalues.
 *
 * Source: Torgerson 1952; Golub and Van Loan, "Matrix Computations", section 8.5 (cyclic Jacobi).
 */

/**
 * @typedef {import("./types.js").Matrix} Matrix
 * @typedef {import("./types.js").Point} Point
 */

const MAX_SWEEPS = 30;
const TOLERANCE = 1e-20;

/**
 * Take the mean out of rows and columns.
 * @param {Matrix} matrix
 * @returns {Float64Array}
 */
function centered({ size, values }) {
  const means = Array.from({ length: size }, (_, i) => mean(values.subarray(i * size, (i + 1) * size)));
  const all = mean(Float64Array.from(means));
  return values.map((value, at) => value - means[Math.floor(at / size)] - means[at % size] + all);
}

/** @param {Float64Array} values */
function mean(values) {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/**
 * Turn rows p and q (and columns, where `both`) by the angle of cosine c and sine s.
 * @param {Float64Array} a
 * @param {number} size
 * @param {[number, number]} pair
 * @param {[number, number]} angle
 * @param {boolean} both
 */
function rotate(a, size, [p, q], [c, s], both) {
  for (let k = 0; k < size; k++) {
    const [kp, kq] = [a[k * size + p], a[k * size + q]];
    a[k * size + p] = c * kp - s * kq;
    a[k * size + q] = s * kp + c * kq;
  }
  for (let k = 0; both && k < size; k++) {
    const [pk, qk] = [a[p * size + k], a[q * size + k]];
    a[p * size + k] = c * pk - s * qk;
    a[q * size + k] = s * pk + c * qk;
  }
}

/**
 * Eigenvalues on the diagonal of `a` afterwards; eigenvectors are the columns of what is returned.
 * @param {Float64Array} a symmetric; overwritten
 * @param {number} size
 */
export function diagonalize(a, size) {
  const vectors = Float64Array.from({ length: size * size }, (_, at) => Number(Math.floor(at / size) === at % size));
  for (let sweep = 0; sweep < MAX_SWEEPS; sweep++) {
    let rest = 0;
    for (let p = 0; p < size; p++) {
      for (let q = p + 1; q < size; q++) {
        const off = a[p * size + q];
        rest += off * off;
        if (off * off < TOLERANCE) continue;
        const theta = (a[q * size + q] - a[p * size + p]) / (2 * off);
        const t = (Math.sign(theta) || 1) / (Math.abs(theta) + Math.hypot(theta, 1));
        const c = 1 / Math.hypot(t, 1);
        rotate(a, size, [p, q], [c, t * c], true);
        rotate(vectors, size, [p, q], [c, t * c], false);
      }
    }
    if (rest < TOLERANCE * size) break;
  }
  return vectors;
}

/**
 * @param {Matrix} matrix
 * @returns {{points: Point[], share: number}} `share`: part of the spread that the plane holds, 0 to 1
 */
export function scaled(matrix) {
  const { size } = matrix;
  const a = centered(matrix);
  const vectors = diagonalize(a, size);
  const lambda = Array.from({ length: size }, (_, i) => Math.max(0, a[i * size + i]));
  const [x, y] = Array.from(lambda.keys()).sort((i, j) => lambda[j] - lambda[i]);
  /** @param {number | undefined} axis @param {number} row */
  const at = (axis, row) => (axis === undefined ? 0 : Math.sqrt(lambda[axis]) * vectors[row * size + axis]);
  const points = Array.from({ length: size }, (_, row) => /** @type {Point} */ ([at(x, row), at(y, row)]));
  const spread = lambda.reduce((sum, value) => sum + value, 0);
  return { points, share: spread ? ((lambda[x] ?? 0) + (lambda[y] ?? 0)) / spread : 1 };
}

/**
 * An axis has no direction of its own: give each the one that agrees with `others`, so that the map does not flip.
 * @param {Point[]} points
 * @param {Point[]} others of the same rows
 * @returns {Point[]}
 */
export function aligned(points, others) {
  const signs = [0, 1].map((axis) => {
    const agreement = points.reduce((sum, point, i) => sum + point[axis] * others[i][axis], 0);
    return agreement < 0 ? -1 : 1;
  });
  return points.map(([x, y]) => [x * signs[0], y * signs[1]]);
}
