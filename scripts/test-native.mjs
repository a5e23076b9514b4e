// Runs the Rust tests of this machine's target, in the profile and target of the addon so that dependencies are compiled
// once. Prints each suite's closing line as it comes, the whole output of what failed, and a total. Further arguments go
// to `cargo test`.

import { spawn, spawnSync } from "node:child_process";
import { dirname } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const live = process.stderr.isTTY === true;
const started = Date.now();
const counts = { passed: 0, failed: 0, ignored: 0 };
// What a failure is explained with: all of cargo's own output, and of the tests all but those that passed.
const kept = [];
let suite = "";

const [code, signal] = await test(["test", "--release", "--target", host(), "--workspace", ...process.argv.slice(2)]);
if (live) process.stderr.write("\r\x1b[K");
if (code !== 0) process.stderr.write(`${kept.join("\n")}\n`);
const total = `${counts.passed} passed, ${counts.failed} failed, ${counts.ignored} ignored in ${seconds()} s`;
process.stdout.write(code === 0 ? `Rust tests: ${total}\n` : `Rust tests FAILED (${signal ?? code}): ${total}\n`);
process.exitCode = code === 0 ? 0 : 1;

function test(args) {
  if (!live) process.stderr.write("Compiling and running the Rust tests …\n");
  const cargo = spawn("cargo", args, {
    cwd: root,
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, CARGO_TERM_COLOR: "never" },
  });
  createInterface({ input: cargo.stderr }).on("line", readCargo);
  createInterface({ input: cargo.stdout }).on("line", readTests);
  return new Promise((resolve) => {
    cargo.on("error", (error) => {
      kept.push(`cargo could not be started: ${error.message}`);
      resolve([1, null]);
    });
    cargo.on("close", (...status) => resolve(status));
  });
}

function readCargo(line) {
  kept.push(line);
  const step =
    /^\s+(?:Compiling|Running(?: unittests)?|Doc-tests) (\S+)(?: \((\S+?)(?:-[0-9a-f]{16})?(?:\.exe)?\))?/.exec(line);
  if (step === null) return;
  if (step[2] !== undefined) suite = step[2].split(/[\\/]/).at(-1);
  else if (line.includes("Doc-tests")) suite = `${step[1]} documentation`;
  if (live)
    process.stderr.write(
      `\r\x1b[K${`Rust tests, ${seconds()} s: ${line.trim()}`.slice(0, (process.stderr.columns ?? 80) - 1)}`,
    );
}

function readTests(line) {
  const closing = /^test result: \S+ (\d+) passed; (\d+) failed; (\d+) ignored/.exec(line);
  if (closing === null) {
    if (!/^test .* \.\.\. (?:ok|ignored.*)$/.test(line)) kept.push(line);
    return;
  }
  kept.push(line);
  for (const [index, outcome] of ["passed", "failed", "ignored"].entries())
    counts[outcome] += Number(closing[index + 1]);
  if (Number(closing[1]) + Number(closing[2]) + Number(closing[3]) === 0) return;
  if (live) process.stderr.write("\r\x1b[K");
  process.stdout.write(`${line} (${suite})\n`);
}

/** The target that the addon is built for; `--target host-tuple` would say the same, but needs a newer cargo. */
function host() {
  const { error, stdout } = spawnSync("rustc", ["-vV"], { encoding: "utf8", cwd: root });
  const target = stdout?.match(/^host: (\S+)$/m)?.[1];
  if (target === undefined) {
    process.stderr.write(
      `rustc does not say which target it compiles for (${error?.message ?? stdout}); is Rust installed?\n`,
    );
    process.exit(1);
  }
  return target;
}

function seconds() {
  return Math.round((Date.now() - started) / 1000);
}
