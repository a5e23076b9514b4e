/**
 * What every store must do, as tests: `trihorizon/store-contract`. It needs no test framework of its own.
 *
 * @module
 */
import assert from "node:assert/strict";
import type { Store, StoredSession, StoreRecord } from "../types.js";

/** Registers one test: `test` of vitest, of node:test, or anything of that shape. */
export type RegisterTest = (name: string, body: () => Promise<void>) => unknown;

/** A store to be tested. */
export interface StoreUnderTest {
  store: Store;
  /**
   * Opens the same data as another process would, after the store was closed. Left out for stores that keep nothing beyond
   * the process.
   */
  reopen?: () => Store | Promise<Store>;
  /** Removes what the test left. */
  dispose?: () => void | Promise<void>;
}

/**
 * Registers the tests that any implementation of {@link Store} must pass.
 *
 * @param make Gives a new, empty store for each test.
 * @param test Registers a test.
 * @example
 * ```ts
 * import { test } from "vitest";
 * import { storeContract } from "trihorizon/store-contract";
 *
 * storeContract(() => ({ store: redisStore(client) }), test);
 * ```
 */
export function storeContract(make: () => StoreUnderTest | Promise<StoreUnderTest>, test: RegisterTest): void {
  for (const [name, check] of Object.entries(checks)) {
    test(`store contract: ${name}`, async () => {
      const subject = await make();
      try {
        await check(subject.store, subject);
      } finally {
        await subject.store.close();
        await subject.dispose?.();
      }
    });
  }
}

type Check = (store: Store, subject: StoreUnderTest) => Promise<void>;

const checks: Record<string, Check> = {
  "an unknown session is empty": async (store) => {
    assert.deepEqual(await store.load("nobody"), { snapshot: null, records: [] });
  },

  "records come back in order, byte for byte": async (store) => {
    const data = [
      "{}",
      '{"text":"etcd"}',
      '{"text":"\\n \\u2028 \\" 日本語 👩‍👩‍👧 \\ud800"}',
      `"${"long ".repeat(20_000)}"`,
    ];
    await fill(store, "s", data);
    await store.flush();
    assert.deepEqual(texts(await store.load("s")), data);
    assert.deepEqual(
      (await store.load("s")).records.map(({ seq }) => seq),
      [1, 2, 3, 4],
    );
  },

  "a record is readable at once, without flush": async (store) => {
    await store.append("s", record(1));
    assert.deepEqual((await store.load("s")).records, [record(1)]);
  },

  "appending the same seq again is one record": async (store) => {
    await store.append("s", record(1));
    await store.append("s", record(2));
    await store.append("s", record(1));
    await store.append("s", { seq: 2, data: '"a retry"' });
    assert.deepEqual((await store.load("s")).records, [record(1), record(2)]);
  },

  "a gap is refused": async (store) => {
    await store.append("s", record(1));
    await assert.rejects(async () => store.append("s", record(3)));
    assert.deepEqual((await store.load("s")).records, [record(1)]);
    await store.append("s", record(2));
    assert.deepEqual((await store.load("s")).records, [record(1), record(2)]);
  },

  "sessions never see each other": async (store) => {
    const names = [
      "a",
      "A",
      "a ",
      "a/b",
      "a\\b",
      "../a",
      "",
      ".",
      "..",
      "a\0b",
      "é",
      "e\u0301",
      '["n","a"]',
      "x".repeat(5_000),
      "CON",
    ];
    for (const name of names) await fill(store, name, [JSON.stringify(name)]);
    for (const name of names) assert.deepEqual(texts(await store.load(name)), [JSON.stringify(name)]);
    await store.delete("a");
    assert.deepEqual(texts(await store.load("a")), []);
    for (const name of names.slice(1)) assert.deepEqual(texts(await store.load(name)), [JSON.stringify(name)]);
  },

  "interleaved sessions keep their own order": async (store) => {
    for (let seq = 1; seq <= 20; seq += 1) {
      for (const name of ["a", "b", "c"]) await store.append(name, { seq, data: `"${name}${seq}"` });
    }
    for (const name of ["a", "b", "c"]) {
      assert.deepEqual(
        texts(await store.load(name)),
        Array.from({ length: 20 }, (_, index) => `"${name}${index + 1}"`),
      );
    }
  },

  "a snapshot replaces the records up to its seq": async (store) => {
    await fill(store, "s", ["1", "2", "3", "4", "5"]);
    await store.saveSnapshot("s", 3, Uint8Array.of(0, 1, 10, 13, 255));
    const loaded = await store.load("s");
    assert.equal(loaded.snapshot?.seq, 3);
    assert.deepEqual([...(loaded.snapshot?.bytes ?? [])], [0, 1, 10, 13, 255]);
    assert.deepEqual(loaded.records, [record(4), record(5)]);
  },

  "records go on after a snapshot": async (store) => {
    await fill(store, "s", ["1", "2"]);
    await store.saveSnapshot("s", 2, Uint8Array.of(2));
    await store.append("s", record(2));
    await store.append("s", record(3));
    const loaded = await store.load("s");
    assert.equal(loaded.snapshot?.seq, 2);
    assert.deepEqual(loaded.records, [record(3)]);
    await assert.rejects(async () => store.append("s", record(5)));
  },

  "the newest snapshot wins, an older one is ignored": async (store) => {
    await fill(store, "s", ["1", "2", "3"]);
    await store.saveSnapshot("s", 2, Uint8Array.of(2));
    await store.saveSnapshot("s", 3, Uint8Array.of(3));
    await store.saveSnapshot("s", 1, Uint8Array.of(1));
    const loaded = await store.load("s");
    assert.deepEqual([loaded.snapshot?.seq, [...(loaded.snapshot?.bytes ?? [])], loaded.records], [3, [3], []]);
  },

  "a snapshot is the store's own copy": async (store) => {
    const bytes = Uint8Array.of(1, 2, 3);
    await store.append("s", record(1));
    await store.saveSnapshot("s", 1, bytes);
    bytes.fill(9);
    assert.deepEqual([...((await store.load("s")).snapshot?.bytes ?? [])], [1, 2, 3]);
  },

  "a deleted session is gone and may begin again": async (store) => {
    await fill(store, "s", ["1", "2"]);
    await store.saveSnapshot("s", 1, Uint8Array.of(1));
    await store.delete("s");
    await store.delete("s");
    assert.deepEqual(await store.load("s"), { snapshot: null, records: [] });
    await store.append("s", record(1));
    await store.flush();
    assert.deepEqual(await store.load("s"), { snapshot: null, records: [record(1)] });
  },

  "flush may be called at any time, also twice at once": async (store) => {
    await store.flush();
    await store.append("s", record(1));
    const first = store.flush();
    await store.append("s", record(2));
    await Promise.all([first, store.flush()]);
    assert.deepEqual((await store.load("s")).records, [record(1), record(2)]);
  },

  "a store that calls itself synchronous is": async (store) => {
    if (!store.sync) return;
    assert.equal(store.append("s", record(1)), undefined);
    assert.equal(store.saveSnapshot("s", 1, Uint8Array.of(1)), undefined);
    assert.ok("records" in store.load("s"));
    assert.equal(store.delete("s"), undefined);
  },

  "close is idempotent": async (store) => {
    await store.append("s", record(1));
    await store.close();
    await store.close();
  },

  "close flushes": async (store, subject) => {
    if (subject.reopen === undefined) return;
    await fill(store, "s", ["1", "2"]);
    await store.close();
    const again = await subject.reopen();
    try {
      assert.deepEqual((await again.load("s")).records, [record(1), record(2)]);
    } finally {
      await again.close();
    }
  },

  "what was flushed is there after reopening": async (store, subject) => {
    if (subject.reopen === undefined) return;
    await fill(store, "s", ["1", "2", "3"]);
    await store.saveSnapshot("s", 2, Uint8Array.of(2));
    await fill(store, "t", ["1"]);
    await store.delete("t");
    await store.flush();
    await store.close();
    const again = await subject.reopen();
    try {
      const loaded = await again.load("s");
      assert.deepEqual([loaded.snapshot?.seq, [...(loaded.snapshot?.bytes ?? [])]], [2, [2]]);
      assert.deepEqual(loaded.records, [record(3)]);
      assert.deepEqual(await again.load("t"), { snapshot: null, records: [] });
      await again.append("s", record(3));
      await again.append("s", record(4));
      assert.deepEqual((await again.load("s")).records, [record(3), record(4)]);
    } finally {
      await again.close();
    }
  },
};

function record(seq: number): StoreRecord {
  return { seq, data: String(seq) };
}

async function fill(store: Store, session: string, data: readonly string[]): Promise<void> {
  for (const [index, text] of data.entries()) await store.append(session, { seq: index + 1, data: text });
}

function texts(stored: StoredSession): string[] {
  return stored.records.map(({ data }) => data);
}
