export const HALF_LIFE = 6;

/** `turn_recency` of SPEC-028 §3.2, in single precision, as scores are kept. */
export function turnRecency(distance: number, halfLife = HALF_LIFE): number {
  return Math.fround(0.5 ** (distance / halfLife));
}
