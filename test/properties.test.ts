import * as fc from "fast-check";
import * as cl100k from "gpt-tokenizer/encoding/cl100k_base";
import * as o200k from "gpt-tokenizer/encoding/o200k_base";
import { afterAll, describe, expect, test } from "vitest";
import { createEngine, type AppendMessage, type EngineOptions, type EnvelopeItem, type Turn } from "../src/index.js";
import type { Engine, Session, Tier } from "../src/index.js";

const OVERHEAD = 4;

const engine = createEngine({ messageOverhead: OVERHEAD, clock: () => 1_000 });
const twin = createEngine({ messageOverhead: OVERHEAD, clock: () => 1_000 });
afterAll(() => Promise.all([engine.close(), twin.close()]));

let sessions = 0;
const fresh = (of: Engine = engine): Session => of.session(`p${(sessions += 1)}`);

/** Pieces that conversations are made of: subjects, references, lists, other scripts, and what breaks offsets. */
const pieces = [
  ..."etcd|TLS|the second option|fix it|that bug|what you said earlier|the query result|those results|do it again".split(
    "|",
  ),
  ..."go on|more|explain again|what do you mean|back to etcd|the last one|port 2379|must not cost more than 5".split(
    "|",
  ),
  ..."How do I configure it?|1. red\n2. green\n3. blue|- one\n- two|actually, what's a good backup?".split("|"),
  ..."👩‍👩‍👧‍👦|🏳️‍🌈 it|שלום עולם|مرحبا بالعالم|我想把会议改到下周三|明日の会議|내일 회의|e\u0301te\u0301|नमस्ते|\ud800|\udc00 it|İstanbul ẞ ﬁ".split(
    "|",
  ),
  ...'\u202eevil\u202c|\u200b|\r\n|<fact>|</tool-output>|{"a":[1,2]}|a,b\n1,2\n3,4|\u0000|X-Evil: 1'.split("|"),
];
const text = fc
  .array(fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...pieces) }, fc.string({ unit: "binary", maxLength: 12 })), {
    minLength: 1,
    maxLength: 6,
  })
  .map((parts) => `x ${parts.join(" ")}`);
const message: fc.Arbitrary<AppendMessage> = fc.oneof(
  fc.record({ role: fc.constantFrom("user" as const, "assistant" as const), content: text }),
  fc.record({ role: fc.constant("tool" as const), name: fc.constantFrom("sql", "http"), content: text }),
  fc.record({ role: fc.constant("system" as const), content: text }),
);
const messages = fc.array(message, { maxLength: 10 });
const budget = fc.oneof(fc.integer({ min: 1, max: 60 }), fc.integer({ min: 1, max: 4_000 }));
const profile = fc.constantFrom("default" as const, "spec" as const);

function filled(all: readonly AppendMessage[], session = fresh()): Session {
  for (const one of all) session.append(one);
  return session;
}

function decision(turn: Turn): object {
  return { ...(JSON.parse(JSON.stringify(turn)) as object), micros: 0 };
}

describe("an envelope", () => {
  test("never exceeds its budget, counts what it renders, keeps dialogue in order, and is a sandwich", () => {
    fc.assert(
      fc.property(messages, text, budget, profile, (all, question, most, of) => {
        const { envelope, blend } = filled(all).assemble(question, { budget: most, profile: of });
        expect(blend.P + blend.C + blend.E).toBeCloseTo(1, 6);
        for (const item of envelope.items) expect(item.tokens).toBe(o200k.countTokens(item.text, plain) + OVERHEAD);
        const spent = envelope.items.reduce((sum, item) => sum + item.tokens, 0);
        expect(spent).toBeLessThanOrEqual(most);
        expect(envelope.tokens).toBe(spent);
        expect(envelope.spent.P + envelope.spent.C + envelope.spent.E).toBe(spent);
        const everything = [...envelope.items, ...envelope.left].map(({ kind, id }) => `${kind} ${id}`);
        expect(new Set(everything).size).toBe(everything.length);
        if (of === "spec") return;
        const turns = envelope.items.flatMap(({ kind, id }) => (kind === "turn" ? [Number(id)] : []));
        expect(turns).toEqual(turns.toSorted((a, b) => a - b));
        expectSandwich(envelope.items, blend);
      }),
      { numRuns: 300 },
    );
  });

  test("is the same for the same input, in another engine, after a snapshot, and after a dry run", () => {
    fc.assert(
      fc.property(messages, text, text, budget, (all, first, second, most) => {
        const id = `same ${(sessions += 1)}`;
        const one = filled(all, engine.session(id));
        const other = filled(all, twin.session(id));
        one.assemble(second, { dryRun: true });
        one.classify(second);
        expect(decision(one.assemble(first, { budget: most }))).toEqual(
          decision(other.assemble(first, { budget: most })),
        );
        const snapshot = one.snapshot();
        expect(Buffer.from(other.snapshot()).equals(snapshot)).toBe(true);
        other.append({ role: "user", content: "forgotten by restoring" });
        other.restore(snapshot);
        expect(decision(one.assemble(second, { budget: most }))).toEqual(
          decision(other.assemble(second, { budget: most })),
        );
        expect(other.turns()).toEqual(one.turns());
      }),
      { numRuns: 100 },
    );
  });
});

test("a reference's span is its text, in any script", () => {
  fc.assert(
    fc.property(messages, text, profile, (all, question, of) => {
      const { references } = filled(all).classify(question, { profile: of });
      for (const reference of references) {
        const [start, end] = reference.span;
        expect(start).toBeLessThan(end);
        expect(question.slice(start, end)).toBe(reference.text);
        expect(reference.itemTexts).toHaveLength(reference.items.length);
        expect(reference.confidence).toBeGreaterThanOrEqual(0);
        expect(reference.confidence).toBeLessThanOrEqual(1);
      }
    }),
    { numRuns: 500 },
  );
});

describe("a span behind what changes length", () => {
  // Each grows or shrinks in UTF-8, in case folding or under NFKC.
  const odd = ["👩‍👩‍👧‍👦", "שלום", "我想", "e\u0301", "\ud800", "İ", "ẞ", "ﬁ", "Å", "㍿", "ſ", "\u200b"];
  test.each(odd.flatMap((prefix) => [[prefix, "default"] as const, [prefix, "spec"] as const]))(
    "%j, %s",
    (prefix, of) => {
      const session = filled([
        { role: "user", content: "Which engine?" },
        { role: "assistant", content: `${prefix} these:\n1. ${prefix} RocksDB\n2. SQLite` },
      ]);
      const expected = of === "spec" ? "the second" : "the second option";
      const question = `${prefix} and the second option?`;
      const reference = session.classify(question, { profile: of }).references.find(({ type }) => type === "ordinal");
      expect(reference).toMatchObject({ text: expected, target: { kind: "turn", id: 2 }, itemTexts: ["SQLite"] });
      expect(reference?.span[0]).toBe(question.indexOf("the second"));
    },
  );
});

describe("a log", () => {
  test("a retried turn takes back the references that had pinned a result", () => {
    const session = filled([
      { role: "tool", name: "sql", content: "a,b\n1,2\n3,4" },
      { role: "user", content: "the last one etcd" },
    ]);
    const turn = session.assemble("those results", { id: "q" });
    expect(turn.references.map(({ target }) => target?.kind)).toEqual(["scratch"]);
    expect(decision(session.assemble("those results", { id: "q" }))).toEqual(decision(turn));
  });

  test("takes every id once, resent messages never", () => {
    fc.assert(
      fc.property(messages, text, (all, question) => {
        const named = all.map((one, index) => ({ ...one, id: `m${index}` }));
        const session = filled(named);
        const before = session.turns();
        const again = named.map((one) => session.append(one));
        expect(session.turns()).toEqual(before);
        expect(again).toEqual(named.map((one) => session.append(one)));
        const turn = session.assemble(question, { id: "q" });
        const after = session.turns();
        expect(decision(session.assemble(question, { id: "q" }))).toEqual(decision(turn));
        expect(session.turns()).toEqual(after);
      }),
      { numRuns: 60 },
    );
  });

  test("sync appends what is new, and nothing twice", () => {
    fc.assert(
      fc.property(messages, messages, (first, more) => {
        const session = fresh();
        expect(session.sync(first)).toMatchObject({ known: 0 });
        const snapshot = session.snapshot();
        expect(session.sync(first)).toEqual({ known: first.length, appended: [] });
        expect(Buffer.from(session.snapshot()).equals(snapshot)).toBe(true);
        expect(session.sync([...first, ...more]).known).toBe(first.length);
        expect(session.turns()).toEqual(filled([...first, ...more]).turns());
      }),
      { numRuns: 60 },
    );
  });

  test("a ring keeps the newest, whose ids go on", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5 }), fc.array(text, { minLength: 1, maxLength: 12 }), (ring, texts) => {
        const bounded = createEngine({ ring, clock: () => 0 });
        const session = bounded.session("ring");
        const ids = texts.map((content) => session.append({ role: "user", content }).turnId);
        expect(ids).toEqual(texts.map((_, index) => index + 1));
        expect(session.turns().map(({ turnId }) => turnId)).toEqual(ids.slice(-ring));
        for (const { references } of session.turns()) for (const id of references) expect(id).toBeLessThan(ids.length);
        const { items, left } = session.assemble("and then?").envelope;
        for (const { kind, id } of [...items, ...left]) if (kind === "turn") expect(ids.slice(-ring)).toContain(id);
        void bounded.close();
      }),
      { numRuns: 40 },
    );
  });

  test("a deleted turn leaves no trace", () => {
    fc.assert(
      fc.property(messages, messages, fc.constantFrom("user" as const, "assistant" as const), (before, after, role) => {
        // A constraint, an open question, a value and an entity: everything the extractor would keep.
        const secret = "It must never cost more than 5 zorblax; the Quuxington port is 471147, isn't it?";
        const session = filled([...before, { role: "user", content: "x" }]);
        const { turnId } = session.append({ role, content: secret });
        filled(after, session);
        session.assemble("what about the Quuxington port?");
        expect(traces(session).includes("zorblax")).toBe(true);
        expect(session.deleteTurn(turnId!)).toBe(true);
        const left = traces(session);
        // Not as digits of a score.
        for (const word of [/zorblax/, /(?<![\d.])471147(?!\d)/])
          expect({ word, left: word.test(left) }).toEqual({ word, left: false });
        expect(session.turns().flatMap(({ references }) => references)).not.toContain(turnId);
        const { turnId: next } = session.append({ role: "user", content: "next" });
        expect(next).toBeGreaterThan(turnId!);
      }),
      { numRuns: 60 },
    );
  });
});

test("headers are tokens, whatever is said", () => {
  fc.assert(
    fc.property(
      messages,
      text,
      profile,
      fc.constantFrom("conversation", "document", "hybrid", "auto"),
      (all, question, of, mode) => {
        const { headers } = filled(all).assemble(question, { profile: of, mode });
        for (const [name, value] of Object.entries(headers)) {
          expect(name).toMatch(/^CRP-Context-(Mode|Tier-Blend|Turn-Intent|References-Resolved|Active-Thread)$/);
          expect(value).toMatch(/^[A-Za-z0-9._/-]{1,64}$/);
        }
        const blend = headers["CRP-Context-Tier-Blend"]?.split("/").map(Number);
        if (blend !== undefined) expect(blend.reduce((sum, weight) => sum + weight)).toBe(100);
      },
    ),
    { numRuns: 150 },
  );
});

/** A lone surrogate is U+FFFD inside. */
const wellFormed = (of: string): string => Buffer.from(of).toString();

/** Text, not control tokens: `<|endoftext|>` in a chat is five tokens and more. */
const plain = { disallowedSpecial: new Set<string>() };

describe("token counts", () => {
  const corpus = [
    ...pieces,
    "The quick brown fox can't jump over 1,234,567 lazy dogs; it's 9:41.",
    "Zażółć gęślą jaźń. Größe, Straße, œuvre, ångström.",
    "Съешь же ещё этих мягких французских булок, да выпей чаю.",
    "ทุกคนมีสิทธิเสรีภาพ  Ελληνικά կարդալ ქართული",
    "function f(a: number[]) {\n\treturn a.map((x) => x ** 2);\n}\r\n\r\n",
    "<|endoftext|> <|im_start|>system",
    "ＡＢＣ　１２３ ½ ² ﬃ 𝕳𝖊𝖑𝖑𝖔 🇩🇪🇯🇵",
    `${" ".repeat(50)}x${"\n".repeat(20)}${"a".repeat(300)}${"=".repeat(70)}`,
    "aGVsbG8gd29ybGQ= 550e8400-e29b-41d4-a716-446655440000 0xDEADBEEF",
  ];
  const encodings = { o200k: o200k.countTokens, cl100k: cl100k.countTokens };

  test.each(Object.entries(encodings))("%s equals gpt-tokenizer", (tokens, countTokens) => {
    const counter = createEngine({ tokens: tokens as "o200k" | "cl100k" });
    const check = (of: string): void => {
      expect(counter.countTokens(of)).toBe(countTokens(wellFormed(of), plain));
    };
    corpus.forEach(check);
    fc.assert(fc.property(fc.oneof(text, fc.string({ unit: "binary" })), check), { numRuns: 500 });
    void counter.close();
  });

  test("the estimate does not under-count written text", () => {
    const counter = createEngine({ tokens: "estimate" });
    const check = (of: string): void => {
      const most = Math.max(...Object.values(encodings).map((countTokens) => countTokens(wellFormed(of), plain)));
      expect({ of, under: counter.countTokens(of) < most }).toEqual({ of, under: false });
    };
    corpus.forEach(check);
    // Lines as people and tools write them, in any order; single words ("etcd" may cost three) and noise are not promised.
    const written = fc.array(fc.constantFrom(...corpus), { minLength: 1 });
    fc.assert(
      fc.property(written, (words) => check(words.join(" "))),
      { numRuns: 1_000 },
    );
    expect(counter.session("e").assemble("x").envelope.estimated).toBe(true);
    void counter.close();
  });

  test.each<[string, EngineOptions]>([
    ["another overhead", { messageOverhead: 0 }],
    ["cl100k", { tokens: "cl100k" }],
    ["the estimate", { tokens: "estimate" }],
    ["a function", { tokens: (of) => of.length }],
  ])("%s: the budget holds as well", (_, options) => {
    const other = createEngine({ ...options, clock: () => 0 });
    fc.assert(
      fc.property(messages, text, budget, (all, question, most) => {
        const { envelope } = filled(all, fresh(other)).assemble(question, { budget: most });
        const { messageOverhead = OVERHEAD } = options;
        const recount = envelope.items.map((item) => other.countTokens(item.text) + messageOverhead);
        expect(envelope.items.map(({ tokens }) => tokens)).toEqual(recount);
        expect(recount.reduce((sum, tokens) => sum + tokens, 0)).toBeLessThanOrEqual(most);
      }),
      { numRuns: 40 },
    );
    void other.close();
  });
});

/** Everything of a session that can be seen, snapshots included. */
function traces(session: Session): string {
  const turn = session.assemble("what about that, the port and the constraint?", { dryRun: true, budget: 1e6 });
  const states = [...new Set(session.turns().map(({ thread }) => thread))].map((id) => session.threadState(id));
  return [
    JSON.stringify([session.turns(), turn, states]),
    turn.explain(),
    Buffer.from(session.snapshot()).toString("latin1"),
  ].join("\n");
}

/** The mended sandwich over units: the block of turns is one, its score that of its best turn (G-1, G-44). */
function expectSandwich(items: readonly EnvelopeItem[], blend: Record<Tier, number>): void {
  const heaviest = Math.max(blend.P, blend.C, blend.E);
  const score = ({ score: own, tier }: EnvelopeItem): number =>
    Math.fround(Math.fround(own) * Math.fround(blend[tier] / heaviest));
  const units: number[] = [];
  let block = -1;
  for (const item of items) {
    if (item.kind !== "turn") units.push(score(item));
    else if (block === -1) block = units.push(score(item)) - 1;
    else units[block] = Math.max(units[block]!, score(item));
  }
  const critical = units.filter((unit) => unit >= Math.fround(0.8)).toSorted((a, b) => b - a);
  const below = units.filter((unit) => unit < Math.fround(0.8)).toSorted((a, b) => b - a);
  expect(units).toEqual([
    ...critical.slice(0, 2),
    ...below.filter((unit) => unit < 0.5),
    ...below.filter((unit) => unit >= 0.5),
    ...critical.slice(2).toReversed(),
  ]);
}
