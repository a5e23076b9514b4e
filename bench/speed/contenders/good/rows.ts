/** Unit vectors in one block of memory, so that a cosine is a dot product of neighbours. */
export class Rows {
  readonly dimensions: number;
  #data: Float32Array;
  #count = 0;
  /** The query of the current call, unit length; reused, so that a call allocates nothing. */
  readonly #query: Float32Array;

  constructor(dimensions: number) {
    this.dimensions = dimensions;
    this.#data = new Float32Array(64 * dimensions);
    this.#query = new Float32Array(dimensions);
  }

  push(vector: Float32Array): number {
    if ((this.#count + 1) * this.dimensions > this.#data.length) {
      const grown = new Float32Array(this.#data.length * 2);
      grown.set(this.#data);
      this.#data = grown;
    }
    this.#data.set(this.unit(vector), this.#count * this.dimensions);
    return this.#count++;
  }

  /** `vector` at unit length; valid until the next call. */
  unit(vector: Float32Array): Float32Array {
    const query = this.#query;
    let square = 0;
    for (let i = 0; i < query.length; i++) square += vector[i]! * vector[i]!;
    const factor = 1 / Math.sqrt(square);
    for (let i = 0; i < query.length; i++) query[i] = vector[i]! * factor;
    return query;
  }

  /** Largest cosine of `query` (unit) and the rows `members[0 … count - 1]`; 0 over nothing. Four sums keep the adders busy. */
  maxSimilarity(query: Float32Array, members: Int32Array, count: number): number {
    const data = this.#data;
    const dimensions = this.dimensions;
    let best = count === 0 ? 0 : -Infinity;
    for (let member = 0; member < count; member++) {
      let at = members[member]! * dimensions;
      let a = 0;
      let b = 0;
      let c = 0;
      let d = 0;
      for (let i = 0; i < dimensions; i += 4, at += 4) {
        a += data[at]! * query[i]!;
        b += data[at + 1]! * query[i + 1]!;
        c += data[at + 2]! * query[i + 2]!;
        d += data[at + 3]! * query[i + 3]!;
      }
      const similarity = a + b + (c + d);
      if (similarity > best) best = similarity;
    }
    return best;
  }

  /**
   * The same with four rows at a time, so that each number of the query is loaded once for all of them: faster than what
   * is usually written, and reported beside it.
   */
  maxSimilarityBlocked(query: Float32Array, members: Int32Array, count: number): number {
    const data = this.#data;
    const dimensions = this.dimensions;
    const blocked = count - (count % 4);
    let best = this.maxSimilarity(query, members.subarray(blocked), count - blocked);
    if (blocked > 0 && blocked === count) best = -Infinity;
    for (let member = 0; member < blocked; member += 4) {
      const row0 = members[member]! * dimensions;
      const row1 = members[member + 1]! * dimensions;
      const row2 = members[member + 2]! * dimensions;
      const row3 = members[member + 3]! * dimensions;
      let a = 0;
      let b = 0;
      let c = 0;
      let d = 0;
      for (let i = 0; i < dimensions; i += 2) {
        const x = query[i]!;
        const y = query[i + 1]!;
        a += data[row0 + i]! * x + data[row0 + i + 1]! * y;
        b += data[row1 + i]! * x + data[row1 + i + 1]! * y;
        c += data[row2 + i]! * x + data[row2 + i + 1]! * y;
        d += data[row3 + i]! * x + data[row3 + i + 1]! * y;
      }
      best = Math.max(best, a, b, c, d);
    }
    return best;
  }
}
