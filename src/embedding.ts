/** Where a text's vector comes from when the host brings an embedder of its own. */
import { reason, TrihorizonError } from "./errors.js";
import type { Embedder } from "./types.js";
import { checkVector } from "./vector.js";

/**
 * The vector to hand to the core: the one passed in, or the host embedder's. Undefined leaves it to the core (built-in
 * table or lexical).
 *
 * @throws EMBEDDER when the embedder fails, is asynchronous, or there is none and no vector either.
 */
export function vectorNow(
  embedder: Embedder | null,
  text: string,
  given: Float32Array | undefined,
): Float32Array | undefined {
  if (given !== undefined) return checkVector(given);
  if (embedder === null || isBlank(text)) return undefined;
  const vector = run(embedder, text);
  if (isPromise(vector)) {
    vector.then(undefined, () => undefined);
    throw new TrihorizonError(
      "EMBEDDER",
      `the embedder ${JSON.stringify(embedder.id)} is asynchronous: use assembleAsync, appendAsync, classifyAsync, or pass the vector`,
      { value: embedder.id, limit: "a Float32Array at once" },
    );
  }
  return checkVector(vector);
}

/** Like {@link vectorNow}, for asynchronous embedders. */
export async function vectorLater(
  embedder: Embedder | null,
  text: string,
  given: Float32Array | undefined,
): Promise<Float32Array | undefined> {
  if (given !== undefined) return checkVector(given);
  if (embedder === null || isBlank(text)) return undefined;
  try {
    return checkVector(await run(embedder, text));
  } catch (cause) {
    throw failed(embedder, cause);
  }
}

function run(embedder: Embedder, text: string): Float32Array | Promise<Float32Array> {
  if (embedder.embed === undefined) {
    throw new TrihorizonError(
      "EMBEDDER",
      `the embedder ${JSON.stringify(embedder.id)} has no embed function, so every call must pass its vector`,
      { value: embedder.id, limit: "a vector with every text" },
    );
  }
  try {
    return embedder.embed(text);
  } catch (cause) {
    throw failed(embedder, cause);
  }
}

function failed(embedder: Embedder, cause: unknown): TrihorizonError {
  if (cause instanceof TrihorizonError) return cause;
  return new TrihorizonError("EMBEDDER", `the embedder ${JSON.stringify(embedder.id)} failed: ${reason(cause)}`, {
    value: embedder.id,
    cause,
  });
}

/** The core refuses blank turns (G-20): no embedder is troubled with them. */
function isBlank(text: string): boolean {
  return text.trim() === "";
}

function isPromise(value: unknown): value is Promise<unknown> {
  return typeof (value as { then?: unknown } | null)?.then === "function";
}
