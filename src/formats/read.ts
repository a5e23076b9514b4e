/** Conversations from files and texts of any format that is known here. */
import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { reason, TrihorizonError } from "../errors.js";
import { chatCompletions, isMessage, readMessages } from "./chat-completions.js";
import { chatgpt } from "./chatgpt.js";
import { claude } from "./claude.js";
import { type Conversation, type Fields, type Format, isFields, unknownFormat } from "./conversation.js";
import { locomo } from "./locomo.js";
import { isShareGptMessage, readShareGpt, sharegpt } from "./sharegpt.js";

const formats: readonly Format[] = [chatCompletions, chatgpt, claude, sharegpt, locomo];

/**
 * The conversations of a file, one after the other: JSON Lines are read as a stream, one line in memory at a time.
 *
 * @throws NOT_FOUND when the file cannot be read; UNKNOWN_FORMAT with the line or conversation that no reader understands.
 */
export async function* readConversations(path: string): AsyncGenerator<Conversation> {
  const stream = createReadStream(path, { encoding: "utf8" });
  const failed = new Promise<never>((_resolve, reject) => {
    stream.once("error", (cause) =>
      reject(new TrihorizonError("NOT_FOUND", `cannot read ${path}: ${reason(cause)}`, { value: path, cause })),
    );
  });
  failed.catch(() => undefined);
  const lines = createInterface({ input: stream, crlfDelay: Number.POSITIVE_INFINITY })[Symbol.asyncIterator]();
  try {
    yield* conversationsOf({ next: () => Promise.race([lines.next(), failed]) });
  } finally {
    stream.destroy();
  }
}

/**
 * The conversations of a text.
 *
 * @throws UNKNOWN_FORMAT
 */
export async function parseConversations(text: string): Promise<Conversation[]> {
  const lines = text.split(/\r?\n/);
  const conversations: Conversation[] = [];
  for await (const conversation of conversationsOf(fromArray(lines))) conversations.push(conversation);
  return conversations;
}

/** A first line that is JSON by itself, with more behind it, makes JSON Lines; everything else is one document. */
async function* conversationsOf(lines: AsyncIterator<string>): AsyncGenerator<Conversation> {
  const reader = new NumberedLines(lines);
  const first = await reader.next();
  if (first === null) throw unknownFormat("the file is empty");
  const value = parse(first.text);
  const second = value === undefined ? null : await reader.next();
  if (value === undefined) {
    yield* documentConversations(parseDocument(await rest(first, reader)));
  } else if (second === null) {
    yield* documentConversations(value);
  } else {
    yield* lineConversations(value, second, reader);
  }
}

async function* lineConversations(first: unknown, second: Line, reader: NumberedLines): AsyncGenerator<Conversation> {
  // Lines that are messages belong together; lines that are conversations do not.
  if (isMessage(first) || isShareGptMessage(first)) {
    const values = [first];
    for (let line: Line | null = second; line !== null; line = await reader.next()) values.push(parseLine(line));
    yield* documentConversations(values);
    return;
  }
  yield* documentConversations(first, "line 1: ");
  for (let line: Line | null = second; line !== null; line = await reader.next()) {
    yield* documentConversations(parseLine(line), `line ${line.number}: `);
  }
}

function* documentConversations(value: unknown, where = ""): Generator<Conversation> {
  if (!Array.isArray(value)) {
    yield one(value, where);
    return;
  }
  if (value.length > 0 && isMessage(value[0])) {
    yield { title: "", messages: located(where, () => readMessages(value)) };
  } else if (value.length > 0 && isShareGptMessage(value[0])) {
    yield { title: "", messages: located(where, () => readShareGpt(value as Fields[])) };
  } else {
    for (const [index, element] of value.entries())
      yield* documentConversations(element, `${where}conversation ${index + 1}: `);
  }
}

function one(value: unknown, where: string): Conversation {
  const format = isFields(value) ? formats.find(({ matches }) => matches(value)) : undefined;
  if (format === undefined) {
    const keys = isFields(value)
      ? `an object with ${Object.keys(value).slice(0, 6).join(", ") || "no keys"}`
      : typeof value;
    throw unknownFormat(`${where}no reader for ${keys}; known are ${formats.map(({ name }) => name).join(", ")}`, keys);
  }
  return located(where, () => format.read(value as Fields));
}

function located<T>(where: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw unknownFormat(`${where}${reason(cause)}`, (cause as { value?: unknown }).value, cause);
  }
}

interface Line {
  number: number;
  text: string;
}

/** Lines that are not blank, with their numbers. */
class NumberedLines {
  readonly #lines: AsyncIterator<string>;
  #number = 0;

  constructor(lines: AsyncIterator<string>) {
    this.#lines = lines;
  }

  async next(): Promise<Line | null> {
    for (;;) {
      const { done, value } = await this.#lines.next();
      if (done === true) return null;
      this.#number += 1;
      const text = this.#number === 1 ? value.replace(/^\uFEFF/, "") : value;
      if (text.trim() !== "") return { number: this.#number, text };
    }
  }
}

async function rest(first: Line, reader: NumberedLines): Promise<string> {
  const texts = [first.text];
  for (let line = await reader.next(); line !== null; line = await reader.next()) texts.push(line.text);
  return texts.join("\n");
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function parseLine(line: Line): unknown {
  const value = parse(line.text);
  if (value === undefined) throw unknownFormat(`line ${line.number} is not JSON`, line.text.slice(0, 100));
  return value;
}

function parseDocument(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw unknownFormat(`not JSON and not JSON Lines: ${reason(cause)}`, text.slice(0, 100), cause);
  }
}

async function* fromArray(lines: readonly string[]): AsyncGenerator<string> {
  yield* lines;
}
