import type { MarkerLists } from "../../test/twin/markers.js";
import type { Effort } from "./measure/effort.js";
import type { Product } from "./product.js";

export type Unit = "x" | "us" | "/s" | "KB";

/** What a value is held against; a claim without one is reported only. */
export type Bar = { atLeast: number } | { atMost: number };

/** One line of the record, known before anything runs. */
export interface Claim {
  /** The row's number first, its variants after dots: `10.1000.good_js`. */
  row: string;
  what: string;
  unit: Unit;
  bar?: Bar;
}

/** What was found: one value a round, their median is the claim's value; or why there is none. */
export type Findings = Readonly<Record<string, Finding>>;
export type Finding = { rounds: readonly number[]; note?: string } | { missing: string };

/** What a row works with. */
export interface Bench {
  product: Product;
  lists: MarkerLists;
  effort: Effort;
  quick: boolean;
}

/** One numbered row of the table: the claims it settles and how. */
export interface Row {
  number: string;
  claims: readonly Claim[];
  run(bench: Bench): Findings | Promise<Findings>;
}

export function atLeast(least: number): Bar {
  return { atLeast: least };
}

export function atMost(most: number): Bar {
  return { atMost: most };
}
