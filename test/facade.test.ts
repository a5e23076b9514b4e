import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { execFileSync } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { inspect } from "node:util";
import { setFlagsFromString } from "node:v8";
import { runInThisContext } from "node:vm";
import { afterAll, describe, expect, test } from "vitest";
import {
  createEngine,
  engineOptions,
  errorCodes,
  fileStore,
  memoryStore,
  type Embedder,
  type Message,
  type Store,
  type StoredSession,
  type StoreRecord,
  TrihorizonError,
  type Turn,
} from "../src/index.js";
import { advice, guard, native, nativeError, tables } from "../src/native.js";
import type { EngineOptions, Session } from "../src/index.js";

const directory = mkdtempSync(join(tmpdir(), "trihorizon-facade-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const question = "How do I configure etcd?";
const answer = "1. Install the binaries.\n2. Open port 2379 for clients.\n3. Start the service.";
const followUp = "which port does the second step need?";

function etcd(session: Session): Session {
  session.append({ role: "system", content: "Be brief." });
  session.append({ role: "user", content: question });
  session.append({ role: "assistant", content: answer });
  return session;
}

function failure(action: () => unknown): TrihorizonError {
  try {
    action();
  } catch (error) {
    if (error instanceof TrihorizonError) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
}

/** What a session is, for comparisons: the whole log, thread state and what it answers. */
function state(session: Session): unknown {
  const turn = session.assemble(followUp, { dryRun: true });
  return JSON.parse(
    JSON.stringify({
      turns: session.turns(),
      thread: session.threadState(),
      turn: { ...inspectable(turn), micros: 0 },
    }),
  );
}

function inspectable(turn: Turn): object {
  return JSON.parse(JSON.stringify(turn)) as object;
}

const hash = (text: string): Float32Array =>
  Float32Array.from({ length: 8 }, (_, index) => 0.1 + ((text.charCodeAt(index % text.length) * (index + 3)) % 17));

const embedder: Embedder = { id: "test-8", dimensions: 8, embed: hash };
const asyncEmbedder: Embedder = {
  id: "test-8",
  dimensions: 8,
  embed: async (text) => {
    await new Promise((resolve) => setTimeout(resolve, text.length % 7));
    return hash(text);
  },
};

describe("a turn", () => {
  const engine = createEngine({ clock: () => 1_000 });
  const session = etcd(engine.session("turn"));
  const turn = session.assemble(followUp, { budget: 2000 });

  test("says what it is", () => {
    expect(turn.text).toBe(followUp);
    expect(turn.intent).toBe("DRILL_DOWN");
    expect(turn.turnId).toBe(3);
    expect(turn.mode).toBe("conversation");
    expect(turn.contextDependent).toBe(true);
    expect(turn.contextHash).toMatch(/^[0-9a-f]{16}$/);
    expect(turn.references[0]).toMatchObject({
      text: "the second step",
      span: [16, 31],
      type: "ordinal",
      target: { kind: "turn", id: 2 },
      items: [2],
    });
    expect(turn.references[0]?.itemTexts[0]).toContain("2379");
    expect(turn.thread).toMatchObject({
      event: expect.stringMatching(/^(join|stay)$/) as string,
      id: expect.stringContaining("etcd") as string,
    });
    const { P, C, E } = turn.blend;
    expect(P + C + E).toBeCloseTo(1, 6);
    expect(turn.novelty).toBe("off");
    expect(turn.similaritySource).toMatch(/^(embedding|lexical|none)$/);
    expect(turn.confidence).toBeGreaterThan(0);
    expect(turn.reason).not.toBe("");
    expect(turn.query.terms.length).toBeGreaterThan(0);
    expect(turn.query.text).toContain("port");
  });

  test("holds the envelope within its budget", () => {
    const { envelope } = turn;
    expect(envelope.budget).toBe(2000);
    expect(envelope.tokens).toBe(envelope.items.reduce((sum, item) => sum + item.tokens, 0));
    expect(envelope.tokens).toBeLessThanOrEqual(envelope.budget);
    expect(envelope.spent.P + envelope.spent.C + envelope.spent.E).toBe(envelope.tokens);
    expect(envelope.saturation).toBeCloseTo(envelope.tokens / 2000, 9);
    expect(envelope.estimated).toBe(false);
    expect(envelope.items.map(({ position }) => position)).toEqual(envelope.items.map((_, index) => index + 1));
    const target = envelope.items.find(({ kind, id }) => kind === "turn" && id === 2);
    expect(target).toMatchObject({ tier: "C", role: "assistant", pinned: true, truncated: false, text: answer });
  });

  test("is sent as messages: system first, the envelope in its order, the turn last", () => {
    expect(turn.messages[0]).toEqual({ role: "system", content: "Be brief." });
    expect(turn.messages.at(-1)).toEqual({ role: "user", content: followUp });
    expect(turn.messages.slice(1, -1)).toEqual(turn.envelope.items.map(({ role, text }) => ({ role, content: text })));
    (turn.messages[0] as { content: string }).content = "changed";
    expect(turn.messages[0]).toEqual({ role: "system", content: "Be brief." });
  });

  test("has the headers of SPEC-028", () => {
    expect(turn.headers).toMatchObject({
      "CRP-Context-Tier-Blend": "30/65/5",
      "CRP-Context-Turn-Intent": "DRILL_DOWN",
      "CRP-Context-References-Resolved": "1",
      "CRP-Context-Active-Thread": turn.thread.id,
      "CRP-Context-Mode": "conversation",
    });
  });

  test("explains itself", () => {
    const receipt = turn.explain();
    expect(receipt).toContain('"the second step"');
    expect(receipt).toContain("→ turn 2, item 2");
    expect(receipt).toContain(`${turn.envelope.tokens} of 2000 tokens`);
    expect(receipt).toContain("CRP-Context-Tier-Blend: 30/65/5");
  });

  test("is a plain object for JSON, logs and inspection", () => {
    const plain = JSON.parse(JSON.stringify(turn)) as Turn;
    expect(plain).toMatchObject({
      intent: turn.intent,
      turnId: 3,
      thread: turn.thread,
      envelope: { tokens: turn.envelope.tokens },
    });
    expect(inspect(turn)).toContain("DRILL_DOWN");
    expect(inspect(session.classify(question))).toContain("intent");
  });

  test("stays readable after later calls, eviction and close", () => {
    const other = createEngine({ clock: () => 0 });
    const chat = etcd(other.session("x"));
    const classified = chat.classify(followUp);
    const assembled = chat.assemble(followUp);
    for (let index = 0; index < 50; index += 1) chat.assemble(`unrelated question number ${index} about gardening`);
    void other.close();
    expect(classified.references[0]?.target).toEqual({ kind: "turn", id: 2 });
    expect(assembled.envelope.items.length).toBeGreaterThan(0);
    expect(assembled.thread.id).toContain("etcd");
    expect(assembled.messages.at(-1)?.content).toBe(followUp);
  });

  test("a dry run and classify change nothing", () => {
    const before = session.turns();
    session.classify("something else entirely");
    const dry = session.assemble("something else entirely", { dryRun: true });
    session.explain("something else entirely");
    expect(dry.turnId).toBeNull();
    expect(session.turns()).toEqual(before);
  });

  test("a long result, beyond the first buffer, arrives whole", () => {
    const chat = engine.session("long");
    for (let index = 0; index < 1500; index += 1) {
      chat.append({ role: index % 2 === 0 ? "user" : "assistant", content: `etcd note ${index}` });
    }
    const wide = chat.assemble("what do the etcd notes say?", { budget: 1_000_000 });
    expect(wide.envelope.items.length + wide.envelope.left.length).toBeGreaterThan(500);
    expect(wide.envelope.items.every(({ text }) => text !== "")).toBe(true);
  });
});

describe("append", () => {
  test("numbers turns, names scratch entries, keeps system messages apart", () => {
    const session = createEngine().session("a");
    expect(session.append({ role: "system", content: "Be brief." })).toEqual({});
    expect(session.append({ role: "user", content: question })).toEqual({ turnId: 1 });
    const call = { id: "c1", function: { name: "run_sql", arguments: "{}" } };
    expect(session.append({ role: "assistant", content: null, tool_calls: [call] })).toEqual({});
    const { scratchId } = session.append({
      role: "tool",
      tool_call_id: "c1",
      content: '[{"port":2379},{"port":2380}]',
    });
    expect(scratchId).toEqual(expect.any(String));
    expect(session.append({ role: "assistant", content: [{ type: "text", text: "There are two." }] })).toEqual({
      turnId: 2,
    });
    expect(session.rawOutput(scratchId as string)).toBe('[{"port":2379},{"port":2380}]');
    const turn = session.assemble("show me the second row of those results");
    expect(turn.intent).toBe("TOOL_REFERENCE");
    expect(turn.references[0]?.target).toEqual({ kind: "scratch", id: scratchId });
    expect(turn.references[0]?.rows).toEqual([{ index: 1, text: '{"port":2380}' }]);
  });

  test("is idempotent by id, and refuses the id for other content", () => {
    const session = createEngine().session("a");
    const message = { role: "user" as const, content: question, id: "m1" };
    expect(session.append(message)).toEqual({ turnId: 1 });
    expect(session.append(message)).toEqual({ turnId: 1 });
    expect(failure(() => session.append({ ...message, content: "other" })).code).toBe("ID_CONFLICT");
    expect(session.assemble(followUp, { id: "m2" }).turnId).toBe(2);
    expect(session.assemble(followUp, { id: "m2" }).turnId).toBe(2);
    expect(session.turns()).toHaveLength(2);
  });

  test("sync appends only what is new", () => {
    const session = createEngine().session("a");
    const history = [
      { role: "system" as const, content: "Be brief." },
      { role: "user" as const, content: question },
      { role: "assistant" as const, content: answer },
    ];
    expect(session.sync(history)).toEqual({ known: 0, appended: [{}, { turnId: 1 }, { turnId: 2 }] });
    expect(session.sync(history)).toEqual({ known: 3, appended: [] });
    expect(session.assemble(followUp).turnId).toBe(3);
    const more = [
      ...history,
      { role: "user" as const, content: followUp },
      { role: "assistant" as const, content: "Port 2379." },
    ];
    expect(session.sync(more)).toEqual({ known: 4, appended: [{ turnId: 4 }] });
    expect(failure(() => session.sync([history[0] as never, { role: "user", content: "edited" }])).code).toBe(
      "ID_CONFLICT",
    );
  });
});

describe("threads", () => {
  test("a turn that returns means the tool results and answers of its thread", () => {
    const chat = createEngine().session("returns to results");
    const say = (asked: string, answered: string, tool?: string, result?: object[]) => {
      chat.append({ role: "user", content: asked });
      if (tool !== undefined) {
        const call = { id: tool, type: "function", function: { name: tool, arguments: "{}" } } as const;
        chat.append({ role: "assistant", content: null, tool_calls: [call] });
        chat.append({ role: "tool", tool_call_id: tool, content: JSON.stringify(result) });
      }
      return chat.append({ role: "assistant", content: answered }).turnId;
    };
    const people = ["Ann", "Bo", "Cy"].map((name, at) => ({ name, age: 30 + at }));
    say("Query the users table of our Postgres database for signups.", "There were three.", "sql_query", people);
    const oldest = say("Who of them is the oldest?", "Cy, with 32.");
    const trains = ["EC 171", "EC 173"].map((train) => ({ train, from: "Berlin" }));
    const asked = "Different question: which trains go from Berlin to Prague?";
    say(asked, "There are two trains.", "search_trains", trains);
    say("Does the second one have a restaurant car?", "Yes, EC 173 has one.");
    const meant = (text: string) => chat.classify(text).references.at(-1);
    expect(meant("Back to the database. What else is in the query result?")?.target?.id).toBe("scratch_sql_query_001");
    expect(meant("Back to the signups: how old is the last one?")?.rows).toMatchObject([{ index: 2 }]);
    expect(meant("Back to the signups. What did you say in your last answer?")?.target?.id).toBe(oldest);
    expect(meant("What else is in that result?")?.target?.id).toBe("scratch_search_trains_002");
    expect(meant("And the first one?")?.target?.id).toBe("scratch_search_trains_002");
  });

  const novel = [
    { role: "user", content: "Recommend me a novel set in Lisbon." },
    { role: "assistant", content: "Try The Year of the Death of Ricardo Reis, by Saramago." },
  ] as const;
  const prize = "Who won the Nobel Prize in 1998?";
  const laureate = {
    role: "assistant",
    content: "Saramago, the author of The Year of the Death of Ricardo Reis, the novel set in Lisbon.",
  } as const;

  test("an answer may show that its turn was filed in the wrong one, which is reported", () => {
    const chat = createEngine().session("moved");
    for (const message of novel) expect(chat.append(message).refiled).toBeUndefined();
    const turn = chat.assemble(prize);
    expect(turn.thread).toMatchObject({ id: "won-nobel-prize", event: "new" });
    const { turnId, refiled } = chat.append(laureate);
    expect(refiled).toEqual({ turnId: turn.turnId, from: "won-nobel-prize", thread: "novel-lisbon" });
    const filed = Object.fromEntries(chat.turns().map((of) => [of.turnId, of.thread]));
    expect([filed[turn.turnId ?? 0], filed[turnId ?? 0]]).toEqual(["novel-lisbon", "novel-lisbon"]);
    // The host may have kept the name.
    expect(chat.threadState("won-nobel-prize").threadId).toBe("novel-lisbon");
    expect(chat.assemble("And in 1999?").thread.id).toBe("novel-lisbon");
  });

  test("what an erased turn was named after is nowhere, moved or not", () => {
    const chat = createEngine().session("moved and erased");
    for (const message of novel) chat.append(message);
    const { turnId } = chat.assemble(prize);
    chat.append(laureate);
    chat.deleteTurn(turnId ?? 0);
    expect(Buffer.from(chat.snapshot()).includes("nobel")).toBe(false);
  });

  test("a turn stays where the host's word about the thread took it to be", () => {
    const chat = createEngine().session("moved by nobody");
    for (const message of novel) chat.append(message);
    const { thread } = chat.assemble(prize);
    chat.updateThread({ threadId: thread.id, userConstraints: ["only peace prizes"] });
    expect(chat.append(laureate).refiled).toBeUndefined();
    expect(chat.threadState(thread.id).userConstraints).toEqual(["only peace prizes"]);
  });

  test("a retry of an answer is not told of a move, its own or another's", () => {
    const chat = createEngine().session("moved once");
    chat.append(novel[0]);
    chat.append({ ...novel[1], id: "a1" });
    chat.append({ role: "user", content: prize });
    const { turnId, refiled } = chat.append({ ...laureate, id: "a2" });
    expect(refiled).toBeDefined();
    expect(chat.append({ ...laureate, id: "a2" })).toEqual({ turnId });
    expect(chat.append({ ...novel[1], id: "a1" })).toEqual({ turnId: 2 });
  });

  test("an answer moves a turn of its speaker among that speaker's threads", () => {
    const chat = createEngine().session("moved beside another");
    chat.assemble("Which tyres fit my road bike?", { name: "Bo" });
    chat.append({ role: "assistant", content: "Tyres of 28 millimetres fit most road bikes." });
    chat.append({ ...novel[0], name: "Ann" });
    chat.append(novel[1]);
    const turn = chat.assemble(prize, { name: "Ann" });
    const { refiled } = chat.append(laureate);
    expect(refiled).toEqual({ turnId: turn.turnId, from: "won-nobel-prize", thread: "novel-lisbon" });
    const next = {
      Ann: chat.classify("And who else?", { name: "Ann" }),
      Bo: chat.classify("And wider ones?", { name: "Bo" }),
    };
    expect(next.Ann.thread.id).toBe("novel-lisbon");
    expect(next.Bo.thread.id).not.toBe("novel-lisbon");
  });

  test("a turn moves to a thread of which a ring keeps the end only", () => {
    const chat = createEngine({ ring: 3 }).session("moved in a ring");
    for (const message of novel) chat.append(message);
    const { turnId } = chat.assemble(prize);
    expect(chat.append(laureate).refiled).toMatchObject({ turnId, thread: "novel-lisbon" });
    expect(chat.turns().map((of) => of.thread)).toEqual(["novel-lisbon", "novel-lisbon", "novel-lisbon"]);
  });

  test("a session read back from its store has moved what the first one moved", async () => {
    const store = memoryStore();
    const said = [...novel, { role: "user", content: prize } as const, laureate];
    const first = createEngine({ store }).session("moved and stored");
    for (const message of said) first.append(message);
    await first.flush();
    const again = createEngine({ store }).session("moved and stored");
    expect(again.turns().map((of) => of.thread)).toEqual(Array.from(said, () => "novel-lisbon"));
    expect(again.snapshot()).toEqual(first.snapshot());
  });

  test("sync moves turns as append does", () => {
    const chat = createEngine().session("moved by sync");
    const { appended } = chat.sync([...novel, { role: "user", content: prize }, laureate]);
    expect(appended.map(({ refiled }) => refiled?.thread)).toEqual([undefined, undefined, undefined, "novel-lisbon"]);
  });

  test("the host's state is kept and read back", () => {
    const session = etcd(createEngine().session("t"));
    session.updateThread({ established: ["etcd 3.5"], openQuestions: ["TLS?"], userConstraints: ["no downtime"] });
    const thread = session.threadState();
    expect(thread).toMatchObject({
      established: ["etcd 3.5"],
      openQuestions: ["TLS?"],
      userConstraints: ["no downtime"],
    });
    expect(session.threadState(thread.threadId)).toEqual(thread);
    expect(failure(() => session.threadState("nope")).code).toBe("NOT_FOUND");
    expect(failure(() => session.updateThread({ established: 3 } as never)).code).toBe("INVALID_OPTION");
  });

  test("a deleted turn is gone, and its id is not given out again", () => {
    const session = etcd(createEngine().session("t"));
    expect(session.deleteTurn(2)).toBe(true);
    expect(session.deleteTurn(2)).toBe(false);
    expect(JSON.stringify(session.turns())).not.toContain("2379");
    expect(session.append({ role: "assistant", content: "again" })).toEqual({ turnId: 3 });
  });
});

describe("facts", () => {
  test("are found by their namespace and by no other", () => {
    const engine = createEngine();
    const facts = engine.facts("team-a");
    expect(facts.add([{ id: "f1", text: "The client port of etcd is 2379.", source: "docs" }])).toBe(1);
    expect(engine.facts("team-a")).toBe(facts);
    expect([facts.size, engine.facts("team-b").size, engine.facts().size]).toEqual([1, 0, 0]);
    expect(facts.search("etcd client port")[0]).toMatchObject({ id: "f1", source: "docs" });
    const inside = engine
      .session("s", { namespace: "team-a" })
      .assemble("what is the client port of etcd?", { budget: 500 });
    const outside = engine
      .session("s", { namespace: "team-b" })
      .assemble("what is the client port of etcd?", { budget: 500 });
    expect(inside.envelope.items.map(({ id }) => id)).toContain("f1");
    expect(JSON.stringify(outside)).not.toContain("2379");
    const before = facts.state;
    expect(facts.delete(["f1", "f2"])).toBe(1);
    expect(facts.state).not.toBe(before);
    expect(facts.size).toBe(0);
  });
});

describe("options", () => {
  test.each<[string, object, string]>([
    ["an unknown key", { halflife: 6 }, "INVALID_OPTION"],
    ["a nested unknown key", { scratch: { max: 1 } }, "INVALID_OPTION"],
    ["NaN", { halfLife: Number.NaN }, "INVALID_OPTION"],
    ["infinity", { budget: Number.POSITIVE_INFINITY }, "INVALID_OPTION"],
    ["a function where none belongs", { locale: () => "en" }, "INVALID_OPTION"],
    ["a budget of nothing", { budget: 0 }, "INVALID_BUDGET"],
    ["half a token", { budget: 1.5 }, "INVALID_BUDGET"],
    ["a blend that is too much", { blend: { P: 1, C: 1, E: 0 } }, "INVALID_BLEND"],
    ["a negative weight", { blend: { P: -1, C: 1, E: 1 } }, "INVALID_BLEND"],
    ["a clock that is none", { clock: 5 }, "INVALID_OPTION"],
    ["a store that is none", { store: {} }, "INVALID_OPTION"],
    ["an unknown store", { store: "redis" }, "INVALID_OPTION"],
    ["an unknown tokenizer", { tokens: "gpt2" }, "INVALID_OPTION"],
    ["an unknown embedder", { embedder: "magic" }, "INVALID_OPTION"],
    ["an embedder without a dimension", { embedder: { id: "x", embed: hash } }, "INVALID_OPTION"],
    ["an embedder that is no function", { embedder: { id: "x", dimensions: 3, embed: 3 } }, "INVALID_OPTION"],
  ])("%s is refused", (_name, options, code) => {
    expect(failure(() => createEngine(options)).code).toBe(code);
    const result = engineOptions["~standard"].validate(options) as { issues?: { message: string }[] };
    expect(result.issues?.[0]?.message).toEqual(expect.any(String));
  });

  test("Standard Schema gives valid options back", () => {
    const options: EngineOptions = {
      budget: 100,
      blend: { CLARIFY: { P: 0, C: 1, E: 0 } },
      clock: () => 0,
      tokens: (text) => text.length,
    };
    expect(engineOptions["~standard"].validate(options)).toEqual({ value: options });
    expect(engineOptions["~standard"].vendor).toBe("trihorizon");
    expect(() => createEngine("fast" as never)).toThrow(TrihorizonError);
  });

  test("info shows every default in force", () => {
    const info = createEngine({ halfLife: 3 }).info();
    expect(info).toMatchObject({
      version: expect.any(String) as string,
      locales: expect.arrayContaining(["en"]) as string[],
    });
    expect(info.options).toMatchObject({ halfLife: 3, profile: "default", mode: "conversation" });
    expect(info.embedding?.dimensions).toBeGreaterThan(0);
  });

  test("a call may override, and is checked as well", () => {
    const session = etcd(createEngine().session("o"));
    const blend = { P: 0.25, C: 0.25, E: 0.5 };
    expect(session.classify(followUp, { blend }).blend).toEqual(blend);
    expect(session.assemble(followUp, { budget: 77, dryRun: true }).envelope.budget).toBe(77);
    expect(failure(() => session.assemble(followUp, { budget: Number.NaN })).code).toMatch(/^INVALID_/);
    expect(failure(() => session.assemble(followUp, { bugdet: 5 } as never)).code).toBe("INVALID_OPTION");
    expect(failure(() => session.classify(followUp, { blend: { P: 1, C: 1, E: 1 } })).code).toBe("INVALID_BLEND");
  });

  test("a custom token counter counts, and its own error is the cause", () => {
    const engine = createEngine({ tokens: (text) => text.length, messageOverhead: 0 });
    expect(engine.countTokens("etcd")).toBe(4);
    const cause = new Error("no tokens today");
    const broken = createEngine({
      tokens: () => {
        throw cause;
      },
    });
    expect(failure(() => broken.session("s").append({ role: "user", content: question }))).toMatchObject({
      code: "TOKENIZER",
      cause,
    });
  });

  test("the token counter cannot call back into the engine", () => {
    let session: Session | undefined;
    const engine = createEngine({
      tokens: (text) => {
        session?.classify("again");
        return text.length;
      },
    });
    session = engine.session("s");
    const error = failure(() => session?.append({ role: "user", content: question }));
    expect(["REENTRANT", "TOKENIZER"]).toContain(error.code);
    expect(session.turns()).toEqual([]);
  });

  test.each(["", "   ", "\n\t"])("a turn without text (%j) is refused", (text) => {
    const session = createEngine({ embedder }).session("s");
    expect(failure(() => session.assemble(text)).code).toBe("INVALID_MESSAGE");
    expect(failure(() => session.classify(text)).code).toBe("INVALID_MESSAGE");
    expect(failure(() => session.append({ role: "user", content: text })).code).toBe("INVALID_MESSAGE");
  });

  test("messages that are none are refused", () => {
    const session = createEngine().session("s");
    expect(failure(() => session.append({ role: "wizard", content: "x" } as never)).code).toBe("INVALID_MESSAGE");
    expect(failure(() => session.append({ role: "user", content: 5 } as never)).code).toBe("INVALID_MESSAGE");
    expect(failure(() => session.assemble(undefined as never)).code).toBe("INVALID_MESSAGE");
    expect(failure(() => session.append({ role: "user", content: "x", timestamp: Number.NaN })).code).toBe(
      "INVALID_OPTION",
    );
    expect(failure(() => createEngine().session("")).code).toBe("INVALID_OPTION");
    expect(failure(() => createEngine().session("s", { name: "x" } as never)).code).toBe("INVALID_OPTION");
  });
});

describe("embedders of the host", () => {
  test("a synchronous one is used directly", () => {
    const session = etcd(createEngine({ embedder }).session("e"));
    expect(session.assemble("how is etcd configured?").similaritySource).toBe("embedding");
  });

  test("an asynchronous one is refused where the answer is needed at once, and awaited elsewhere", async () => {
    const session = createEngine({ embedder: asyncEmbedder }).session("e");
    const refused = failure(() => session.append({ role: "user", content: question }));
    expect([refused.code, refused.message]).toEqual(["EMBEDDER", expect.stringContaining("assembleAsync")]);
    expect(failure(() => session.assemble(question)).code).toBe("EMBEDDER");
    const results = await Promise.all([
      session.appendAsync({ role: "user", content: question }),
      session.appendAsync({ role: "assistant", content: answer }),
      session.assembleAsync(followUp),
      session.appendAsync({ role: "assistant", content: "2379" }),
    ]);
    expect(results.map((result) => result.turnId)).toEqual([1, 2, 3, 4]);
    expect((await session.classifyAsync("and the peer port?")).intent).toEqual(expect.any(String));
  });

  test("the same results, awaited or not", async () => {
    const now = etcd(createEngine({ embedder, clock: () => 0 }).session("e"));
    const later = createEngine({ embedder: asyncEmbedder, clock: () => 0 }).session("e");
    await later.syncAsync([
      { role: "system", content: "Be brief." },
      { role: "user", content: question },
      { role: "assistant", content: answer },
    ]);
    expect(later.turns()).toEqual(now.turns());
    const [a, b] = [now.assemble(followUp), await later.assembleAsync(followUp)];
    expect({ ...inspectable(b), micros: 0 }).toEqual({ ...inspectable(a), micros: 0 });
  });

  test("a synchronous call does not overtake an asynchronous one", async () => {
    const session = createEngine({ embedder: asyncEmbedder }).session("e");
    const pending = session.appendAsync({ role: "user", content: question });
    expect(failure(() => session.append({ role: "assistant", content: answer, vector: hash(answer) })).code).toBe(
      "REENTRANT",
    );
    await pending;
    expect(session.append({ role: "assistant", content: answer, vector: hash(answer) })).toEqual({ turnId: 2 });
  });

  test("a failure has its cause, changes nothing, and does not block what follows", async () => {
    const cause = new Error("model on fire");
    let fail = true;
    const session = createEngine({
      embedder: {
        id: "f",
        dimensions: 8,
        embed: (text) => (fail ? Promise.reject(cause) : Promise.resolve(hash(text))),
      },
    }).session("e");
    const first = session.appendAsync({ role: "user", content: question });
    await expect(first).rejects.toMatchObject({ code: "EMBEDDER", cause });
    fail = false;
    expect(await session.appendAsync({ role: "user", content: question })).toEqual({ turnId: 1 });
  });

  test.each<[string, unknown]>([
    ["another dimension", new Float32Array(7).fill(1)],
    ["NaN", new Float32Array(8).fill(Number.NaN)],
    ["infinity", new Float32Array(8).fill(Number.POSITIVE_INFINITY)],
    ["a zero vector", new Float32Array(8)],
    ["an array", [1, 2, 3, 4, 5, 6, 7, 8]],
    ["shared memory", new Float32Array(new SharedArrayBuffer(32)).fill(1)],
  ])("a vector of %s is refused", (_name, vector) => {
    const session = createEngine({ embedder }).session("e");
    expect(
      failure(() => session.append({ role: "user", content: question, vector: vector as Float32Array })).code,
    ).toBe("INVALID_VECTOR");
    expect(failure(() => session.classify(question, { vector: vector as Float32Array })).code).toBe("INVALID_VECTOR");
    expect(session.turns()).toEqual([]);
  });

  test("without a function every text needs its vector", () => {
    const session = createEngine({ embedder: { id: "given", dimensions: 8 } }).session("e");
    expect(failure(() => session.append({ role: "user", content: question })).code).toBe("EMBEDDER");
    expect(session.append({ role: "user", content: question, vector: hash(question) })).toEqual({ turnId: 1 });
  });

  test("facts are embedded as well, all or none with vectors", async () => {
    const facts = createEngine({ embedder: asyncEmbedder }).facts();
    expect(failure(() => facts.add([{ id: "f", text: question }])).code).toBe("EMBEDDER");
    expect(
      await facts.addAsync([
        { id: "f", text: question },
        { id: "g", text: answer },
      ]),
    ).toBe(2);
    expect(facts.search(question, { vector: hash(question), k: 1 })).toHaveLength(1);
    const builtin = createEngine().facts();
    expect(
      failure(() =>
        builtin.add([
          { id: "f", text: "a", vector: hash("a") },
          { id: "g", text: "b" },
        ]),
      ).code,
    ).toBe("INVALID_VECTOR");
  });
});

describe("vectors kept as i8", () => {
  const dimensions = 96;
  const vector = (seed: number) =>
    Float32Array.from({ length: dimensions }, (_, at) => Math.sin(seed + at) + Math.cos(seed * at));
  const fill = (session: Session, turns: number): Session => {
    for (let at = 0; at < turns; at++)
      session.append({ role: at % 2 ? "assistant" : "user", content: `turn ${at}`, vector: vector(at) });
    return session;
  };
  const open = (options: EngineOptions = {}) =>
    createEngine({ embedder: { id: "given", dimensions }, clock: () => 0, profile: "spec", ...options });

  test("take a quarter of the memory, and similarities stay within the stated error", () => {
    const [floats, codes] = [open(), open({ vectors: "i8" })];
    const exact = fill(floats.session("a"), 40);
    const coded = fill(codes.session("a"), 40);
    expect(codes.info().options).toMatchObject({ vectors: "i8" });
    expect(floats.info().bytes - codes.info().bytes).toBeGreaterThan(40 * dimensions * 2);
    for (let seed = 100; seed < 120; seed++) {
      const [a, b] = [exact, coded].map((session) => session.classify("another one", { vector: vector(seed) }));
      expect(Math.abs(a!.similarity - b!.similarity)).toBeLessThan((0.3 * Math.sqrt(dimensions)) / 254);
    }
  });

  test("come back from snapshots, those with floats too", () => {
    const coded = fill(open({ vectors: "i8" }).session("a"), 40);
    const similarity = (session: Session) => session.classify("another one", { vector: vector(7.5) }).similarity;
    for (const snapshot of [coded.snapshot(), fill(open().session("a"), 40).snapshot()]) {
      const copy = open({ vectors: "i8" }).session("a");
      copy.restore(snapshot);
      expect(similarity(copy)).toBe(similarity(coded));
    }
  });

  test("nothing else is a form", () => {
    expect(failure(() => open({ vectors: "f16" as "i8" })).code).toBe("INVALID_OPTION");
  });
});

describe("snapshots", () => {
  test("bring a session back in another engine, and under no other id", () => {
    const original = etcd(createEngine({ clock: () => 0 }).session("a"));
    expect(failure(() => createEngine().session("b").restore(original.snapshot())).code).toBe("INVALID_SNAPSHOT");
    const copy = createEngine({ clock: () => 0 }).session("a");
    copy.append({ role: "user", content: "to be replaced" });
    copy.restore(original.snapshot());
    expect(state(copy)).toEqual(state(original));
    expect(copy.assemble(followUp).turnId).toBe(3);
  });

  test("altered or truncated ones are refused, and the session stays as it was", () => {
    const session = etcd(createEngine().session("a"));
    const bytes = session.snapshot();
    const before = session.turns();
    for (const bad of [
      bytes.slice(0, -1),
      bytes.slice(0, 5),
      new Uint8Array(0),
      bytes.map((byte, index) => (index === bytes.length >> 1 ? byte ^ 1 : byte)),
    ]) {
      expect(failure(() => session.restore(bad)).code).toBe("INVALID_SNAPSHOT");
    }
    expect(session.turns()).toEqual(before);
  });

  test("ten thousand sessions come back in another engine", () => {
    const sessions = 10_000;
    const options = { clock: () => 0, maxSessions: sessions };
    const first = createEngine(options);
    const snapshots = Array.from({ length: sessions }, (_, index) => {
      const session = first.session(`s${index}`);
      session.append({ role: "user", content: `How do I configure etcd node ${index}?` });
      return session.snapshot();
    });
    const second = createEngine(options);
    const held = first.info().bytes;
    for (const [index, bytes] of snapshots.entries()) second.session(`s${index}`).restore(bytes);
    expect(second.info().sessions).toBe(sessions);
    expect(second.info().bytes).toBeLessThanOrEqual(held * 1.05);
    for (const index of [0, 4_711, sessions - 1]) {
      expect(state(second.session(`s${index}`))).toEqual(state(first.session(`s${index}`)));
    }
    void first.close();
    void second.close();
  });

  test("another embedding is refused", () => {
    const bytes = etcd(createEngine().session("a")).snapshot();
    const code = failure(() => createEngine({ embedder }).session("a").restore(bytes)).code;
    expect(["INVALID_VECTOR", "INVALID_SNAPSHOT"]).toContain(code);
  });
});

/** Everything that is recorded, once. */
function live(session: Session): void {
  etcd(session);
  session.assemble(followUp, { id: "m1", budget: 300, thresholds: { stay: 0.4 }, locale: "en" });
  session.append({
    role: "assistant",
    content: null,
    tool_calls: [{ id: "c", function: { name: "ports", arguments: '{"a":1}' } }],
  });
  session.append({
    role: "tool",
    tool_call_id: "c",
    content: '[{"port":2379},{"port":2380}]',
    volatility: "STABLE",
    ttl: "PT1H",
  });
  session.append({ role: "assistant", content: "Port 2379.", entities: ["2379"] });
  session.assemble("Actually, what's a good backup for postgres? It must not cost more than 200 euros.");
  session.updateThread({ established: ["postgres 16"] });
  session.append({ role: "assistant", content: 'pgBackRest, 🐘 or "pg_dump"\nnightly.' });
  session.deleteTurn(2);
  session.append({ role: "developer", content: "Answer in English." });
}

describe("stores", () => {
  test.each<[string, EngineOptions]>([
    ["built-in embedder", {}],
    ["host embedder", { embedder }],
    ["lexical", { embedder: "lexical" }],
    ["spec profile", { profile: "spec" }],
  ])("replaying the records rebuilds the session exactly (%s)", (_name, options) => {
    const store = memoryStore();
    const all = { ...options, clock: () => 5_000, store };
    const first = createEngine(all).session("s");
    live(first);
    const second = createEngine(all).session("s");
    expect(second).not.toBe(first);
    expect(state(second)).toEqual(state(first));
    expect(second.assemble(followUp).turnId).toBe((first.turns().at(-1)?.turnId ?? 0) + 1);
  });

  test("snapshots take over after so many records", async () => {
    const path = join(directory, "snapshots");
    const options = { clock: () => 5_000 };
    const first = createEngine({ ...options, store: fileStore(path, { snapshotEvery: 3 }) });
    const session = first.session("s");
    live(session);
    const before = state(session);
    await session.flush();
    await first.close();
    const second = createEngine({ ...options, store: fileStore(path) });
    expect(state(second.session("s"))).toEqual(before);
    await second.close();
  });

  test("an evicted session comes back by itself, with any store", () => {
    for (const store of ["memory", memoryStore()] as const) {
      const engine = createEngine({ maxSessions: 2, store, clock: () => 0 });
      const sessions = ["a", "b", "c", "d"].map((id) => engine.session(id));
      for (const session of sessions) etcd(session);
      expect(engine.info().sessions).toBeLessThanOrEqual(2);
      for (const session of sessions) {
        expect(session.turns()).toHaveLength(2);
        expect(session.assemble(followUp).turnId).toBe(3);
      }
      for (const [index, id] of ["a", "b", "c", "d"].entries()) expect(engine.session(id)).toBe(sessions[index]);
    }
  });

  test("erasure reaches the store", async () => {
    const path = join(directory, "erasure");
    const engine = createEngine({ store: fileStore(path) });
    const session = etcd(engine.session("s"));
    session.assemble("my password is hunter2, remember it");
    expect(session.deleteTurn(3)).toBe(true);
    await session.flush();
    expect(filesOf(path)).not.toContain("hunter2");
    expect(filesOf(path)).toContain("s");
    await engine.deleteSession("s");
    expect(failure(() => session.turns()).code).toBe("CLOSED");
    expect(engine.session("s").turns()).toEqual([]);
    await engine.close();
  });

  test("a failing store is heard, and the session goes back to what was kept", () => {
    const store = memoryStore() as Store & { append(session: string, record: StoreRecord): void };
    const original = store.append.bind(store);
    const engine = createEngine({ store });
    const session = etcd(engine.session("s"));
    const cause = new Error("disk full");
    store.append = () => {
      throw cause;
    };
    const error = failure(() => session.assemble(followUp));
    expect([error.code, error.cause]).toEqual(["STORE", cause]);
    store.append = original;
    expect(session.turns()).toHaveLength(2);
    expect(session.assemble(followUp).turnId).toBe(3);
  });

  test("a session recorded with another model is refused", () => {
    const store = memoryStore();
    etcd(createEngine({ store, embedder }).session("s"));
    const other = createEngine({ store, embedder: { ...embedder, id: "test-8b" } });
    expect(failure(() => other.session("s")).code).toBe("INVALID_VECTOR");
  });

  test("records that make no sense are refused", () => {
    for (const data of ["{broken", '{"op":"dance"}']) {
      const store = memoryStore();
      void store.append('["default","s"]', { seq: 1, data });
      expect(failure(() => createEngine({ store }).session("s")).code).toBe("STORE");
    }
  });
});

/** An asynchronous store over the memory one, slow and, when told so, failing. */
class SlowStore implements Store {
  readonly sync = false;
  fail = false;
  readonly #inner = memoryStore();

  async append(session: string, record: StoreRecord): Promise<void> {
    await this.#wait();
    await this.#inner.append(session, record);
  }

  async load(session: string): Promise<StoredSession> {
    await this.#wait();
    return this.#inner.load(session);
  }

  async saveSnapshot(session: string, seq: number, bytes: Uint8Array): Promise<void> {
    await this.#wait();
    await this.#inner.saveSnapshot(session, seq, bytes);
  }

  async delete(session: string): Promise<void> {
    await this.#wait();
    await this.#inner.delete(session);
  }

  flush(): Promise<void> {
    return this.#wait();
  }

  close(): void {}

  async #wait(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, 2));
    if (this.fail) throw new Error("connection lost");
  }
}

describe("asynchronous stores", () => {
  test("open works, session() says to use it", async () => {
    const store = new SlowStore();
    const engine = createEngine({ store, clock: () => 0 });
    expect(failure(() => engine.session("s")).message).toContain("engine.open");
    const [session, same] = await Promise.all([engine.open("s"), engine.open("s")]);
    expect(same).toBe(session);
    live(session);
    const before = state(session);
    await session.flush();
    const again = await createEngine({ store, clock: () => 0 }).open("s");
    expect(state(again)).toEqual(before);
  });

  test("a session that was closed while being written opens whole", async () => {
    const engine = createEngine({ store: new SlowStore(), clock: () => 0 });
    const session = await engine.open("s");
    live(session);
    const before = state(session);
    session.close();
    expect(failure(() => session.turns()).code).toBe("CLOSED");
    expect(state(await engine.open("s"))).toEqual(before);
    await engine.close();
  });

  test("evicted sessions come back in asynchronous calls", async () => {
    const engine = createEngine({ store: new SlowStore(), maxSessions: 1, clock: () => 0 });
    const a = await engine.open("a");
    etcd(a);
    await engine.flush();
    await engine.open("b");
    expect(failure(() => a.turns()).code).toBe("STORE");
    expect((await a.assembleAsync(followUp)).turnId).toBe(3);
  });

  test("a failed write is told once, by the next call or by flush", async () => {
    const store = new SlowStore();
    const engine = createEngine({ store });
    const session = etcd(await engine.open("s"));
    await session.flush();
    store.fail = true;
    session.append({ role: "user", content: "lost" });
    await expect(session.flush()).rejects.toMatchObject({ code: "STORE" });
    store.fail = false;
    const again = await engine.open("s");
    expect(again.turns()).toHaveLength(2);
    await engine.flush();
  });

  test("deleteSession waits for what is under way", async () => {
    const engine = createEngine({ store: new SlowStore() });
    etcd(await engine.open("s"));
    await engine.deleteSession("s");
    expect((await engine.open("s")).turns()).toEqual([]);
    await engine.close();
  });
});

describe("lifecycle", () => {
  test("close is idempotent, and everything says CLOSED afterwards", async () => {
    const engine = createEngine();
    const session = etcd(engine.session("s"));
    const facts = engine.facts();
    expect(engine.close()).toBe(engine.close());
    await engine.close();
    for (const action of [
      () => session.assemble(followUp),
      () => session.classify(followUp),
      () => session.append({ role: "user", content: "x" }),
      () => session.turns(),
      () => session.snapshot(),
      () => facts.size,
      () => engine.session("t"),
      () => engine.facts("t"),
      () => engine.info(),
      () => engine.countTokens("x"),
    ]) {
      expect(failure(action)).toMatchObject({ code: "CLOSED", crpCode: 1005 });
    }
    session.close();
    await expect(engine.deleteSession("s")).rejects.toMatchObject({ code: "CLOSED" });
    await expect(engine.open("s")).rejects.toMatchObject({ code: "CLOSED" });
  });

  test("a closed session comes back under its id", () => {
    const engine = createEngine();
    const session = etcd(engine.session("s"));
    session.close();
    session.close();
    expect(failure(() => session.turns()).code).toBe("CLOSED");
    expect(engine.session("s")).not.toBe(session);
    expect(engine.session("s").turns()).toHaveLength(2);
  });

  test("sessions and engines are disposable", () => {
    const engine = createEngine();
    engine[Symbol.dispose]();
    expect(failure(() => engine.info()).code).toBe("CLOSED");
  });

  test("engines that are forgotten give their native memory back", () => {
    const script = fileURLToPath(new URL("fixtures/forgotten.mjs", import.meta.url));
    const output = execFileSync(process.execPath, ["--expose-gc", script], { encoding: "utf8" });
    expect(JSON.parse(output)).toEqual({ before: 2, after: 0 });
  });

  test("sessions of other ids, namespaces and engines know nothing of each other", () => {
    const engine = createEngine();
    etcd(engine.session("a"));
    for (const other of [engine.session("b"), engine.session("a", { namespace: "n" }), createEngine().session("a")]) {
      expect(other.turns()).toEqual([]);
      expect(other.classify(followUp).references[0]?.target ?? null).toBeNull();
    }
    expect(engine.session('b","a')).not.toBe(engine.session("a", { namespace: 'default","b' }));
  });

  test("a deleted session is gone", async () => {
    const engine = createEngine();
    const session = etcd(engine.session("s"));
    await engine.deleteSession("s");
    expect(failure(() => session.turns()).message).toContain("deleted");
    expect(engine.session("s").turns()).toEqual([]);
  });
});

describe("errors", () => {
  test("the union of codes is the core's and the two of the façade", () => {
    const core = tables().codes.map(({ code }) => code);
    expect([...errorCodes].toSorted()).toEqual([...core, "ADDON", "UNKNOWN_FORMAT"].toSorted());
  });

  test("carry code, value, limit and the family's number", () => {
    const error = failure(() => createEngine({ budget: 0 }));
    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject({ name: "TrihorizonError", code: "INVALID_BUDGET", crpCode: 1001 });
    expect(error.message).toContain("0");
    expect(String(error.value)).toBe("0");
  });

  test("a failure that is not ours becomes INTERNAL with its cause", () => {
    const cause = new Error("boom");
    expect(nativeError(cause)).toMatchObject({ code: "INTERNAL", message: "boom", cause });
  });

  test("a panic in the core is an error, and everything goes on", () => {
    const session = etcd(createEngine().session("s"));
    const error = failure(() => guard(() => native().panicForTest()));
    expect(error).toMatchObject({
      code: "INTERNAL",
      crpCode: 1011,
      message: expect.stringContaining("asked to panic") as string,
    });
    expect(session.assemble(followUp).turnId).toBe(3);
  });

  test("a failed load names its cause and the way out", () => {
    const wrap = (message: string): Error => new Error("Cannot find native binding.", { cause: new Error(message) });
    expect(advice(wrap("/lib64/libc.so.6: version `GLIBC_2.38' not found"))).toContain("GLIBC_2.38");
    expect(advice(wrap("Error loading shared library ld-musl-x86_64.so.1"))).toContain("musl");
    expect(advice(wrap("wrong ELF class: ELFCLASS32"))).toContain("another architecture");
    expect(advice(wrap("Cannot find module './trihorizon.linux-x64-gnu.node'"))).toContain("npm run build");
    expect(advice(new Error("something odd"))).toContain("something odd");
  });
});

function filesOf(path: string): string {
  return readdirSync(path)
    .map((name) => readFileSync(join(path, name), "latin1"))
    .join("\n");
}

test("the JavaScript engine is told of native memory, and that it is gone", () => {
  const before = native().externalMemory();
  const engine = createEngine();
  const session = engine.session("s");
  for (let turn = 0; turn < 400; turn += 1) session.append({ role: "user", content: `etcd member ${turn} has moved` });
  const told = native().externalMemory() - before;
  expect(told).toBeGreaterThan(0.75 * engine.info().bytes);
  expect(told).toBeLessThan(1.5 * engine.info().bytes);
  for (let turn = 1; turn <= 300; turn += 1) session.deleteTurn(turn);
  const less = native().externalMemory() - before;
  expect(less).toBeLessThan(told / 2);
  expect(less).toBeGreaterThan(0.75 * engine.info().bytes);
  void engine.deleteSession("s");
  expect(native().externalMemory() - before).toBeLessThan(told / 10);
  void engine.close();
});

describe("what is worked out when it is asked for", () => {
  test("a turn classified by the pseudo-code is filed as it would have been then", () => {
    const engine = createEngine({ profile: "spec", clock: () => 0 });
    const [asked, moved] = [engine.session("asked"), engine.session("moved")];
    for (const session of [asked, moved]) etcd(session);
    const text = "explain that again";
    const now = asked.classify(text);
    const later = moved.classify(text);
    expect(now.intent).toBe(later.intent);
    const expected = { thread: now.thread, similarity: now.similarity, source: now.similaritySource };
    for (let turn = 0; turn < 3; turn += 1) moved.assemble(`something else altogether, number ${turn}`);
    expect({ thread: later.thread, similarity: later.similarity, source: later.similaritySource }).toEqual(expected);
  });

  test("what an envelope left out is what it left out then", () => {
    for (const profile of ["default", "spec"] as const) {
      const options = { profile, budget: 40, clock: () => 0 };
      const [asked, moved] = [createEngine(options).session("s"), createEngine(options).session("s")];
      for (const session of [asked, moved]) {
        for (let turn = 0; turn < 12; turn += 1) {
          session.append({ role: turn % 2 === 0 ? "user" : "assistant", content: `etcd member number ${turn}` });
        }
      }
      const now = asked.assemble("which etcd member is the newest?");
      const later = moved.assemble("which etcd member is the newest?");
      const { left } = now.envelope;
      expect(left.length).toBeGreaterThan(3);
      for (let turn = 0; turn < 5; turn += 1) moved.append({ role: "user", content: `more of etcd, ${turn}` });
      expect(later.envelope.left).toEqual(left);
      expect(later.envelope.items).toEqual(now.envelope.items);
    }
  });

  test("envelopes are of one hidden class, and their JSON says what they left out", () => {
    setFlagsFromString("--allow-natives-syntax");
    const sameClass = runInThisContext("(a, b) => %HaveSameMap(a, b)") as (a: object, b: object) => boolean;
    const session = etcd(createEngine({ clock: () => 0 }).session("s"));
    const [one, other] = [0, 1].map(() => session.assemble(followUp, { budget: 20, dryRun: true }).envelope);
    expect(sameClass(one!, other!)).toBe(true);
    expect(one!.left.length).toBeGreaterThan(0);
    expect(JSON.parse(JSON.stringify(other)) as object).toMatchObject({ left: one!.left, items: one!.items });
    expect(inspect(other)).toContain("left: [");
  });

  test("the texts of packed turns are those of the log, whatever happens to the log", () => {
    const session = createEngine({ ring: 3, clock: () => 0 }).session("s");
    for (const content of ["etcd one", "etcd two", "etcd \ud800 three"]) session.append({ role: "user", content });
    const texts = session.turns().map(({ content }) => content);
    const turn = session.assemble("etcd four");
    for (let more = 0; more < 3; more += 1) session.append({ role: "user", content: `etcd more ${more}` });
    const packed = turn.envelope.items.map(({ text }) => text);
    expect(packed.length).toBeGreaterThan(0);
    for (const text of packed) expect(texts).toContain(text);
  });

  test("a resent history that was edited is noticed, at any message and again and again", () => {
    const session = createEngine({ clock: () => 0 }).session("s");
    const history: Message[] = Array.from({ length: 20 }, (_, at) => ({
      role: at % 2 === 0 ? "user" : "assistant",
      content: `etcd message ${at}`,
    }));
    session.sync(history);
    expect(session.sync(structuredClone(history))).toEqual({ known: 20, appended: [] });
    for (const at of [0, 7, 19]) {
      for (const edit of [{ content: "etcd edited" }, { role: "system" as const }, { tool_call_id: "c" }]) {
        const edited = history.map((message, index) => (index === at ? { ...message, ...edit } : message));
        expect(failure(() => session.sync(edited)).code).toBe("ID_CONFLICT");
      }
    }
    expect(session.sync([...history, { role: "user", content: "new" }])).toMatchObject({ known: 20 });
    expect(session.sync(history.slice(0, 5)).known).toBe(5);
  });
});
