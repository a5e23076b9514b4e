/**
 * The one import of the addon: load errors with cause and advice, the version handshake, the result buffer, and the
 * translation of native failures into {@link TrihorizonError}.
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type * as Addon from "../index.js";
import { crpCodes, type ErrorCode, errorCodes, reason, TrihorizonError } from "./errors.js";
import type {
  Intent,
  ItemKind,
  Mode,
  Novelty,
  ReferenceType,
  SimilaritySource,
  Target,
  ThreadEvent,
  Tier,
} from "./types.js";

export type Native = typeof Addon & {
  readonly classify: ReturnType<typeof Addon.classifier>;
  readonly embed: ReturnType<typeof Addon.embedder>;
};

/** What the numbers in the columns mean; the core's own lists, so that nothing is repeated here. */
export interface Tables {
  version: string;
  intents: Intent[];
  types: ReferenceType[];
  events: ThreadEvent[];
  sources: SimilaritySource[];
  reasons: string[];
  locales: string[];
  novelty: Novelty[];
  modes: Exclude<Mode, "auto">[];
  tiers: Tier[];
  kinds: ItemKind[];
  targets: ("none" | Target["kind"])[];
  headers: string[];
  codes: { code: ErrorCode; crpCode: number }[];
}

interface Loaded {
  addon: Native;
  tables: Tables;
}

let loaded: Loaded | undefined;
// One buffer a thread; the native side pins it. 4,096 numbers hold a turn of some 300 packed items.
let buffer = new Float64Array(4096);

/** The addon, loaded on first use so that importing the package never fails. */
export function native(): Native {
  return (loaded ??= load()).addon;
}

/** The core's tables. */
export function tables(): Tables {
  return (loaded ??= load()).tables;
}

/** An own copy of the columns of the call that has just returned, or of as many as column `count` says. */
export function takeColumns(count = 0): ArrayLike<number> {
  const length = sharedColumns()[count] as number;
  if (length > 4096) return buffer.slice(0, length);
  // A plain array is on V8's own heap; a typed one costs several times as much, mostly for its memory outside.
  if (length === plain) return plainColumns(buffer);
  // oxlint-disable-next-line unicorn/no-new-array -- the length is known, and the copy half as fast without it
  const numbers = new Array<number>(length);
  for (let index = 0; index < length; index += 1) numbers[index] = buffer[index] as number;
  return numbers;
}

// Columns of a turn that points at nothing, which is most of them.
const plain = 22;

/** A literal, since V8 allocates those in place: with it a result takes half the time. */
function plainColumns(from: ArrayLike<number>): ArrayLike<number> {
  // prettier-ignore
  return [
    from[0], from[1], from[2], from[3], from[4], from[5], from[6], from[7], from[8], from[9], from[10],
    from[11], from[12], from[13], from[14], from[15], from[16], from[17], from[18], from[19], from[20], from[21],
  ] as number[];
}

/**
 * The columns of the call that has just returned, until the next one. A result that did not fit left only its length: a larger
 * buffer is registered and the result fetched again.
 */
export function sharedColumns(): Float64Array {
  const length = buffer[0] as number;
  if (length > buffer.length) {
    const addon = native();
    buffer = new Float64Array(2 ** Math.ceil(Math.log2(length)));
    addon.register(buffer);
    addon.refetch();
  }
  return buffer;
}

/** Turns whatever the addon threw into a typed error. */
export function nativeError(thrown: unknown, cause?: unknown): TrihorizonError {
  if (thrown instanceof TrihorizonError) return thrown;
  const code = (thrown as { code?: unknown } | null)?.code;
  const known = (errorCodes as readonly unknown[]).includes(code) ? (code as ErrorCode) : "INTERNAL";
  const details = parse(reason(thrown));
  return new TrihorizonError(known, details.message, {
    value: details.value,
    limit: details.limit,
    ...(cause === undefined ? (known === "INTERNAL" ? { cause: thrown } : {}) : { cause }),
  });
}

/** Runs one native call and translates what it throws. */
export function guard<T>(call: () => T): T {
  try {
    return call();
  } catch (thrown) {
    throw nativeError(thrown);
  }
}

/**
 * Gives native memory back. From inside a callback of the engine, where it cannot be done, it is done as soon as the call
 * that is under way is over.
 */
export function release(close: () => void): void {
  try {
    guard(close);
  } catch (error) {
    if (!(error instanceof TrihorizonError) || error.code !== "REENTRANT") throw error;
    queueMicrotask(() => release(close));
  }
}

function parse(text: string): { message: string; value?: unknown; limit?: unknown } {
  if (!text.startsWith("{")) return { message: text };
  try {
    return JSON.parse(text) as { message: string };
  } catch {
    return { message: text };
  }
}

function load(): Loaded {
  const require = createRequire(import.meta.url);
  let exports: typeof Addon;
  try {
    exports = require("../index.js") as typeof Addon;
  } catch (cause) {
    throw new TrihorizonError("ADDON", `The native addon of trihorizon could not be loaded. ${advice(cause)}`, {
      cause,
    });
  }
  const table = JSON.parse(exports.tables()) as Tables;
  const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
    version: string;
  };
  if (table.version !== version) {
    throw new TrihorizonError(
      "ADDON",
      `The native addon is version ${table.version}, the package is ${version}: reinstall the package, or run \`npm run build\` in a checkout.`,
      { value: table.version, limit: version },
    );
  }
  for (const { code, crpCode } of table.codes) crpCodes.set(code, crpCode);
  exports.register(buffer);
  return { addon: { ...exports, classify: exports.classifier(), embed: exports.embedder() }, tables: table };
}

/** What to do about a failed load, from all that can be known without the addon. */
export function advice(cause: unknown): string {
  const texts = chain(cause);
  const text = texts.join("\n");
  const here = `${process.platform}-${process.arch}${process.platform === "linux" ? `-${libc()}` : ""}`;
  const glibc = /GLIBC(?:XX)?_[\d.]+/.exec(text)?.[0];
  if (glibc !== undefined) {
    return `It needs ${glibc}, which is newer than this system's C library (${libcVersion()}): use a newer system image, or build it from source with \`npm run build\`.`;
  }
  if (/ld-musl|libc\.musl/.test(text)) {
    return `A musl binary was picked on a glibc system (this is ${here}): delete node_modules and the lock file's platform entries, and install again on this system.`;
  }
  if (/wrong ELF class|incompatible architecture|not a valid Win32|Exec format|invalid ELF header/i.test(text)) {
    return `The binary is for another architecture (this is ${here}): node_modules was copied from another machine; install again on this one.`;
  }
  if (/Failed to load native binding|Cannot find (?:native binding|module)|MODULE_NOT_FOUND/i.test(text)) {
    return [
      `No binary for ${here} was found.`,
      "In a checkout, run `npm run build` (it needs Rust).",
      `Installed as a package: the optional dependency trihorizon-${here} is missing;`,
      "install without --omit=optional / --no-optional, on the system it will run on, and not from a lock file made on another one.",
    ].join(" ");
  }
  return `Cause: ${texts[0] ?? "unknown"} (this is ${here}).`;
}

function chain(thrown: unknown): string[] {
  const texts: string[] = [];
  for (let error = thrown; error !== undefined && error !== null && texts.length < 20;) {
    const code = (error as { code?: unknown }).code;
    texts.push(typeof code === "string" ? `${reason(error)} (${code})` : reason(error));
    error = (error as { cause?: unknown }).cause;
  }
  return texts;
}

function libc(): "gnu" | "musl" {
  return libcVersion() === "musl" ? "musl" : "gnu";
}

function libcVersion(): string {
  const report = process.report.getReport() as unknown as { header: { glibcVersionRuntime?: string } };
  return report.header.glibcVersionRuntime ?? "musl";
}
