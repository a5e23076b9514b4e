import { storeError, TrihorizonError } from "./errors.js";
import { optionsJson } from "./json.js";
import { guard, type Native, native, nativeError, release } from "./native.js";
import type { SplitOptions } from "./options.js";
import { requireObject } from "./require.js";
import type { AssembleOptions, Embedder, Info, Store } from "./types.js";

/** Characters that the sessions of an engine hold beside the core, to spare crossings. */
const mostText = 2 ** 24;

interface Preset {
  number: number;
  json: string;
  keys: readonly string[];
  values: readonly unknown[];
}

/** A session as its engine sees it. */
export interface Resident {
  readonly key: string;
  /** True while something must not be interrupted: the session is not evicted. */
  readonly busy: boolean;
  /** Gives up the native session, kept in the store. */
  evict(): void;
  /** Gives up texts that the core has as well. */
  forgetTexts(): void;
  /** Resolves when nothing is under way; rejects with the failure of an earlier write. */
  settled(): Promise<void>;
}

/**
 * What the sessions of one engine share: the native engine, the clock, the embedder and the store; and which sessions
 * live. Sessions know it; users see {@link Engine}.
 */
export class Host {
  readonly native: Native = native();
  readonly handle: number;
  readonly embedder: Embedder | null;
  readonly store: Store;
  /** False when the store is this engine's own memory: then a live session is the only copy needed. */
  readonly writeThrough: boolean;
  /** Id of the model whose vectors the sessions hold. */
  readonly model: string;
  // Of its own, since an object of as many functions is slow to look into.
  readonly #classify = this.native.classify;
  readonly #clock: () => number;
  readonly #maxSessions: number;
  // Insertion order is the order of use.
  readonly #live = new Map<string, Resident>();
  #newest: Resident | null = null;
  // Sessions that were closed while an asynchronous store was still taking their records.
  readonly #draining = new Map<string, Promise<void>>();
  #counterFailure: unknown;
  #closed = false;
  /** Characters held, those of sessions that have gone included. */
  #text = 0;
  /** Of the built-in embedder; learnt from its first vector. */
  #dimensions = 0;
  /** Call options that the core keeps under a number. */
  #preset: Preset = { number: 0, json: "", keys: [], values: [] };

  constructor({ json, maxSessions, clock, embedder, counter, store, ownStore }: SplitOptions) {
    this.#clock = clock;
    this.#maxSessions = maxSessions;
    this.embedder = embedder;
    this.store = store;
    this.writeThrough = !ownStore;
    this.handle = guard(() =>
      this.native.engineOpen(json, counter === null ? undefined : (text: string) => this.#count(counter, text)),
    );
    this.model = this.info().embedding?.id ?? "";
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** What the core tells about itself. */
  info(): Info {
    return JSON.parse(this.call(() => this.native.engineInfo(this.handle))) as Info;
  }

  /**
   * Runs native code. A failing token counter's own error becomes the cause.
   *
   * @throws CLOSED after `close`; whatever the core refuses.
   */
  call<T>(action: () => T): T {
    this.assertOpen();
    this.#counterFailure = undefined;
    try {
      return action();
    } catch (thrown) {
      throw nativeError(thrown, this.#counterFailure);
    }
  }

  /** The call that is made most often, without a closure and with no argument that is not needed; as {@link call}. */
  classify(session: number, text: string, overrides: number | string, vector: Float32Array | undefined): string {
    const classify = this.#classify;
    try {
      const texts =
        overrides === 0 && vector === undefined ? classify(session, text) : classify(session, text, overrides, vector);
      return texts ?? "";
    } catch (thrown) {
      throw nativeError(thrown);
    }
  }

  /** @throws CLOSED */
  assertOpen(): void {
    if (this.#closed) throw new TrihorizonError("CLOSED", "the engine is closed");
  }

  /** The built-in embedder's vector, empty when it knows none of the words; as {@link call}. */
  embed(text: string): Float32Array {
    this.assertOpen();
    const vector = new Float32Array(this.#dimensions);
    let dimensions: number;
    try {
      dimensions = this.native.embed(this.handle, text, vector);
    } catch (thrown) {
      throw nativeError(thrown);
    }
    if (dimensions === vector.length) return vector;
    if (dimensions === 0) return new Float32Array();
    this.#dimensions = dimensions;
    return this.embed(text);
  }

  /**
   * Call options as the core takes them: 0 for none, the number of those it was last told to keep, or JSON. Callers give the
   * same options turn after turn: then they are neither written nor read again.
   *
   * @throws INVALID_OPTION
   */
  overrides(options: AssembleOptions | undefined): number | string {
    if (options === undefined) return 0;
    requireObject("options", options);
    const { keys, values } = this.#preset;
    let at = 0;
    let none = true;
    for (const key in options) {
      if (key === "vector" || key === "timestamp") continue;
      none = false;
      if (keys[at] !== key || values[at] !== options[key as keyof AssembleOptions]) {
        at = -1;
        break;
      }
      at += 1;
    }
    if (none) return 0;
    const same = at === keys.length && Object.getPrototypeOf(options) === Object.prototype;
    return same ? this.#preset.number : this.#keep(options);
  }

  /** What {@link overrides} gave, as JSON. */
  overridesJson(overrides: number | string): string | undefined {
    if (typeof overrides === "string") return overrides;
    return overrides === 0 ? undefined : this.#preset.json;
  }

  #keep(options: AssembleOptions): number | string {
    const { vector: _vector, timestamp: _timestamp, ...rest } = options;
    const json = optionsJson("options", rest);
    if (json === "{}") return 0;
    const keys = Object.keys(rest);
    const values = Object.values(rest);
    // An id is given once, and what an object holds may change behind the object.
    if (keys.includes("id") || values.some((value) => typeof value === "object")) return json;
    this.#preset = { number: this.call(() => this.native.preset(this.handle, json)), json, keys, values };
    return this.#preset.number;
  }

  /** Milliseconds since the epoch. */
  now(given: number | undefined): number {
    const now = given ?? this.#clock();
    if (typeof now !== "number" || !Number.isFinite(now)) {
      throw new TrihorizonError("INVALID_OPTION", `the time must be milliseconds since the epoch: got ${String(now)}`, {
        value: now,
        limit: "a finite number",
      });
    }
    return now;
  }

  /** The live session that was used last; none once the engine is closed. */
  get newest(): Resident | null {
    return this.#newest;
  }

  /** The session was used: it is evicted last. */
  touch(session: Resident): void {
    if (session === this.#newest) return;
    this.#live.delete(session.key);
    this.#live.set(session.key, session);
    this.#newest = session;
  }

  /** The session became live; the one used longest ago may have to go. */
  admit(session: Resident): void {
    this.touch(session);
    if (this.#live.size <= this.#maxSessions) return;
    for (const oldest of this.#live.values()) {
      if (oldest === session || oldest.busy) continue;
      this.dismiss(oldest);
      oldest.evict();
      return;
    }
  }

  /** The session is not live any more. */
  dismiss(session: Resident): void {
    this.#live.delete(session.key);
    if (this.#newest === session) this.#newest = null;
  }

  /** A live session holds so many more characters; when they are too many, all are given up. */
  keepText(characters: number): void {
    this.#text += characters;
    if (this.#text <= mostText) return;
    this.#text = 0;
    for (const session of this.#live.values()) session.forgetTexts();
  }

  /** Sessions that hold native memory. */
  get liveSessions(): Resident[] {
    return [...this.#live.values()];
  }

  /** True while closed sessions are still being written. */
  get draining(): boolean {
    return this.#draining.size > 0;
  }

  /** A closed session is still being written; a failure is kept for whoever asks. */
  drain(key: string, written: Promise<void>): void {
    this.#draining.set(key, written);
    written.then(
      () => this.#draining.delete(key),
      () => undefined,
    );
  }

  /** Resolves when closed sessions, or the one named, are written; tells a failure once. */
  async drained(key?: string): Promise<void> {
    for (const [name, written] of this.#draining) {
      if (key !== undefined && key !== name) continue;
      try {
        await written;
      } finally {
        this.#draining.delete(name);
      }
    }
  }

  /** Waits until everything appended so far survives a kill. */
  async flush(): Promise<void> {
    await this.drained();
    try {
      await this.store.flush();
    } catch (cause) {
      throw storeError("the store could not flush", cause);
    }
  }

  /** Frees all native memory; idempotent. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#live.clear();
    this.#newest = null;
    release(() => this.native.engineClose(this.handle));
  }

  #count(counter: (text: string) => number, text: string): number {
    try {
      return counter(text);
    } catch (error) {
      this.#counterFailure = error;
      throw error;
    }
  }
}
