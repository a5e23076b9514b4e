import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { createEngine, type Engine } from "../engine.js";
import { TrihorizonError } from "../errors.js";
import type { Conversation } from "../formats/conversation.js";
import { readConversations } from "../formats/read.js";
import type { Session } from "../session.js";
import type { AppendMessage, EngineOptions, Profile, Turn } from "../types.js";
import { ExitStatus, UsageError } from "./exit.js";
import { legend, turnLine } from "./line.js";
import { Paint } from "./paint.js";
import { Tally } from "./tally.js";
import { textOf } from "../message.js";

/** Help of `trihorizon replay`. */
export const replayUsage = `trihorizon replay [FILE] [options]

  FILE is Chat Completions messages (a JSON array, an object or array of objects with "messages", or JSON Lines of
  either), a ChatGPT, Claude or ShareGPT export, or a LoCoMo dialogue; without it, a conversation that comes with the
  package.

  --profile default|spec   measured best, or SPEC-028 to the letter
  --budget N               tokens of the envelope
  --locale L               language of the turns, "auto" by default
  --limit N                conversations to read at most
  --turn N                 show only the N-th user turn of each conversation
  --explain                show the full receipt of each turn
  --json                   one JSON object a user turn, for machines
`;

const defaultFile = fileURLToPath(new URL("../../examples/etcd.json", import.meta.url));

/** What the command line asks for. */
interface Request {
  file: string;
  engine: EngineOptions;
  limit: number;
  turn: number | null;
  explain: boolean;
  json: boolean;
}

/** `trihorizon replay`: feeds conversations to an engine, turn by turn, and shows what it decides. */
export async function replay(args: readonly string[], usage: string): Promise<number> {
  const request = parseRequest(args);
  if (request === null) {
    process.stdout.write(usage);
    return ExitStatus.Done;
  }
  await new Replay(request).run();
  return ExitStatus.Done;
}

class Replay {
  readonly #request: Request;
  readonly #tally = new Tally();
  readonly #out = new Paint(process.stdout);
  readonly #engine: Engine;
  /** Milliseconds. */
  readonly #firstUse: number;
  /** The conversation's own time, so that a replay is the same whenever it is run. */
  #now = 0;

  constructor(request: Request) {
    this.#request = request;
    this.#engine = openEngine({ ...request.engine, clock: () => this.#now });
    this.#firstUse = firstUse(this.#engine);
  }

  async run(): Promise<void> {
    const started = performance.now();
    try {
      const [first, ...rest] = await takeTwo(readConversations(this.#request.file));
      // A heading only where there is more than one to tell apart.
      const headings = rest.length > 0 && this.#request.limit > 1;
      if (!this.#request.json && !this.#request.explain) await print(`${this.#out.dim(legend)}\n`);
      if (first !== undefined) await this.#conversation(first, headings);
      for await (const conversation of chained(rest)) {
        if (this.#tally.conversations >= this.#request.limit) break;
        await this.#conversation(conversation, headings);
      }
      this.#progress(true);
      if (!this.#request.json)
        await print(`\n${this.#tally.summary(this.#out, (performance.now() - started) / 1000, this.#firstUse)}`);
    } finally {
      await this.#engine.close();
    }
  }

  async #conversation({ title, messages }: Conversation, heading: boolean): Promise<void> {
    this.#tally.conversations += 1;
    const number = this.#tally.conversations;
    const users = messages.filter(({ role }) => role === "user").length;
    if (heading && !this.#request.json) {
      await print(
        `\n${this.#out.bold(`${number}. ${title || "untitled"}`)} ${this.#out.dim(`(${users} user turns, ${messages.length} messages)`)}\n`,
      );
    }
    this.#now = 0;
    const session = this.#engine.session(`conversation-${number}`);
    let turns = 0;
    for (const [index, message] of messages.entries()) {
      this.#tally.messages += 1;
      this.#now = message.timestamp ?? this.#now;
      try {
        if (message.role === "user") {
          turns += 1;
          await this.#turn(session, message, turns, title);
        } else {
          session.append(message);
        }
      } catch (error) {
        if (!(error instanceof TrihorizonError)) throw error;
        if (error.code === "INVALID_MESSAGE" && textOf(message).trim() === "") {
          this.#tally.skipped += 1;
          continue;
        }
        throw new TrihorizonError(error.code, `conversation ${number}, message ${index + 1}: ${error.message}`, {
          ...error,
          cause: error,
        });
      }
      this.#progress(false);
    }
    // What was replayed is not asked for again: memory stays flat over files of any length.
    await this.#engine.deleteSession(session.id);
  }

  async #turn(session: Session, message: AppendMessage, number: number, title: string): Promise<void> {
    const text = textOf(message);
    const { id, name } = message;
    const started = performance.now();
    const turn = session.assemble(text, {
      ...(id === undefined ? {} : { id }),
      ...(name === undefined ? {} : { name }),
    });
    const micros = (performance.now() - started) * 1000;
    this.#tally.add(turn, micros);
    if (this.#request.turn === null || this.#request.turn === number)
      await print(this.#show(turn, number, micros, title));
  }

  #show(turn: Turn, number: number, micros: number, title: string): string {
    const { explain, json } = this.#request;
    if (json) {
      const { messages: _messages, ...rest } = (turn as Turn & { toJSON(): Turn }).toJSON();
      const receipt = explain ? { receipt: turn.explain() } : {};
      return `${JSON.stringify({ conversation: this.#tally.conversations, title, userTurn: number, callMicros: micros, ...rest, ...receipt })}\n`;
    }
    return `${explain ? `${turn.explain()}\n` : turnLine(turn, number, micros, this.#out)}\n`;
  }

  /** On long files, on a terminal, when the output goes elsewhere. */
  #progress(done: boolean): void {
    if (process.stderr.isTTY !== true || process.stdout.isTTY === true) return;
    if (done) process.stderr.write("\r\x1b[K");
    else if (this.#tally.messages % 500 === 0) {
      process.stderr.write(`\r\x1b[K${this.#tally.conversations} conversations, ${this.#tally.turns} user turns`);
    }
  }
}

/** Null when help was asked for. */
function parseRequest(args: readonly string[]): Request | null {
  const { values, positionals } = parse(args);
  if (values.help === true) return null;
  if (positionals.length > 1) throw new UsageError(`one FILE at a time: got ${positionals.join(", ")}`);
  return {
    file: positionals[0] ?? defaultFile,
    engine: {
      ...(values.profile === undefined ? {} : { profile: values.profile as Profile }),
      ...(values.locale === undefined ? {} : { locale: values.locale }),
      ...(values.budget === undefined ? {} : { budget: wholeNumber("--budget", values.budget) }),
    },
    limit: values.limit === undefined ? Number.POSITIVE_INFINITY : wholeNumber("--limit", values.limit),
    turn: values.turn === undefined ? null : wholeNumber("--turn", values.turn),
    explain: values.explain === true,
    json: values.json === true,
  };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        profile: { type: "string" },
        budget: { type: "string" },
        locale: { type: "string" },
        limit: { type: "string" },
        turn: { type: "string" },
        explain: { type: "boolean" },
        json: { type: "boolean" },
        help: { type: "boolean", short: "h" },
      },
    });
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

function wholeNumber(option: string, text: string): number {
  if (/^[1-9]\d*$/.test(text)) return Number(text);
  throw new UsageError(`${option} takes a whole number from 1 on: got ${JSON.stringify(text)}`);
}

/** Options that the core refuses come from the command line. */
function openEngine(options: EngineOptions): Engine {
  try {
    return createEngine(options);
  } catch (error) {
    if (error instanceof TrihorizonError && error.code.startsWith("INVALID_")) throw new UsageError(error.message);
    throw error;
  }
}

/** What the first turn of a process pays for its tables, apart, so that it does not pass for the price of a turn. */
function firstUse(engine: Engine): number {
  const started = performance.now();
  const session = engine.session("first use");
  session.append({ role: "user", content: "How do I configure etcd?" });
  session.assemble("and the second step?");
  void engine.deleteSession("first use");
  return performance.now() - started;
}

/** The first conversation, and (when there is a second one) that and the rest as a stream. */
async function takeTwo(
  conversations: AsyncGenerator<Conversation>,
): Promise<[Conversation?, ...(Conversation | AsyncGenerator<Conversation>)[]]> {
  const first = await conversations.next();
  if (first.done === true) return [];
  const second = await conversations.next();
  return second.done === true ? [first.value] : [first.value, second.value, conversations];
}

async function* chained(parts: (Conversation | AsyncGenerator<Conversation>)[]): AsyncGenerator<Conversation> {
  for (const part of parts) {
    if ("messages" in part) yield part;
    else yield* part;
  }
}

/** Writes, and waits while the reader is slower. */
async function print(text: string): Promise<void> {
  if (!process.stdout.write(text)) await new Promise((resolve) => process.stdout.once("drain", resolve));
}
