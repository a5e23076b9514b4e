import { INTENT_BLENDS, type Intent } from "../../../../test/twin/intent.js";
import { shares } from "../../../../test/twin/envelope.js";
import type { GoodLog } from "./log.js";
import { Ranking } from "./ranking.js";

export interface GoodTurn {
  intent: Intent;
  /** Turn ids in the order of the envelope. */
  items: number[];
  tokens: number;
  messages: Array<{ role: "user" | "assistant"; content: string }>;
  headers: Record<string, string>;
}

/** The envelope of a turn over a conversation without facts, tool output or references. The log is left as it was. */
export function assemble(log: GoodLog, text: string, vector: Float32Array, budget: number, overhead: number): GoodTurn {
  const { thread, active } = log.assign(vector);
  const { intent } = log.classifyWith(text, active);
  const blend = INTENT_BLENDS[intent];
  const ranking = new Ranking(log.length, thread === null ? null : log.threads[thread]!);
  const packed = pack(log, ranking, budget, shares(budget, blend).C, overhead);
  const items = sandwich(packed, ranking, blend.C / Math.max(blend.P, blend.C, blend.E));
  const messages: GoodTurn["messages"] = items.map((row) => ({ role: log.roles[row]!, content: log.contents[row]! }));
  messages.push({ role: "user", content: text });
  return {
    intent,
    items: items.map((row) => row + 1),
    tokens: packed.reduce((sum, row) => sum + log.tokens[row]! + overhead, 0),
    messages,
    headers: {
      "CRP-Context-Mode": "conversation",
      "CRP-Context-Tier-Blend": `${Math.round(blend.P * 100)}/${Math.round(blend.C * 100)}/${Math.round(blend.E * 100)}`,
      "CRP-Context-Turn-Intent": intent,
      "CRP-Context-References-Resolved": "0",
    },
  };
}

/**
 * Greedy: first Tier C's share, then, since the other tiers are empty, all that is left of the budget. Stops as soon as
 * not even the shortest turn fits. Rows in rank order.
 */
function pack(log: GoodLog, ranking: Ranking, budget: number, share: number, overhead: number): number[] {
  const shortest = log.shortest + overhead;
  const taken: number[] = [];
  const skipped: number[] = [];
  let left = share;
  let row = -1;
  while (left >= shortest && (row = ranking.next()) !== -1) {
    const tokens = log.tokens[row]! + overhead;
    if (tokens > left) {
      skipped.push(row);
      continue;
    }
    left -= tokens;
    taken.push(row);
  }
  left += budget - share;
  let waiting = 0;
  while (left >= shortest && (row = skipped[waiting++] ?? ranking.next()) !== -1) {
    const tokens = log.tokens[row]! + overhead;
    if (tokens > left) continue;
    left -= tokens;
    taken.push(row);
  }
  return taken;
}

/** The literal sandwich: best critical, last critical, supporting, important, the other critical ones. `weight`: of Tier C. */
function sandwich(packed: number[], ranking: Ranking, weight: number): number[] {
  packed.sort((a, b) => ranking.score(b) - ranking.score(a));
  const upTo = (threshold: number): number => {
    const end = packed.findIndex((row) => ranking.score(row) * weight < threshold);
    return end === -1 ? packed.length : end;
  };
  const critical = upTo(0.8);
  const important = upTo(0.5);
  return [
    ...packed.slice(0, Math.min(1, critical)),
    ...packed.slice(Math.max(1, critical - 1), critical),
    ...packed.slice(important),
    ...packed.slice(critical, important),
    ...packed.slice(1, Math.max(1, critical - 1)),
  ];
}
