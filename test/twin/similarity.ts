/** Cosine by the naive formula. */
export function cosine(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let dot = 0;
  let aa = 0;
  let bb = 0;
  for (let i = 0; i < a.length; i++) {
    dot += a[i]! * b[i]!;
    aa += a[i]! * a[i]!;
    bb += b[i]! * b[i]!;
  }
  return dot / (Math.sqrt(aa) * Math.sqrt(bb));
}

/** `max_similarity` of SPEC-028 §5.2; never below 0, which it is over nothing (G-20). */
export function maxSimilarity(vector: ArrayLike<number>, vectors: ReadonlyArray<ArrayLike<number>>): number {
  return Math.max(0, ...vectors.map((other) => cosine(vector, other)));
}
