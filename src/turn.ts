import { inspect } from "node:util";
import { assembledAt, ClassificationView, nextTurn } from "./classification.js";
import type { Asked, Columns, Cursor } from "./columns.js";
import { tables } from "./native.js";
import { receipt } from "./receipt.js";
import type { Envelope, EnvelopeItem, ItemKind, LeftOut, Message, Mode, Reinvoke, Tier, Turn } from "./types.js";

// Columns of the assembled part, from where it begins.
const column = { turnId: 0, mode: 1, micros: 2, budget: 3, tokens: 4, spent: 5, flags: 8, free: 9, thread: 10, rest: 12 } as const;

const flag = { estimated: 1 } as const;
const itemFlag = { pinned: 1, truncated: 2, assistant: 4, told: 8 } as const;

/** Columns of a header. */
const headerWidth = 3;

interface Assembled {
  headers: Record<string, string>;
  envelope: Envelope;
  reinvoke: Reinvoke[];
  subqueries: string[];
}

/** What of a turn the columns do not hold. */
export interface TurnFrame {
  /** The session's system and developer messages, in order. */
  system: readonly Message[];
  /** Who spoke. */
  name: string | undefined;
}

/** A view on the columns of `assemble`: everything is read when it is asked for. */
export class TurnView extends ClassificationView implements Turn {
  readonly #columns: Columns;
  readonly #start: number;
  readonly #asked: Asked;
  readonly #frame: TurnFrame;
  /** By item: its text, unless the columns tell it. Taken at once: the turn may leave the log. */
  readonly #texts: readonly string[];
  #assembled: Assembled | undefined;

  constructor(columns: Columns, asked: Asked, frame: TurnFrame) {
    super(columns, asked);
    this.#columns = columns;
    this.#start = assembledAt(columns);
    this.#asked = asked;
    this.#texts = textsOf(columns, this.#start + column.rest);
    this.#frame = frame;
  }

  get text(): string {
    return this.#columns.text;
  }

  get turnId(): number | null {
    return this.#at(column.turnId) || null;
  }

  get mode(): Exclude<Mode, "auto"> {
    return tables().modes[this.#at(column.mode)] as Exclude<Mode, "auto">;
  }

  get micros(): number {
    return this.#at(column.micros);
  }

  get envelope(): Envelope {
    return this.#read().envelope;
  }

  get headers(): Record<string, string> {
    return this.#read().headers;
  }

  get reinvoke(): Reinvoke[] {
    return this.#read().reinvoke;
  }

  get subqueries(): string[] {
    return this.#read().subqueries;
  }

  get messages(): Message[] {
    const { name } = this.#frame;
    return [
      ...this.#frame.system.map((message) => ({ ...message })),
      ...this.envelope.items.map(({ role, text }): Message => ({ role, content: text })),
      { role: "user", content: this.text, ...(name === undefined ? {} : { name }) },
    ];
  }

  explain(): string {
    return receipt(this);
  }

  override toJSON(): Omit<Turn, "explain"> {
    return {
      text: this.text,
      turnId: this.turnId,
      mode: this.mode,
      ...super.toJSON(),
      envelope: this.envelope,
      messages: this.messages,
      headers: this.headers,
      reinvoke: this.reinvoke,
      subqueries: this.subqueries,
      micros: this.micros,
    };
  }

  override [inspect.custom](): object {
    return this.toJSON();
  }

  protected override threadId(columns: Columns): string {
    return columns.textAt(this.#start + column.thread);
  }

  #at(offset: number): number {
    return this.#columns.at(this.#start + offset);
  }

  #read(): Assembled {
    return (this.#assembled ??= this.#decode());
  }

  #decode(): Assembled {
    const columns = this.#columns;
    const cursor = columns.from(this.#start + column.rest);
    const headers: Record<string, string> = {};
    cursor.list(() => {
      const name = tables().headers[cursor.number()] as string;
      headers[name] = cursor.text();
    });
    const items = readItems(columns, cursor, this.#texts);
    const others = cursor.list(() => readLeft(cursor));
    const { names } = columns;
    const reinvoke = cursor.list((): Reinvoke => ({
      scratchId: names.scratch(cursor.number()),
      tool: cursor.text(),
      arguments: cursor.text(),
    }));
    const subqueries = cursor.list(() => cursor.text());
    const budget = this.#at(column.budget);
    const tokens = this.#at(column.tokens);
    const leftOut = (): LeftOut[] => [...this.#turnsLeft(items), ...others];
    let left: LeftOut[] | undefined;
    const envelope: Envelope = {
      items,
      get left() {
        return (left ??= leftOut());
      },
      budget,
      tokens,
      saturation: budget > 0 ? tokens / budget : 0,
      spent: { P: this.#at(column.spent), C: this.#at(column.spent + 1), E: this.#at(column.spent + 2) },
      estimated: (this.#at(column.flags) & flag.estimated) !== 0,
    };
    return { headers, envelope, reinvoke, subqueries };
  }

  /** Most of a long log is left out, and few ask which turns: they are found when they are asked for. */
  #turnsLeft(items: readonly EnvelopeItem[]): LeftOut[] {
    const columns = this.#columns;
    const turns = items.filter(({ kind }) => kind === "turn").map(({ id }) => id as number);
    const summary = items.some(({ kind }) => kind === "summary");
    const packed = { turns, summary, free: this.#at(column.free) };
    const cursor = columns.names.left(columns.text, this.#asked, nextTurn(columns), packed).from(1);
    return cursor.list(() => readLeft(cursor));
  }
}

function textsOf(columns: Columns, start: number): string[] {
  const cursor = columns.from(start);
  cursor.skip(cursor.number() * headerWidth);
  return cursor.list(() => {
    const flags = cursor.number();
    const id = cursor.number();
    const told = (flags & itemFlag.told) !== 0;
    cursor.skip(told ? 7 : 3);
    return told ? "" : columns.names.turn(id);
  });
}

function readItems(columns: Columns, cursor: Cursor, texts: readonly string[]): EnvelopeItem[] {
  const { tiers, kinds, reasons } = tables();
  return cursor.list((index): EnvelopeItem => {
    const flags = cursor.number();
    const kind = kinds[flags >> 6] as ItemKind;
    const number = cursor.number();
    const score = cursor.number();
    const tokens = cursor.number();
    const reason = reasons[cursor.number()] as string;
    const told = (flags & itemFlag.told) !== 0;
    const name = told ? cursor.text() : "";
    return {
      tier: tiers[(flags >> 4) & 3] as Tier,
      kind,
      id: kind === "turn" ? number : columns.id(kind, number, name),
      role: (flags & itemFlag.assistant) === 0 ? "user" : "assistant",
      score,
      tokens,
      position: index + 1,
      reason,
      pinned: (flags & itemFlag.pinned) !== 0,
      truncated: (flags & itemFlag.truncated) !== 0,
      text: told ? cursor.text() : (texts[index] as string),
    };
  });
}

function readLeft(cursor: Cursor): LeftOut {
  const tier = readTier(cursor);
  const kind = readKind(cursor);
  const id = cursor.id(kind);
  const score = cursor.number();
  const tokens = cursor.number();
  return { tier, kind, id, score, tokens, reason: tables().reasons[cursor.number()] as string };
}

function readTier(cursor: Cursor): Tier {
  return tables().tiers[cursor.number()] as Tier;
}

function readKind(cursor: Cursor): ItemKind {
  return tables().kinds[cursor.number()] as ItemKind;
}
