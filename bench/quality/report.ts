/** The rows as JSON (the output contract of the data's README) and as a table for people. */

import type { Profile } from "trihorizon";
import { BASELINES } from "./metrics.js";
import type { Baseline, Sheet } from "./metrics.js";

export const PROFILES: readonly Profile[] = ["default", "spec"];

export interface Row {
  row: string;
  value: number | null;
  low: number | null;
  high: number | null;
  n: number;
  profile: Profile;
  baselines: Record<Baseline, number | null>;
}

type Bar = { atLeast: number } | { atMost: number };

/** The rows of the contract, in its order, each with what the default profile must reach, if anything. */
const CONTRACT: readonly (readonly [row: string, bar?: Bar])[] = [
  ["turns.natural.intent.accuracy_all", { atLeast: 0.85 }],
  ["turns.natural.intent.accuracy", { atLeast: 0.8 }],
  ["turns.natural.intent.macro_f1", { atLeast: 0.68 }],
  ["turns.natural.intent.accuracy_sure"],
  ["turns.challenge.intent.accuracy", { atLeast: 0.82 }],
  ["turns.natural.reference.span_f1", { atLeast: 0.78 }],
  ["turns.natural.reference.abstention", { atLeast: 0.86 }],
  ["turns.natural.reference.resolution", { atLeast: 0.72 }],
  ["turns.challenge.reference.resolution", { atLeast: 0.74 }],
  ["turns.challenge.reference.item", { atLeast: 0.8 }],
  ["turns.challenge.reference.row"],
  ["turns.natural.ellipsis_f1"],
  ["turns.natural.carries_over"],
  ["turns.natural.tool_f1"],
  ["turns.natural.thread.new_f1"],
  ["turns.natural.thread.resume_f1"],
  ["turns.natural.thread.b3"],
  ["turns.natural.constraints_f1"],
  ["turns.natural.document_f1"],
  ["interleaved.thread.new_f1", { atLeast: 0.85 }],
  ["interleaved.thread.resume_f1", { atLeast: 0.85 }],
  ["interleaved.thread.b3"],
  ["interleaved.needs250"],
  ["interleaved.needs500", { atLeast: 0.93 }],
  ["interleaved.drift", { atMost: 0.05 }],
  ["mtragun.clarify.precision", { atLeast: 0.85 }],
  ["mtragun.clarify.recall", { atLeast: 0.38 }],
  ["aba.resume.recall", { atLeast: 0.9 }],
  ["cast2020.antecedent.top1", { atLeast: 0.75 }],
  ["cast2020.abstention"],
  ["ikat.context.macro_f1", { atLeast: 0.72 }],
  ["ikat.terms250", { atLeast: 0.82 }],
  ["ikat.facts.recall3"],
  ["ikat.facts.ndcg3"],
  ["ikat.facts.empty"],
  ["gecor.context.macro_f1", { atLeast: 0.65 }],
  ["bfcl.tool.recall"],
  ["bfcl.tool.precision"],
  ["bfcl.tool.source_top"],
  ["tiage.shift_f1"],
  ["irc.one_to_one.names"],
  ["irc.one_to_one.anonymous"],
  ["locomo.all_evidence.1000"],
  ["locomo.all_evidence.2000"],
  ["locomo.all_evidence.4000"],
];

const BARS = new Map(CONTRACT.map(([row, limit]) => [row, limit]));

/** Rows in the contract's order, each followed by its parts (kinds of challenge, categories of question) by name. */
function ordered(names: readonly string[]): string[] {
  return CONTRACT.flatMap(([row]) => [
    ...names.filter((name) => name === row),
    ...names.filter((name) => name.startsWith(`${row}.`)).sort(),
  ]);
}

export function rows(sheet: Sheet): Row[] {
  return ordered(sheet.rows()).flatMap((row) => {
    const baselines = Object.fromEntries(BASELINES.map((by) => [by, rounded(sheet.value(row, by))])) as Record<
      Baseline,
      number | null
    >;
    return PROFILES.flatMap((profile) => {
      const score = sheet.score(row, profile);
      if (score === null) return [];
      const { value, low, high, n } = score;
      return [{ row, value: rounded(value), low: rounded(low), high: rounded(high), n, profile, baselines }];
    });
  });
}

const rounded = (value: number | null): number | null => (value === null ? null : Math.round(value * 1e4) / 1e4);

/** One row a line, so that records compare well. */
export const json = (all: readonly Row[]): string =>
  `[\n${all.map((row) => `  ${JSON.stringify(row)}`).join(",\n")}\n]\n`;

export function table(all: readonly Row[]): string {
  const figure = (value: number | null): string => (value === null ? "-" : value.toFixed(3));
  const head = ["row", "value", "95 %", "n", "bar", "", "spec", ...BASELINES];
  const lines = all
    .filter((row) => row.profile === "default")
    .map((row) => {
      const spec = all.find((other) => other.row === row.row && other.profile === "spec");
      const { mark, text } = bar(row);
      return [
        row.row,
        figure(row.value),
        `${figure(row.low)}-${figure(row.high)}`,
        String(row.n),
        text,
        mark,
        figure(spec?.value ?? null),
        ...BASELINES.map((by) => figure(row.baselines[by])),
      ];
    });
  const widths = head.map((_, column) => Math.max(...[head, ...lines].map((line) => (line[column] as string).length)));
  const render = (line: readonly string[]): string =>
    line
      .map((cell, column) =>
        column === 0 ? cell.padEnd(widths[0] as number) : cell.padStart(widths[column] as number),
      )
      .join("  ")
      .trimEnd();
  return `${[head, ...lines].map(render).join("\n")}\n`;
}

function bar({ row, value }: Row): { mark: string; text: string } {
  const limit = BARS.get(row);
  if (limit === undefined) return { mark: "", text: "" };
  const reached = value !== null && ("atLeast" in limit ? value >= limit.atLeast : value <= limit.atMost);
  return {
    mark: reached ? "✓" : "✗",
    text: "atLeast" in limit ? `≥ ${limit.atLeast.toFixed(2)}` : `≤ ${limit.atMost.toFixed(2)}`,
  };
}
