import { isDeepStrictEqual } from "node:util";

/** Two contenders gave different answers: whatever is timed next would compare different work, so the run ends here. */
export class Disagreement extends Error {
  override readonly name = "Disagreement";
}

/** Refuses to go on unless every answer equals the first one. */
export function agree(what: string, answers: Readonly<Record<string, unknown>>): void {
  const [first, ...others] = Object.entries(answers);
  if (first === undefined) throw new RangeError(`${what}: no answers`);
  for (const [name, answer] of others) {
    if (isDeepStrictEqual(first[1], answer)) continue;
    throw new Disagreement(`${what}: ${first[0]} says ${shown(first[1])}, ${name} says ${shown(answer)}`);
  }
}

/** The same for numbers that may differ by rounding. */
export function agreeWithin(what: string, tolerance: number, answers: Readonly<Record<string, number>>): void {
  const [first, ...others] = Object.entries(answers);
  if (first === undefined) throw new RangeError(`${what}: no answers`);
  for (const [name, answer] of others) {
    if (Math.abs(first[1] - answer) <= tolerance) continue;
    throw new Disagreement(`${what}: ${first[0]} says ${first[1]}, ${name} says ${answer} (tolerance ${tolerance})`);
  }
}

function shown(answer: unknown): string {
  const json = JSON.stringify(answer);
  return json.length > 2000 ? `${json.slice(0, 2000)}…` : json;
}
