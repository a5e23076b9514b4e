import type { MarkerLists } from "../../../../test/twin/markers.js";

/** What the markers of a turn say, in the order in which SPEC-028 §5.2 asks. */
export const MARKED = { TOOL: 1, CLARIFY: 2, REFERENCE: 3, CONTINUE: 4, NOTHING: 5 } as const;
export type Marked = (typeof MARKED)[keyof typeof MARKED];

const NAMES = ["TOOL", "CLARIFY", "REFERENCE", "CONTINUE"] as const;

/** All phrases in one regular expression with word boundaries, compiled once; one group a class, the decisive class first. */
export class MarkerRegex {
  readonly #regex: RegExp;

  constructor(lists: MarkerLists) {
    const classes = [lists.tool, lists.clarify, Object.values(lists.references).flat(), lists.continue];
    const groups = classes.map((phrases) => `(${longestFirst(phrases).map(escaped).join("|")})`);
    this.#regex = new RegExp(`\\b(?:${groups.join("|")})\\b`, "gi");
  }

  classOf(text: string): Marked {
    const regex = this.#regex;
    regex.lastIndex = 0;
    let best: Marked = MARKED.NOTHING;
    for (let match = regex.exec(text); match !== null; match = regex.exec(text)) {
      const found = match.findIndex((group, i) => i > 0 && group !== undefined);
      const marked = MARKED[NAMES[found - 1]!];
      if (marked < best) best = marked;
      if (best === MARKED.TOOL) break;
    }
    return best;
  }
}

function longestFirst(phrases: readonly string[]): string[] {
  return [...phrases].sort((a, b) => b.length - a.length);
}

function escaped(phrase: string): string {
  return phrase.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
