import { cpus } from "node:os";
import { parseArgs } from "node:util";
import { createEngine, type Engine } from "../engine.js";
import type { Session } from "../session.js";
import type { Message } from "../types.js";
import { ExitStatus, UsageError } from "./exit.js";
import { percentile } from "./percentile.js";

/** Help of `trihorizon bench`. */
export const benchUsage = `trihorizon bench [options]

  Times what a gateway does for every turn, on this machine, with the built-in embedder and token counts: single calls
  in under a minute, printed as a table to paste.

  --seconds N              for each row, 1 by default
  --json                   an array of rows, for machines
`;

/** One line of the table. */
interface Row {
  row: string;
  /** Microseconds, the clock's cost included. */
  p50: number;
  p99: number;
  callsPerSecond: number;
}

/** `trihorizon bench`: what the engine costs on this machine. */
export function bench(args: readonly string[], usage: string): number {
  const { values } = parse(args);
  if (values.help) {
    process.stdout.write(usage);
    return ExitStatus.Done;
  }
  const seconds = Number(values.seconds);
  if (!(seconds > 0 && seconds <= 60)) throw new UsageError(`--seconds: got ${values.seconds}, expected up to 60`);
  const engine = createEngine();
  const { version, kernel } = engine.info();
  const rows = Object.entries(cases(engine)).map(([row, call]) => time(row, call, seconds));
  engine.close();
  const title = `trihorizon ${version} (${kernel}), Node ${process.version}, ${cpus()[0]?.model.trim() ?? process.arch}`;
  process.stdout.write(values.json ? `${JSON.stringify(rows, null, 2)}\n` : table(title, rows));
  return ExitStatus.Done;
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        seconds: { type: "string", default: "1" },
        json: { type: "boolean", default: false },
        help: { type: "boolean", short: "h", default: false },
      },
    });
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

/** Each gets another text than the call before, so that nothing can be remembered. */
function cases(engine: Engine): Record<string, () => unknown> {
  const short = chat(engine, "short", 8);
  const long = chat(engine, "long", 1000);
  const spec = chat(engine, "spec", 8);
  const question = turns((turn) => ask(turn, 2));
  const resent = history(200);
  const body = JSON.stringify({ messages: resent });
  const gateway = engine.session("gateway");
  gateway.sync(resent);
  return {
    "classify, 200 characters, 8 turns": () => short.classify(question()),
    "the same, profile spec": () => spec.classify(question(), { profile: "spec" }).intent,
    "classify, 1,000 turns": () => long.classify(question()),
    "assemble, 8 turns, to messages and headers": () => delivered(short, question()),
    "assemble, 1,000 turns": () => delivered(long, question()),
    "embed 200 characters": () => engine.embed(question()),
    "count their tokens": () => engine.countTokens(question()),
    "sync 200 resent messages": () => gateway.sync(resent),
    "beside it: JSON.parse of their body": () => JSON.parse(body) as unknown,
  };
}

function delivered(session: Session, text: string): number {
  const turn = session.assemble(text, { budget: 4000, dryRun: true });
  return turn.messages.length + Object.keys(turn.headers).length;
}

function chat(engine: Engine, id: string, length: number): Session {
  const session = engine.session(id);
  for (const message of history(length)) session.append(message);
  return session;
}

function history(length: number): Message[] {
  return Array.from({ length }, (_, turn) =>
    turn % 2 === 0 ? { role: "user", content: ask(turn, 1) } : { role: "assistant", content: answer(turn) },
  );
}

const things = ["etcd cluster", "backup job", "load balancer", "test database", "build cache", "message queue"];
const deeds = ["restart", "resize", "move", "check", "secure", "describe"];

function ask(turn: number, sentences: number): string {
  const one = (at: number): string =>
    `How do I ${deeds[(at * 5) % deeds.length]} the ${things[at % things.length]} on node ${at % 97} without losing what was written?`;
  return Array.from({ length: sentences }, (_, at) => one(turn + at)).join(" ");
}

function answer(turn: number): string {
  const thing = things[turn % things.length];
  return `1. Drain node ${turn % 97}. 2. Stop the ${thing} and take a snapshot. 3. Start it with the same data. Watch its log until it has caught up with the others, then take the next node.`;
}

function turns(make: (turn: number) => string): () => string {
  const texts = Array.from({ length: 64 }, (_, turn) => make(turn));
  let next = 0;
  return () => texts[(next = (next + 1) % texts.length)] as string;
}

function time(row: string, call: () => unknown, seconds: number): Row {
  run(call, seconds / 5);
  const micros = run(call, seconds);
  const total = micros.reduce((sum, one) => sum + one, 0);
  const rounded = (value: number): number => Number(value.toPrecision(3));
  return {
    row,
    p50: rounded(percentile(micros, 0.5)),
    p99: rounded(percentile(micros, 0.99)),
    callsPerSecond: rounded((micros.length / total) * 1e6),
  };
}

/** Microseconds of each call, for so many seconds. */
function run(call: () => unknown, seconds: number): number[] {
  const micros: number[] = [];
  for (const end = performance.now() + seconds * 1000; performance.now() < end;) {
    const start = process.hrtime.bigint();
    call();
    micros.push(Number(process.hrtime.bigint() - start) / 1000);
  }
  return micros;
}

function table(title: string, rows: readonly Row[]): string {
  const lines = [
    ["", "p50", "p99", "a second"],
    ["---", "---:", "---:", "---:"],
    ...rows.map(({ row, p50, p99, callsPerSecond }) => [
      row,
      `${p50} µs`,
      `${p99} µs`,
      callsPerSecond.toLocaleString("en"),
    ]),
  ];
  return `${title}\n\n${lines.map((cells) => `| ${cells.join(" | ")} |`).join("\n")}\n`;
}
