import { parseArgs } from "node:util";

export interface Options {
  /** Where the array of results goes. */
  json: string | null;
  /** Numbers of the rows to run; null = all. */
  rows: readonly string[] | null;
  quick: boolean;
}

export const USAGE = "npm run bench [-- --json FILE] [--rows 1a,3,10] [--quick]";

export function readOptions(argv: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...argv],
    options: { json: { type: "string" }, rows: { type: "string" }, quick: { type: "boolean", default: false } },
  });
  return {
    json: values.json ?? null,
    rows: values.rows?.split(",").map((row) => row.trim()) ?? null,
    quick: values.quick,
  };
}
