/**
 * Is memory flat? Turns run through rotating sessions: each session lives for 100 turns, then it is deleted and a new one
 * takes its place, so that 1,000 of them, at all ages, are alive at any time. Resident memory is compared with what it
 * was after the first 100,000 turns.
 *
 *   node --expose-gc dist-bench/bench/speed/memory.js [--turns 300000] [--sessions 1000] [--json FILE]
 */
import { writeFileSync } from "node:fs";
import { setImmediate } from "node:timers/promises";
import { parseArgs } from "node:util";

import { specLists } from "./inputs/pack.js";
import { Scene, type SceneTurn } from "./inputs/scenes.js";
import { nowhere } from "./nowhere.js";
import { type Engine, loadProduct, type Raw, type Session } from "./product.js";
import { circumstances } from "./record.js";

const LIFE = 100;
const SETTLED = 100_000;
/** Most that resident memory after closing may be, ÷ after the first 100,000 turns. */
const FLAT = 1.05;
/** Least of the native bytes that V8 has to know of. */
const ACCOUNTED = 0.9;

interface Reading {
  turns: number;
  /** MiB. */
  resident: number;
  /** MiB held natively, by the engine's own count. */
  native: number;
  /** MiB outside its heap that V8 was told of. */
  external: number;
}

async function main(argv: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      turns: { type: "string", default: "300000" },
      sessions: { type: "string", default: "1000" },
      json: { type: "string" },
    },
  });
  const turns = Number(values.turns);
  const sessions = Number(values.sessions);
  if (!(turns >= 2 * SETTLED)) throw new RangeError(`--turns: at least ${2 * SETTLED}, got ${values.turns}`);
  if (globalThis.gc === undefined) throw new Error("run with node --expose-gc");

  const { createEngine, raw } = await loadProduct();
  const started = new Date();
  const engine = createEngine({ store: nowhere, maxSessions: sessions });
  const carousel = new Carousel(engine, sessions, new Scene(specLists()).digressing(LIFE).turns);
  const readings: Reading[] = [];
  while (carousel.turns < turns) {
    carousel.run(SETTLED);
    readings.push(await read(raw, engine, carousel.turns));
    print(readings.at(-1)!);
  }
  const run = circumstances(engine.info(), started);
  carousel.empty();
  engine.close();
  const after = await read(raw, null, carousel.turns);
  print(after, "closed");

  const settled = readings[0]!;
  const live = readings.at(-1)!;
  const closed = after.resident / settled.resident;
  const accounted = (live.external - after.external) / live.native;
  console.log(
    `\nresident, live at the end ÷ after ${settled.turns} turns: ${(live.resident / settled.resident).toFixed(3)}`,
  );
  verdict(`resident, closed ÷ after ${settled.turns} turns: ${closed.toFixed(3)} (≤ ${FLAT})`, closed <= FLAT);
  verdict(
    `native bytes that V8 knows of and sees go: ${accounted.toFixed(3)} (≥ ${ACCOUNTED})`,
    accounted >= ACCOUNTED,
  );
  if (values.json !== undefined) {
    const command = `node --expose-gc dist-bench/bench/speed/memory.js --turns ${turns} --sessions ${sessions}`;
    const { date, machine, versions } = run;
    const record = { date, command, machine, versions, closed, accounted, readings, after };
    writeFileSync(values.json, `${JSON.stringify(record, (_, value) => rounded(value), 2)}\n`);
  }
}

function rounded(value: unknown): unknown {
  return typeof value === "number" ? Math.round(value * 1000) / 1000 : value;
}

function verdict(what: string, ok: boolean): void {
  console.log(`${what} ${ok ? "✓" : "✗"}`);
  if (!ok) process.exitCode = 1;
}

/** Sessions that take turns one after the other; the first ones start at all ages. */
class Carousel {
  turns = 0;
  readonly #engine: Engine;
  readonly #script: readonly SceneTurn[];
  readonly #seats: Array<{ id: string; session: Session; age: number }>;
  #next = 0;
  #born = 0;

  constructor(engine: Engine, sessions: number, script: readonly SceneTurn[]) {
    this.#engine = engine;
    this.#script = script;
    this.#seats = Array.from({ length: sessions }, (_, seat) => this.#newcomer(2 * (seat % (LIFE / 2))));
  }

  /** At least `turns` more turns, two at a time. */
  run(turns: number): void {
    for (const end = this.turns + turns; this.turns < end; this.turns += 2) {
      let seat = this.#seats[this.#next]!;
      if (seat.age === LIFE) {
        this.#engine.deleteSession(seat.id);
        seat = this.#newcomer(0);
        this.#seats[this.#next] = seat;
      }
      seat.session.assemble(this.#script[seat.age]!.content);
      const { role, content } = this.#script[seat.age + 1]!;
      seat.session.append({ role, content });
      seat.age += 2;
      this.#next = (this.#next + 1) % this.#seats.length;
    }
  }

  empty(): void {
    this.#seats.length = 0;
  }

  #newcomer(age: number): { id: string; session: Session; age: number } {
    const id = `session-${this.#born++}`;
    return { id, session: this.#engine.session(id), age };
  }
}

async function read(raw: Raw, engine: Engine | null, turns: number): Promise<Reading> {
  // What a weak reference was asked for lives until the event loop turns.
  await setImmediate();
  // Twice: finalizers of the first round free what the second one collects.
  globalThis.gc?.();
  globalThis.gc?.();
  const { rss } = process.memoryUsage();
  const mebibytes = (bytes: number): number => bytes / 2 ** 20;
  return {
    turns,
    resident: mebibytes(rss),
    native: mebibytes(engine?.info().bytes ?? 0),
    external: mebibytes(raw.externalMemory()),
  };
}

function print({ turns, resident, native, external }: Reading, what = "turns"): void {
  const number = (value: number): string => value.toFixed(1).padStart(8);
  console.log(
    `${String(turns).padStart(9)} ${what.padEnd(6)}  resident ${number(resident)} MiB  native ${number(native)}  external ${number(external)}`,
  );
}

main(process.argv.slice(2)).catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
