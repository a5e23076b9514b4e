import { writeFileSync } from "node:fs";

import { specLists } from "./inputs/pack.js";
import { Disagreement } from "./measure/agree.js";
import { FULL, QUICK } from "./measure/effort.js";
import { readOptions, USAGE } from "./options.js";
import { loadProduct } from "./product.js";
import { writeRecord } from "./record.js";
import { type Outcome, settle } from "./result.js";
import type { Bench, Findings, Row } from "./row.js";
import { ROWS } from "./rows/index.js";
import { heading, line } from "./table.js";

async function main(argv: readonly string[]): Promise<void> {
  const started = new Date();
  const options = readOptions(argv);
  const rows = options.rows === null ? ROWS : ROWS.filter((row) => options.rows?.includes(row.number));
  if (rows.length === 0) throw new RangeError(`no such row; ${USAGE}`);
  const bench: Bench = {
    product: await loadProduct(),
    lists: specLists(),
    effort: options.quick ? QUICK : FULL,
    quick: options.quick,
  };
  const engine = bench.product.createEngine();
  const info = engine.info();
  engine.close();

  console.log(
    `trihorizon ${info.version} (${info.kernel}), Node ${process.version}, ${started.toISOString()}\n${heading()}`,
  );
  const outcomes: Outcome[] = [];
  for (const row of rows) {
    const findings = await find(row, bench);
    for (const claim of row.claims) {
      const outcome = settle(claim, findings[claim.row] ?? { missing: "not measured" });
      outcomes.push(outcome);
      console.log(line(outcome));
    }
  }

  const held = outcomes.filter(({ claim }) => claim.bar !== undefined);
  console.log(
    `\n${held.filter(({ result }) => result.ok).length} of ${held.length} bars met in ${Math.round((Date.now() - started.getTime()) / 1000)} s`,
  );
  if (options.json !== null)
    writeFileSync(
      options.json,
      `${JSON.stringify(
        outcomes.map(({ result }) => result),
        null,
        2,
      )}\n`,
    );
  if (!options.quick && options.rows === null)
    console.log(`recorded in bench/speed/record/${writeRecord(outcomes, info, started)}`);
}

/** A row that fails leaves its claims without a value, loudly; contenders that disagree end the run. */
async function find(row: Row, bench: Bench): Promise<Findings> {
  try {
    return await row.run(bench);
  } catch (error) {
    if (error instanceof Disagreement) throw error;
    process.exitCode = 1;
    const missing = error instanceof Error ? `failed: ${error.name}: ${error.message}` : `failed: ${String(error)}`;
    return Object.fromEntries(row.claims.map((claim) => [claim.row, { missing }]));
  }
}

main(process.argv.slice(2)).catch((error: unknown) => {
  console.error(error instanceof Disagreement ? `\nThe contenders do not do the same work: ${error.message}` : error);
  process.exitCode = error instanceof Disagreement ? 2 : 1;
});
