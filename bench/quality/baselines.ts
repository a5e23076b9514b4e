/** What others would use instead: the last messages, BM25, and dense retrieval with the engine's own embedder. */

import type { Baseline } from "./metrics.js";
import { words } from "./text.js";

/** Ranks earlier texts (by index, best first) for a query; `last-k` needs no query. */
export interface Ranker {
  readonly baseline: Baseline;
  /** The envelope is a window: it ends at the first text that does not fit, instead of passing over it. */
  readonly window: boolean;
  /** A new, empty log. */
  log(): RankedLog;
}

export interface RankedLog {
  add(text: string): void;
  /** Indexes of the texts added so far, best first; those with nothing in common with the query are left out. */
  rank(query: string): number[];
}

const byScore = (scores: ReadonlyMap<number, number>): number[] =>
  // Ties go to the more recent text.
  [...scores.keys()].sort((a, b) => (scores.get(b) as number) - (scores.get(a) as number) || b - a);

export const lastK: Ranker = {
  baseline: "last-k",
  window: true,
  log() {
    let count = 0;
    return {
      add: () => void count++,
      rank: () => Array.from({ length: count }, (_, i) => count - 1 - i),
    };
  },
};

const K1 = 1.2;
const B = 0.75;

/** Okapi BM25 over lower-cased words, no stemming, no stop list. */
export const bm25: Ranker = {
  baseline: "bm25",
  window: false,
  log() {
    const postings = new Map<string, Map<number, number>>();
    const lengths: number[] = [];
    let total = 0;
    return {
      add(text) {
        const id = lengths.length;
        const terms = words(text);
        lengths.push(terms.length);
        total += terms.length;
        for (const term of terms) {
          let posting = postings.get(term);
          if (posting === undefined) postings.set(term, (posting = new Map()));
          posting.set(id, (posting.get(id) ?? 0) + 1);
        }
      },
      rank(query) {
        const scores = new Map<number, number>();
        const average = total / lengths.length;
        for (const term of new Set(words(query))) {
          const posting = postings.get(term);
          if (posting === undefined) continue;
          const idf = Math.log(1 + (lengths.length - posting.size + 0.5) / (posting.size + 0.5));
          for (const [id, tf] of posting) {
            const norm = K1 * (1 - B + (B * (lengths[id] as number)) / average);
            scores.set(id, (scores.get(id) ?? 0) + (idf * tf * (K1 + 1)) / (tf + norm));
          }
        }
        return byScore(scores);
      },
    };
  },
};

/** Cosine of the engine's built-in embedding. */
export function dense(embed: (text: string) => Float32Array): Ranker {
  const known = new Map<string, Float32Array>();
  const unit = (text: string): Float32Array => {
    let vector = known.get(text);
    if (vector === undefined) {
      const raw = embed(text);
      const length = Math.hypot(...raw) || 1;
      known.set(text, (vector = raw.map((x) => x / length)));
    }
    return vector;
  };
  return {
    baseline: "dense",
    window: false,
    log() {
      const vectors: Float32Array[] = [];
      return {
        add: (text) => void vectors.push(unit(text)),
        rank(query) {
          const target = unit(query);
          return byScore(new Map(vectors.map((vector, id) => [id, dot(vector, target)])));
        },
      };
    },
  };
}

function dot(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += (a[i] as number) * (b[i] as number);
  return sum;
}

/** The ranked texts that fit a budget, whole. */
export function pack(
  ranker: Ranker,
  ranking: readonly number[],
  costs: readonly number[],
  budget: number,
): Set<number> {
  const packed = new Set<number>();
  let left = budget;
  for (const id of ranking) {
    const price = costs[id] as number;
    if (price > left && ranker.window) break;
    if (price > left) continue;
    left -= price;
    packed.add(id);
  }
  return packed;
}
