import { storeError } from "./errors.js";
import { Facts } from "./facts.js";
import { Host } from "./host.js";
import { native, release } from "./native.js";
import { splitOptions } from "./options.js";
import { refuseUnknown, requireName, requireObject, requireString } from "./require.js";
import { Session } from "./session.js";
import type { EngineOptions, Info, SessionOptions } from "./types.js";

const defaultNamespace = "default";

// Engines that were forgotten instead of closed give their native memory back all the same.
const forgotten = new FinalizationRegistry<number>((handle) => release(() => native().engineClose(handle)));

/**
 * Makes an engine. Works without options: built-in embedder, `o200k` token counts, sessions in memory.
 *
 * @throws INVALID_OPTION, INVALID_BLEND, INVALID_BUDGET, TOKENIZER; ADDON when the native part cannot be loaded.
 * @example
 * ```ts
 * using engine = createEngine({ budget: 8000, store: fileStore("./sessions") });
 * const chat = engine.session("user-42");
 * const turn = chat.assemble("How do I configure etcd?");
 * await llm.chat({ messages: turn.messages });
 * ```
 */
export function createEngine(options: EngineOptions = {}): Engine {
  return new Engine(options);
}

/** Sessions and facts that share options, an embedder and a store. */
export class Engine {
  readonly #host: Host;
  readonly #facts = new Map<string, Facts>();
  readonly #sessions = new Map<string, WeakRef<Session>>();
  #closing: Promise<void> | null = null;
  // Session objects that nobody holds leave their map entry behind: swept when the map has doubled.
  #sweepAt = 1024;

  /** @internal Use {@link createEngine}. */
  constructor(options: EngineOptions) {
    this.#host = new Host(splitOptions(options));
    forgotten.register(this, this.#host.handle, this);
  }

  /**
   * A session, new or as its store remembers it; the same id gives the same object.
   *
   * @param id Unique within its namespace.
   * @throws STORE when the store is asynchronous (use {@link open}) or fails; INVALID_OPTION, CLOSED
   */
  session(id: string, options: SessionOptions = {}): Session {
    const session = this.#session(id, options);
    session.load();
    return session;
  }

  /** As {@link session}, with any store. */
  async open(id: string, options: SessionOptions = {}): Promise<Session> {
    const session = this.#session(id, options);
    // A session of this id that was closed a moment ago may still be writing to an asynchronous store.
    await this.#host.drained(session.key);
    await session.loadAsync();
    return session;
  }

  /**
   * The facts (Tier P) of a namespace; the same namespace gives the same object.
   *
   * @throws INVALID_OPTION, CLOSED
   */
  facts(namespace: string = defaultNamespace): Facts {
    requireName("namespace", namespace);
    this.#host.assertOpen();
    let facts = this.#facts.get(namespace);
    if (facts === undefined) {
      facts = new Facts(this.#host, namespace);
      this.#facts.set(namespace, facts);
    }
    return facts;
  }

  /** Version, SIMD level, embedding, tokenizer, memory, and the options in force with their defaults. */
  info(): Info {
    return this.#host.info();
  }

  /**
   * Tokens of a text by the engine's counter.
   *
   * @throws TOKENIZER, CLOSED
   */
  countTokens(text: string): number {
    requireString("countTokens", text);
    return this.#host.call(() => this.#host.native.countTokens(this.#host.handle, text));
  }

  /**
   * The built-in embedder's unit vector of a text, whatever the engine embeds with; empty when the table knows none of its
   * words.
   *
   * @throws CLOSED
   */
  embed(text: string): Float32Array {
    requireString("embed", text);
    return this.#host.embed(text);
  }

  /**
   * Erases a session from memory and store (G-72); objects that stand for it throw CLOSED from then on. With a synchronous
   * store it is gone when this returns; the promise is for the others, and for failures.
   *
   * @throws STORE, CLOSED
   */
  async deleteSession(id: string, options: SessionOptions = {}): Promise<void> {
    this.#host.assertOpen();
    const key = keyOf(id, options);
    const session = this.#sessions.get(key)?.deref();
    this.#sessions.delete(key);
    session?.erase();
    // What the session has under way must not arrive after the erasure.
    if (session?.busy) await session.settled().catch(() => undefined);
    try {
      const done = this.#host.store.delete(key);
      if (done !== undefined) await done;
    } catch (cause) {
      throw storeError(`session ${id} could not be deleted`, cause);
    }
  }

  /**
   * Resolves when everything done so far in all sessions survives a kill, as far as the store promises.
   *
   * @throws STORE, CLOSED
   */
  async flush(): Promise<void> {
    this.#host.assertOpen();
    await Promise.all(this.#host.liveSessions.map((session) => session.settled()));
    await this.#host.flush();
  }

  /**
   * Frees all native memory, and closes the store, which flushes it; the promise tells when that is done (with a synchronous
   * store it is when this returns), or that a write failed. Idempotent: further calls give the same promise. Everything of
   * the engine throws CLOSED afterwards.
   *
   * @throws STORE
   */
  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  [Symbol.dispose](): void {
    void this.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    const busy = this.#host.liveSessions.filter((session) => session.busy);
    forgotten.unregister(this);
    this.#host.close();
    try {
      if (busy.length > 0) await Promise.all(busy.map((session) => session.settled()));
      if (this.#host.draining) await this.#host.drained();
    } finally {
      const closed = this.#host.store.close();
      if (closed !== undefined) await closed;
    }
  }

  #session(id: string, options: SessionOptions): Session {
    this.#host.assertOpen();
    const key = keyOf(id, options);
    const known = this.#sessions.get(key)?.deref();
    if (known !== undefined && !known.closed) return known;
    const session = new Session(this.#host, id, options.namespace ?? defaultNamespace, key);
    this.#sessions.set(key, new WeakRef(session));
    this.#sweep();
    return session;
  }

  #sweep(): void {
    if (this.#sessions.size < this.#sweepAt) return;
    for (const [key, reference] of this.#sessions) if (reference.deref() === undefined) this.#sessions.delete(key);
    this.#sweepAt = Math.max(1024, this.#sessions.size * 2);
  }
}

/** What the store calls a session: no pair of namespace and id gives the key of another pair. */
function keyOf(id: string, options: SessionOptions): string {
  requireObject("session options", options);
  const { namespace = defaultNamespace, ...unknown } = options;
  refuseUnknown("session", unknown);
  requireName("session id", id);
  requireName("namespace", namespace);
  return JSON.stringify([namespace, id]);
}
