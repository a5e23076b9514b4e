import { assembledColumn, ClassificationView } from "./classification.js";
import { Columns, type Names, type Packed } from "./columns.js";
import { vectorLater, vectorNow } from "./embedding.js";
import { storeError, TrihorizonError } from "./errors.js";
import type { Host } from "./host.js";
import { History } from "./history.js";
import { Journal } from "./journal.js";
import { optionsJson } from "./json.js";
import { identityOf, metaOf, roleNumber, textOf } from "./message.js";
import { guard, release, sharedColumns, takeColumns } from "./native.js";
import { requireArray, requireCount, requireObject, requireString } from "./require.js";
import { appendRecord, assembleRecord, deleteRecord, replay, threadRecord } from "./record.js";
import { readAssembled, TurnView } from "./turn.js";
import type {
  AppendMessage,
  AppendResult,
  AssembleOptions,
  Classification,
  ClassifyOptions,
  LoggedTurn,
  Message,
  StoredSession,
  SyncResult,
  Refiled,
  ThreadState,
  ThreadUpdate,
  Turn,
} from "./types.js";
import { requireFloats } from "./vector.js";

// Turn ids are 32-bit in the core.
const maxTurnId = 2 ** 32 - 1;

/**
 * One conversation. Made by {@link Engine.session} or {@link Engine.open}; the same id gives the same object.
 *
 * Synchronous methods run at once. The `…Async` ones wait for an asynchronous embedder or store, one after the other in the
 * order of the calls; while one is under way, synchronous calls that add turns are refused (REENTRANT), since they would
 * overtake it.
 *
 * @example
 * ```ts
 * chat.append({ role: "user", content: "How do I configure etcd?" });
 * chat.append({ role: "assistant", content: "1. Write etcd.conf … 2. Open the port …" });
 * const turn = chat.assemble("which port does the second step need?", { budget: 4000 });
 * ```
 */
export class Session {
  /** The id it was opened with. */
  readonly id: string;
  /** The namespace it belongs to. */
  readonly namespace: string;
  /** @internal */
  readonly key: string;
  readonly #host: Host;
  readonly #journal: Journal;
  readonly #names: SessionNames;
  readonly #history = new History();
  /** The native session; 0 while evicted. */
  #handle = 0;
  #closed: "open" | "closed" | "deleted" = "open";
  /** Parsed system messages; null when they have to be asked for again. */
  #system: readonly Message[] | null = null;
  #queue: Promise<unknown> | null = null;

  /** @internal */
  constructor(host: Host, id: string, namespace: string, key: string) {
    this.#host = host;
    this.id = id;
    this.namespace = namespace;
    this.key = key;
    this.#journal = new Journal(host.store, key, host.writeThrough);
    this.#names = new SessionNames(host, () => this.#live());
  }

  /**
   * Adds a message that is already settled: anything but the user turn that is to be answered now (that one goes to
   * {@link assemble}). Idempotent by the message's `id`.
   *
   * @returns `turnId` for user and assistant messages, `scratchId` for tool output, neither for system messages and for
   *   assistant messages that only call tools; `refiled` when an assistant message shows that the turn it answers is in the wrong
   *   thread (the filing of about a third of the turns is in doubt until then); a retry is not told again.
   * @throws INVALID_MESSAGE, INVALID_VECTOR, ID_CONFLICT, SCRATCH_FULL, EMBEDDER (asynchronous: use {@link appendAsync}),
   *   TOKENIZER, STORE, CLOSED, REENTRANT
   */
  append(message: AppendMessage): AppendResult {
    this.#inOrder();
    this.#live();
    const text = textOf(message);
    return this.#append(
      message,
      text,
      needsVector(message, text) ? vectorNow(this.#host.embedder, text, message.vector) : undefined,
    );
  }

  /** As {@link append}, for asynchronous embedders and stores. */
  appendAsync(message: AppendMessage): Promise<AppendResult> {
    return this.#enqueue(async () => {
      const text = textOf(message);
      const vector = needsVector(message, text)
        ? await vectorLater(this.#host.embedder, text, message.vector)
        : undefined;
      await this.#liveLater();
      return this.#append(message, text, vector);
    });
  }

  /**
   * For clients that resend the whole history: appends only what the session does not have yet, matched by role and content
   * from the front (G-71). The user turn that is to be answered now is not part of it.
   *
   * @throws as {@link append}; ID_CONFLICT when the history departs from the session's (an edit or a branch).
   */
  sync(messages: readonly AppendMessage[]): SyncResult {
    this.#inOrder();
    const known = this.#known(messages);
    const appended = messages.slice(known).map((message) => {
      const text = textOf(message);
      const vector = needsVector(message, text) ? vectorNow(this.#host.embedder, text, message.vector) : undefined;
      return this.#append(message, text, vector);
    });
    this.#remember(messages);
    return { known, appended };
  }

  /** As {@link sync}, for asynchronous embedders and stores. */
  syncAsync(messages: readonly AppendMessage[]): Promise<SyncResult> {
    return this.#enqueue(async () => {
      await this.#liveLater();
      const known = this.#known(messages);
      const appended: AppendResult[] = [];
      for (const message of messages.slice(known)) {
        const text = textOf(message);
        const vector = needsVector(message, text)
          ? await vectorLater(this.#host.embedder, text, message.vector)
          : undefined;
        await this.#liveLater();
        appended.push(this.#append(message, text, vector));
      }
      this.#remember(messages);
      return { known, appended };
    });
  }

  /**
   * Says what a user turn is, against the log as it stands, and changes nothing: intent, references, ellipsis, thread,
   * blend, similarity (SPEC-028 §4, §5). Microseconds, with the built-in embedder.
   *
   * @throws INVALID_MESSAGE (no text), INVALID_OPTION, INVALID_VECTOR, EMBEDDER (asynchronous: use {@link classifyAsync}),
   *   STORE, CLOSED
   */
  classify(text: string, options?: ClassifyOptions): Classification {
    const handle = this.#live();
    const { embedder } = this.#host;
    const given = options?.vector;
    requireText(text);
    // Whether its memory is shared the core sees at less cost.
    if (given !== undefined) return this.#classify(handle, text, options, requireFloats(given));
    if (embedder === null) return this.#classify(handle, text, options, undefined);
    const vector = vectorNow(embedder, text, undefined);
    // The embedder may have called back.
    return this.#classify(this.#live(), text, options, vector);
  }

  /** As {@link classify}, for asynchronous embedders and stores. */
  classifyAsync(text: string, options?: ClassifyOptions): Promise<Classification> {
    return this.#enqueue(async () => {
      const vector = await vectorLater(this.#host.embedder, requireText(text), options?.vector);
      await this.#liveLater();
      return this.#classify(this.#live(), text, options, vector);
    });
  }

  /**
   * Decides what the model should see for a user turn, and appends the turn (idempotent by `id`; not with `dryRun`).
   *
   * @throws INVALID_MESSAGE (no text), INVALID_OPTION, INVALID_BUDGET, INVALID_BLEND, INVALID_VECTOR, ID_CONFLICT,
   *   EMBEDDER (asynchronous: use {@link assembleAsync}), TOKENIZER, STORE, CLOSED, REENTRANT
   */
  assemble(text: string, options?: AssembleOptions): Turn {
    if (options?.dryRun !== true) this.#inOrder();
    this.#live();
    return this.#assemble(text, options, vectorNow(this.#host.embedder, requireText(text), options?.vector));
  }

  /** As {@link assemble}, for asynchronous embedders and stores. */
  assembleAsync(text: string, options?: AssembleOptions): Promise<Turn> {
    return this.#enqueue(async () => {
      const vector = await vectorLater(this.#host.embedder, requireText(text), options?.vector);
      await this.#liveLater();
      return this.#assemble(text, options, vector);
    });
  }

  /** The receipt of a dry run: what would be decided, packed and left out for this turn, and why. Changes nothing. */
  explain(text: string, options?: AssembleOptions): string {
    if (options !== undefined) requireObject("options", options);
    return this.assemble(text, { ...options, dryRun: true }).explain();
  }

  /**
   * Writes what the host knows about a thread; it outranks what is read from the turns (G-70).
   *
   * @throws NOT_FOUND, INVALID_OPTION, STORE, CLOSED
   */
  updateThread(update: ThreadUpdate): void {
    const handle = this.#live();
    const json = optionsJson("updateThread", update);
    this.#host.call(() => this.#host.native.updateThread(handle, json));
    this.#record(() => threadRecord(json));
  }

  /**
   * What is known about a thread (SPEC-028 §6.2).
   *
   * @param threadId The active thread when absent.
   * @throws NOT_FOUND, CLOSED
   */
  threadState(threadId = ""): ThreadState {
    requireString("thread id", threadId);
    const handle = this.#live();
    return JSON.parse(this.#host.call(() => this.#host.native.threadState(handle, threadId))) as ThreadState;
  }

  /** The log, oldest turn first. Copies everything: for tests, inspection and export. */
  turns(): LoggedTurn[] {
    const handle = this.#live();
    return JSON.parse(this.#host.call(() => this.#host.native.turns(handle))) as LoggedTurn[];
  }

  /**
   * The whole output of a tool, of which envelopes hold a summary (R029-2).
   *
   * @throws NOT_FOUND, CLOSED
   */
  rawOutput(scratchId: string): string {
    requireString("scratch id", scratchId);
    const handle = this.#live();
    return this.#host.call(() => this.#host.native.scratchRaw(handle, scratchId));
  }

  /** The session as bytes: versioned, checksummed, with the embedding it was made with (G-55). */
  snapshot(): Uint8Array {
    const handle = this.#live();
    return this.#host.call(() => this.#host.native.sessionSnapshot(handle));
  }

  /**
   * Replaces the session by a snapshot of it, made here or in another engine.
   *
   * @throws INVALID_SNAPSHOT (truncated, altered, of an unknown version or of another session), INVALID_VECTOR (another
   *   embedding), STORE, CLOSED
   */
  restore(snapshot: Uint8Array): void {
    this.#inOrder();
    const old = this.#live();
    const { native, handle } = this.#host;
    this.#handle = this.#host.call(() => native.sessionRestore(handle, this.id, this.namespace, snapshot));
    release(() => native.sessionClose(old));
    this.#forgetDerived();
    if (this.#journal.through) this.#kept(() => this.#journal.saveSnapshot(snapshot));
  }

  /**
   * Erases a turn and all that was derived from it: vectors, coverage, thread facts, and its records in the store (G-72).
   * Its id is not given out again.
   *
   * @returns false when there is no such turn.
   * @throws STORE, CLOSED
   */
  deleteTurn(turnId: number): boolean {
    requireCount("turn id", turnId);
    const handle = this.#live();
    // The core would take it for another id, modulo 2³².
    if (turnId > maxTurnId) return false;
    const deleted = this.#host.call(() => this.#host.native.deleteTurn(handle, turnId));
    if (deleted) {
      this.#names.clear();
      this.#history.forget();
    }
    if (deleted && this.#journal.through) {
      this.#record(() => deleteRecord(turnId));
      // The records still hold the text: a snapshot replaces them.
      this.#kept(() => this.#journal.saveSnapshot(guard(() => this.#host.native.sessionSnapshot(handle))));
    }
    return deleted;
  }

  /**
   * Resolves when everything done so far survives a kill, as far as the store promises.
   *
   * @throws STORE, also for an earlier write of an asynchronous store that failed.
   */
  async flush(): Promise<void> {
    this.#assertOpen();
    await this.settled();
    await this.#host.flush();
  }

  /**
   * Frees the session's native memory; what was said stays in the engine's store, and `engine.session(id)` brings it back.
   * Idempotent. Every other method throws CLOSED afterwards.
   */
  close(): void {
    if (this.#closed !== "open") return;
    if (this.#handle !== 0) {
      this.evict();
      if (this.#journal.pending || this.#journal.failed) this.#host.drain(this.key, this.#journal.settled());
    }
    this.#closed = "closed";
  }

  [Symbol.dispose](): void {
    this.close();
  }

  /** @internal */
  get busy(): boolean {
    return this.#queue !== null || this.#journal.pending || this.#journal.failed;
  }

  /** @internal */
  get closed(): boolean {
    return this.#closed !== "open";
  }

  /** @internal Gives up the native session; what is not in the store yet goes there. */
  evict(): void {
    const handle = this.#handle;
    if (handle === 0) return;
    const { native } = this.#host;
    if (!this.#journal.through && !this.#host.closed) {
      this.#journal.saveSnapshot(guard(() => native.sessionSnapshot(handle)));
    }
    this.#drop();
  }

  /** @internal Gives up texts that the core has as well. */
  forgetTexts(): void {
    this.#names.forgetTexts();
    this.#history.forget();
  }

  /** @internal Loads from a synchronous store. */
  load(): void {
    this.#live();
  }

  /** @internal Loads from any store. */
  loadAsync(): Promise<void> {
    return this.#enqueue(() => this.#liveLater());
  }

  /** @internal The session is being erased. */
  erase(): void {
    this.#drop();
    this.#closed = "deleted";
  }

  /** @internal Resolves when nothing is under way any more; rejects with the failure of an earlier write. */
  async settled(): Promise<void> {
    await this.#queue;
    try {
      await this.#journal.settled();
    } catch (error) {
      this.#drop();
      throw error;
    }
  }

  #append(message: AppendMessage, text: string, vector: Float32Array | undefined): AppendResult {
    const host = this.#host;
    const handle = this.#live();
    const role = roleNumber(message.role);
    const meta = metaOf(message);
    const now = host.now(message.timestamp);
    const result = host.call(() => host.native.append(handle, role, text, meta, vector, now));
    if (role <= 1) this.#system = null;
    this.#record(() => appendRecord(role, text, meta, vector, host.model, now));
    if (typeof result === "string") {
      const moved = JSON.parse(result) as { turnId: number; refiled: Refiled };
      this.#names.keepTurn(moved.turnId, text);
      return moved;
    }
    if (result > 0) {
      this.#names.keepTurn(result, text);
      return { turnId: result };
    }
    return result < 0 ? { scratchId: this.#names.scratch(-result) } : {};
  }

  #classify(
    handle: number,
    text: string,
    options: ClassifyOptions | undefined,
    vector: Float32Array | undefined,
  ): Classification {
    const host = this.#host;
    const overrides = host.overrides(options);
    const texts = host.classify(handle, text, overrides, vector);
    return new ClassificationView(
      new Columns(takeColumns(), texts, text, this.#names, host.overridesJson(overrides), vector),
    );
  }

  #assemble(text: string, options: AssembleOptions | undefined, vector: Float32Array | undefined): Turn {
    const host = this.#host;
    const handle = this.#live();
    const overrides = host.overrides(options);
    const now = host.now(options?.timestamp);
    const blob = host.call(() => host.native.assemble(handle, text, overrides, vector, now));
    const assembled = readAssembled(new Columns(sharedColumns(), blob, text, this.#names));
    const json = host.overridesJson(overrides);
    const columns = new Columns(takeColumns(assembledColumn), blob, text, this.#names, json, vector);
    const system = (this.#system ??= this.#systemMessages(handle));
    const turn = new TurnView(columns, assembled, { system, name: options?.name });
    if (assembled.turnId !== null) this.#names.keepTurn(assembled.turnId, text);
    if (options?.dryRun !== true) this.#record(() => assembleRecord(text, json, vector, host.model, now));
    return turn;
  }

  #systemMessages(handle: number): Message[] {
    const json = this.#host.call(() => this.#host.native.systemMessages(handle));
    const messages = JSON.parse(json) as (Pick<Message, "role" | "content"> & { name?: string | null })[];
    return messages.map(({ role, content, name }) => (name ? { role, content, name } : { role, content }) as Message);
  }

  /** How many messages of a resent history are here already. */
  #known(messages: readonly AppendMessage[]): number {
    requireArray("messages", messages);
    const handle = this.#live();
    const same = this.#history.same(messages);
    if (same === messages.length) return same;
    const identities = messages.slice(same).map(identityOf);
    return this.#host.call(() => this.#host.native.syncPrefix(handle, same, identities));
  }

  /** The history is these messages, unless one of them was there before under its id. */
  #remember(messages: readonly AppendMessage[]): void {
    const handle = this.#live();
    if (this.#host.call(() => this.#host.native.messageCount(handle)) < messages.length) return;
    this.#host.keepText(this.#history.remember(messages));
  }

  #record(data: () => string): void {
    // A callback may have erased or closed the session under the call: erased stays erased, and there is nothing to snapshot.
    if (!this.#journal.through || this.#closed === "deleted") return;
    this.#kept(() => {
      this.#journal.write(data());
      if (this.#journal.wantsSnapshot && this.#handle !== 0)
        this.#journal.saveSnapshot(guard(() => this.#host.native.sessionSnapshot(this.#handle)));
    });
  }

  /** When the store fails, the live session is ahead of it: it is given up, and the next call loads what was kept. */
  #kept(write: () => void): void {
    try {
      write();
    } catch (error) {
      this.#drop();
      throw error;
    }
  }

  #checkJournal(): void {
    if (!this.#journal.failed) return;
    this.#drop();
    this.#journal.check();
  }

  /** The native session, loaded again when it was evicted. */
  #live(): number {
    // Most calls are to the session that was used last, which is live, and open as its engine is.
    if (this.#host.newest === this && !this.#journal.failed) return this.#handle;
    this.#assertOpen();
    this.#checkJournal();
    if (this.#handle === 0) {
      const { store } = this.#host;
      if (!store.sync) {
        throw new TrihorizonError(
          "STORE",
          `session ${this.id} is not in memory and its store is asynchronous: use await engine.open(id), or an …Async method`,
          {
            value: this.id,
          },
        );
      }
      this.#revive(attemptLoad(this.key, () => store.load(this.key) as StoredSession));
    }
    this.#host.touch(this);
    return this.#handle;
  }

  async #liveLater(): Promise<void> {
    this.#assertOpen();
    this.#checkJournal();
    if (this.#handle === 0) {
      let stored: StoredSession;
      try {
        stored = await this.#host.store.load(this.key);
      } catch (cause) {
        throw storeError(`session ${this.key} could not be loaded`, cause);
      }
      this.#assertOpen();
      if (this.#handle === 0) this.#revive(stored);
    }
  }

  #revive({ snapshot, records }: StoredSession): void {
    const { native, handle, model } = this.#host;
    const session = this.#host.call(() =>
      snapshot === null
        ? native.sessionOpen(handle, this.id, this.namespace)
        : native.sessionRestore(handle, this.id, this.namespace, snapshot.bytes),
    );
    try {
      for (const record of records) replay(native, session, record, model);
    } catch (error) {
      release(() => native.sessionClose(session));
      throw error;
    }
    this.#handle = session;
    this.#journal.resume(records.at(-1)?.seq ?? snapshot?.seq ?? 0, records.length);
    this.#forgetDerived();
    this.#host.admit(this);
  }

  #drop(): void {
    const handle = this.#handle;
    if (handle === 0) return;
    this.#handle = 0;
    this.#forgetDerived();
    this.#host.dismiss(this);
    if (!this.#host.closed) release(() => this.#host.native.sessionClose(handle));
  }

  #forgetDerived(): void {
    this.#system = null;
    this.#names.clear();
    this.#history.forget();
  }

  #assertOpen(): void {
    this.#host.assertOpen();
    if (this.#closed !== "open")
      throw new TrihorizonError("CLOSED", `session ${this.id} was ${this.#closed}`, { value: this.id });
  }

  /** Refuses a synchronous call that would overtake asynchronous ones. */
  #inOrder(): void {
    if (this.#queue === null) return;
    throw new TrihorizonError(
      "REENTRANT",
      `an asynchronous call on session ${this.id} is under way: await it first, or use the …Async method`,
      {
        value: this.id,
      },
    );
  }

  #enqueue<T>(action: () => Promise<T>): Promise<T> {
    const result = this.#queue === null ? action() : this.#queue.then(action);
    const tail: Promise<void> = result.then(
      () => this.#leave(tail),
      () => this.#leave(tail),
    );
    this.#queue = tail;
    return result;
  }

  #leave(tail: Promise<void>): void {
    if (this.#queue === tail) this.#queue = null;
  }
}

/** Names by ordinal, each asked for once. */
class SessionNames implements Names {
  readonly #host: Host;
  readonly #live: () => number;
  readonly #threads: (string | undefined)[] = [];
  readonly #scratch: (string | undefined)[] = [];
  /** Texts of turns, by id. */
  readonly #turns: (string | undefined)[] = [];

  constructor(host: Host, live: () => number) {
    this.#host = host;
    this.#live = live;
  }

  thread(ordinal: number): string {
    return (this.#threads[ordinal] ??= this.#ask((session) => this.#host.native.threadSlug(session, ordinal)));
  }

  scratch(ordinal: number): string {
    return (this.#scratch[ordinal] ??= this.#ask((session) => this.#host.native.scratchId(session, ordinal)));
  }

  query(text: string, locale: number, turns: number[]): { text: string; terms: string[] } {
    return JSON.parse(this.#ask((session) => this.#host.native.query(session, text, locale, turns))) as {
      text: string;
      terms: string[];
    };
  }

  turn(id: number): string {
    const text = this.#turns[id] ?? this.#ask((session) => this.#host.native.turnText(session, id));
    if (this.#turns[id] === undefined) this.keepTurn(id, text);
    return text;
  }

  /** A text that was given to the core; one with lone surrogates is not what the core has. */
  keepTurn(id: number, text: string): void {
    if (!text.isWellFormed()) return;
    this.#turns[id] = text;
    this.#host.keepText(text.length);
  }

  newThread(text: string, next: number): string {
    return this.#ask((session) => this.#host.native.slugFor(session, text, next));
  }

  whole({ text, overrides, vector }: Columns, next: number): Columns {
    const texts = this.#ask((session) => this.#host.native.classifyBefore(session, text, overrides, vector, next));
    return new Columns(takeColumns(), texts, text, this);
  }

  left({ text, overrides, vector }: Columns, next: number, { turns, summary, free }: Packed): Columns {
    this.#ask((session) => this.#host.native.leftOut(session, text, overrides, vector, next, turns, summary, free));
    return new Columns(takeColumns(), "", text, this);
  }

  forgetTexts(): void {
    this.#turns.length = 0;
  }

  clear(): void {
    this.#threads.length = 0;
    this.#scratch.length = 0;
    this.#turns.length = 0;
  }

  #ask<T>(question: (session: number) => T): T {
    const session = this.#live();
    return this.#host.call(() => question(session));
  }
}

/** Turns are embedded; system messages and tool output are not. */
function needsVector(message: AppendMessage, text: string): boolean {
  return text !== "" && (message.role === "user" || message.role === "assistant");
}

function requireText(text: unknown): string {
  if (typeof text === "string") return text;
  throw new TrihorizonError("INVALID_MESSAGE", `a turn is a string: got ${text === null ? "null" : typeof text}`, {
    value: typeof text,
    limit: "string",
  });
}

function attemptLoad(key: string, load: () => StoredSession): StoredSession {
  try {
    return load();
  } catch (cause) {
    throw storeError(`session ${key} could not be loaded`, cause);
  }
}
