/** `turns/`: intents, references, threads, ellipsis, constraints and document requests of labelled user turns. */

import type { Engine, Intent, Message, Profile, Turn } from "trihorizon";
import type { Ranker } from "../baselines.js";
import { isChallenge } from "../data.js";
import type { Conversation, Label } from "../data.js";
import { gradedEvent } from "../dataset.js";
import type { Bench, Dataset } from "../dataset.js";
import type { Errors } from "../errors.js";
import { Feed } from "../feed.js";
import { gold, scoreChallengeIntent, scoreNaturalIntent, scoreTool } from "../intents.js";
import { assign, decision, f1, share } from "../metrics.js";
import type { Predictor, Sheet } from "../metrics.js";
import {
  expressions,
  firstTarget,
  foundSpans,
  match,
  resolves,
  rightItems,
  rightRows,
  scoreParts,
  scoreResolution,
  scoreSpans,
} from "../references.js";
import type { Expression, Found, Matching } from "../references.js";
import { brief, contentWords, textOf } from "../text.js";
import { eventDecision, scoreClustering } from "../threads.js";

export const turns: Dataset<Conversation> = {
  name: "turns",
  folder: "turns",
  measure(records, profile, engine, bench) {
    records.forEach((conversation, index) => {
      if (isChallenge(conversation)) measureChallenge(conversation, index, profile, engine, bench);
      else measureNatural(conversation, index, profile, engine, bench);
    });
  },
  baselines(records, { sheet, rankers }) {
    records.forEach((conversation, index) => {
      const challenge = isChallenge(conversation);
      constants(sheet, conversation, index, challenge);
      for (const ranker of rankers)
        retrievers(sheet, conversation, index, challenge ? "turns.challenge" : "turns.natural", ranker);
    });
  },
};

/** A labelled user turn and the messages since the one before it. */
interface LabelledTurn {
  label: Label;
  text: string;
  before: readonly Message[];
  first: boolean;
}

function labelledTurns({ messages, labels }: Conversation): LabelledTurn[] {
  const firstUser = messages.findIndex((message) => message.role === "user") + 1;
  let from = 0;
  return labels.map((label) => {
    const before = messages.slice(from, label.turn - 1);
    from = label.turn;
    return { label, text: textOf(messages[label.turn - 1] as Message), before, first: label.turn === firstUser };
  });
}

function measureNatural(
  conversation: Conversation,
  index: number,
  profile: Profile,
  engine: Engine,
  { sheet, errors }: Bench,
): void {
  const feed = new Feed(engine, `turns-${index}`);
  const threads: { gold: unknown; predicted: unknown }[] = [];
  for (const { label, text, before, first } of labelledTurns(conversation)) {
    feed.appendAll(before);
    const held = feed.constraints();
    const turn = feed.ask(text);
    const where = `${conversation.id} #${label.turn}`;
    scoreNaturalIntent(sheet, profile, index, first, label, turn.intent);
    noteIntent(errors, profile, "turns natural: intents", where, text, label, turn);
    if (first) continue;

    scoreTool(sheet, profile, index, label, turn.intent);
    const matching = match(expressions(label, text), findings(feed, text, turn));
    scoreSpans(sheet, "turns.natural", profile, index, matching);
    if (label.refs.length === 0) scoreAbstention(sheet, profile, index, matching);
    scoreResolution(sheet, "turns.natural", profile, index, label, matching);
    noteReferences(errors, profile, "turns natural", where, text, label, matching, feed);

    scoreThread(sheet, profile, index, label, gradedEvent(turn.thread.event));
    threads.push({ gold: label.thread, predicted: turn.thread.id });
    noteEvent(errors, profile, where, text, label, turn);

    sheet.add("turns.natural.ellipsis_f1", f1, profile, index, decision(turn.ellipsis, label.ellipsis));
    if (turn.ellipsis !== label.ellipsis) {
      errors.note(
        profile,
        label.ellipsis ? "turns natural: ellipsis missed" : "turns natural: ellipsis spurious",
        0,
        () => `${where} "${brief(text)}"`,
      );
    }
    scoreCarry(sheet, profile, index, label, feed.number(turn.carriesOver));
    sheet.add("turns.natural.document_f1", f1, profile, index, decision(turn.documentRequest, label.doc_request));
    if (turn.documentRequest !== label.doc_request) {
      errors.note(
        profile,
        "turns natural: document requests",
        0,
        () => `${where} gold ${label.doc_request}: "${brief(text)}"`,
      );
    }
    const constraints = feed.constraints().filter((constraint) => !held.includes(constraint));
    const hits = constraintHits(label.constraints, constraints);
    sheet.add("turns.natural.constraints_f1", f1, profile, index, [
      hits,
      constraints.length - hits,
      label.constraints.length - hits,
      0,
    ]);
    if (hits < Math.max(constraints.length, label.constraints.length)) {
      errors.note(
        profile,
        "turns natural: constraints",
        0,
        () =>
          `${where} gold ${JSON.stringify(label.constraints)}, found ${JSON.stringify(constraints)}: "${brief(text)}"`,
      );
    }
  }
  scoreClustering(sheet, "turns.natural", profile, index, threads);
}

function measureChallenge(
  conversation: Conversation,
  index: number,
  profile: Profile,
  engine: Engine,
  { sheet, errors }: Bench,
): void {
  const feed = new Feed(engine, `turns-${index}`);
  for (const { label, text, before } of labelledTurns(conversation)) {
    feed.appendAll(before);
    const turn = feed.ask(text);
    const where = `${conversation.id} #${label.turn} [${label.kind}]`;
    scoreChallengeIntent(sheet, profile, index, label, turn.intent);
    noteIntent(errors, profile, "turns challenge: intents", where, text, label, turn);
    const matching = match(expressions(label, text), findings(feed, text, turn));
    scoreResolution(sheet, "turns.challenge", profile, index, label, matching);
    scoreParts(sheet, "turns.challenge", profile, index, matching, (message) => feed.text(message));
    noteReferences(errors, profile, "turns challenge", where, text, label, matching, feed);
  }
}

const findings = (feed: Feed, text: string, turn: Turn): Found[] =>
  turn.references.map((reference) => ({
    text: reference.text,
    spans: foundSpans(text, reference.text, reference.span),
    target: feed.target(reference.target),
    items: reference.items,
    rows: reference.rows.map((row) => row.text),
  }));

function scoreAbstention(sheet: Sheet, by: Predictor, conversation: number, matching: Matching): void {
  const resolved = matching.spurious.some((found) => found.target !== undefined);
  sheet.add("turns.natural.reference.abstention", share, by, conversation, [+!resolved, 1]);
}

function scoreThread(
  sheet: Sheet,
  by: Predictor,
  conversation: number,
  label: Label,
  event: "new" | "resume" | "stay",
): void {
  const truth = gold(label.event, event);
  sheet.add("turns.natural.thread.new_f1", f1, by, conversation, eventDecision("new", event, truth));
  sheet.add("turns.natural.thread.resume_f1", f1, by, conversation, eventDecision("resume", event, truth));
}

function scoreCarry(
  sheet: Sheet,
  by: Predictor,
  conversation: number,
  label: Label,
  carries: number | undefined,
): void {
  if (!label.ellipsis) return;
  sheet.add("turns.natural.carries_over", share, by, conversation, [
    +(carries !== undefined && label.needs_any.includes(carries)),
    1,
  ]);
}

/** A constraint is found when half of its content words are in a new one; each counts once. */
function constraintHits(labelled: readonly string[], found: readonly string[]): number {
  if (labelled.length === 0 || found.length === 0) return 0;
  const gain = labelled.map((text) => {
    const wanted = contentWords(text);
    return found.map((candidate) => {
      const offered = new Set(contentWords(candidate));
      return +(2 * wanted.filter((word) => offered.has(word)).length >= Math.max(1, wanted.length));
    });
  });
  return assign(gain).filter((column, row) => gain[row]?.[column] === 1).length;
}

function constants(sheet: Sheet, conversation: Conversation, index: number, challenge: boolean): void {
  const by = "constant";
  const threads: { gold: unknown; predicted: unknown }[] = [];
  for (const { label, text, first } of labelledTurns(conversation)) {
    if (challenge) {
      scoreChallengeIntent(sheet, by, index, label, "CONTINUE");
      scoreParts(sheet, "turns.challenge", by, index, given(label, text, undefined, [1]), () => "");
      continue;
    }
    const intent: Intent = first ? "EXPLORE" : "CONTINUE";
    scoreNaturalIntent(sheet, by, index, first, label, intent);
    if (first) continue;
    scoreTool(sheet, by, index, label, "TOOL_REFERENCE");
    const whole: Found = { text, spans: [[0, text.length]], target: undefined, items: [], rows: [] };
    scoreSpans(sheet, "turns.natural", by, index, match(expressions(label, text), [whole]));
    if (label.refs.length === 0) scoreAbstention(sheet, by, index, match([], []));
    sheet.add("turns.natural.thread.new_f1", f1, by, index, eventDecision("new", "new", gold(label.event, "new")));
    sheet.add(
      "turns.natural.thread.resume_f1",
      f1,
      by,
      index,
      eventDecision("resume", "resume", gold(label.event, "resume")),
    );
    threads.push({ gold: label.thread, predicted: "one" });
    sheet.add("turns.natural.ellipsis_f1", f1, by, index, decision(true, label.ellipsis));
    sheet.add("turns.natural.document_f1", f1, by, index, decision(true, label.doc_request));
    const hits = constraintHits(label.constraints, [text]);
    sheet.add("turns.natural.constraints_f1", f1, by, index, [hits, 1 - hits, label.constraints.length - hits, 0]);
  }
  if (!challenge) scoreClustering(sheet, "turns.natural", by, index, threads);
}

/** The labelled expressions, all resolved to one message. */
function given(label: Label, text: string, target: number | undefined, items: readonly number[] = []): Matching {
  const labelled = expressions(label, text);
  return match(
    labelled,
    labelled.map(({ text: expression, spans }) => ({ text: expression, spans, target, items, rows: [] })),
  );
}

/**
 * Given the labelled spans, every expression means the best earlier message for the turn (`last-k`: the last assistant
 * text), and an elliptic turn extends it.
 */
function retrievers(sheet: Sheet, conversation: Conversation, index: number, prefix: string, ranker: Ranker): void {
  const log = ranker.log();
  const numbers: number[] = [];
  const messages: Message[] = [];
  for (const { label, text, before, first } of labelledTurns(conversation)) {
    const add = (message: Message): void => {
      messages.push(message);
      if (textOf(message).trim() === "" || (ranker.baseline === "last-k" && message.role !== "assistant")) return;
      log.add(textOf(message));
      numbers.push(messages.length);
    };
    before.forEach(add);
    if (!first) {
      const best = log.rank(text)[0];
      const target = best === undefined ? undefined : numbers[best];
      scoreResolution(sheet, prefix, ranker.baseline, index, label, given(label, text, target));
      if (prefix === "turns.natural") scoreCarry(sheet, ranker.baseline, index, label, target);
    }
    add({ role: "user", content: text });
  }
}

function noteIntent(
  errors: Errors,
  profile: Profile,
  title: string,
  where: string,
  text: string,
  label: Label,
  turn: Turn,
): void {
  const truth = gold(label.intent, turn.intent);
  errors.count(profile, title, truth, turn.intent);
  if (truth === turn.intent) return;
  errors.note(
    profile,
    title,
    turn.confidence,
    () =>
      `${where} gold ${label.intent.join("|")}, got ${turn.intent} (${turn.confidence.toFixed(2)}: ${turn.reason}): "${brief(text)}"`,
  );
}

function noteReferences(
  errors: Errors,
  profile: Profile,
  title: string,
  where: string,
  text: string,
  label: Label,
  matching: Matching,
  feed: Feed,
): void {
  const quote = (message: number | undefined): string =>
    message === undefined ? "nothing" : `#${message} "${brief(feed.text(message), 80)}"`;
  const note = (section: string, detail: string): void =>
    errors.note(profile, `${title}: references ${section}`, 0, () => `${where} ${detail}\n    in: "${brief(text)}"`);
  for (const { expression, found } of matching.pairs) {
    const wanted = [...expression.targets].map(quote).join(" or ");
    if (found.length === 0) note("missed", `"${expression.text}" -> ${wanted}`);
    else if (expression.targets.size > 0 && !resolves(expression, label, firstTarget(found)))
      note("with a wrong target", `"${expression.text}" -> ${wanted}, got ${quote(firstTarget(found))}`);
    else notePart(note, expression, found, feed);
  }
  for (const prediction of matching.spurious) note("spurious", `"${prediction.text}" -> ${quote(prediction.target)}`);
}

function notePart(
  note: (section: string, detail: string) => void,
  expression: Expression,
  found: readonly Found[],
  feed: Feed,
): void {
  if (expression.items.size > 0 && !rightItems(expression, found)) {
    note(
      "with wrong items",
      `"${expression.text}" gold ${[...expression.items]}, got ${found.flatMap((prediction) => prediction.items)}`,
    );
  }
  const results = [...expression.targets].map((target) => feed.text(target));
  if (expression.rows.length > 0 && !rightRows(expression, found, results)) {
    note(
      "with wrong rows",
      `"${expression.text}" gold ${expression.rows}, got ${JSON.stringify(found.flatMap((prediction) => prediction.rows.map((row) => brief(row, 120))))}`,
    );
  }
}

function noteEvent(errors: Errors, profile: Profile, where: string, text: string, label: Label, turn: Turn): void {
  const event = gradedEvent(turn.thread.event);
  const truth = gold(label.event, event);
  errors.count(profile, "turns natural: thread events", truth, event);
  if (truth === event) return;
  errors.note(
    profile,
    "turns natural: thread events",
    turn.thread.similarity,
    () =>
      `${where} gold ${label.event.join("|")} (${label.thread}), got ${event} (${turn.thread.id}, ${turn.thread.similarity.toFixed(2)}): "${brief(text)}"`,
  );
}
