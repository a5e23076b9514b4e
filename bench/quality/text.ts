/** Text helpers of the harness; deliberately plainer than the engine's, and independent of it. */

import type { Message } from "trihorizon";

/** What a message costs in every row, so that rows compare across tokenizers. */
export const cost = (text: string): number => Math.ceil(codePoints(text) / 4) + 4;

function codePoints(text: string): number {
  let count = text.length;
  for (let i = 0; i + 1 < text.length; i++) {
    if ((text.charCodeAt(i) & 0xfc00) === 0xd800 && (text.charCodeAt(i + 1) & 0xfc00) === 0xdc00) count--;
  }
  return count;
}

export function textOf(message: Message): string {
  if (typeof message.content === "string") return message.content;
  return (message.content ?? []).map((part) => part.text ?? "").join("\n");
}

/** Lower-cased words and numbers. */
export const words = (text: string): string[] => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];

const FUNCTION_WORDS = new Set(
  (
    "a about above after again all also am an and any are aren as at be because been before being below between both but by can could couldn d did didn do does " +
    "doesn doing don down during each few for from further get give had hadn has hasn have haven having he her here hers herself him himself his how i if in " +
    "into is isn it its itself just let ll m may me might mine more most much must my myself need no nor not now of off on once one only or other our ours " +
    "ourselves out over own please re s same shall she should shouldn so some such t tell than that the their theirs them themselves then there these they " +
    "this those through to too under until up us ve very was wasn we were weren what when where which while who whom whose why will with won would wouldn " +
    "yes you your yours yourself yourselves"
  ).split(" "),
);

/** Words that are not function words, no stemming. */
export const contentWords = (text: string): string[] => words(text).filter((word) => !FUNCTION_WORDS.has(word));

/** Lower-cased, without punctuation, spaces collapsed. */
export const bare = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s]/gu, "")
    .replace(/\s+/g, " ")
    .trim();

export type Span = readonly [start: number, end: number];

export const overlap = (a: Span, b: Span): boolean => a[0] < b[1] && b[0] < a[1];

const isWord = (char: string | undefined): boolean => char !== undefined && /[\p{L}\p{N}_]/u.test(char);

/** Word-bounded occurrences of `part`; the plain ones when there is no bounded one (some labels are glued to a word). */
export function occurrences(text: string, part: string): Span[] {
  if (part === "") return [];
  const bounded: Span[] = [];
  const plain: Span[] = [];
  const haystack = text.toLowerCase();
  const needle = part.toLowerCase();
  for (let start = haystack.indexOf(needle); start >= 0; start = haystack.indexOf(needle, start + 1)) {
    const span: Span = [start, start + needle.length];
    plain.push(span);
    const left = !isWord(needle[0]) || !isWord(haystack[span[0] - 1]);
    const right = !isWord(needle.at(-1)) || !isWord(haystack[span[1]]);
    if (left && right) bounded.push(span);
  }
  return bounded.length > 0 ? bounded : plain;
}

/** On one line, at most `limit` characters, for the error reports. */
export function brief(text: string, limit = 160): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > limit ? `${line.slice(0, limit - 1)}…` : line;
}
