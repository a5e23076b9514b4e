import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import { Paint } from "../src/cli/paint.js";
import { percentile } from "../src/cli/percentile.js";
import { fit } from "../src/cli/width.js";

const cli = fileURLToPath(new URL("../dist/cli.js", import.meta.url));
const example = fileURLToPath(new URL("../examples/etcd.json", import.meta.url));
const directory = mkdtempSync(join(tmpdir(), "trihorizon-cli-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

interface Run {
  status: number | null;
  stdout: string;
  stderr: string;
}

function run(...args: string[]): Run {
  return spawnSync(process.execPath, [cli, ...args], { encoding: "utf8", maxBuffer: 1 << 28 });
}

/** Without the numbers that differ from run to run. */
function stable(output: string): string {
  return output
    .split("\n")
    .filter((line) => !line.startsWith("time"))
    .map((line) => line.replace(/ +\d+(\.\d+)? µs/g, " µs").replace(/in \d+\.\d+ s/, "in … s"))
    .join("\n");
}

function file(name: string, content: unknown): string {
  const path = join(directory, name);
  writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
  return path;
}

const messages = [
  { role: "user", content: "How do I configure etcd?" },
  { role: "assistant", content: "1. Install it.\n2. Open port 2379.\n3. Start it." },
  { role: "user", content: "what does the second step do?" },
];

describe("trihorizon replay", () => {
  test("shows one line a user turn and a summary, the same every time, without colours in a pipe", () => {
    const first = run("replay");
    expect(first).toMatchObject({ status: 0, stderr: "" });
    const turns = first.stdout.split("\n").filter((line) => /^ +\d+ {2}/.test(line));
    expect(turns).toHaveLength(13);
    expect(first.stdout).toContain("13 user turns");
    expect(first.stdout).toMatch(/time +call p50 [\d.]+ µs p99 [\d.]+ µs, core p50 .* \(first use \d+ ms\)/);
    expect(first.stdout).not.toContain("\u001b");
    expect(stable(run("replay", example).stdout)).toBe(stable(first.stdout));
  });

  test("--json gives one object a user turn", () => {
    const { status, stdout } = run("replay", "--json");
    expect(status).toBe(0);
    const turns = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(turns.map(({ userTurn }) => userTurn)).toEqual(turns.map((_, index) => index + 1));
    expect(turns[0]).toMatchObject({
      conversation: 1,
      intent: "EXPLORE",
      thread: { event: "new" },
      envelope: { items: [] },
    });
    expect(turns[0]).not.toHaveProperty("messages");
  });

  test("--turn and --explain show one receipt", () => {
    const { stdout } = run("replay", file("a.json", messages), "--turn", "2", "--explain");
    expect(stdout).toContain('"what does the second step do?"');
    expect(stdout).toContain("→ turn 2, item 2");
    expect(stdout).toMatch(/^envelope +\d+ of \d+ tokens/m);
    expect(stdout.match(/^turn \d+ /gm)).toEqual(["turn 3 "]);
  });

  test("several conversations have a heading each and one summary; --limit stops", () => {
    const path = file("b.jsonl", [1, 2, 3].map((id) => JSON.stringify({ id: `chat-${id}`, messages })).join("\n"));
    const { stdout } = run("replay", path);
    for (const id of [1, 2, 3]) expect(stdout).toContain(`${id}. chat-${id} (2 user turns, 3 messages)`);
    expect(stdout.match(/intents/g)).toHaveLength(1);
    expect(stdout).toContain("3 conversations, 6 user turns, 9 messages");
    expect(run("replay", path, "--limit", "2").stdout).toContain("2 conversations, 4 user turns");
  });

  test("--budget, --profile and --locale reach the engine", () => {
    const path = file("c.json", messages);
    expect(run("replay", path, "--budget", "77").stdout).toContain("/77 tok");
    expect(run("replay", path, "--profile", "spec").status).toBe(0);
    expect(run("replay", path, "--locale", "en").status).toBe(0);
  });

  test("messages without text are counted, not fatal", () => {
    const { status, stdout } = run("replay", file("d.json", [{ role: "user", content: " " }, ...messages]));
    expect(status).toBe(0);
    expect(stdout).toContain("skipped     1 message without text");
  });

  test.each<[string, string[], number, RegExp]>([
    ["no command", [], 2, /a command is needed/],
    ["an unknown command", ["play"], 2, /unknown command "play"/],
    ["an unknown option", ["replay", "--fast"], 2, /--fast/],
    ["two files", ["replay", "a", "b"], 2, /one FILE/],
    ["a turn that is no number", ["replay", "--turn", "x"], 2, /--turn takes a whole number/],
    ["a profile that is none", ["replay", "--profile", "best"], 2, /best/],
    ["a missing file", ["replay", "/no/such/file"], 1, /cannot read .*NOT_FOUND/],
    [
      "a file of no format",
      ["replay", fileURLToPath(new URL("../tsconfig.json", import.meta.url))],
      1,
      /UNKNOWN_FORMAT/,
    ],
  ])("%s exits with its own status", (_name, args, status, message) => {
    const result = run(...args);
    expect(result.status).toBe(status);
    expect(result.stderr).toMatch(message);
    expect(result.stdout).toBe("");
  });

  test("help and version", () => {
    expect(run("--help")).toMatchObject({ status: 0, stdout: expect.stringContaining("--explain") as string });
    expect(run("replay", "--help")).toMatchObject({
      status: 0,
      stdout: expect.stringContaining("--explain") as string,
    });
    expect(run("--version").stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  test("a reader that stops early is no error", () => {
    const result = spawnSync("sh", ["-c", `"${process.execPath}" "${cli}" replay --json | head -n 1`], {
      encoding: "utf8",
    });
    expect(result).toMatchObject({ status: 0, stderr: "" });
    expect(result.stdout.split("\n")).toHaveLength(2);
  });
});

describe("lines", () => {
  test("fit to a width, by grapheme and by column", () => {
    expect(fit("etcd", 6)).toBe("etcd  ");
    expect(fit("configure etcd", 8)).toBe("configu…");
    expect(fit("a\n\tb\u001b[31m", 8)).toBe("a b [31m");
    expect(fit("日本語です", 6)).toBe("日本… ");
    expect(fit("👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧", 5)).toBe("👩‍👩‍👧👩‍👩‍👧…");
    expect(fit("e\u0301tat", 3)).toBe("e\u0301t…");
    expect(fit("", 2)).toBe("  ");
  });

  test("colours only on a terminal that wants them", () => {
    expect(new Paint({ isTTY: true }, {}).bold("x")).toBe("\u001b[1mx\u001b[22m");
    expect(new Paint({ isTTY: true }, { NO_COLOR: "1" }).bold("x")).toBe("x");
    expect(new Paint({ isTTY: true }, { NO_COLOR: "" }).bold("x")).not.toBe("x");
    expect(new Paint({ isTTY: true }, { TERM: "dumb" }).bold("x")).toBe("x");
    expect(new Paint({}, {}).bold("x")).toBe("x");
  });

  test("percentiles are of the nearest rank", () => {
    const values = Array.from({ length: 100 }, (_, index) => 100 - index);
    expect([0, 0.5, 0.99, 1].map((share) => percentile(values, share))).toEqual([1, 50, 99, 100]);
    expect(percentile([], 0.5)).toBe(0);
  });
});

describe("bench", () => {
  test("prints a table to paste, or rows for machines", () => {
    const { status, stdout } = run("bench", "--seconds", "0.02");
    expect(status).toBe(0);
    expect(stdout).toMatch(/^trihorizon \d/);
    expect(stdout).toMatch(/\| classify, 200 characters, 8 turns \| [\d.]+ µs \| [\d.]+ µs \| [\d,.]+ \|/);
    const rows = JSON.parse(run("bench", "--seconds", "0.02", "--json").stdout) as { row: string; p50: number }[];
    expect(rows.length).toBeGreaterThan(5);
    for (const { p50 } of rows) expect(p50).toBeGreaterThan(0);
    expect(run("bench", "--seconds", "none").status).toBe(2);
  });
});
