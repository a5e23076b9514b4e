import type { EnvelopeItem, LeftOut, Reference, Target, Tier, Turn } from "./types.js";

const leftShown = 20;

/** The receipt of a turn: what was decided, why, what went in, what it cost, and what lost its place. */
export function receipt(turn: Turn): string {
  const lines = [
    `${turn.turnId === null ? "dry run" : `turn ${turn.turnId}`}  ${JSON.stringify(turn.text)}`,
    "",
    row("intent", `${turn.intent} (${fixed(turn.confidence)}): ${turn.reason}`),
    ...turn.references.flatMap(referenceLines),
    row("needs", dependence(turn)),
    row(
      "query",
      `${JSON.stringify(turn.query.text)}${turn.query.turns.length > 0 ? ` with turns ${turn.query.turns.join(", ")}` : ""}`,
    ),
    row("thread", `${turn.thread.id} (${turn.thread.event}), similarity ${fixed(turn.thread.similarity)}`),
    row(
      "similarity",
      `${fixed(turn.similarity)} to the active thread, from ${turn.similaritySource}, locale ${turn.locale}`,
    ),
    row(
      "blend",
      `${(["P", "C", "E"] as const).map((tier) => `${tier} ${percent(turn.blend[tier])}`).join("  ")}  novelty ${turn.novelty}`,
    ),
    row("mode", `${turn.mode}${turn.documentRequest ? ", a piece of writing is asked for" : ""}`),
    "",
    ...envelopeLines(turn),
    ...leftLines(turn.envelope.left),
    ...turn.reinvoke.map((again) =>
      row("fetch again", `${again.scratchId}: ${again.tool}(${again.arguments}), its output is stale`),
    ),
    ...turn.subqueries.map((query) => row("sub-query", query)),
    ...Object.entries(turn.headers).map(([name, value]) => row("header", `${name}: ${value}`)),
    row("time", `${turn.micros.toFixed(1)} µs in the core`),
  ];
  return lines.join("\n");
}

/** A target in words: "turn 4", "scratch_sql_001", "fact f1". */
export function targetText(target: Target): string {
  return target.kind === "scratch" ? target.id : `${target.kind} ${target.id}`;
}

/** A text on one line, cut at a grapheme boundary. */
export function oneLine(text: string, width: number): string {
  const flat = text.replace(/\s+/gu, " ").trim();
  if (flat.length <= width) return flat;
  let cut = "";
  for (const { segment } of new Intl.Segmenter(undefined, { granularity: "grapheme" }).segment(
    flat.slice(0, width * 4),
  )) {
    if (cut.length + segment.length > width - 1) break;
    cut += segment;
  }
  return `${cut.trimEnd()}…`;
}

function referenceLines(reference: Reference): string[] {
  const { text, span, type, target, items, itemTexts, rows, confidence, reason, alternatives } = reference;
  const where = target === null ? "nothing" : targetText(target);
  const parts = [
    ...items.map((item, index) => `item ${item} ${JSON.stringify(oneLine(itemTexts[index] ?? "", 60))}`),
    ...rows.map((element) => `row ${element.index} ${JSON.stringify(oneLine(element.text, 60))}`),
  ];
  return [
    row(
      "reference",
      `${JSON.stringify(text)} [${span.join(", ")}] ${type} → ${[where, ...parts].join(", ")} (${fixed(confidence)}): ${reason}`,
    ),
    ...(alternatives.length > 0 ? [row("", `or ${alternatives.map(targetText).join(", ")}`)] : []),
  ];
}

function dependence(turn: Turn): string {
  if (!turn.contextDependent) return "nothing: understandable without the log";
  const hash = turn.contextHash === "" ? "" : ` (context hash ${turn.contextHash})`;
  return `the log${turn.carriesOver === null ? "" : `, carries over turn ${turn.carriesOver}`}${turn.ellipsis ? ", incomplete by itself" : ""}${hash}`;
}

function envelopeLines({ envelope }: Turn): string[] {
  const { tokens, budget, saturation, spent, estimated, items } = envelope;
  const tiers = (["P", "C", "E"] as Tier[]).map((tier) => `${tier} ${spent[tier]}`).join("  ");
  return [
    row(
      "envelope",
      `${tokens} of ${budget} tokens (${percent(saturation)}): ${tiers}${estimated ? ", estimated" : ""}`,
    ),
    ...items.map(itemLine),
  ];
}

function itemLine(item: EnvelopeItem): string {
  const marks = [item.reason, ...(item.pinned ? ["pinned"] : []), ...(item.truncated ? ["cut to fit"] : [])].join(", ");
  return `  ${String(item.position).padStart(3)}  ${itemName(item)}  ${tokenText(item.tokens)}  ${fixed(item.score)}  ${marks}  ${JSON.stringify(oneLine(item.text, 60))}`;
}

function leftLines(left: readonly LeftOut[]): string[] {
  if (left.length === 0) return [];
  const more = left.length - leftShown;
  return [
    row("left out", `${left.length}, best first`),
    ...left
      .slice(0, leftShown)
      .map((item) => `       ${itemName(item)}  ${tokenText(item.tokens)}  ${fixed(item.score)}  ${item.reason}`),
    ...(more > 0 ? [`       … and ${more} more`] : []),
  ];
}

function itemName(item: { tier: Tier; kind: string; id: number | string }): string {
  return `${item.tier} ${item.kind === "scratch" ? item.id : `${item.kind} ${item.id}`}`.padEnd(22);
}

function tokenText(tokens: number): string {
  return `${tokens} tok`.padStart(9);
}

function row(label: string, text: string): string {
  return `${label.padEnd(12)}${text}`;
}

function fixed(value: number): string {
  return value.toFixed(2);
}

function percent(value: number): string {
  return `${Math.round(value * 100)} %`;
}
