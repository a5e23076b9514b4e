import { mkdirSync, writeFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { join } from "node:path";

import type { Info } from "../../src/types.js";
import type { Outcome } from "./result.js";
import { ROOT } from "./root.js";

/** Writes a run with all that is needed to judge it; returns the file's name. */
export function writeRecord(outcomes: readonly Outcome[], info: Info, started: Date): string {
  const cpu = cpus()[0]?.model ?? "unknown";
  const date = started.toISOString().slice(0, 10);
  const record = {
    date,
    command: "npm run bench",
    machine: { cpu, cores: cpus().length, platform: `${process.platform} ${process.arch}`, loadBefore: loadavg()[1] },
    versions: { trihorizon: info.version, kernel: info.kernel, node: process.version, v8: process.versions.v8 },
    rows: outcomes.map(({ claim, result, rounds }) => ({ ...result, what: claim.what, rounds })),
  };
  const folder = join(ROOT, "bench", "speed", "record");
  const name = `${date}-${cpu
    .toLowerCase()
    .replace(/\((?:r|tm)\)/g, "")
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "")}.json`;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, name), `${JSON.stringify(record, null, 2)}\n`);
  return name;
}
