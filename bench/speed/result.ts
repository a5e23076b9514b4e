import { median } from "./measure/statistics.js";
import type { Bar, Claim, Finding, Unit } from "./row.js";

/** One line of the record. */
export interface Result {
  row: string;
  value: number | null;
  unit: Unit;
  bar: number | null;
  ok: boolean;
  note?: string;
}

/** A result and what the table and the record show beside it. */
export interface Outcome {
  claim: Claim;
  result: Result;
  rounds: readonly number[];
}

/** Holds a finding against its claim. A claim without a finding is not met. */
export function settle(claim: Claim, finding: Finding): Outcome {
  const rounds = "rounds" in finding ? finding.rounds : [];
  const value = rounds.length === 0 ? null : significant(median(rounds));
  const note = "missing" in finding ? finding.missing : finding.note;
  const result: Result = {
    row: claim.row,
    value,
    unit: claim.unit,
    bar: limit(claim.bar),
    ok: value !== null && within(value, claim.bar),
  };
  if (note !== undefined) result.note = note;
  return { claim, result, rounds };
}

function limit(bar: Bar | undefined): number | null {
  if (bar === undefined) return null;
  return "atLeast" in bar ? bar.atLeast : bar.atMost;
}

function within(value: number, bar: Bar | undefined): boolean {
  if (bar === undefined) return true;
  return "atLeast" in bar ? value >= bar.atLeast : value <= bar.atMost;
}

/** Four significant digits: more would be noise. */
function significant(value: number): number {
  return Number(value.toPrecision(4));
}
