// Counts the instructions of fixed work (crates/core/examples/instructions.rs) under callgrind and holds them against
// bench/speed/instructions.json, a budget keyed by compiler version; `--write` sets this compiler's budget. No clock is
// read. Skips aloud where valgrind is absent or the compiler has no budget yet.

import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const budgetFile = join(root, "bench", "speed", "instructions.json");
const tolerance = 0.03;
const [few, many] = [10, 110];

const verbose = run("rustc", ["-vV"]);
const host = /^host: (.*)$/m.exec(verbose)[1];
const compiler = `${/^release: (.*)$/m.exec(verbose)[1]} ${host}`;
const budgets = JSON.parse(readFileSync(budgetFile, "utf8"));
const write = process.argv.includes("--write");

if (spawnSync("valgrind", ["--version"]).status !== 0) skip("valgrind is not installed");
if (!write && budgets[compiler] === undefined) skip(`there is no budget for ${compiler}`);

run("cargo", ["build", "--quiet", "--release", "--target", host, "-p", "trihorizon-core", "--example", "instructions"]);
const program = join(root, "target", host, "release", "examples", "instructions");
const counted = Object.fromEntries(
  ["classify", "classify-text", "assemble", "assemble-long", "embed", "count"].map((work) => [
    work,
    Math.round((instructions(work, many) - instructions(work, few)) / (many - few)),
  ]),
);

if (write) {
  writeFileSync(budgetFile, `${JSON.stringify({ ...budgets, [compiler]: counted }, null, 2)}\n`);
  console.log(`budget of ${compiler}: ${JSON.stringify(counted)}`);
} else {
  const over = Object.entries(counted).filter(([work, count]) => count > budgets[compiler][work] * (1 + tolerance));
  for (const [work, count] of Object.entries(counted)) {
    console.log(`${work.padEnd(13)} ${count} instructions, budget ${budgets[compiler][work]}`);
  }
  if (over.length > 0) {
    console.error(`Over budget by more than ${tolerance * 100} %: ${over.map(([work]) => work).join(", ")}.`);
    process.exit(1);
  }
}

function instructions(work, times) {
  const { stderr, status } = spawnSync(
    "valgrind",
    ["--tool=callgrind", "--callgrind-out-file=/dev/null", program, work, String(times)],
    { encoding: "utf8" },
  );
  const total = /Collected : (\d+)/.exec(stderr)?.[1];
  if (status !== 0 || total === undefined) throw new Error(`callgrind failed on ${work}: ${stderr}`);
  return Number(total);
}

function run(command, args) {
  const { stdout, stderr, status, error } = spawnSync(command, args, { encoding: "utf8", cwd: root });
  if (status !== 0) throw new Error(`${command} failed: ${error?.message ?? stderr}`);
  return stdout;
}

function skip(why) {
  console.log(`SKIPPED: instruction counts: ${why}.`);
  process.exit(0);
}
