import { vectorLater, vectorNow } from "./embedding.js";
import { TrihorizonError } from "./errors.js";
import type { Host } from "./host.js";
import { optionsJson } from "./json.js";
import { refuseUnknown, requireArray, requireCount, requireObject, requireString } from "./require.js";
import type { FactHit, FactInput } from "./types.js";
import { checkVector } from "./vector.js";

/** Options of {@link Facts.search}. */
export interface SearchOptions {
  /** How many at most; 10 when absent. */
  k?: number | undefined;
  vector?: Float32Array | undefined;
  /** Milliseconds since the epoch, for ageing; the engine's clock when absent. */
  timestamp?: number | undefined;
}

// The core takes a 32-bit number, and a larger one modulo 2³².
const maxHits = 2 ** 32 - 1;

/**
 * The persistent knowledge (Tier P) of one namespace: what sessions of that namespace, and no others, retrieve from. Made
 * by {@link Engine.facts}. Held in memory; the host adds its facts again after a restart.
 *
 * @example
 * ```ts
 * const facts = engine.facts("team-a");
 * facts.add([{ id: "f1", text: "etcd's client port is 2379", source: "docs" }]);
 * ```
 */
export class Facts {
  /** The namespace. */
  readonly namespace: string;
  readonly #host: Host;
  readonly #handle: number;

  /** @internal */
  constructor(host: Host, namespace: string) {
    this.#host = host;
    this.namespace = namespace;
    this.#handle = host.call(() => host.native.factsOpen(host.handle, namespace));
  }

  /**
   * Adds facts; one with a known id replaces it.
   *
   * @returns how many were added or replaced.
   * @throws INVALID_OPTION, INVALID_VECTOR, EMBEDDER (asynchronous: use {@link addAsync}), CLOSED
   */
  add(facts: readonly FactInput[]): number {
    requireArray("facts", facts);
    for (const fact of facts) requireObject("fact", fact);
    return this.#add(
      facts,
      facts.map((fact) => vectorNow(this.#host.embedder, fact.text, fact.vector)),
    );
  }

  /** As {@link add}, for asynchronous embedders. */
  async addAsync(facts: readonly FactInput[]): Promise<number> {
    requireArray("facts", facts);
    for (const fact of facts) requireObject("fact", fact);
    const vectors: (Float32Array | undefined)[] = [];
    for (const fact of facts) vectors.push(await vectorLater(this.#host.embedder, fact.text, fact.vector));
    return this.#add(facts, vectors);
  }

  /** Erases facts by id; returns how many there were. */
  delete(ids: readonly string[]): number {
    requireArray("ids", ids);
    for (const id of ids) requireString("ids", id);
    return this.#host.call(() => this.#host.native.factsDelete(this.#handle, [...ids]));
  }

  /**
   * The facts nearest to a text, best first, as Tier P ranks them (R024-5).
   *
   * @throws INVALID_OPTION, INVALID_VECTOR, EMBEDDER (asynchronous: pass the vector), CLOSED
   */
  search(text: string, options: SearchOptions = {}): FactHit[] {
    requireObject("search options", options);
    const { k = 10, vector, timestamp, ...unknown } = options;
    refuseUnknown("search", unknown);
    requireCount("search: k", k);
    requireString("search: text", text);
    const query = vectorNow(this.#host.embedder, text, vector);
    const now = this.#host.now(timestamp);
    return JSON.parse(
      this.#host.call(() => this.#host.native.factsSearch(this.#handle, text, Math.min(k, maxHits), query, now)),
    ) as FactHit[];
  }

  /** How many facts there are. */
  get size(): number {
    return this.#host.call(() => this.#host.native.factsSize(this.#handle));
  }

  /** Hash of the facts' state: changes when one is added, altered or deleted, not when they are read (R009-6). */
  get state(): string {
    return this.#host.call(() => this.#host.native.factsState(this.#handle));
  }

  #add(facts: readonly FactInput[], vectors: readonly (Float32Array | undefined)[]): number {
    const json = `[${facts.map(({ vector: _vector, ...fact }) => optionsJson("fact", fact)).join(",")}]`;
    const now = this.#host.now(undefined);
    return this.#host.call(() => this.#host.native.factsAdd(this.#handle, json, joined(facts, vectors), now));
  }
}

/** One row a fact; either all facts come with a vector or none does. */
function joined(facts: readonly FactInput[], vectors: readonly (Float32Array | undefined)[]): Float32Array | undefined {
  const given = vectors.filter((vector) => vector !== undefined).map(checkVector);
  if (given.length === 0) return undefined;
  const length = given[0]?.length ?? 0;
  const odd = vectors.findIndex((vector) => vector?.length !== length);
  if (odd >= 0) {
    throw new TrihorizonError(
      "INVALID_VECTOR",
      `fact ${JSON.stringify(facts[odd]?.id)} has ${vectors[odd] === undefined ? "no vector" : `a vector of ${vectors[odd].length}`}, others of the same call have ${length} dimensions`,
      { value: vectors[odd]?.length ?? 0, limit: length },
    );
  }
  const all = new Float32Array(length * given.length);
  for (const [index, vector] of given.entries()) all.set(vector, index * length);
  return all;
}
