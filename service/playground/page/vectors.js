/**
 * Vectors at the sizes and in the formats that the server offers, made here from whole float vectors.
 *
 * Not int8: its ranges may be the checkpoint's own, which only the server knows, so int8 is asked of `/v2/embed`.
 */

/**
 * @param {Float32Array | Int8Array} a
 * @param {Float32Array | Int8Array} b as long
 * @returns {number}
 */
export function dot(a, b) {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}

/**
 * `out = v[:size] / ‖v[:size]‖`: cut first, then scaled to length 1.
 * @param {Float32Array} vector
 * @param {number} size components to keep
 * @returns {Float32Array}
 */
export function shortened(vector, size) {
  const cut = vector.subarray(0, size);
  const length = Math.sqrt(dot(cut, cut));
  return cut.map((component) => component / length);
}

/**
 * One bit a component (1 where it is >= 0), eight to a byte, the first one highest: the server's `ubinary`.
 * @param {Float32Array} vector its length is a multiple of 8
 * @returns {Uint8Array}
 */
export function signBits(vector) {
  const bytes = new Uint8Array(vector.length / 8);
  vector.forEach((component, i) => {
    if (component >= 0) bytes[i >> 3] |= 128 >> (i & 7);
  });
  return bytes;
}
