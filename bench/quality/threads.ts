/** Rows of threads, shared by the natural turns and their interleavings. */

import { bcubed, bcubedCounts, decision } from "./metrics.js";
import type { Predictor, Sheet } from "./metrics.js";

/** Counts for the F1 of one event. */
export const eventDecision = (event: string, predicted: string, gold: string): number[] =>
  decision(predicted === event, gold === event);

/** Adds the B-cubed row of one conversation. */
export function scoreClustering(
  sheet: Sheet,
  prefix: string,
  by: Predictor,
  conversation: number,
  turns: readonly { gold: unknown; predicted: unknown }[],
): void {
  const golds = turns.map((turn) => turn.gold);
  const predictions = turns.map((turn) => turn.predicted);
  sheet.add(`${prefix}.thread.b3`, bcubed, by, conversation, bcubedCounts(golds, predictions));
}
