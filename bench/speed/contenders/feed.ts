import { TurnLog } from "../../../test/twin/log.js";
import type { MarkerLists } from "../../../test/twin/markers.js";
import type { SceneTurn } from "../inputs/scenes.js";
import { DIMENSIONS } from "../inputs/vectors.js";
import type { Raw, Session } from "../product.js";
import { GoodLog } from "./good/log.js";

/** Ours, through the public API. */
export function feed(session: Session, turns: readonly SceneTurn[]): Session {
  for (const { role, content, vector } of turns) session.append({ role, content, vector });
  return session;
}

/** Ours, through the raw binding. */
export function feedRaw(raw: Raw, session: number, turns: readonly SceneTurn[]): number {
  for (const { role, content, vector } of turns)
    raw.append(session, role === "user" ? 2 : 3, content, undefined, vector, 0);
  return session;
}

/** (a) the specification's pseudo-code; its `float[]` is a JavaScript array. */
export function specLog(turns: readonly SceneTurn[]): TurnLog {
  const log = new TurnLog();
  for (const { role, content, vector } of turns)
    log.append(role === "user" ? "USER" : "ASSISTANT", content, Array.from(vector));
  return log;
}

/** (b) good JavaScript; tokens are counted once, here. */
export function goodLog(
  turns: readonly SceneTurn[],
  lists: MarkerLists,
  count: (text: string) => number = () => 0,
): GoodLog {
  const log = new GoodLog(lists, DIMENSIONS);
  for (const { role, content, vector } of turns) log.append(role, content, vector, count(content));
  return log;
}
