import { inspect } from "node:util";
import { assembledAt, ClassificationView, nextTurn } from "./classification.js";
import type { Asked, Columns, Cursor } from "./columns.js";
import { tables } from "./native.js";
import { receipt } from "./receipt.js";
import type { Envelope, EnvelopeItem, ItemKind, LeftOut, Message, Mode, Reinvoke, Tier, Turn } from "./types.js";

// Columns of the assembled part, from where it begins.
const column = { turnId: 0, mode: 1, micros: 2, budget: 3, tokens: 4, spent: 5, flags: 8, free: 9, thread: 10, rest: 12 } as const;

const flag = { estimated: 1 } as const;
const itemFlag = { pinned: 1, truncated: 2 } as const;

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
  #assembled: Assembled | undefined;

  constructor(columns: Columns, asked: Asked, frame: TurnFrame) {
    super(columns, asked);
    this.#columns = columns;
    this.#start = assembledAt(columns);
    this.#asked = asked;
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
    const items = readItems(columns, cursor);
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

/** Numbers of an item. */
const itemWidth = 12;

function readItems(columns: Columns, cursor: Cursor): EnvelopeItem[] {
  const { tiers, kinds, reasons } = tables();
  const { numbers, blob } = columns;
  const items: EnvelopeItem[] = [];
  const count = cursor.number();
  for (let position = 1, at = cursor.skip(count * itemWidth); position <= count; position += 1, at += itemWidth) {
    const kind = kinds[numbers[at + 1] as number] as ItemKind;
    const flags = numbers[at + 9] as number;
    const start = numbers[at + 10] as number;
    items.push({
      tier: tiers[numbers[at] as number] as Tier,
      kind,
      id: kind === "turn" ? (numbers[at + 2] as number) : columns.from(at + 2).id(kind),
      role: numbers[at + 5] === 0 ? "user" : "assistant",
      score: numbers[at + 6] as number,
      tokens: numbers[at + 7] as number,
      position,
      reason: reasons[numbers[at + 8] as number] as string,
      pinned: (flags & itemFlag.pinned) !== 0,
      truncated: (flags & itemFlag.truncated) !== 0,
      text: blob.slice(start, start + (numbers[at + 11] as number)),
    });
  }
  return items;
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
