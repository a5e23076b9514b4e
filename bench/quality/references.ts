/** Rows of references: matching predicted expressions with labelled ones, and what they resolve to. */

import { assign, f1, share } from "./metrics.js";
import type { Predictor, Sheet } from "./metrics.js";
import type { Label } from "./data.js";
import { occurrences, overlap } from "./text.js";
import type { Span } from "./text.js";
import { isRow } from "./rows.js";

/** A labelled expression: the references with one text, which may point at several items or rows. */
export interface Expression {
  text: string;
  spans: Span[];
  agreed: boolean;
  targets: Set<number>;
  items: Set<number>;
  rows: string[];
}

/** A predicted expression. */
export interface Found {
  text: string;
  spans: Span[];
  /** Message it resolves to; undefined when it is left unresolved. */
  target: number | undefined;
  items: readonly number[];
  rows: readonly string[];
}

export function expressions(label: Label, text: string): Expression[] {
  const byText = new Map<string, Expression>();
  for (const ref of label.refs) {
    let expression = byText.get(ref.text);
    if (expression === undefined) {
      expression = {
        text: ref.text,
        spans: occurrences(text, ref.text),
        agreed: false,
        targets: new Set(),
        items: new Set(),
        rows: [],
      };
      byText.set(ref.text, expression);
    }
    expression.agreed ||= ref.agreed;
    for (const target of ref.target) expression.targets.add(target);
    if (ref.item !== null) expression.items.add(ref.item);
    if (ref.row !== null && !expression.rows.includes(ref.row)) expression.rows.push(ref.row);
  }
  return [...byText.values()];
}

/** A predicted expression at its span and wherever else its text occurs. */
export const foundSpans = (turn: string, text: string, span: Span): Span[] => [span, ...occurrences(turn, text)];

const touches = (a: { spans: Span[] }, b: { spans: Span[] }): boolean =>
  a.spans.some((x) => b.spans.some((y) => overlap(x, y)));

export interface Matching {
  /** Agreed expressions and all predictions that overlap them, the one matched with it first. */
  pairs: { expression: Expression; found: Found[] }[];
  /** Predictions that match nothing, not even an expression that only one annotator marked. */
  spurious: Found[];
  hits: number;
}

/** One prediction counts for one expression at most, and the other way round, as many pairs as possible. */
export function match(labelled: readonly Expression[], found: readonly Found[]): Matching {
  const agreed = labelled.filter((expression) => expression.agreed);
  const disputed = labelled.filter((expression) => !expression.agreed);
  const matched = assign(agreed.map((expression) => found.map((prediction) => +touches(expression, prediction))));
  const taken = new Set<Found>();
  const pairs = agreed.map((expression, i) => {
    const best = found[matched[i] as number];
    const overlapping = found.filter((prediction) => touches(expression, prediction));
    if (best === undefined || !overlapping.includes(best)) return { expression, found: overlapping };
    taken.add(best);
    return { expression, found: [best, ...overlapping.filter((prediction) => prediction !== best)] };
  });
  const spurious = found.filter(
    (prediction) => !taken.has(prediction) && !disputed.some((expression) => touches(expression, prediction)),
  );
  return { pairs, spurious, hits: taken.size };
}

/** Adds the detection row of a turn. */
export function scoreSpans(
  sheet: Sheet,
  prefix: string,
  by: Predictor,
  conversation: number,
  matching: Matching,
): void {
  const counts = [matching.hits, matching.spurious.length, matching.pairs.length - matching.hits, 0];
  sheet.add(`${prefix}.reference.span_f1`, f1, by, conversation, counts);
}

/** The first target of the matching prediction. */
export const firstTarget = (found: readonly Found[]): number | undefined =>
  found.find((prediction) => prediction.target !== undefined)?.target;

export const resolves = (expression: Expression, label: Label, target: number | undefined): boolean =>
  target !== undefined && (expression.targets.has(target) || label.needs.includes(target));

/** Adds the resolution row of a turn: an undetected expression is a miss. */
export function scoreResolution(
  sheet: Sheet,
  prefix: string,
  by: Predictor,
  conversation: number,
  label: Label,
  matching: Matching,
): void {
  for (const { expression, found } of matching.pairs) {
    if (expression.targets.size === 0) continue;
    sheet.add(`${prefix}.reference.resolution`, share, by, conversation, [
      +resolves(expression, label, firstTarget(found)),
      1,
    ]);
  }
}

export const rightItems = (expression: Expression, found: readonly Found[]): boolean => {
  const items = new Set(found.flatMap((prediction) => prediction.items));
  return items.size === expression.items.size && [...items].every((item) => expression.items.has(item));
};

/** `results`: texts of the accepted tool results. */
export const rightRows = (expression: Expression, found: readonly Found[], results: readonly string[]): boolean => {
  const rows = found.flatMap((prediction) => prediction.rows);
  return (
    rows.length > 0 &&
    rows.every((row) => expression.rows.some((gold) => results.some((result) => isRow(result, row, gold)))) &&
    expression.rows.every((gold) => rows.some((row) => row.includes(gold)))
  );
};

/** Adds the item and row rows of a turn. `text` gives a message's text. */
export function scoreParts(
  sheet: Sheet,
  prefix: string,
  by: Predictor,
  conversation: number,
  matching: Matching,
  text: (message: number) => string,
): void {
  for (const { expression, found } of matching.pairs) {
    if (expression.items.size > 0)
      sheet.add(`${prefix}.reference.item`, share, by, conversation, [+rightItems(expression, found), 1]);
    if (expression.rows.length > 0) {
      const results = [...expression.targets].map(text);
      sheet.add(`${prefix}.reference.row`, share, by, conversation, [+rightRows(expression, found, results), 1]);
    }
  }
}
