import { inspect } from "node:util";
import { assembledAt, ClassificationView, nextTurn } from "./classification.js";
import { type Columns, type Cursor, noColumns } from "./columns.js";
import { tables } from "./native.js";
import { receipt } from "./receipt.js";
import { keepShape } from "./shapes.js";
import type { Envelope, EnvelopeItem, ItemKind, LeftOut, Message, Mode, Reinvoke, Tier, Turn } from "./types.js";

// Columns of the assembled part, from where it begins.
const column = { turnId: 0, mode: 1, micros: 2, budget: 3, tokens: 4, spent: 5, flags: 8, free: 9, rest: 10 } as const;

const flag = { estimated: 1 } as const;
const itemFlag = { pinned: 1, truncated: 2, assistant: 4, told: 8 } as const;

/** What `assemble` says beside the classification. */
export interface Assembled {
  turnId: number | null;
  mode: Exclude<Mode, "auto">;
  micros: number;
  /** Name of the thread. */
  thread: string;
  headers: Record<string, string>;
  items: EnvelopeItem[];
  /** Left out of Tiers P and E. */
  left: LeftOut[];
  /** Tokens that were not granted. */
  free: number;
  budget: number;
  tokens: number;
  spent: Record<Tier, number>;
  estimated: boolean;
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

/** The answer of `assemble`: a view on the columns of the classification, and what was assembled. */
export class TurnView extends ClassificationView implements Turn {
  readonly #columns: Columns;
  readonly #assembled: Assembled;
  readonly #frame: TurnFrame;
  #envelope: Envelope | undefined;

  constructor(columns: Columns, assembled: Assembled, frame: TurnFrame) {
    super(columns);
    this.#columns = columns;
    this.#assembled = assembled;
    this.#frame = frame;
  }

  get text(): string {
    return this.#columns.text;
  }

  get turnId(): number | null {
    return this.#assembled.turnId;
  }

  get mode(): Exclude<Mode, "auto"> {
    return this.#assembled.mode;
  }

  get micros(): number {
    return this.#assembled.micros;
  }

  get envelope(): Envelope {
    return (this.#envelope ??= new EnvelopeView(this.#columns, this.#assembled));
  }

  get headers(): Record<string, string> {
    return this.#assembled.headers;
  }

  get reinvoke(): Reinvoke[] {
    return this.#assembled.reinvoke;
  }

  get subqueries(): string[] {
    return this.#assembled.subqueries;
  }

  get messages(): Message[] {
    const { system, name } = this.#frame;
    const { items } = this.#assembled;
    const turn: Message = { role: "user", content: this.text };
    if (name !== undefined) turn.name = name;
    // oxlint-disable-next-line unicorn/no-new-array -- as for the items
    const messages = new Array<Message>(system.length + items.length + 1);
    let at = 0;
    for (const message of system) messages[at++] = { ...message };
    for (const { role, text } of items) messages[at++] = { role, content: text };
    messages[at] = turn;
    return messages;
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

  protected override threadId(): string {
    return this.#assembled.thread;
  }
}

/**
 * The envelope of a turn. (A class, not an object literal with a getter: of each of those V8 makes a hidden class, which
 * keeps the whole turn alive until the old generation is collected.)
 */
class EnvelopeView implements Envelope {
  readonly items: EnvelopeItem[];
  readonly budget: number;
  readonly tokens: number;
  readonly saturation: number;
  readonly spent: Record<Tier, number>;
  readonly estimated: boolean;
  readonly #columns: Columns;
  readonly #assembled: Assembled;
  #left: LeftOut[] | undefined;

  constructor(columns: Columns, assembled: Assembled) {
    const { items, budget, tokens, spent, estimated } = assembled;
    this.items = items;
    this.budget = budget;
    this.tokens = tokens;
    this.saturation = budget > 0 ? tokens / budget : 0;
    this.spent = spent;
    this.estimated = estimated;
    this.#columns = columns;
    this.#assembled = assembled;
  }

  get left(): LeftOut[] {
    return (this.#left ??= [...this.#turnsLeft(), ...this.#assembled.left]);
  }

  toJSON(): Envelope {
    const { items, left, budget, tokens, saturation, spent, estimated } = this;
    return { items, left, budget, tokens, saturation, spent, estimated };
  }

  [inspect.custom](): object {
    return this.toJSON();
  }

  /** Most of a long log is left out, and few ask which turns: they are found when they are asked for. */
  #turnsLeft(): LeftOut[] {
    const columns = this.#columns;
    const { items, free } = this.#assembled;
    const turns = items.filter(({ kind }) => kind === "turn").map(({ id }) => id as number);
    const summary = items.some(({ kind }) => kind === "summary");
    const cursor = columns.names.left(columns, nextTurn(columns), { turns, summary, free }).from(1);
    return cursor.list(() => readLeft(cursor));
  }
}

const specimen = new TurnView(
  noColumns,
  {
    turnId: null,
    mode: "conversation",
    micros: 0.5,
    thread: "",
    headers: {},
    items: [],
    left: [],
    free: 0,
    budget: 2,
    tokens: 1,
    spent: { P: 0, C: 0, E: 0 },
    estimated: false,
    reinvoke: [],
    subqueries: [],
  },
  { system: [], name: undefined },
);
keepShape(specimen);
keepShape(specimen.envelope);

/** Reads the assembled part of a result, all of it at once, since the columns are those of the last call only. */
export function readAssembled(columns: Columns): Assembled {
  const start = assembledAt(columns);
  const at = (offset: number): number => columns.at(start + offset);
  const { headers: headerNames, modes } = tables();
  const cursor = columns.from(start + column.rest);
  const { names } = columns;
  const thread = cursor.text();
  const headers: Record<string, string> = {};
  cursor.list(() => {
    const name = headerNames[cursor.number()] as string;
    headers[name] = cursor.text();
  });
  const items = readItems(columns, cursor);
  return {
    turnId: at(column.turnId) || null,
    mode: modes[at(column.mode)] as Exclude<Mode, "auto">,
    micros: at(column.micros),
    thread,
    headers,
    items,
    left: cursor.list(() => readLeft(cursor)),
    free: at(column.free),
    budget: at(column.budget),
    tokens: at(column.tokens),
    spent: { P: at(column.spent), C: at(column.spent + 1), E: at(column.spent + 2) },
    estimated: (at(column.flags) & flag.estimated) !== 0,
    reinvoke: cursor.list((): Reinvoke => ({
      scratchId: names.scratch(cursor.number()),
      tool: cursor.text(),
      arguments: cursor.text(),
    })),
    subqueries: cursor.list(() => cursor.text()),
  };
}

/** An envelope holds tens of items: their columns are read by hand rather than with the cursor. */
function readItems(columns: Columns, cursor: Cursor): EnvelopeItem[] {
  const { tiers, kinds, reasons } = tables();
  const { numbers, names } = columns;
  const count = cursor.number();
  // oxlint-disable-next-line unicorn/no-new-array -- the length is known, and an array that grows is copied several times
  const items = new Array<EnvelopeItem>(count);
  let at = cursor.place;
  for (let position = 1; position <= count; position += 1) {
    // Made small integers: looking up by a double costs several times as much.
    const flags = (numbers[at] as number) >>> 0;
    const kind = kinds[flags >> 6] as ItemKind;
    const number = (numbers[at + 1] as number) >>> 0;
    const told = (flags & itemFlag.told) !== 0;
    items[position - 1] = {
      tier: tiers[(flags >> 4) & 3] as Tier,
      kind,
      id: kind === "turn" ? number : columns.id(kind, number, columns.textAt(at + 5)),
      role: (flags & itemFlag.assistant) === 0 ? "user" : "assistant",
      score: numbers[at + 2] as number,
      tokens: (numbers[at + 3] as number) >>> 0,
      position,
      reason: reasons[(numbers[at + 4] as number) >>> 0] as string,
      pinned: (flags & itemFlag.pinned) !== 0,
      truncated: (flags & itemFlag.truncated) !== 0,
      text: told ? columns.textAt(at + 7) : names.turn(number),
    };
    at += told ? 9 : 5;
  }
  cursor.place = at;
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
