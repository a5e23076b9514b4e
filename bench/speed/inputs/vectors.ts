import type { Random } from "./random.js";

export const DIMENSIONS = 384;

/** A direction at random, unit length. */
export function direction(random: Random, dimensions = DIMENSIONS): Float32Array {
  return unit(Float32Array.from({ length: dimensions }, () => random.normal()));
}

/** A unit vector near `centre`: two of them have a cosine near `1 / (1 + spread²)`, 0.8 as given. */
export function near(centre: Float32Array, random: Random, spread = 0.5): Float32Array {
  const noise = direction(random, centre.length);
  return unit(centre.map((value, i) => value + spread * noise[i]!));
}

export function unit(vector: Float32Array): Float32Array {
  const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
  return vector.map((value) => value / length);
}
