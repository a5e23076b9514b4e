import type { Turn } from "../types.js";
import type { Paint } from "./paint.js";
import { percentile } from "./percentile.js";

/** Counts over all turns replayed, for the summary. */
export class Tally {
  conversations = 0;
  messages = 0;
  /** Messages that the engine refused because they hold no text. */
  skipped = 0;
  readonly #intents = new Map<string, number>();
  readonly #events = new Map<string, number>();
  readonly #core: number[] = [];
  readonly #call: number[] = [];
  readonly #saturation: number[] = [];
  #references = 0;
  #resolved = 0;
  #estimated = false;

  /** Counts a turn; `micros` is what the whole call took. */
  add(turn: Turn, micros: number): void {
    count(this.#intents, turn.intent);
    count(this.#events, turn.thread.event);
    this.#core.push(turn.micros);
    this.#call.push(micros);
    this.#saturation.push(turn.envelope.saturation);
    this.#references += turn.references.length;
    this.#resolved += turn.references.filter(({ target }) => target !== null).length;
    this.#estimated ||= turn.envelope.estimated;
  }

  /** User turns so far. */
  get turns(): number {
    return this.#core.length;
  }

  /** The summary, several lines. */
  summary(paint: Paint, seconds: number, firstUse: number): string {
    const lines = [
      paint.bold(
        `${plural(this.conversations, "conversation")}, ${plural(this.turns, "user turn")}, ${plural(this.messages, "message")} in ${seconds.toFixed(2)} s`,
      ),
      `intents     ${this.#histogram(this.#intents)}`,
      `threads     ${this.#histogram(this.#events)}`,
      `references  ${this.#references} found, ${this.#resolved} resolved`,
      `envelope    ${percent(percentile(this.#saturation, 0.5))} of the budget in the median, ${percent(percentile(this.#saturation, 1))} at most${this.#estimated ? " (estimated tokens)" : ""}`,
      `time        ${this.#times("call", this.#call)}, ${this.#times("core", this.#core)} (first use ${firstUse.toFixed(0)} ms)`,
      ...(this.skipped > 0 ? [`skipped     ${plural(this.skipped, "message")} without text`] : []),
    ];
    return `${lines.join("\n")}\n`;
  }

  /** The same for machines. */
  toJSON(): object {
    return {
      conversations: this.conversations,
      turns: this.turns,
      messages: this.messages,
      skipped: this.skipped,
      intents: Object.fromEntries(this.#intents),
      events: Object.fromEntries(this.#events),
      references: this.#references,
      resolved: this.#resolved,
      callMicros: { p50: percentile(this.#call, 0.5), p99: percentile(this.#call, 0.99) },
      coreMicros: { p50: percentile(this.#core, 0.5), p99: percentile(this.#core, 0.99) },
    };
  }

  #histogram(counts: Map<string, number>): string {
    return [...counts]
      .sort(([, a], [, b]) => b - a)
      .map(([name, number]) => `${name} ${number} (${percent(number / this.turns)})`)
      .join("  ");
  }

  #times(what: string, micros: readonly number[]): string {
    return `${what} p50 ${percentile(micros, 0.5).toFixed(1)} µs p99 ${percentile(micros, 0.99).toFixed(1)} µs`;
  }
}

function count(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}

function percent(value: number): string {
  return `${Math.round(value * 100)} %`;
}

function plural(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}
