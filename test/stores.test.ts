import { spawn, spawnSync } from "node:child_process";
import {
  appendFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, test, vi } from "vitest";
import { TrihorizonError } from "../src/errors.js";
import { storeContract } from "../src/stores/contract.js";
import { fileStore } from "../src/stores/file.js";
import { memoryStore } from "../src/stores/memory.js";
import type { Store, StoredSession } from "../src/types.js";

const directories: string[] = [];
afterEach(() => {
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true, force: true });
});

function freshDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "trihorizon-store-"));
  directories.push(directory);
  return directory;
}

function code(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    return error instanceof TrihorizonError ? error.code : `not ours: ${String(error)}`;
  }
  return "no error";
}

function load(store: Store, session: string): StoredSession {
  return store.load(session) as StoredSession;
}

describe("memory store", () => {
  storeContract(() => ({ store: memoryStore() }), test);

  test("drops the session used longest ago", () => {
    const store = memoryStore({ maxSessions: 2 });
    void store.append("a", { seq: 1, data: "1" });
    void store.append("b", { seq: 1, data: "1" });
    void store.load("a");
    void store.append("c", { seq: 1, data: "1" });
    expect(load(store, "a").records).toHaveLength(1);
    expect(load(store, "b").records).toHaveLength(0);
    expect(load(store, "c").records).toHaveLength(1);
  });

  test("refuses bad options", () => {
    expect(code(() => memoryStore({ maxSessions: 0 }))).toBe("INVALID_OPTION");
    expect(code(() => memoryStore({ max: 3 } as never))).toBe("INVALID_OPTION");
  });
});

describe("file store", () => {
  storeContract(() => {
    const directory = freshDirectory();
    return { store: fileStore(directory), reopen: () => fileStore(directory) };
  }, test);

  test("a synchronous view of many sessions outlives the bound on open files", async () => {
    const directory = freshDirectory();
    const store = fileStore(directory);
    for (let seq = 1; seq <= 2; seq += 1) {
      for (let index = 0; index < 300; index += 1) void store.append(`s${index}`, { seq, data: `${index}` });
    }
    await store.flush();
    void store.close();
    const again = fileStore(directory);
    for (let index = 0; index < 300; index += 1) {
      expect(load(again, `s${index}`).records.map(({ data }) => data)).toEqual([`${index}`, `${index}`]);
    }
    void again.close();
  });

  test("a torn last write is cut off at every length, aloud", () => {
    const directory = freshDirectory();
    const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    write(directory, 3);
    const path = only(directory, ".log");
    const whole = readFileSync(path);
    const last = whole.lastIndexOf(0x0a, whole.length - 2) + 1;
    for (let length = last + 1; length < whole.length; length += 1) {
      writeFileSync(path, whole.subarray(0, length));
      const store = fileStore(directory);
      expect(load(store, "s").records.map(({ seq }) => seq)).toEqual([1, 2]);
      void store.append("s", { seq: 3, data: '"again"' });
      expect(load(store, "s").records.map(({ seq }) => seq)).toEqual([1, 2, 3]);
      void store.close();
    }
    expect(warn).toHaveBeenCalled();
    warn.mockRestore();
  });

  test("a torn header is an empty session", () => {
    const directory = freshDirectory();
    const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    write(directory, 1);
    const path = only(directory, ".log");
    truncateSync(path, 10);
    const store = fileStore(directory);
    expect(load(store, "s").records).toEqual([]);
    void store.append("s", { seq: 1, data: "1" });
    expect(load(store, "s").records).toHaveLength(1);
    void store.close();
    warn.mockRestore();
  });

  test("zeros left by a power failure are cut off", () => {
    const directory = freshDirectory();
    const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    write(directory, 2);
    appendFileSync(only(directory, ".log"), Buffer.alloc(5000));
    const store = fileStore(directory);
    expect(load(store, "s").records).toHaveLength(2);
    void store.close();
    warn.mockRestore();
  });

  test("damage with good records behind it is refused, not cut off", () => {
    const directory = freshDirectory();
    write(directory, 5);
    const path = only(directory, ".log");
    const bytes = readFileSync(path);
    bytes[bytes.indexOf("record-2")] = 0x58;
    writeFileSync(path, bytes);
    const store = fileStore(directory);
    expect(code(() => store.load("s"))).toBe("STORE");
    expect(code(() => store.append("s", { seq: 6, data: "6" }))).toBe("STORE");
    expect(statSync(path).size).toBe(bytes.length);
    void store.delete("s");
    expect(load(store, "s").records).toEqual([]);
    void store.close();
  });

  test("an altered snapshot and another version are refused", () => {
    const directory = freshDirectory();
    write(directory, 2);
    let store = fileStore(directory);
    void store.saveSnapshot("s", 2, Buffer.from("the state"));
    void store.close();
    const path = only(directory, ".snap");
    const good = readFileSync(path, "utf8");
    for (const bad of [
      good.replace("the state", "the State"),
      good.replace(" 2 ", " 1 "),
      good.slice(0, 40),
      "",
      good.replace("snapshot 1", "snapshot 9"),
    ]) {
      writeFileSync(path, bad);
      store = fileStore(directory);
      expect(code(() => store.load("s"))).toBe("STORE");
      void store.close();
    }
    writeFileSync(path, good);
    writeFileSync(only(directory, ".log"), "trihorizon-log 9 whatever\n");
    store = fileStore(directory);
    expect(() => store.load("s")).toThrow(/version 9/);
    void store.close();
  });

  test("file names are hashes: nothing escapes the directory", () => {
    const directory = freshDirectory();
    const inner = join(directory, "inner");
    const store = fileStore(inner);
    for (const session of ["../evil", "/etc/passwd", "a/../../b", "\0", "."])
      void store.append(session, { seq: 1, data: "1" });
    void store.close();
    expect(readdirSync(directory)).toEqual(["inner"]);
    for (const name of readdirSync(inner)) expect(name).toMatch(/^[0-9a-f]{40}\.log$/);
  });

  test("line breaks, bad options and use after close are refused", async () => {
    const directory = freshDirectory();
    expect(code(() => fileStore(""))).toBe("INVALID_OPTION");
    expect(code(() => fileStore(directory, { snapshotEvery: 1.5 }))).toBe("INVALID_OPTION");
    expect(code(() => fileStore(directory, { every: 1 } as never))).toBe("INVALID_OPTION");
    expect(code(() => fileStore(join(process.execPath, "x")))).toBe("STORE");
    const store = fileStore(directory);
    expect(code(() => store.append("s", { seq: 1, data: "a\nb" }))).toBe("STORE");
    void store.close();
    expect(code(() => store.load("s"))).toBe("CLOSED");
    await expect(store.flush()).rejects.toMatchObject({ code: "CLOSED" });
  });
});

describe("file store lock", () => {
  test("a second writer is refused aloud, in this process and from another", () => {
    const directory = freshDirectory();
    const store = fileStore(directory);
    expect(code(() => fileStore(directory))).toBe("STORE");
    const other = run(
      `import { fileStore } from ${module("stores/file.js")}; fileStore(${JSON.stringify(directory)});`,
    );
    expect(other.status).not.toBe(0);
    expect(other.stderr).toContain("written by another store");
    void store.close();
    void fileStore(directory).close();
  });

  test("the lock of a process that was killed is recovered", () => {
    const directory = freshDirectory();
    const dead = run(
      `import { fileStore } from ${module("stores/file.js")}; const s = fileStore(${JSON.stringify(directory)}); s.append("s", { seq: 1, data: "1" }); process.kill(process.pid, "SIGKILL");`,
    );
    expect(dead.signal).toBe("SIGKILL");
    expect(readdirSync(directory)).toContain("lock");
    const store = fileStore(directory);
    expect(load(store, "s").records).toHaveLength(1);
    void store.close();
    expect(readdirSync(directory)).not.toContain("lock");
  });

  test("a reused pid, an abandoned host and an empty lock file do not block; a live host does", () => {
    const directory = freshDirectory();
    const path = join(directory, "lock");
    const owner = { token: "t", pid: process.pid, host: hostname(), started: "1" };
    writeFileSync(path, JSON.stringify(owner));
    if (process.platform === "linux") void fileStore(directory).close();

    writeFileSync(path, JSON.stringify({ ...owner, host: "elsewhere" }));
    expect(code(() => fileStore(directory))).toBe("STORE");
    age(path, 120);
    void fileStore(directory).close();

    writeFileSync(path, "");
    expect(code(() => fileStore(directory))).toBe("STORE");
    age(path, 5);
    void fileStore(directory).close();
  });

  test("a store whose lock was taken stops acknowledging", async () => {
    const directory = freshDirectory();
    const store = fileStore(directory);
    void store.append("s", { seq: 1, data: "1" });
    rmSync(join(directory, "lock"));
    const thief = fileStore(directory);
    await expect(store.flush()).rejects.toMatchObject({ code: "STORE" });
    expect(code(() => store.append("s", { seq: 2, data: "2" }))).toBe("STORE");
    void store.close();
    expect(readdirSync(directory)).toContain("lock");
    void thief.close();
  });
});

describe("file store under SIGKILL", () => {
  test.each(["before", "torn"])(
    "killed at every call into the file system (%s): what was acknowledged is there",
    { timeout: 180_000 },
    async (mode) => {
      const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
      let finished = false;
      let killed = 0;
      for (let first = 1; !finished; first += 4) {
        const outcomes = await Promise.all([0, 1, 2, 3].map((offset) => killedAt(first + offset, mode)));
        finished = outcomes.some((outcome) => outcome.completed);
        killed += outcomes.filter((outcome) => !outcome.completed).length;
        for (const outcome of outcomes) verify(outcome);
      }
      expect(killed).toBeGreaterThan(mode === "before" ? 60 : 20);
      warn.mockRestore();
    },
  );
});

interface Outcome {
  directory: string;
  at: number;
  completed: boolean;
  lines: { written?: string; seq?: number; flushed?: number; deleted?: string; closed?: boolean }[];
}

async function killedAt(at: number, mode: string): Promise<Outcome> {
  const directory = freshDirectory();
  const script = fileURLToPath(new URL("fixtures/store-writer.mjs", import.meta.url));
  const child = spawn(process.execPath, [script, directory, String(at), mode], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
  const signal = await new Promise<string | null>((resolve) => child.on("close", (_code, name) => resolve(name)));
  const lines = output
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Outcome["lines"][number]);
  const completed = lines.at(-1)?.closed === true;
  expect(signal, `run ${at}`).toBe(completed ? null : "SIGKILL");
  return { directory, at, completed, lines };
}

/** The log is a gapless prefix that holds at least what was acknowledged, and can be appended to. */
function verify({ directory, at, lines }: Outcome): void {
  const store = fileStore(directory);
  const flushed = Math.max(0, ...lines.map((line) => line.flushed ?? 0));
  for (const session of ["a", "b"]) {
    const written = Math.max(0, ...lines.filter((line) => line.written === session).map((line) => line.seq ?? 0));
    const { snapshot, records } = load(store, session);
    const seqs = records.map(({ seq }) => seq);
    const start = snapshot?.seq ?? 0;
    const last = seqs.at(-1) ?? start;
    expect(seqs, `run ${at}`).toEqual(Array.from({ length: seqs.length }, (_, index) => start + 1 + index));
    if (snapshot !== null) expect(Buffer.from(snapshot.bytes).toString(), `run ${at}`).toBe(`a up to ${start}`);
    for (const { seq, data } of records) {
      if (seq <= 8) expect(JSON.parse(data), `run ${at}`).toEqual({ session, seq, text: "x".repeat(seq * 50) });
    }
    const deleted = session === "b" && (lines.some((line) => line.deleted === "b") || (flushed === 8 && last === 0));
    if (deleted) {
      expect(last, `run ${at}`).toBe(0);
    } else {
      // SIGKILL loses nothing that was written; a power failure may lose what was not flushed.
      expect(last, `run ${at}`).toBeGreaterThanOrEqual(Math.max(flushed, written));
    }
    void store.append(session, { seq: last + 1, data: '"next"' });
    expect(load(store, session).records.at(-1)?.data, `run ${at}`).toBe('"next"');
  }
  void store.close();
}

function write(directory: string, records: number): void {
  const store = fileStore(directory);
  for (let seq = 1; seq <= records; seq += 1) void store.append("s", { seq, data: `"record-${seq}"` });
  void store.close();
}

function only(directory: string, ending: string): string {
  const names = readdirSync(directory).filter((name) => name.endsWith(ending));
  expect(names).toHaveLength(1);
  return join(directory, names[0] as string);
}

function age(path: string, seconds: number): void {
  const script = `const fs = await import("node:fs"); const t = Date.now() / 1000 - ${seconds}; fs.utimesSync(${JSON.stringify(path)}, t, t);`;
  expect(run(script).status).toBe(0);
}

function module(path: string): string {
  return JSON.stringify(new URL(`../dist/${path}`, import.meta.url).href);
}

function run(script: string): { status: number | null; signal: string | null; stderr: string } {
  return spawnSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8" });
}
