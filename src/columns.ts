/** Reads what a native call left: numbers in columns, texts in one string that the columns point into. */
import { keepShape } from "./shapes.js";
import type { ItemKind } from "./types.js";

/** What an envelope holds of Tier C, and the tokens it left. */
export interface Packed {
  turns: number[];
  summary: boolean;
  free: number;
}

/** Looks up names that the core gives as ordinals. */
export interface Names {
  /** Slug of a thread of the session. */
  thread(ordinal: number): string;
  /** Id of a scratch entry of the session. */
  scratch(ordinal: number): string;
  /** Text of a turn of the session. */
  turn(id: number): string;
  /** Slug that a thread opened by a turn would have got when turn `next` was the next to come. */
  newThread(text: string, next: number): string;
  /** All that is said of a turn that is asked again, by the session as it was when turn `next` was the next to come. */
  whole(of: Columns, next: number): Columns;
  /** What of Tier C its envelope left out, by the session as it was when turn `next` was the next to come. */
  left(of: Columns, next: number, packed: Packed): Columns;
  /** What a turn asks for with the turns it carries over. */
  query(text: string, locale: number, turns: number[]): { text: string; terms: string[] };
}

/** The numbers and texts of one result, with the turn they are about and what it was classified with. */
export class Columns {
  readonly numbers: ArrayLike<number>;
  readonly blob: string;
  readonly text: string;
  readonly names: Names;
  /** Options, JSON. */
  readonly overrides: string | undefined;
  readonly vector: Float32Array | undefined;

  constructor(
    numbers: ArrayLike<number>,
    blob: string,
    text: string,
    names: Names,
    overrides?: string,
    vector?: Float32Array,
  ) {
    this.numbers = numbers;
    this.blob = blob;
    this.text = text;
    this.names = names;
    this.overrides = overrides;
    this.vector = vector;
  }

  /** The number in a column. */
  at(column: number): number {
    return this.numbers[column] as number;
  }

  /** The text that two neighbouring columns (offset, length) point at. */
  textAt(column: number): string {
    const offset = this.at(column);
    return this.blob.slice(offset, offset + this.at(column + 1));
  }

  /** The public id of what the core gives by number, facts by text. */
  id(kind: ItemKind, number: number, text: string): number | string {
    if (kind === "turn") return number;
    if (kind === "scratch") return this.names.scratch(number);
    return kind === "summary" ? this.names.thread(number) : text;
  }

  /** Reads from a column on. */
  from(column: number): Cursor {
    return new Cursor(this, column);
  }
}

/** Walks the columns in order. */
export class Cursor {
  /** The column that is read next. */
  place: number;
  readonly #columns: Columns;

  constructor(columns: Columns, place: number) {
    this.#columns = columns;
    // A small integer, also when a column told it.
    this.place = place >>> 0;
  }

  number(): number {
    const number = this.#columns.at(this.place);
    this.place += 1;
    return number;
  }

  text(): string {
    const text = this.#columns.textAt(this.place);
    this.place += 2;
    return text;
  }

  /** A count, then so many elements. */
  list<T>(element: () => T): T[] {
    return this.times(this.number(), element);
  }

  /** So many elements. */
  times<T>(count: number, element: () => T): T[] {
    const elements: T[] = [];
    for (let index = 0; index < count; index += 1) elements.push(element());
    return elements;
  }

  /** An id: a number, or for facts a text (id, offset, length). */
  id(kind: ItemKind): number | string {
    const number = this.number();
    return this.#columns.id(kind, number, this.text());
  }
}

/** Columns of no result, to keep shapes with. */
export const noColumns = new Columns([], "", "", {} as Names);
keepShape(noColumns.from(0));
