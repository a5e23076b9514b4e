/** Feeds conversations to the engine and translates its turn and scratch ids back to message numbers. */

import { createEngine } from "trihorizon";
import type { AssembleOptions, Engine, EnvelopeItem, Message, Profile, Session, Target, Turn } from "trihorizon";
import { cost, textOf } from "./text.js";

/** The clock stands still: results must not depend on the time of day, and no tool output goes stale. */
const NOON = Date.UTC(2025, 0, 1, 12);

export const openEngine = (profile: Profile): Engine =>
  createEngine({ profile, tokens: cost, messageOverhead: 0, clock: () => NOON });

/** Budget of the rows that are not about budgets. */
export const ROOMY = 4000;

/**
 * One conversation in one session. Messages are numbered from 1 as they are fed, tool messages and calls counted; turn ids
 * count user and assistant text only, tool results have scratch ids, and an assistant message that only calls tools has
 * neither, so nothing can point at it.
 */
export class Feed {
  private readonly session: Session;
  private readonly numbers = new Map<number | string, number>();
  private readonly texts: string[] = [];
  /** Threads that user turns were filed in. */
  private readonly threads = new Set<string>();

  constructor(engine: Engine, id: string, namespace?: string) {
    this.session = engine.session(id, namespace === undefined ? {} : { namespace });
  }

  /** Appends a message that nothing is asked about; returns its number. */
  append(message: Message): number {
    const { turnId, scratchId } = this.session.append(message);
    return this.record(turnId ?? scratchId, textOf(message));
  }

  appendAll(messages: readonly Message[]): void {
    for (const message of messages) this.append(message);
  }

  /** Assembles for a user message and appends it. */
  ask(text: string, options: AssembleOptions = {}): Turn {
    const turn = this.session.assemble(text, { budget: ROOMY, ...options });
    this.record(turn.turnId ?? undefined, text);
    this.threads.add(turn.thread.id);
    return turn;
  }

  /** As `ask`, and changes nothing. */
  peek(text: string, options: AssembleOptions = {}): Turn {
    return this.session.assemble(text, { budget: ROOMY, ...options, dryRun: true });
  }

  /** How many messages were fed. */
  get length(): number {
    return this.texts.length;
  }

  /** Number of the message of a turn or scratch id. */
  number(id: number | string | null): number | undefined {
    return id === null ? undefined : this.numbers.get(id);
  }

  target(target: Target | null): number | undefined {
    return target === null || target.kind === "fact" ? undefined : this.numbers.get(target.id);
  }

  /** Text of a message, for the error reports. */
  text(number: number | undefined): string {
    return number === undefined ? "nothing" : (this.texts[number - 1] ?? "");
  }

  /** Numbers of the messages that are packed: turns whole, tool results as their entry. */
  packed(turn: Turn): Set<number> {
    const numbers = new Set<number>();
    for (const item of turn.envelope.items) {
      const number = this.item(item);
      if (number !== undefined && (item.kind === "scratch" || !item.truncated)) numbers.add(number);
    }
    return numbers;
  }

  /** Number of the message that an item renders, if it renders one. */
  item(item: EnvelopeItem): number | undefined {
    return item.kind === "turn" || item.kind === "scratch" ? this.numbers.get(item.id) : undefined;
  }

  /** Constraints that any thread holds now. */
  constraints(): string[] {
    return [...this.threads].flatMap((thread) => this.session.threadState(thread).userConstraints);
  }

  private record(id: number | string | undefined, text: string): number {
    const number = this.texts.push(text);
    if (id !== undefined) this.numbers.set(id, number);
    return number;
  }
}
