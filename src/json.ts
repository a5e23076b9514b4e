/** Options on their way to the core, which validates them; here only that nothing is lost on the way. */
import { TrihorizonError } from "./errors.js";

/**
 * JSON of an options object. What JSON would silently drop or turn into null (NaN, infinities, functions, symbols, big
 * integers) is refused, so that the core sees what the caller wrote.
 *
 * @throws INVALID_OPTION
 */
export function optionsJson(what: string, options: object): string {
  if (options === null || typeof options !== "object" || Array.isArray(options)) {
    throw new TrihorizonError(
      "INVALID_OPTION",
      `${what} must be an object: got ${Array.isArray(options) ? "an array" : typeof options}`,
      {
        value: options,
        limit: "an object",
      },
    );
  }
  return isPlain(options) ? JSON.stringify(options) : JSON.stringify(options, refuse(what));
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
