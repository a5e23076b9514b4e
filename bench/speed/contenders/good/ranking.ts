import type { Thread } from "./log.js";

const HALF_LIFE = 6;

/** 0.5 ^ (distance / half-life), computed once a distance. */
let weights = new Float32Array(0);

/**
 * Turns by score: recency inside the active thread, plain recency elsewhere (G-45). Both sequences are sorted as they
 * are, so the ranking is a merge from the newest backwards and nothing is scored that is not asked for.
 */
export class Ranking {
  readonly #length: number;
  readonly #members: Int32Array;
  /** Distance inside the thread by row; 0 = not in it. */
  readonly #inside: Int32Array;
  #thread: number;
  #other: number;

  constructor(length: number, thread: Thread | null) {
    if (weights.length <= length)
      weights = Float32Array.from({ length: 2 * length + 1 }, (_, distance) => 0.5 ** (distance / HALF_LIFE));
    this.#length = length;
    this.#members = thread === null ? new Int32Array(0) : thread.rows.subarray(0, thread.count);
    this.#inside = new Int32Array(length);
    this.#members.forEach((row, at) => (this.#inside[row] = this.#members.length - at));
    this.#thread = this.#members.length - 1;
    this.#other = length - 1;
  }

  score(row: number): number {
    return weights[this.#inside[row]! || this.#length - row]!;
  }

  /** The next row, best first, the older of equals; -1 at the end. */
  next(): number {
    while (this.#other >= 0 && this.#inside[this.#other]! > 0) this.#other--;
    const inside = this.#thread >= 0 ? this.#members[this.#thread]! : -1;
    const outside = this.#other;
    if (inside === -1 && outside === -1) return -1;
    const difference = (inside === -1 ? -1 : this.score(inside)) - (outside === -1 ? -1 : this.score(outside));
    if (difference > 0 || (difference === 0 && inside < outside)) {
      this.#thread--;
      return inside;
    }
    this.#other--;
    return outside;
  }
}
