import { mkdirSync, writeFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { join } from "node:path";

import type { Info } from "../../src/types.js";
import type { Outcome } from "./result.js";
import { ROOT } from "./root.js";

/** What is needed to judge a run that began at `started`. */
export function circumstances({ version, kernel }: Info, started: Date) {
  return {
    date: started.toISOString().slice(0, 10),
    machine: {
      cpu: cpus()[0]?.model ?? "unknown",
      cores: cpus().length,
      platform: `${process.platform} ${process.arch}`,
      loadBefore: loadavg()[1],
    },
    versions: { trihorizon: version, kernel, node: process.version, v8: process.versions.v8 },
  };
}

/** Writes a run with all that is needed to judge it; returns the file's name. */
export function writeRecord(outcomes: readonly Outcome[], info: Info, started: Date): string {
  const { date, machine, versions } = circumstances(info, started);
  const record = {
    date,
    command: "npm run bench",
    machine,
    versions,
    rows: outcomes.map(({ claim, result, rounds }) => ({ ...result, what: claim.what, rounds })),
  };
  const folder = join(ROOT, "bench", "speed", "record");
  const name = `${date}-${machine.cpu
    .toLowerCase()
    .replace(/\((?:r|tm)\)/g, "")
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "")}.json`;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, name), `${JSON.stringify(record, null, 2)}\n`);
  return name;
}
