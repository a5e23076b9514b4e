import { DIMENSIONS } from "../inputs/vectors.js";
import { Rows } from "./good/rows.js";
import { optional } from "./packages.js";

/** Largest inner product of a unit query with the rows it was made for. */
export type Nearest = (query: Float32Array) => number;

/** Every way to find it over `vectors` (unit), or the reason why one cannot be used here. */
export async function nearest(vectors: readonly Float32Array[]): Promise<Record<string, Nearest | Error>> {
  const rows = new Rows(DIMENSIONS);
  for (const vector of vectors) rows.push(vector);
  const all = Int32Array.from(vectors, (_, row) => row);
  return {
    good_js: (query) => rows.maxSimilarity(query, all, all.length),
    blocked_js: (query) => rows.maxSimilarityBlocked(query, all, all.length),
    simsimd: await simsimdPairs(vectors),
    usearch: await usearchExact(vectors),
  };
}

async function simsimdPairs(vectors: readonly Float32Array[]): Promise<Nearest | Error> {
  const simsimd = await optional("simsimd");
  if (simsimd instanceof Error) return simsimd;
  return (query) => {
    let best = -Infinity;
    for (const vector of vectors) {
      const similarity = simsimd.dot(query, vector);
      if (similarity > best) best = similarity;
    }
    return best;
  };
}

async function usearchExact(vectors: readonly Float32Array[]): Promise<Nearest | Error> {
  const usearch = await optional("usearch");
  if (usearch instanceof Error) return usearch;
  const dataset = new Float32Array(vectors.length * DIMENSIONS);
  vectors.forEach((vector, row) => dataset.set(vector, row * DIMENSIONS));
  return (query) => 1 - usearch.exactSearch(dataset, query, DIMENSIONS, 1, "ip", 1).distances[0]!;
}
