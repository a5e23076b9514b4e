import type { TurnLog } from "./log.js";
import type { MarkerLists } from "./markers.js";
import { detectReferentialExpressions, type Expression } from "./references.js";
import { maxSimilarity } from "./similarity.js";

export type Intent = "EXPLORE" | "DRILL_DOWN" | "CLARIFY" | "CONTINUE" | "TOOL_REFERENCE";

export interface IntentBlend {
  P: number;
  C: number;
  E: number;
  novelty: "on" | "off" | "partial";
}

/** `INTENT_BLENDS` of SPEC-028 §5.3. */
export const INTENT_BLENDS: Record<Intent, IntentBlend> = {
  EXPLORE: { P: 0.7, C: 0.25, E: 0.05, novelty: "on" },
  DRILL_DOWN: { P: 0.3, C: 0.65, E: 0.05, novelty: "off" },
  CLARIFY: { P: 0.2, C: 0.75, E: 0.05, novelty: "off" },
  CONTINUE: { P: 0.5, C: 0.4, E: 0.1, novelty: "partial" },
  TOOL_REFERENCE: { P: 0.2, C: 0.3, E: 0.5, novelty: "off" },
};

export interface ClassifiedIntent {
  intent: Intent;
  references: Expression[];
  /** To the active thread; null when a marker decided before it was needed. */
  topicSimilarity: number | null;
}

/** `classify_intent` of SPEC-028 §5.2, line by line. */
export function classifyIntent(
  currentTurn: string,
  embedding: ArrayLike<number>,
  log: TurnLog,
  lists: MarkerLists,
): ClassifiedIntent {
  const lower = currentTurn.toLowerCase();
  const references = detectReferentialExpressions(currentTurn, lists);
  const decided = (intent: Intent): ClassifiedIntent => ({ intent, references, topicSimilarity: null });
  if (references.some((reference) => reference.type === "tool")) return decided("TOOL_REFERENCE");
  if (lists.clarify.some((phrase) => lower.includes(phrase))) return decided("CLARIFY");
  if (references.length > 0) return decided("DRILL_DOWN");
  if (lists.continue.some((phrase) => lower.includes(phrase))) return decided("CONTINUE");
  const topicSimilarity = maxSimilarity(
    embedding,
    log.activeThreadTurns.map((turn) => turn.embedding),
  );
  return { intent: topicSimilarity < 0.5 ? "EXPLORE" : "CONTINUE", references, topicSimilarity };
}
