/**
 * The quality benchmark: `node dist-bench/quality/run.js --data DIR [--json FILE] [--only SUBFOLDER] [--errors]`.
 * The table goes to the standard output, timings to the standard error: the same data gives the same output.
 */

import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { parseArgs } from "node:util";
import { bm25, dense, lastK } from "./baselines.js";
import { readFolder } from "./data.js";
import type { Bench, Dataset } from "./dataset.js";
import { Errors } from "./errors.js";
import { openEngine } from "./feed.js";
import { Sheet } from "./metrics.js";
import { PROFILES, json, rows, table } from "./report.js";
import { aba } from "./datasets/aba.js";
import { bfcl } from "./datasets/bfcl.js";
import { cast2020 } from "./datasets/cast2020.js";
import { gecor } from "./datasets/gecor.js";
import { ikat } from "./datasets/ikat.js";
import { interleaved } from "./datasets/interleaved.js";
import { irc } from "./datasets/irc.js";
import { locomo } from "./datasets/locomo.js";
import { mtragun } from "./datasets/mtragun.js";
import { tiage } from "./datasets/tiage.js";
import { turns } from "./datasets/turns.js";

// Each is trusted to find records of its own shape in its folder.
const DATASETS: readonly Dataset<never>[] = [
  turns,
  interleaved,
  mtragun,
  aba,
  cast2020,
  ikat,
  gecor,
  bfcl,
  tiage,
  irc,
  locomo,
];

const UNMEASURED: Record<string, string> = {
  precisionmembench: "not due yet: needs scopes, aliases and supersession of Tier P",
  traces: "no labels, for replay only",
};

const USAGE = "usage: run.js --data DIR [--json FILE] [--only SUBFOLDER] [--errors]";

function main(): void {
  const { values } = parseArgs({
    options: {
      data: { type: "string" },
      json: { type: "string" },
      only: { type: "string" },
      errors: { type: "boolean", default: false },
    },
  });
  const { data, only } = values;
  if (data === undefined) fail(USAGE);
  const chosen = DATASETS.filter(({ name, folder }) => only === undefined || only === name || only === folder);
  if (chosen.length === 0) fail(`--only ${only}: unknown, one of ${DATASETS.map(({ name }) => name).join(", ")}`);

  if (only === undefined) skipAloud(data);
  const bench = openBench(data, values.errors);
  for (const dataset of chosen) measure(dataset, data, bench);

  const all = rows(bench.sheet);
  process.stdout.write(table(all));
  if (values.errors) process.stdout.write(bench.errors.render());
  if (values.json !== undefined) {
    mkdirSync(dirname(values.json), { recursive: true });
    writeFileSync(values.json, json(all));
  }
}

function fail(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(2);
}

function openBench(data: string, errors: boolean): Bench {
  const engine = openEngine("default");
  return {
    sheet: new Sheet(),
    errors: new Errors(errors),
    rankers: [lastK, bm25, dense((text) => engine.embed(text))],
    read: (folder) => readFolder(data, folder) ?? [],
  };
}

function measure(dataset: Dataset<never>, data: string, bench: Bench): void {
  const records = readFolder(data, dataset.folder) as never[] | null;
  if (records === null) {
    process.stdout.write(`skipped ${dataset.name}: no folder ${dataset.folder}\n`);
    return;
  }
  for (const profile of PROFILES) {
    timed(`${dataset.name} (${profile})`, () => dataset.measure(records, profile, openEngine(profile), bench));
  }
  timed(`${dataset.name} (baselines)`, () => dataset.baselines(records, bench));
}

function timed(what: string, run: () => void): void {
  const start = performance.now();
  run();
  process.stderr.write(`${what}: ${((performance.now() - start) / 1000).toFixed(1)} s\n`);
}

/** Names the subfolders that are there and that no dataset reads. */
function skipAloud(data: string): void {
  const entries = readdirSync(data, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  for (const name of entries.map((entry) => entry.name).sort()) {
    if (!DATASETS.some(({ folder }) => folder === name))
      process.stdout.write(`skipped ${name}: ${UNMEASURED[name] ?? "unknown"}\n`);
  }
}

main();
