/** Natural conversations that interrupt each other: threads, and what is packed after a return. */

import type { AssembleOptions, Engine, Profile, Turn } from "trihorizon";
import { pack } from "../baselines.js";
import type { Ranker } from "../baselines.js";
import { isChallenge } from "../data.js";
import type { Conversation } from "../data.js";
import { gradedEvent } from "../dataset.js";
import type { Bench, Dataset } from "../dataset.js";
import { Feed } from "../feed.js";
import { interleavings } from "../interleave.js";
import type { InterleavedMessage } from "../interleave.js";
import { f1, partOfWhole, share } from "../metrics.js";
import type { Predictor, Sheet } from "../metrics.js";
import { brief, cost, textOf } from "../text.js";
import { eventDecision, scoreClustering } from "../threads.js";

const NARROW = 250;
/** Also the budget at which drift is measured. */
const WIDE = 500;

/**
 * "P and E off": no facts, and the whole blend on Tier C, so that the budget is all the conversation's. A tool result that
 * the turn needs counts as packed if its scratch entry is among the items: an explicit reference brings it in whatever the
 * blend says.
 */
const ONLY_C: AssembleOptions = { blend: { P: 0, C: 1, E: 0 } };

export const interleaved: Dataset<Conversation> = {
  name: "interleaved",
  folder: "turns",
  measure(records, profile, engine, bench) {
    natural(records).forEach((messages, index) => measureOne(messages, index, profile, engine, bench));
  },
  baselines(records, { sheet, rankers }) {
    natural(records).forEach((messages, index) => {
      constants(messages, index, sheet);
      for (const ranker of rankers) envelopes(messages, index, sheet, ranker);
    });
  },
};

const natural = (records: readonly Conversation[]): InterleavedMessage[][] =>
  interleavings(records.filter((record) => !isChallenge(record)));

function measureOne(
  messages: readonly InterleavedMessage[],
  index: number,
  profile: Profile,
  engine: Engine,
  { sheet, errors }: Bench,
): void {
  const feed = new Feed(engine, `interleaved-${index}`);
  /** Which conversation began each thread. */
  const owners = new Map<string, number>();
  const threads: { gold: unknown; predicted: unknown }[] = [];
  messages.forEach((entry, i) => {
    if (entry.message.role !== "user") return void feed.append(entry.message);
    const text = textOf(entry.message);
    const narrow = entry.afterReturn ? feed.peek(text, { ...ONLY_C, budget: NARROW }) : null;
    const turn = feed.ask(text, { ...ONLY_C, budget: WIDE });
    if (!owners.has(turn.thread.id)) owners.set(turn.thread.id, entry.of);
    if (i === 0) return;

    const event = gradedEvent(turn.thread.event);
    scoreEvents(sheet, profile, index, entry, event);
    threads.push({ gold: entry.of, predicted: turn.thread.id });
    const where = `interleaving ${index} #${i + 1} of ${"ABC"[entry.of]}`;
    errors.count(profile, "interleaved: thread events", entry.gold, event);
    if (event !== entry.gold) {
      const got = `${event} (${turn.thread.id}, ${turn.thread.similarity.toFixed(2)})`;
      errors.note(
        profile,
        "interleaved: thread events",
        turn.thread.similarity,
        () => `${where} gold ${entry.gold}, got ${got}: "${brief(text)}"`,
      );
    }
    if (narrow === null) return;

    const packed = feed.packed(turn);
    scoreNeeds(sheet, profile, index, NARROW, entry, feed.packed(narrow));
    scoreNeeds(sheet, profile, index, WIDE, entry, packed);
    sheet.add("interleaved.drift", partOfWhole, profile, index, drift(turn, feed, messages, owners, entry.of));
    const lost = entry.needs.filter((number) => !packed.has(number));
    if (lost.length > 0) {
      const quote = (number: number): string =>
        `#${number} (${cost(feed.text(number))} tokens) "${brief(feed.text(number), 80)}"`;
      errors.note(
        profile,
        `interleaved: needs not packed in ${WIDE}`,
        0,
        () => `${where} (${event}) ${lost.map(quote).join("; ")}\n    for: "${brief(text)}"`,
      );
    }
  });
  scoreClustering(sheet, "interleaved", profile, index, threads);
}

/** Always `new`, always `resume`, always one thread. */
function constants(messages: readonly InterleavedMessage[], index: number, sheet: Sheet): void {
  const turns = messages.slice(1).filter(({ message }) => message.role === "user");
  for (const { gold } of turns) {
    sheet.add("interleaved.thread.new_f1", f1, "constant", index, eventDecision("new", "new", gold));
    sheet.add("interleaved.thread.resume_f1", f1, "constant", index, eventDecision("resume", "resume", gold));
  }
  scoreClustering(
    sheet,
    "interleaved",
    "constant",
    index,
    turns.map(({ of }) => ({ gold: of, predicted: "one" })),
  );
}

function envelopes(messages: readonly InterleavedMessage[], index: number, sheet: Sheet, ranker: Ranker): void {
  const log = ranker.log();
  const costs = messages.map(({ message }) => cost(textOf(message)));
  const spent = (ids: readonly number[]): number => ids.reduce((sum, id) => sum + (costs[id] as number), 0);
  for (const entry of messages) {
    const text = textOf(entry.message);
    if (entry.message.role === "user" && entry.afterReturn) {
      const ranking = log.rank(text);
      for (const budget of [NARROW, WIDE]) {
        const packed = [...pack(ranker, ranking, costs, budget)];
        scoreNeeds(sheet, ranker.baseline, index, budget, entry, new Set(packed.map((id) => id + 1)));
        if (budget !== WIDE) continue;
        const foreign = packed.filter((id) => messages[id]?.of !== entry.of);
        sheet.add("interleaved.drift", partOfWhole, ranker.baseline, index, [spent(foreign), spent(packed), 1]);
      }
    }
    log.add(text);
  }
}

function scoreEvents(
  sheet: Sheet,
  by: Predictor,
  conversation: number,
  entry: InterleavedMessage,
  event: string,
): void {
  sheet.add("interleaved.thread.new_f1", f1, by, conversation, eventDecision("new", event, entry.gold));
  sheet.add("interleaved.thread.resume_f1", f1, by, conversation, eventDecision("resume", event, entry.gold));
}

function scoreNeeds(
  sheet: Sheet,
  by: Predictor,
  conversation: number,
  budget: number,
  entry: InterleavedMessage,
  packed: ReadonlySet<number>,
): void {
  if (entry.needs.length === 0) return;
  sheet.add(`interleaved.needs${budget}`, share, by, conversation, [
    +entry.needs.every((number) => packed.has(number)),
    1,
  ]);
}

/** Packed Tier C tokens of other conversations, and all, of one turn; a thread's summary is of the conversation that began the thread. */
function drift(
  turn: Turn,
  feed: Feed,
  messages: readonly InterleavedMessage[],
  owners: ReadonlyMap<string, number>,
  of: number,
): number[] {
  let foreign = 0;
  let total = 0;
  for (const item of turn.envelope.items) {
    if (item.tier !== "C") continue;
    const number = feed.item(item);
    const owner = number === undefined ? owners.get(String(item.id)) : messages[number - 1]?.of;
    total += item.tokens;
    if (owner !== of) foreign += item.tokens;
  }
  return [foreign, total, 1];
}
