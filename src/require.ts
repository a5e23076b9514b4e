/** Checks of arguments that never reach the core as they are: it would see them converted. */
import { TrihorizonError } from "./errors.js";

/** @throws INVALID_OPTION that names the key */
export function refuseUnknown(what: string, unknown: object): void {
  const [key] = Object.keys(unknown);
  if (key === undefined) return;
  throw new TrihorizonError("INVALID_OPTION", `${what}: unknown option ${JSON.stringify(key)}`, { value: key });
}

/** @throws INVALID_OPTION */
export function requireCount(what: string, value: unknown): void {
  if (Number.isSafeInteger(value) && (value as number) >= 1) return;
  throw new TrihorizonError("INVALID_OPTION", `${what}: got ${String(value)}, expected a whole number from 1 on`, {
    value,
    limit: "a whole number from 1 on",
  });
}

/** @throws INVALID_OPTION */
export function requireString(what: string, value: unknown): void {
  if (typeof value === "string") return;
  throw new TrihorizonError("INVALID_OPTION", `${what}: got ${kindOf(value)}, expected a string`, {
    value: kindOf(value),
    limit: "a string",
  });
}

/** @throws INVALID_OPTION */
export function requireName(what: string, value: unknown): void {
  requireString(what, value);
  if (value !== "") return;
  throw new TrihorizonError("INVALID_OPTION", `${what} is empty`, { value, limit: "a string that is not empty" });
}

/** @throws INVALID_OPTION */
export function requireObject(what: string, value: unknown): void {
  if (value !== null && typeof value === "object" && !Array.isArray(value)) return;
  throw new TrihorizonError("INVALID_OPTION", `${what} must be an object: got ${kindOf(value)}`, {
    value: kindOf(value),
    limit: "an object",
  });
}

/** @throws INVALID_OPTION */
export function requireArray(what: string, value: unknown): void {
  if (Array.isArray(value)) return;
  throw new TrihorizonError("INVALID_OPTION", `${what}: got ${kindOf(value)}, expected an array`, {
    value: kindOf(value),
    limit: "an array",
  });
}

/** @throws INVALID_OPTION */
export function requireFunction(what: string, value: unknown): void {
  if (typeof value === "function") return;
  throw new TrihorizonError("INVALID_OPTION", `${what}: got ${kindOf(value)}, expected a function`, {
    value: kindOf(value),
    limit: "a function",
  });
}

/** What a value is, for messages. */
export function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (typeof value !== "object") return typeof value;
  return Array.isArray(value) ? "an array" : (value.constructor?.name ?? "an object");
}
