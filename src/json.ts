/** Options on their way to the core, which validates them; here only that nothing is lost or mistaken on the way. */
import { reason, TrihorizonError } from "./errors.js";
import { kindOf, requireObject } from "./require.js";

// The core's reader takes an array for an object, its values in the order of the keys: only these are ever lists.
const lists: ReadonlySet<string> = new Set([
  "entities",
  "toolCalls",
  "established",
  "openQuestions",
  "userConstraints",
  "x",
  "y",
]);

/**
 * JSON of an options object. What JSON would silently drop or turn into null (NaN, infinities, functions, symbols, big
 * integers) is refused, and so is an array where an object belongs, so that the core sees what the caller wrote.
 *
 * @throws INVALID_OPTION
 */
export function optionsJson(what: string, options: object): string {
  requireObject(what, options);
  return isPlain(options) ? JSON.stringify(options) : toJson(what, options, refuse(what));
}

/**
 * JSON of any value.
 *
 * @throws INVALID_OPTION when it cannot be written: it contains itself, is nested too deep, or throws when read.
 */
export function toJson(what: string, value: unknown, replacer?: (key: string, value: unknown) => unknown): string {
  try {
    return JSON.stringify(value, replacer);
  } catch (cause) {
    if (cause instanceof TrihorizonError) throw cause;
    throw new TrihorizonError("INVALID_OPTION", `${what} cannot be written as JSON: ${reason(cause)}`, {
      value: kindOf(value),
      cause,
    });
  }
}

/** True when every value is a string, boolean, finite number or absent: the common case, checked without a replacer. */
function isPlain(options: object): boolean {
  for (const value of Object.values(options)) {
    if (
      typeof value === "number"
        ? !Number.isFinite(value)
        : value !== undefined && typeof value !== "string" && typeof value !== "boolean"
    ) {
      return false;
    }
  }
  return true;
}

function refuse(what: string): (key: string, value: unknown) => unknown {
  return (key, value) => {
    if (Array.isArray(value) && !lists.has(key)) {
      throw new TrihorizonError("INVALID_OPTION", `${what}: ${key} cannot be an array`, { value: "an array" });
    }
    const wrong =
      (typeof value === "number" && !Number.isFinite(value)) ||
      typeof value === "function" ||
      typeof value === "symbol" ||
      typeof value === "bigint";
    if (!wrong) return value;
    throw new TrihorizonError(
      "INVALID_OPTION",
      `${what}: ${key} cannot be ${typeof value === "number" ? String(value) : `a ${typeof value}`}`,
      {
        value: typeof value === "number" ? value : typeof value,
      },
    );
  };
}
