/** Rows of context dependence, on `ikat` and `gecor`. */

import type { Profile, Turn } from "trihorizon";
import type { Errors } from "./errors.js";
import { confusion, macroF1 } from "./metrics.js";
import type { Predictor, Sheet } from "./metrics.js";
import { brief } from "./text.js";

const BINARY = macroF1(2);

export function scoreContext(
  sheet: Sheet,
  dataset: string,
  by: Predictor,
  conversation: number,
  predicted: boolean,
  gold: boolean,
): void {
  sheet.add(`${dataset}.context.macro_f1`, BINARY, by, conversation, confusion(2, +gold, +predicted));
}

export function noteContext(
  errors: Errors,
  dataset: string,
  profile: Profile,
  where: string,
  text: string,
  complete: string,
  turn: Turn,
  gold: boolean,
): void {
  if (turn.contextDependent === gold) return;
  errors.note(profile, `${dataset}: context ${gold ? "missed" : "spurious"}`, turn.confidence, () => {
    const cues = [...turn.references.map((reference) => `"${reference.text}"`), ...(turn.ellipsis ? ["ellipsis"] : [])];
    return `${where} (${turn.intent}; ${cues.join(" ") || "no cue"}): "${brief(text)}"${gold ? `\n    means "${brief(complete)}"` : ""}`;
  });
}
