import { afterAll, describe, expect, test } from "vitest";
import { createEngine, memoryStore, type Engine, type EngineOptions, type Session } from "../src/index.js";

/** Stands in one namespace or session and must be seen from nowhere else. */
const secret = "zorblax";
const text = `The ${secret} port of etcd is 2379.`;
const questions = [
  "what is the port of etcd?",
  `what is the ${secret} port of etcd?`,
  "what you said earlier about that port",
  "the query result",
  "the second option",
  "go on",
  "back to etcd",
];

const engines: Engine[] = [];
afterAll(() => Promise.all(engines.map((engine) => engine.close())));

function open(options: EngineOptions = {}): Engine {
  const engine = createEngine({ clock: () => 1_000, ...options });
  engines.push(engine);
  return engine;
}

/** Everything a session shows of what it knows, but for the question itself. */
function seen(session: Session): string {
  const shown = questions.flatMap((question) =>
    (["default", "spec"] as const).flatMap((profile) =>
      (["conversation", "document", "hybrid"] as const).map((mode) => {
        const turn = session.assemble(question, { dryRun: true, budget: 100_000, profile, mode });
        const { envelope, headers, references, thread, contextHash, query, subqueries, reinvoke } = turn;
        const own = new Set(question.split(/\W+/));
        const terms = query.terms.filter((term) => !own.has(term));
        const { id, event, similarity } = thread;
        // A new thread is named after the question.
        const filed = event === "new" ? similarity : { id, event, similarity };
        return {
          envelope,
          references: references.map(({ target }) => target),
          filed,
          contextHash,
          terms,
          subqueries,
          reinvoke,
          resolved: headers["CRP-Context-References-Resolved"],
        };
      }),
    ),
  );
  return JSON.stringify({ shown, turns: session.turns() });
}

function tell(session: Session): void {
  session.append({ role: "system", content: `system ${secret}` });
  session.append({ role: "user", content: `How do I open the ${secret} port?`, name: secret });
  session.append({ role: "tool", name: secret, content: `[{"${secret}":1},{"${secret}":2}]` });
  session.append({ role: "assistant", content: `1. ${text}\n2. ${text}` });
  session.updateThread({ established: [text], openQuestions: [text], userConstraints: [text] });
}

describe("facts", () => {
  const namespaces = [
    "team-a",
    "Team-A",
    "team-a ",
    "team-a\u0000",
    "team\u0000-a",
    "te",
    "team-a/b",
    "*",
    "%",
    '["team-a"]',
    "default",
  ];
  const indexed: EngineOptions = { facts: { indexAbove: 2 } };

  test.each<[string, EngineOptions]>([
    ["searched exactly", {}],
    ["indexed", indexed],
    ["lexical", { embedder: "lexical" }],
  ])("%s: no namespace sees another's", (_, options) => {
    const engine = open(options);
    const filler = ["one", "two", "three"].map((id) => ({ id, text: `The ${id} port of etcd is closed.` }));
    engine.facts("team-a").add([{ id: "f1", text, source: secret }, ...filler]);
    expect(JSON.stringify(engine.facts("team-a").search("etcd port"))).toContain(secret);
    const inside = engine.session("s", { namespace: "team-a" }).assemble("what is the port of etcd?");
    expect(JSON.stringify(inside.envelope)).toContain(secret);
    for (const namespace of namespaces.filter((name) => name !== "team-a")) {
      const other = engine.facts(namespace);
      other.add(filler);
      expect(JSON.stringify(other.search(text, { k: 1_000 }))).not.toContain(secret);
      expect(other.size).toBe(3);
      expect(other.delete(["f1"])).toBe(0);
      expect(seen(engine.session("s", { namespace }))).not.toContain(secret);
    }
    expect(engine.facts("team-a").size).toBe(4);
    expect(JSON.stringify(open(options).facts("team-a").search(text))).not.toContain(secret);
  });

  test("the same id in two namespaces is two facts", () => {
    const engine = open();
    engine.facts("a").add([{ id: "f", text: "The port of etcd is 1111." }]);
    engine.facts("b").add([{ id: "f", text: "The port of etcd is 2222." }]);
    expect(engine.facts("a").search("port of etcd")[0]?.text).toContain("1111");
    expect(engine.facts("b").delete(["f"])).toBe(1);
    expect(engine.facts("a").size).toBe(1);
    const item = engine.session("s", { namespace: "a" }).assemble("what is the port of etcd?").envelope.items[0];
    expect(item?.text).toContain("1111");
  });

  test("deleted and quarantined facts are gone at once, whoever asks", () => {
    const engine = open();
    const session = engine.session("s");
    engine.facts().add([
      { id: "q", text, status: "QUARANTINED" },
      { id: "d", text, status: "DELETED" },
      { id: "f", text },
    ]);
    expect(JSON.stringify(session.assemble(questions[0]!, { dryRun: true }).envelope)).toContain('"f"');
    expect(engine.facts().delete(["f"])).toBe(1);
    expect(seen(session)).not.toContain(secret);
    expect(engine.facts().search(text)).toEqual([]);
  });
});

describe("sessions", () => {
  test.each(["default", "spec"] as const)("%s: a thread's name comes from its own turn", (profile) => {
    const engine = open();
    engine.session("a").assemble(`how is ${secret} configured?`);
    const { headers, thread, similarity } = engine.session("b").assemble("tell me of tea", { dryRun: true, profile });
    expect(JSON.stringify({ headers, thread })).not.toContain(secret);
    expect(similarity).toBe(0);
  });

  const ids = ["a", "A", "a ", "a\u0000", 'a","a', "a/../a", "__proto__", "constructor", "*"];

  test("of other ids, namespaces and engines see nothing", () => {
    const engine = open({ maxSessions: 3 });
    tell(engine.session("a", { namespace: "n" }));
    expect(seen(engine.session("a", { namespace: "n" }))).toContain(secret);
    const empty = seen(open().session("empty"));
    const others = [
      ...ids.filter((id) => id !== "a").map((id) => engine.session(id, { namespace: "n" })),
      ...["a", "n\u0000", 'n","a', "default"].map((namespace) => engine.session("a", { namespace })),
      engine.session("n", { namespace: "a" }),
      engine.session("a"),
      open().session("a", { namespace: "n" }),
    ];
    for (const other of others) expect(seen(other)).toBe(empty);
    expect(JSON.stringify(others.map((other) => other.assemble("hello").messages))).not.toContain(secret);
  });

  test("interleaved, they stay what each would be alone", () => {
    const together = open({ maxSessions: 2 });
    const say = (session: Session, id: string, round: number): void => {
      session.append({ role: "user", content: `${id} asks about etcd ${round}` });
      session.append({ role: "assistant", content: `${id} hears 1. one\n2. two ${round}` });
    };
    for (let round = 0; round < 3; round += 1) for (const id of ids) say(together.session(id), id, round);
    for (const id of ids) {
      const alone = open().session(id);
      for (let round = 0; round < 3; round += 1) say(alone, id, round);
      expect(seen(together.session(id))).toBe(seen(alone));
    }
  });

  test("a snapshot opens under no other id and in no other namespace", () => {
    const engine = open();
    const session = engine.session("a", { namespace: "n" });
    tell(session);
    const snapshot = session.snapshot();
    for (const other of [engine.session("b", { namespace: "n" }), engine.session("a", { namespace: "m" })]) {
      expect(() => other.restore(snapshot)).toThrow(expect.objectContaining({ code: "INVALID_SNAPSHOT" }) as Error);
      expect(seen(other)).not.toContain(secret);
    }
  });

  test("that share a store keep to their namespaces", () => {
    const store = memoryStore();
    tell(open({ store }).session("a", { namespace: "n" }));
    const engine = open({ store });
    expect(seen(engine.session("a", { namespace: "m" }))).not.toContain(secret);
    expect(seen(engine.session("a", { namespace: "n" }))).toContain(secret);
  });

  test("once deleted, are new under the same id", async () => {
    const engine = open();
    tell(engine.session("a"));
    tell(engine.session("a", { namespace: "n" }));
    await engine.deleteSession("a");
    expect(seen(engine.session("a"))).toBe(seen(open().session("empty")));
    expect(seen(engine.session("a", { namespace: "n" }))).toContain(secret);
  });

  test("speakers in one session are threaded apart", () => {
    const session = open().session("group");
    session.append({ role: "user", name: "ann", content: "How do I configure etcd?" });
    session.append({ role: "user", name: "bob", content: "How do I configure etcd?" });
    const [ann, bob] = session.turns();
    expect(ann?.thread).not.toBe(bob?.thread);
  });
});
