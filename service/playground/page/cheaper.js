/**
 * Similarities by shorter and coarser vectors. Floats and bits are made here from the whole vectors; int8 is asked of the
 * server, once for each size, because its ranges may be the checkpoint's own.
 */

import { bitCosines, cosines } from "./similarity.js";
import { shortened, signBits } from "./vectors.js";

/**
 * @typedef {import("./types.js").Format} Format
 * @typedef {import("./types.js").Matrix} Matrix
 */

export class Cheaper {
  /**
   * @param {Float32Array[]} vectors whole ones, in the order of the rows
   * @param {(size: number) => Promise<Int8Array[]>} askInt8 the same rows, as the server writes them in int8
   */
  constructor(vectors, askInt8) {
    this.vectors = vectors;
    this.askInt8 = askInt8;
    /** @type {Map<string, Promise<Matrix>>} */
    this.known = new Map();
  }

  /**
   * @param {number} size
   * @param {Format} format
   * @returns {Promise<Matrix>} rejected when the server refuses int8; asked again the next time
   */
  matrix(size, format) {
    const name = `${format} ${size}`;
    const known = this.known.get(name) ?? this.make(size, format);
    this.known.set(name, known);
    known.catch(() => this.known.delete(name));
    return known;
  }

  /**
   * @param {number} size
   * @param {Format} format
   * @returns {Promise<Matrix>}
   */
  async make(size, format) {
    if (format === "int8") return cosines(await this.askInt8(size));
    const cut = this.vectors.map((vector) => shortened(vector, size));
    return format === "float" ? cosines(cut) : bitCosines(cut.map(signBits));
  }
}
