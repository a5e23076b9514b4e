import { TrihorizonError } from "../errors.js";
import type { AppendMessage } from "../types.js";

/** A conversation read from a file. */
export interface Conversation {
  /** What the file calls it; "" when it does not say. */
  title: string;
  messages: AppendMessage[];
}

/** A kind of file: whether a JSON value is of it, and what it says. */
export interface Format {
  name: string;
  matches(value: Fields): boolean;
  read(value: Fields): Conversation;
}

/** A JSON object of unknown content. */
export type Fields = Record<string, unknown>;

/** True for JSON objects. */
export function isFields(value: unknown): value is Fields {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}

/** The objects of an array; none when it is not one. */
export function objectsOf(value: unknown): Fields[] {
  return Array.isArray(value) ? value.filter(isFields) : [];
}

/** A string as it is; "" for everything else. */
export function stringOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** The first of some fields that names the conversation. */
export function titleOf(value: Fields, ...keys: string[]): string {
  for (const key of keys) {
    const title = value[key];
    if ((typeof title === "string" && title.trim() !== "") || typeof title === "number") return String(title);
  }
  return "";
}

/** Milliseconds since the epoch, as a spreadable field; nothing when the text is no date. */
export function timestampField(milliseconds: number): { timestamp?: number } {
  return Number.isFinite(milliseconds) ? { timestamp: milliseconds } : {};
}

/** A file that no reader understands. */
export function unknownFormat(message: string, value?: unknown, cause?: unknown): TrihorizonError {
  return new TrihorizonError("UNKNOWN_FORMAT", message, { value, ...(cause === undefined ? {} : { cause }) });
}
