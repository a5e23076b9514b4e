import { inspect } from "node:util";
import { type Columns, type Cursor, noColumns } from "./columns.js";
import { tables } from "./native.js";
import { keepShape } from "./shapes.js";
import type {
  Blend,
  Classification,
  Intent,
  Novelty,
  Query,
  Reference,
  Row,
  SimilaritySource,
  Target,
  ThreadDecision,
} from "./types.js";

// Columns of every result (docs: ARCHITECTURE.md, the native boundary).
const column = {
  intent: 1,
  confidence: 2,
  reason: 3,
  flags: 4,
  carriesOver: 5,
  thread: 6,
  event: 7,
  threadSimilarity: 8,
  similarity: 9,
  source: 10,
  blend: 11,
  novelty: 14,
  locale: 15,
  hash: 16,
  references: 18,
  turns: 19,
  assembled: 20,
  next: 21,
  rest: 22,
} as const;

const flag = { ellipsis: 1, contextDependent: 2, documentRequest: 4 } as const;

interface Rest {
  references: Reference[];
  turns: number[];
}

/** What was made of the columns so far. */
interface Made {
  /** The columns that tell the thread too. */
  filed: Columns | undefined;
  rest: Rest | undefined;
  query: Query | undefined;
  thread: ThreadDecision | undefined;
  blend: Blend | undefined;
}

/** A view on the columns of `classify`: everything is read when it is asked for. */
export class ClassificationView implements Classification {
  readonly #columns: Columns;
  /** Most are asked for a field or two: of their own they have no place for the others. */
  #made: Made | undefined;

  constructor(columns: Columns) {
    this.#columns = columns;
  }

  get intent(): Intent {
    return tables().intents[this.#columns.at(column.intent)] as Intent;
  }

  get confidence(): number {
    return this.#columns.at(column.confidence);
  }

  get reason(): string {
    return tables().reasons[this.#columns.at(column.reason)] as string;
  }

  get references(): Reference[] {
    return this.#readRest().references;
  }

  get ellipsis(): boolean {
    return this.#flag(flag.ellipsis);
  }

  get carriesOver(): number | null {
    return this.#columns.at(column.carriesOver) || null;
  }

  get contextDependent(): boolean {
    return this.#flag(flag.contextDependent);
  }

  get contextHash(): string {
    const high = this.#columns.at(column.hash);
    const low = this.#columns.at(column.hash + 1);
    return high === 0 && low === 0 ? "" : hex(high) + hex(low);
  }

  get documentRequest(): boolean {
    return this.#flag(flag.documentRequest);
  }

  get thread(): ThreadDecision {
    const made = this.#kept();
    if (made.thread === undefined) {
      const columns = this.#whole();
      const event = tables().events[columns.at(column.event)] as ThreadDecision["event"];
      made.thread = { id: this.threadId(columns, event), event, similarity: columns.at(column.threadSimilarity) };
    }
    return made.thread;
  }

  get blend(): Blend {
    return (this.#kept().blend ??= {
      P: this.#columns.at(column.blend),
      C: this.#columns.at(column.blend + 1),
      E: this.#columns.at(column.blend + 2),
    });
  }

  get novelty(): Novelty {
    return tables().novelty[this.#columns.at(column.novelty)] as Novelty;
  }

  get similarity(): number {
    return this.#whole().at(column.similarity);
  }

  get similaritySource(): SimilaritySource {
    return tables().sources[this.#whole().at(column.source)] as SimilaritySource;
  }

  get locale(): string {
    return tables().locales[this.#columns.at(column.locale)] as string;
  }

  get query(): Query {
    const { turns } = this.#readRest();
    const { names, text } = this.#columns;
    return (this.#kept().query ??= { ...names.query(text, this.#columns.at(column.locale), turns), turns });
  }

  /** All of it as a plain object, for JSON, logs and comparisons. */
  toJSON(): Classification {
    return {
      intent: this.intent,
      confidence: this.confidence,
      reason: this.reason,
      references: this.references,
      ellipsis: this.ellipsis,
      carriesOver: this.carriesOver,
      contextDependent: this.contextDependent,
      contextHash: this.contextHash,
      documentRequest: this.documentRequest,
      thread: this.thread,
      blend: this.blend,
      novelty: this.novelty,
      similarity: this.similarity,
      similaritySource: this.similaritySource,
      locale: this.locale,
      query: this.query,
    };
  }

  [inspect.custom](): object {
    return this.toJSON();
  }

  /** The thread of a turn that was only looked at may not exist. */
  protected threadId(columns: Columns, event: ThreadDecision["event"]): string {
    const { names, text } = columns;
    return event === "new" ? names.newThread(text, nextTurn(this.#columns)) : names.thread(columns.at(column.thread));
  }

  /** The pseudo-code of the `spec` profile decides most turns without filing them: that is done when it is asked for. */
  #whole(): Columns {
    const columns = this.#columns;
    if (columns.at(column.event) < tables().events.length) return columns;
    return (this.#kept().filed ??= columns.names.whole(columns, nextTurn(columns)));
  }

  #flag(bit: number): boolean {
    return (this.#columns.at(column.flags) & bit) !== 0;
  }

  #readRest(): Rest {
    const made = this.#kept();
    if (made.rest === undefined) {
      const columns = this.#columns;
      const cursor = columns.from(column.rest);
      const references = cursor.times(columns.at(column.references), () => readReference(columns, cursor));
      const turns = cursor.times(columns.at(column.turns), () => cursor.number());
      made.rest = { references, turns };
    }
    return made.rest;
  }

  #kept(): Made {
    return (this.#made ??= {
      filed: undefined,
      rest: undefined,
      query: undefined,
      thread: undefined,
      blend: undefined,
    });
  }
}

keepShape(new ClassificationView(noColumns));

/** Column that tells where the assembled part begins: how many come before it. */
export const assembledColumn = column.assembled;

/** The turn that was the next to come. */
export function nextTurn(columns: Columns): number {
  return columns.at(column.next);
}

/** Column at which the assembled part begins; 0 when the turn was only classified. */
export function assembledAt(columns: Columns): number {
  return columns.at(column.assembled);
}

function readReference(columns: Columns, cursor: Cursor): Reference {
  const start = cursor.number();
  const end = cursor.number();
  const type = tables().types[cursor.number()] as Reference["type"];
  const target = readTarget(columns, cursor);
  const confidence = cursor.number();
  const reason = tables().reasons[cursor.number()] as string;
  const items: number[] = [];
  const itemTexts: string[] = [];
  cursor.list(() => {
    items.push(cursor.number());
    itemTexts.push(cursor.text());
  });
  const rows = cursor.list((): Row => ({ index: cursor.number(), text: cursor.text() }));
  const alternatives = cursor.list(() => readTarget(columns, cursor)).filter((other) => other !== null);
  return {
    text: columns.text.slice(start, end),
    span: [start, end],
    type,
    target,
    items,
    itemTexts,
    rows,
    confidence,
    reason,
    alternatives,
  };
}

function readTarget(columns: Columns, cursor: Cursor): Target | null {
  const kind = tables().targets[cursor.number()];
  const id = cursor.number();
  const name = cursor.text();
  switch (kind) {
    case "turn":
      return { kind, id };
    case "scratch":
      return { kind, id: columns.names.scratch(id) };
    case "fact":
      return { kind, id: name };
    default:
      return null;
  }
}

function hex(word: number): string {
  return (word >>> 0).toString(16).padStart(8, "0");
}
