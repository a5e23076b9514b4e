/**
 * Metrics as functions of counts that add up over conversations, so that a bootstrap by conversation is a resampled sum.
 * A `Sheet` collects the counts of each row for each predictor.
 */

import type { Profile } from "trihorizon";

export const BASELINES = ["constant", "last-k", "bm25", "dense"] as const;
export type Baseline = (typeof BASELINES)[number];
export type Predictor = Profile | Baseline;

export interface Statistic {
  /** Null where the metric is undefined, such as the precision of a predictor that predicts nothing. */
  value(sums: readonly number[]): number | null;
  /** What was judged. */
  n(sums: readonly number[]): number;
}

const ratio = (part: number, whole: number): number | null => (whole === 0 ? null : part / whole);
const filled = (length: number, value: number): number[] => Array.from({ length }, () => value);
const at = (sums: readonly number[], index: number): number => sums[index] ?? 0;

/** Counts: hits (or a sum of values in [0, 1]), judged. */
export const share: Statistic = {
  value: (sums) => ratio(at(sums, 0), at(sums, 1)),
  n: (sums) => at(sums, 1),
};

/** Counts: a part and its whole, cases. */
export const partOfWhole: Statistic = {
  value: (sums) => ratio(at(sums, 0), at(sums, 1)),
  n: (sums) => at(sums, 2),
};

/** Counts: true positives, false positives, false negatives, true negatives. */
export const f1: Statistic = {
  value: (sums) => ratio(2 * at(sums, 0), 2 * at(sums, 0) + at(sums, 1) + at(sums, 2)),
  n: (sums) => at(sums, 0) + at(sums, 1) + at(sums, 2) + at(sums, 3),
};

/** Counts of one binary decision for `f1`. */
export const decision = (predicted: boolean, gold: boolean): number[] =>
  gold ? [+predicted, 0, +!predicted, 0] : [0, +predicted, 0, +!predicted];

/** Counts: a confusion matrix, row-major by gold class. Classes neither labelled nor predicted are left out of the mean. */
export function macroF1(classes: number): Statistic {
  return {
    value(sums) {
      const scores: number[] = [];
      for (let c = 0; c < classes; c++) {
        const hits = at(sums, c * classes + c);
        let either = 0;
        for (let other = 0; other < classes; other++)
          either += at(sums, c * classes + other) + at(sums, other * classes + c);
        if (either > 0) scores.push((2 * hits) / either);
      }
      return ratio(
        scores.reduce((a, b) => a + b, 0),
        scores.length,
      );
    },
    n: (sums) => sums.reduce((a, b) => a + b, 0),
  };
}

/** Counts of one decision for `macroF1`. */
export function confusion(classes: number, gold: number, predicted: number): number[] {
  const counts = filled(classes * classes, 0);
  counts[gold * classes + predicted] = 1;
  return counts;
}

/** Counts: summed B-cubed precision, summed recall, items. */
export const bcubed: Statistic = {
  value(sums) {
    const n = at(sums, 2);
    const precision = ratio(at(sums, 0), n);
    const recall = ratio(at(sums, 1), n);
    if (precision === null || recall === null) return null;
    return ratio(2 * precision * recall, precision + recall);
  },
  n: (sums) => at(sums, 2),
};

/** Counts of one clustering for `bcubed`. */
export function bcubedCounts(gold: readonly unknown[], predicted: readonly unknown[]): number[] {
  let precision = 0;
  let recall = 0;
  for (let i = 0; i < gold.length; i++) {
    let both = 0;
    let inGold = 0;
    let inPredicted = 0;
    for (let j = 0; j < gold.length; j++) {
      const sameGold = gold[i] === gold[j];
      const samePredicted = predicted[i] === predicted[j];
      inGold += +sameGold;
      inPredicted += +samePredicted;
      both += +(sameGold && samePredicted);
    }
    precision += both / inPredicted;
    recall += both / inGold;
  }
  return [precision, recall, gold.length];
}

/** Items shared under the best one-to-one assignment of gold to predicted clusters. */
export function oneToOneOverlap(gold: readonly unknown[], predicted: readonly unknown[]): number {
  const rows = [...new Set(gold)];
  const columns = [...new Set(predicted)];
  const shared = rows.map(() => columns.map(() => 0));
  gold.forEach((cluster, i) => {
    const row = shared[rows.indexOf(cluster)] as number[];
    const column = columns.indexOf(predicted[i]);
    row[column] = (row[column] as number) + 1;
  });
  return assign(shared).reduce(
    (sum, column, row) => sum + (column < 0 ? 0 : ((shared[row] as number[])[column] as number)),
    0,
  );
}

/** Hungarian method: for each row of a gain matrix, its column in an assignment of greatest total gain, -1 for none. */
export function assign(gain: readonly (readonly number[])[]): number[] {
  const size = Math.max(gain.length, gain[0]?.length ?? 0);
  const price = (row: number, column: number): number => -(gain[row - 1]?.[column - 1] ?? 0);
  // Potentials u, v and the matching of columns to rows, 1-based; column 0 is the root of each augmenting path.
  const u = new Float64Array(size + 1);
  const v = new Float64Array(size + 1);
  const rowOf = new Int32Array(size + 1);
  const previous = new Int32Array(size + 1);
  for (let row = 1; row <= size; row++) {
    rowOf[0] = row;
    let column = 0;
    const least = new Float64Array(size + 1).fill(Infinity);
    const used = new Uint8Array(size + 1);
    do {
      used[column] = 1;
      const from = rowOf[column] as number;
      let delta = Infinity;
      let next = 0;
      for (let j = 1; j <= size; j++) {
        if (used[j]) continue;
        const reduced = price(from, j) - (u[from] as number) - (v[j] as number);
        if (reduced < (least[j] as number)) {
          least[j] = reduced;
          previous[j] = column;
        }
        if ((least[j] as number) < delta) {
          delta = least[j] as number;
          next = j;
        }
      }
      for (let j = 0; j <= size; j++) {
        if (used[j]) {
          u[rowOf[j] as number] = (u[rowOf[j] as number] as number) + delta;
          v[j] = (v[j] as number) - delta;
        } else {
          least[j] = (least[j] as number) - delta;
        }
      }
      column = next;
    } while (rowOf[column] !== 0);
    while (column !== 0) {
      const before = previous[column] as number;
      rowOf[column] = rowOf[before] as number;
      column = before;
    }
  }
  const columns = filled(gain.length, -1);
  for (let j = 1; j <= size; j++) {
    const row = (rowOf[j] as number) - 1;
    if (row < gain.length && j <= (gain[row]?.length ?? 0)) columns[row] = j - 1;
  }
  return columns;
}

/** A seeded generator of numbers in [0, 1). */
export function mulberry32(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

const RESAMPLES = 1000;
const SEED = 28;

export interface Score {
  value: number | null;
  low: number | null;
  high: number | null;
  n: number;
}

/** The value over all conversations and its 95 % percentile interval over resampled conversations. */
export function bootstrap(statistic: Statistic, conversations: readonly (readonly number[])[]): Score {
  const all = filled(conversations.length, 1);
  const total = weightedSum(conversations, all);
  const random = mulberry32(SEED);
  const values: number[] = [];
  for (let r = 0; r < RESAMPLES; r++) {
    const drawn = filled(conversations.length, 0);
    for (let i = 0; i < drawn.length; i++) {
      const pick = Math.floor(random() * drawn.length);
      drawn[pick] = (drawn[pick] as number) + 1;
    }
    const value = statistic.value(weightedSum(conversations, drawn));
    if (value !== null) values.push(value);
  }
  values.sort((a, b) => a - b);
  return {
    value: statistic.value(total),
    low: quantile(values, 0.025),
    high: quantile(values, 0.975),
    n: statistic.n(total),
  };
}

function weightedSum(vectors: readonly (readonly number[])[], weights: readonly number[]): number[] {
  const sums: number[] = [];
  vectors.forEach((vector, i) => {
    const weight = weights[i] as number;
    if (weight === 0) return;
    for (let k = 0; k < vector.length; k++) sums[k] = at(sums, k) + weight * (vector[k] as number);
  });
  return sums;
}

function quantile(sorted: readonly number[], q: number): number | null {
  if (sorted.length === 0) return null;
  const place = q * (sorted.length - 1);
  const below = Math.floor(place);
  const low = sorted[below] as number;
  const high = sorted[Math.min(below + 1, sorted.length - 1)] as number;
  return low + (place - below) * (high - low);
}

interface Cell {
  statistic: Statistic;
  counts: Map<Predictor, Map<number, number[]>>;
}

/** Counts of every row, by predictor and conversation. */
export class Sheet {
  private readonly cells = new Map<string, Cell>();

  /** Adds counts of one conversation to a row. */
  add(row: string, statistic: Statistic, by: Predictor, conversation: number, counts: readonly number[]): void {
    let cell = this.cells.get(row);
    if (cell === undefined) this.cells.set(row, (cell = { statistic, counts: new Map() }));
    let conversations = cell.counts.get(by);
    if (conversations === undefined) cell.counts.set(by, (conversations = new Map()));
    const sums = conversations.get(conversation);
    if (sums === undefined) conversations.set(conversation, [...counts]);
    else counts.forEach((count, k) => (sums[k] = at(sums, k) + count));
  }

  rows(): string[] {
    return [...this.cells.keys()];
  }

  /** Null when the predictor says nothing about the row. */
  score(row: string, by: Predictor): Score | null {
    const cell = this.cells.get(row);
    const conversations = cell?.counts.get(by);
    return cell === undefined || conversations === undefined
      ? null
      : bootstrap(cell.statistic, [...conversations.values()]);
  }

  /** As `score`, without the interval. */
  value(row: string, by: Predictor): number | null {
    const cell = this.cells.get(row);
    const conversations = cell?.counts.get(by);
    if (cell === undefined || conversations === undefined) return null;
    const vectors = [...conversations.values()];
    return cell.statistic.value(
      weightedSum(
        vectors,
        vectors.map(() => 1),
      ),
    );
  }
}
