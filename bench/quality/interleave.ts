/**
 * Interleavings of natural conversations. From the data's README:
 *
 * > seed 28; every natural conversation with at least three user turns is A once; B is the next one of another source in
 * > file order; A up to and including the answer to its user turn ⌈n/2⌉, then all of B, then the rest of A; at depth 2 half
 * > of B is interrupted by C in the same way. Gold: `new` at the first turn of B and C, `resume` at each return, thread =
 * > conversation.
 *
 * Read as: the seeded generator draws the depth (1 or 2, equally likely) for each A in file order; "the next one" is the
 * next conversation with at least three user turns, the file being a circle; C is the next one after B whose source is
 * neither A's nor B's (when there are only two sources: not B's, and not A itself), and interrupts B after its user turn
 * ⌈m/2⌉. Where no such conversation exists the interleaving is one level shallower; A alone is not an interleaving. Gold
 * is `stay` everywhere else, whatever the labels of the conversation by itself say.
 */

import type { Message } from "trihorizon";
import type { Conversation, Label } from "./data.js";
import { mulberry32 } from "./metrics.js";

const SEED = 28;
const MIN_USER_TURNS = 3;

export interface InterleavedMessage {
  message: Message;
  /** Which conversation it is of: 0 for A, 1 for B, 2 for C. */
  of: number;
  gold: "new" | "resume" | "stay";
  /** In a stretch that returns to an interrupted conversation. */
  afterReturn: boolean;
  /** Numbers, in the interleaving, of the messages without which it cannot be answered; empty for all but user turns. */
  needs: number[];
}

export function interleavings(conversations: readonly Conversation[]): InterleavedMessage[][] {
  const pool = conversations.filter(({ messages }) => userTurns(messages) >= MIN_USER_TURNS);
  const random = mulberry32(SEED);
  return pool.flatMap((a, index) => {
    const deep = random() < 0.5;
    const b = next(pool, index, (candidate) => candidate.source !== a.source);
    if (b === undefined) return [];
    const afterB = pool.indexOf(b);
    const c =
      next(pool, afterB, (candidate) => candidate.source !== a.source && candidate.source !== b.source) ??
      next(pool, afterB, (candidate) => candidate.source !== b.source && candidate !== a);
    return [deep && c !== undefined ? build([a, b, c]) : build([a, b])];
  });
}

const userTurns = (messages: readonly Message[]): number =>
  messages.filter((message) => message.role === "user").length;

function next(
  pool: readonly Conversation[],
  from: number,
  accept: (candidate: Conversation) => boolean,
): Conversation | undefined {
  return [...pool.slice(from + 1), ...pool.slice(0, from)].find(accept);
}

/** Each conversation interrupts the first half of the one before it. */
function build(parts: readonly Conversation[]): InterleavedMessage[] {
  const halves = parts.map(({ messages }, of) => (of === parts.length - 1 ? messages.length : half(messages)));
  const out: InterleavedMessage[] = [];
  const numbers = parts.map(() => new Map<number, number>());
  const copy = (of: number, from: number, to: number, start: "new" | "resume" | "stay"): void => {
    const { messages, labels } = parts[of] as Conversation;
    let event = start;
    for (let i = from; i < to; i++) {
      const message = messages[i] as Message;
      const mine = numbers[of] as Map<number, number>;
      const label = labels.find(({ turn }) => turn === i + 1);
      mine.set(i + 1, out.length + 1);
      out.push({
        message: own(message, of),
        of,
        gold: message.role === "user" ? event : "stay",
        afterReturn: start === "resume",
        needs: needs(label, mine),
      });
      if (message.role === "user") event = "stay";
    }
  };
  parts.forEach((_, of) => copy(of, 0, halves[of] as number, of === 0 ? "stay" : "new"));
  for (let of = parts.length - 2; of >= 0; of--)
    copy(of, halves[of] as number, (parts[of] as Conversation).messages.length, "resume");
  return out;
}

/** Number of messages up to and including the answer to user turn ⌈n/2⌉. */
function half(messages: readonly Message[]): number {
  const users = messages.flatMap((message, i) => (message.role === "user" ? [i] : []));
  return users[Math.ceil(users.length / 2)] ?? messages.length;
}

const needs = (label: Label | undefined, numbers: ReadonlyMap<number, number>): number[] =>
  (label?.needs ?? []).flatMap((number) => numbers.get(number) ?? []);

/** Tool call ids are unique within a conversation only. */
function own(message: Message, of: number): Message {
  const copy: Message = { ...message };
  if (message.tool_call_id !== undefined) copy.tool_call_id = `${of}-${message.tool_call_id}`;
  if (message.tool_calls) copy.tool_calls = message.tool_calls.map((call) => ({ ...call, id: `${of}-${call.id}` }));
  return copy;
}
