import { targetText } from "../receipt.js";
import type { Intent, Reference, Turn } from "../types.js";
import type { Paint } from "./paint.js";
import { fit } from "./width.js";

const textWidth = 44;

/** One user turn on one line: number, text, intent, thread, blend, items, tokens, time, and what it points at. */
export function turnLine(turn: Turn, number: number, micros: number, paint: Paint): string {
  const { envelope, thread } = turn;
  const items = `${envelope.items.length} ${envelope.items.length === 1 ? "item " : "items"}`;
  return [
    paint.dim(String(number).padStart(4)),
    fit(turn.text, textWidth),
    intentText(turn.intent, paint),
    fit(`${eventMark[thread.event]} ${thread.id}`, 26),
    blendText(turn).padEnd(8),
    items.padStart(9),
    `${envelope.tokens}/${envelope.budget} tok`.padStart(14),
    paint.dim(`${micros.toFixed(0)} µs`.padStart(8)),
    turn.references.map((reference) => referenceText(reference, paint)).join("; "),
  ]
    .join("  ")
    .trimEnd();
}

/** What the marks before a thread mean. */
export const legend = "threads: * new, < resumed, + joined, = stayed";

const eventMark = { new: "*", resume: "<", join: "+", stay: "=" } as const;

function intentText(intent: Intent, paint: Paint): string {
  const text = intent.padEnd(14);
  switch (intent) {
    case "EXPLORE":
      return paint.cyan(text);
    case "DRILL_DOWN":
      return paint.green(text);
    case "CLARIFY":
      return paint.magenta(text);
    case "TOOL_REFERENCE":
      return paint.yellow(text);
    case "CONTINUE":
      return text;
  }
}

function blendText({ blend }: Turn): string {
  return [blend.P, blend.C, blend.E].map((weight) => Math.round(weight * 100)).join("/");
}

function referenceText({ text, target, items, rows }: Reference, paint: Paint): string {
  if (target === null) return paint.dim(`"${short(text)}" → ?`);
  const parts = [targetText(target)];
  if (items.length > 0) parts.push(`item ${items.join(", ")}`);
  if (rows.length > 0) parts.push(`row ${rows.map(({ index }) => index).join(", ")}`);
  return `"${short(text)}" → ${parts.join(" ")}`;
}

function short(text: string): string {
  return fit(text, 40).trimEnd();
}
