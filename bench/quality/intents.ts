/** Rows of intents. */

import type { Intent } from "trihorizon";
import { confusion, decision, f1, macroF1, share } from "./metrics.js";
import type { Predictor, Sheet } from "./metrics.js";
import type { Label } from "./data.js";

export const INTENTS: readonly Intent[] = ["EXPLORE", "DRILL_DOWN", "CLARIFY", "CONTINUE", "TOOL_REFERENCE"];

const MACRO = macroF1(INTENTS.length);

/** The gold value is the prediction if accepted, else the first accepted one. */
export const gold = <T>(accepted: readonly T[], predicted: T): T =>
  accepted.includes(predicted) ? predicted : (accepted[0] as T);

export function scoreNaturalIntent(
  sheet: Sheet,
  by: Predictor,
  conversation: number,
  first: boolean,
  label: Label,
  predicted: Intent,
): void {
  const truth = gold(label.intent, predicted);
  const hit = [+(truth === predicted), 1];
  sheet.add("turns.natural.intent.accuracy_all", share, by, conversation, hit);
  if (first) return;
  sheet.add("turns.natural.intent.accuracy", share, by, conversation, hit);
  sheet.add(
    "turns.natural.intent.macro_f1",
    MACRO,
    by,
    conversation,
    confusion(INTENTS.length, INTENTS.indexOf(truth), INTENTS.indexOf(predicted)),
  );
  if (label.sure) sheet.add("turns.natural.intent.accuracy_sure", share, by, conversation, hit);
}

export function scoreChallengeIntent(
  sheet: Sheet,
  by: Predictor,
  conversation: number,
  label: Label,
  predicted: Intent,
): void {
  const hit = [+(gold(label.intent, predicted) === predicted), 1];
  sheet.add("turns.challenge.intent.accuracy", share, by, conversation, hit);
  sheet.add(`turns.challenge.intent.accuracy.${label.kind}`, share, by, conversation, hit);
}

/** F1 of TOOL_REFERENCE among the intents of natural turns. */
export function scoreTool(sheet: Sheet, by: Predictor, conversation: number, label: Label, predicted: Intent): void {
  const truth = gold(label.intent, predicted);
  sheet.add(
    "turns.natural.tool_f1",
    f1,
    by,
    conversation,
    decision(predicted === "TOOL_REFERENCE", truth === "TOOL_REFERENCE"),
  );
}
