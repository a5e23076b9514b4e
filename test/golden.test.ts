import { readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { afterAll, describe, expect, test } from "vitest";
import {
  createEngine,
  type AppendMessage,
  type AssembleOptions,
  type Blend,
  type Engine,
  type EngineOptions,
  type EnvelopeItem,
  type FactInput,
  type Intent,
  type Novelty,
  type Reference,
  type Session,
  type Target,
  type ThreadEvent,
  TrihorizonError,
  type Turn,
} from "../src/index.js";
import { sandwich } from "./twin/envelope.js";
import { turnRecency } from "./twin/recency.js";

/** Turns by number, scratch entries as "scratch:" and their ordinal. */
type Id = number | string;

/** A missing field is any; so is a target "any". */
interface ExpectedReference {
  text?: string;
  type?: string;
  target?: Id | Id[];
  items?: number[];
  itemTexts?: string[];
}

interface Expected {
  error?: string | string[];
  intent?: Intent | Intent[];
  intentNot?: Intent[];
  reasonNot?: string[];
  event?: ThreadEvent;
  eventNot?: ThreadEvent[];
  /** Turns by thread, the new turn included. */
  threads?: number[][];
  /** Each is among the references found; all are resolved. */
  references?: ExpectedReference[];
  referenceNot?: string[];
  resolved?: number;
  pointsAt?: number;
  blend?: string;
  novelty?: Novelty;
  headers?: Record<string, string>;
  onlyHeaders?: Record<string, string>;
  tokenHeaders?: boolean;
  ids?: number[];
  turnId?: number;
  packed?: Id[];
  packs?: Id[];
  packsNot?: Id[];
  pinned?: Id[];
  scores?: Record<string, number>;
  has?: Record<string, string[]>;
  hasNot?: Record<string, string[]>;
}

type GoldenMessage = Omit<AppendMessage, "vector"> & { vector?: number[] };

interface Case {
  name: string;
  requirement: string;
  profile?: "default" | "spec";
  dimensions?: number;
  options?: EngineOptions;
  log: string | GoldenMessage[];
  facts?: (Omit<FactInput, "vector"> & { vector?: number[]; repeat?: number })[];
  turns: string[];
  vector?: number[];
  call?: AssembleOptions;
  expect: Expected;
}

const golden = <T>(name: string): T =>
  JSON.parse(readFileSync(new URL(`../fixtures/golden/${name}.json`, import.meta.url), "utf8")) as T;

const { logs, cases } = golden<{ logs: Record<string, GoldenMessage[]>; cases: Case[] }>("turns");

const engines: Engine[] = [];
afterAll(() => Promise.all(engines.map((engine) => engine.close())));

describe.each(cases)("$requirement: $name", (of) => {
  test.each(of.turns)("%j", (text) => check(of, text));
});

test("recency (R028-6)", () => {
  const { halfLife, values } = golden<{ halfLife: number; values: [number, number][] }>("recency");
  const session = open({ profile: "spec", dimensions: 2 });
  const last = Math.max(...values.map(([distance]) => distance));
  for (let turn = 0; turn < last; turn += 1)
    session.append({ role: "user", content: `turn ${turn}`, vector: vector([1, 0]) });
  const { items } = session.assemble("something else", { vector: vector([0, 1]), budget: 1e6, halfLife }).envelope;
  for (const [distance, weight] of values) {
    expect(turnRecency(distance, halfLife)).toBeCloseTo(weight, 6);
    if (distance > 0) expect(items.find(({ id }) => id === last + 1 - distance)?.score).toBeCloseTo(weight, 6);
  }
});

describe("the blend table (R028-20)", () => {
  const { rows, rounded } = golden<{
    rows: ({ intent: Intent; novelty: Novelty; header: string } & Blend)[];
    rounded: { blend: Blend; header: string }[];
  }>("blends");
  // The spec profile's markers reach each intent by one short text.
  const says: Record<Intent, string> = {
    EXPLORE: "penguins",
    DRILL_DOWN: "the first",
    CLARIFY: "explain",
    CONTINUE: "go on",
    TOOL_REFERENCE: "the result",
  };

  test.each(rows)("$intent", ({ intent, novelty, header, ...blend }) => {
    const turn = open({ profile: "spec" }).assemble(says[intent]);
    expect(turn).toMatchObject({ intent, blend, novelty, headers: { "CRP-Context-Tier-Blend": header } });
  });

  test.each(rounded)("$header", ({ blend, header }) => {
    expect(open({}).assemble("penguins", { blend }).headers["CRP-Context-Tier-Blend"]).toBe(header);
  });
});

test("the twin's sandwich (G-1)", () => {
  const all = golden<{ cases: { scores: number[]; literal: number[] }[] }>("sandwich").cases;
  for (const { scores, literal } of all) {
    const items = scores.map((score, id) => ({ tier: "C" as const, id, score, tokens: 1, pinned: false }));
    expect(sandwich(items, { P: 0, C: 1, E: 0 }).map(({ id }) => id)).toEqual(literal);
  }
});

function open({ profile = "default", dimensions, options = {} }: Partial<Case>): Session {
  const engine = createEngine({
    ...options,
    profile,
    clock: () => 1_000,
    ...(dimensions === undefined ? {} : { embedder: { id: "golden", dimensions } }),
  });
  engines.push(engine);
  return engine.session("golden");
}

function vector(numbers: number[] | undefined): Float32Array | undefined {
  return numbers === undefined ? undefined : Float32Array.from(numbers);
}

function withVector<T extends object>(of: T, numbers: number[] | undefined): T & { vector?: Float32Array } {
  return numbers === undefined ? of : { ...of, vector: Float32Array.from(numbers) };
}

function check(of: Case, text: string): void {
  const session = open(of);
  for (const { vector: numbers, ...message } of typeof of.log === "string" ? logs[of.log]! : of.log) {
    session.append(withVector(message, numbers));
  }
  if (of.facts !== undefined) {
    const facts = of.facts.map(({ vector: numbers, repeat = 1, ...fact }) =>
      withVector({ ...fact, text: `${fact.text} `.repeat(repeat).trim() }, numbers),
    );
    engines.at(-1)!.facts().add(facts);
  }
  const assemble = (): Turn => session.assemble(text, withVector(of.call ?? {}, of.vector));
  const { error } = of.expect;
  if (error !== undefined) {
    const codes: string[] = [error].flat();
    expect(assemble).toThrow(TrihorizonError);
    expect(assemble).toThrow(expect.objectContaining({ code: expect.toBeOneOf(codes) as string }) as Error);
    return;
  }
  const ids = session.turns().map(({ turnId }) => turnId);
  const turn = assemble();
  if (of.expect.ids !== undefined) expect(ids).toEqual(of.expect.ids);
  checkDecision(turn, of.expect);
  checkReferences(turn.references, turn.carriesOver, of.expect);
  checkEnvelope(turn, of.expect);
  if (of.expect.threads !== undefined) expect(partition(session)).toEqual(of.expect.threads);
}

function checkDecision(turn: Turn, expected: Expected): void {
  if (expected.intent !== undefined) expect([expected.intent].flat()).toContain(turn.intent);
  expect(expected.intentNot ?? []).not.toContain(turn.intent);
  expect(expected.reasonNot ?? []).not.toContain(turn.reason);
  if (expected.event !== undefined) expect(turn.thread.event).toBe(expected.event);
  expect(expected.eventNot ?? []).not.toContain(turn.thread.event);
  if (expected.novelty !== undefined) expect(turn.novelty).toBe(expected.novelty);
  if (expected.turnId !== undefined) expect(turn.turnId).toBe(expected.turnId);
  if (expected.blend !== undefined) expect(turn.headers["CRP-Context-Tier-Blend"]).toBe(expected.blend);
  if (expected.headers !== undefined) expect(turn.headers).toMatchObject(expected.headers);
  if (expected.onlyHeaders !== undefined) expect(turn.headers).toEqual(expected.onlyHeaders);
  if (expected.tokenHeaders) {
    for (const value of Object.values(turn.headers)) expect(value).toMatch(/^[\w./-]{1,64}$/);
  }
}

function checkReferences(references: Reference[], carriesOver: number | null, expected: Expected): void {
  const targets = references.map(({ target }) => idOf(target)).filter((target) => target !== null);
  if (expected.resolved !== undefined) expect(targets).toHaveLength(expected.resolved);
  for (const text of expected.referenceNot ?? [])
    expect(references.map((reference) => reference.text)).not.toContain(text);
  if (expected.pointsAt !== undefined) expect([...targets, carriesOver]).toContain(expected.pointsAt);
  for (const { target, ...rest } of expected.references ?? []) {
    const reference = references.find(
      (found) => found.target !== null && matches(idOf(found.target), target, found, rest),
    );
    expect(reference, `${JSON.stringify({ target, ...rest })} in ${JSON.stringify(references)}`).toBeDefined();
  }
}

function matches(
  id: Id | null,
  wanted: ExpectedReference["target"],
  found: Reference,
  rest: ExpectedReference,
): boolean {
  const pointed = wanted === undefined || wanted === "any" || [wanted].flat().includes(id ?? "");
  return (
    pointed && Object.entries(rest).every(([key, value]) => isDeepStrictEqual(found[key as keyof Reference], value))
  );
}

function checkEnvelope(turn: Turn, expected: Expected): void {
  const items = new Map(turn.envelope.items.map((item) => [String(identify(item)), item]));
  const packed = turn.envelope.items.map(identify);
  if (expected.packed !== undefined) expect(packed).toEqual(expected.packed);
  for (const id of expected.packs ?? []) expect(packed).toContain(id);
  for (const id of expected.packsNot ?? []) expect(packed).not.toContain(id);
  for (const id of expected.pinned ?? []) expect(items.get(String(id))?.pinned).toBe(true);
  for (const [id, score] of Object.entries(expected.scores ?? {})) expect(items.get(id)?.score).toBeCloseTo(score, 6);
  for (const [id, texts] of Object.entries(expected.has ?? {}))
    for (const text of texts) expect(items.get(id)?.text).toContain(text);
  for (const [id, texts] of Object.entries(expected.hasNot ?? {}))
    for (const text of texts) expect(items.get(id)?.text).not.toContain(text);
}

function partition(session: Session): number[][] {
  const threads = new Map<string, number[]>();
  for (const { thread, turnId } of session.turns()) threads.set(thread, [...(threads.get(thread) ?? []), turnId]);
  return [...threads.values()];
}

function idOf(target: Target | null): Id | null {
  return target === null ? null : target.kind === "scratch" ? scratch(target.id) : target.id;
}

function identify({ kind, id }: EnvelopeItem): Id {
  return kind === "scratch" ? scratch(String(id)) : id;
}

/** "scratch_sql_query_001" is "scratch:1". */
function scratch(id: string): string {
  return `scratch:${Number(id.slice(id.lastIndexOf("_") + 1))}`;
}
