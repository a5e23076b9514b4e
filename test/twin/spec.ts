/**
 * The naive twin of the `spec` profile: the pseudo-code of CRP-SPEC-028 to the letter, and the decisions of the
 * requirements (G-…) where it is silent. It judges the engine in the parity tests and is contender (a) of the speed rows.
 *
 * It keeps every turn (the engine's `spec` profile keeps 50 unless `ring` says otherwise), knows no enumerations but
 * lines with a number, letter or bullet, makes no Active Thread Summary, and cuts no pinned turn to fit.
 */
import { type Candidate, pack, sandwich } from "./envelope.js";
import { classifyIntent, INTENT_BLENDS, type ClassifiedIntent } from "./intent.js";
import type { ThreadDecision, TurnLog } from "./log.js";
import type { MarkerLists } from "./markers.js";
import { HALF_LIFE, turnRecency } from "./recency.js";
import { resolveReferences, type ScratchEntry } from "./references.js";

export interface AssembleOptions {
  budget: number;
  /** Tokens of a text; asked again for every turn, every time. */
  count: (text: string) => number;
  /** Tokens of a message beside its text. */
  overhead: number;
  halfLife?: number;
  scratch?: readonly ScratchEntry[];
  /** Candidates of the tiers P and E, scored by their own policies. */
  others?: readonly Candidate[];
}

export interface AssembledTurn extends ClassifiedIntent {
  thread: ThreadDecision;
  items: Candidate[];
  messages: Array<{ role: "user" | "assistant"; content: string }>;
  headers: Record<string, string>;
}

/** One turn's envelope, messages and headers. The log is left as it was. */
export function assemble(
  currentTurn: string,
  embedding: ArrayLike<number>,
  log: TurnLog,
  lists: MarkerLists,
  options: AssembleOptions,
): AssembledTurn {
  const classified = classifyIntent(currentTurn, embedding, log, lists);
  const thread = log.assignThread(embedding);
  const resolved = resolveReferences(currentTurn, classified.references, log, options.scratch ?? []).filter(
    ({ target }) => target !== null,
  );
  const pinned = new Set(resolved.map(({ target }) => (target?.kind === "turn" ? target.id : null)));
  const blend = INTENT_BLENDS[classified.intent];
  const candidates = conversation(log, thread.thread, pinned, options);
  const items = sandwich(pack([...candidates, ...(options.others ?? [])], options.budget, blend), blend);
  const turns = items
    .map((item) => log.turns.find((turn) => turn.turnId === item.id))
    .filter((turn) => turn !== undefined);
  return {
    ...classified,
    thread,
    items,
    messages: [
      ...turns.map(({ role, content }) => ({
        role: role === "USER" ? ("user" as const) : ("assistant" as const),
        content,
      })),
      { role: "user", content: currentTurn },
    ],
    headers: {
      "CRP-Context-Mode": "conversation",
      "CRP-Context-Tier-Blend": [blend.P, blend.C, blend.E].map((weight) => Math.round(weight * 100)).join("/"),
      "CRP-Context-Turn-Intent": classified.intent,
      "CRP-Context-References-Resolved": String(resolved.length),
    },
  };
}

/** Every logged turn with its score: 1 when referenced, recency inside the active thread, plain recency elsewhere (G-45). */
function conversation(
  log: TurnLog,
  active: number,
  pinned: ReadonlySet<number | null>,
  { count, overhead, halfLife = HALF_LIFE }: AssembleOptions,
): Candidate[] {
  const inThread = log.turns.filter((turn) => turn.topicThread === active);
  return log.turns.map((turn) => {
    const distance =
      turn.topicThread === active ? inThread.length - inThread.indexOf(turn) : log.currentTurn - turn.turnId;
    const referenced = pinned.has(turn.turnId);
    return {
      tier: "C",
      id: turn.turnId,
      score: referenced ? 1 : turnRecency(distance, halfLife),
      tokens: count(turn.content) + overhead,
      pinned: referenced,
    };
  });
}
