/**
 * Everything that can go wrong, as a closed union: match on `code`, never on text. The names come from the core, except
 * the two that arise before or outside it; a test compares them.
 *
 * - `INVALID_OPTION`: an option, override or argument of the wrong type, out of range or unknown.
 * - `INVALID_MESSAGE`: a turn without text (G-20), or a message that cannot be read.
 * - `INVALID_VECTOR`: another dimension or model than the session's, NaN, infinite, or of length zero (G-56).
 * - `INVALID_BUDGET`: the budget is not a positive whole number (G-66).
 * - `INVALID_BLEND`: a weight outside [0, 1], or a sum other than 1 (G-21).
 * - `ID_CONFLICT`: the same message id came again with other content.
 * - `NOT_FOUND`: no such turn, thread, fact or scratch entry.
 * - `CLOSED`: the engine or session was closed.
 * - `UNKNOWN_HANDLE`: a native handle that was never given out.
 * - `REENTRANT`: the engine was called from inside one of its own callbacks, or a synchronous call would overtake an
 *   asynchronous one on the same session.
 * - `INVALID_SNAPSHOT`: truncated, altered, or of an unknown version.
 * - `TOKENIZER`: the token counter or tokenizer failed.
 * - `EMBEDDER`: the embedder failed, or is asynchronous where the answer is needed at once.
 * - `STORE`: the store failed; `cause` is its error.
 * - `SCRATCH_FULL`: every scratch entry is pinned and the buffer is full (R029-9).
 * - `INTERNAL`: a defect of the engine: please report it.
 * - `ADDON`: the native addon could not be loaded, or is of another version.
 * - `UNKNOWN_FORMAT`: a file is in no format that the readers know.
 */
export type ErrorCode = (typeof errorCodes)[number];

/** All codes, for exhaustive handling at run time. */
export const errorCodes = [
  "INVALID_OPTION",
  "INVALID_MESSAGE",
  "INVALID_VECTOR",
  "INVALID_BUDGET",
  "INVALID_BLEND",
  "ID_CONFLICT",
  "NOT_FOUND",
  "CLOSED",
  "UNKNOWN_HANDLE",
  "REENTRANT",
  "INVALID_SNAPSHOT",
  "TOKENIZER",
  "EMBEDDER",
  "STORE",
  "SCRATCH_FULL",
  "INTERNAL",
  "ADDON",
  "UNKNOWN_FORMAT",
] as const;

/** What an error knows beside its code and message. */
export interface ErrorDetails {
  /** The offending value. */
  value?: unknown;
  /** The limit it broke. */
  limit?: unknown;
  /** The numeric code of the specification family (G-67). */
  crpCode?: number | undefined;
  /** What led to it. */
  cause?: unknown;
}

/**
 * The one error class of the package. The message repeats the value and the limit.
 *
 * @example
 * ```ts
 * try {
 *   chat.assemble("", { budget: 4000 });
 * } catch (error) {
 *   if (error instanceof TrihorizonError && error.code === "INVALID_MESSAGE") return reply(400);
 *   throw error;
 * }
 * ```
 */
export class TrihorizonError extends Error {
  /** Which failure it is. */
  readonly code: ErrorCode;
  /** The offending value, when there is one. */
  readonly value: unknown;
  /** The limit it broke, when there is one. */
  readonly limit: unknown;
  /** The numeric code of the specification family (G-67): 1010 validation, 1001 budget, 1005 closed, 1030 snapshot … */
  readonly crpCode: number;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, "cause" in details ? { cause: details.cause } : undefined);
    this.code = code;
    this.value = details.value;
    this.limit = details.limit;
    this.crpCode = details.crpCode ?? crpCodes.get(code) ?? 1010;
  }

  static {
    this.prototype.name = "TrihorizonError";
  }
}

/** @internal Filled from the core's own table when the addon is loaded. */
export const crpCodes = new Map<ErrorCode, number>([["ADDON", 1011]]);

/** @internal Wraps whatever a store threw; one that is already ours passes unchanged. */
export function storeError(message: string, cause: unknown): TrihorizonError {
  if (cause instanceof TrihorizonError) return cause;
  return new TrihorizonError("STORE", `${message}: ${reason(cause)}`, { cause });
}

/** @internal The message of anything that was thrown. */
export function reason(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
