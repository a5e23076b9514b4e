import { storeError, TrihorizonError } from "./errors.js";
import { guard, type Native, native, nativeError, release } from "./native.js";
import type { SplitOptions } from "./options.js";
import type { Embedder, Info, Store } from "./types.js";

/** A session as its engine sees it. */
export interface Resident {
  readonly key: string;
  /** True while something must not be interrupted: the session is not evicted. */
  readonly busy: boolean;
  /** Gives up the native session, kept in the store. */
  evict(): void;
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
  readonly #clock: () => number;
  readonly #maxSessions: number;
  // Insertion order is the order of use.
  readonly #live = new Map<string, Resident>();
  #newest: Resident | null = null;
  // Sessions that were closed while an asynchronous store was still taking their records.
  readonly #draining = new Map<string, Promise<void>>();
  #counterFailure: unknown;
  #closed = false;

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

  /** @throws CLOSED */
  assertOpen(): void {
    if (this.#closed) throw new TrihorizonError("CLOSED", "the engine is closed");
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
