import type { Outcome } from "./result.js";

/** One readable line of an outcome. */
export function line({ claim, result, rounds }: Outcome): string {
  const { value, unit, bar, ok, note } = result;
  const shown = value === null ? "–" : `${format(value)} ${unit}`;
  const spread = rounds.length < 2 ? "" : `${format(Math.min(...rounds))} … ${format(Math.max(...rounds))}`;
  const held = bar === null ? "report" : `${claim.bar !== undefined && "atLeast" in claim.bar ? "≥" : "≤"} ${bar}`;
  const mark = bar === null && value !== null ? " " : ok ? "✓" : "✗";
  const head = [
    claim.row.padEnd(18),
    claim.what.padEnd(66),
    shown.padStart(14),
    spread.padStart(19),
    held.padStart(9),
    mark,
  ].join("  ");
  return note === undefined ? head : `${head}\n${" ".repeat(20)}${note}`;
}

export function heading(): string {
  return ["row".padEnd(18), "".padEnd(66), "median".padStart(14), "rounds".padStart(19), "bar".padStart(9)].join("  ");
}

function format(value: number): string {
  return value >= 1000 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(3)));
}
