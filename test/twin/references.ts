import type { TurnLog } from "./log.js";
import type { MarkerLists } from "./markers.js";

export type ReferenceType = "entity" | "turn" | "ordinal" | "action" | "tool";

/** A referential expression as it stands in the turn. */
export interface Expression {
  type: ReferenceType;
  text: string;
  /** UTF-16 units. */
  span: [number, number];
}

export interface ScratchEntry {
  scratchId: string;
  tool: string;
  output: string;
}

export type Target = { kind: "turn"; id: number } | { kind: "scratch"; id: string } | null;

export interface Resolved {
  reference: Expression;
  target: Target;
}

const ORDER = ["entity", "turn", "ordinal", "action", "tool"] as const;

/**
 * `detect_referential_expressions`: of each class the first phrase of its list that occurs. The document does not say how
 * expressions are found; whole words, since "it" stands in every "with".
 */
export function detectReferentialExpressions(currentTurn: string, lists: MarkerLists): Expression[] {
  const lower = currentTurn.toLowerCase();
  const found: Expression[] = [];
  for (const type of ORDER) {
    for (const phrase of type === "tool" ? lists.tool : lists.references[type]) {
      const start = wholeWords(lower, phrase);
      if (start === -1) continue;
      const end = start + phrase.length;
      found.push({ type, text: currentTurn.slice(start, end), span: [start, end] });
      break;
    }
  }
  return found;
}

/** Where `phrase` first stands in `text` with no letter or digit beside it; -1 = nowhere. */
function wholeWords(text: string, phrase: string): number {
  const letter = (at: number): boolean => /[\p{Alphabetic}\p{N}]/u.test(text.charAt(at));
  for (let at = text.indexOf(phrase); at !== -1; at = text.indexOf(phrase, at + 1)) {
    if (!letter(at - 1) && !letter(at + phrase.length)) return at;
  }
  return -1;
}

/** `resolve_references` of SPEC-028 §4.2. An action has no branch there, so it gets what the one before it got (G-30). */
export function resolveReferences(
  currentTurn: string,
  expressions: readonly Expression[],
  log: TurnLog,
  scratch: readonly ScratchEntry[],
): Resolved[] {
  const resolved: Resolved[] = [];
  let target: Target = null;
  for (const reference of expressions) {
    if (reference.type === "entity") {
      target = turnTarget(mostRecentTurnMentioning(entityOf(currentTurn, reference), log));
    } else if (reference.type === "turn") {
      target = turnTarget(log.turns.findLast((turn) => turn.role === "ASSISTANT")?.turnId);
    } else if (reference.type === "ordinal") {
      target = turnTarget(turnWithEnumeration(reference.text, log));
    } else if (reference.type === "tool") {
      const entry = scratch.at(-1);
      target = entry === undefined ? null : { kind: "scratch", id: entry.scratchId };
    }
    resolved.push({ reference, target });
  }
  return resolved;
}

function turnTarget(id: number | undefined): Target {
  return id === undefined ? null : { kind: "turn", id };
}

/** "that bug": the second word of the expression; of a single word, the word after it. */
function entityOf(currentTurn: string, { text, span }: Expression): string | undefined {
  const after = currentTurn
    .slice(span[1])
    .split(/[^\p{Alphabetic}\p{N}]+/u)
    .find((word) => word !== "");
  return (text.split(" ")[1] ?? after)?.toLowerCase();
}

function mostRecentTurnMentioning(entity: string | undefined, log: TurnLog): number | undefined {
  if (entity === undefined) return undefined;
  return log.turns.findLast((turn) => turn.content.toLowerCase().includes(entity))?.turnId;
}

const ORDINALS = ["first", "second", "third", "fourth", "fifth"];

/** The newest turn whose enumeration is long enough; any will do for "the last". */
function turnWithEnumeration(expression: string, log: TurnLog): number | undefined {
  const position = ORDINALS.indexOf(expression.toLowerCase().split(" ")[1] ?? "");
  return log.turns.findLast((turn) => enumeratedItems(turn.content) >= Math.max(1, position + 1))?.turnId;
}

/** Lines that start with a number, a letter or a bullet. */
function enumeratedItems(content: string): number {
  return content.split("\n").filter((line) => /^\s*(?:\d+[.)]|[a-z][.)]|[-*•])\s/i.test(line)).length;
}
