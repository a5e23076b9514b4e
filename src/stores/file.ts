import { createHash } from "node:crypto";
import { closeSync, fsync, fsyncSync, ftruncateSync, mkdirSync, openSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { reason, storeError, TrihorizonError } from "../errors.js";
import { refuseUnknown, requireCount, requireName, requireObject } from "../require.js";
import type { Store, StoredSession, StoreRecord } from "../types.js";
import { DirectoryLock } from "./lock.js";
import { appendTo, headerLine, readLog, recordLine, rewriteLog } from "./log.js";
import { requireNext } from "./memory.js";
import { readSnapshot, writeSnapshot } from "./snapshot.js";

/** Options of {@link fileStore}. */
export interface FileStoreOptions {
  /** Records after which a session's log is replaced by a snapshot. A positive whole number, 1,000 by default. */
  snapshotEvery?: number | undefined;
}

// Bounds of what is kept about sessions in use; beyond them the least recently used is looked up on disk again.
const maxFiles = 256;
const maxLogs = 10_000;

/**
 * Sessions in a directory: for each an append-only log and a snapshot, versioned and checksummed, named by a hash of the
 * session. Synchronous (an append is one `write`, ~10 µs); only `flush` and snapshots wait for the disk. What `flush` has
 * acknowledged survives a kill or a power failure at any moment; a torn last write is cut off on the next load, with a
 * process warning. One writer a directory.
 *
 * @param directory Created when missing.
 * @throws STORE when another live process writes to the directory, or it cannot be written; INVALID_OPTION.
 * @example
 * ```ts
 * const engine = createEngine({ store: fileStore("./sessions") });
 * const chat = engine.session("user-42");
 * chat.append({ role: "user", content: "How do I configure etcd?" });
 * await chat.flush();
 * ```
 */
export function fileStore(directory: string, options: FileStoreOptions = {}): Store {
  requireObject("fileStore: options", options);
  const { snapshotEvery = 1000, ...unknown } = options;
  requireName("fileStore: directory", directory);
  refuseUnknown("fileStore", unknown);
  requireCount("fileStore.snapshotEvery", snapshotEvery);
  return attempt(`cannot open ${directory}`, () => new FileStore(resolve(directory), snapshotEvery));
}

/** What is known of a session in use. */
interface Log {
  session: string;
  path: string;
  /** Bytes of good lines on disk; 0 = the file does not exist yet. */
  length: number;
  /** Record up to which the snapshot goes; 0 = none. */
  snapshot: number;
  /** Highest record in snapshot or log. */
  last: number;
  file: OpenFile | null;
}

interface OpenFile {
  descriptor: number;
  /** Written since the last fsync. */
  dirty: boolean;
  /** Fsyncs under way: the last of them closes a file that was given up meanwhile. */
  syncing: number;
}

class FileStore implements Store {
  readonly sync = true;
  readonly snapshotEvery: number;
  readonly #directory: string;
  readonly #lock: DirectoryLock;
  // Insertion order is the order of use, in both.
  readonly #logs = new Map<string, Log>();
  readonly #open = new Map<string, Log>();
  #namesDirty = false;
  #failure: TrihorizonError | null = null;
  #closed = false;

  constructor(directory: string, snapshotEvery: number) {
    this.snapshotEvery = snapshotEvery;
    this.#directory = directory;
    mkdirSync(directory, { recursive: true });
    this.#lock = new DirectoryLock(directory);
  }

  append(session: string, record: StoreRecord): void {
    this.#usable();
    if (record.data.includes("\n")) {
      throw new TrihorizonError("STORE", `record ${record.seq} of session ${session} contains a line break`, {
        value: record.seq,
      });
    }
    attempt(`cannot append to session ${session}`, () => {
      const log = this.#log(session);
      if (record.seq <= log.last) return;
      requireNext(session, record.seq, log.last);
      try {
        const file = this.#file(log);
        log.length = appendTo(file.descriptor, log.length, recordLine(record));
        log.last = record.seq;
        file.dirty = true;
      } catch (error) {
        // What is on disk is not known any more: the next use reads it, and cuts off what the write left.
        this.#forget(log);
        throw error;
      }
    });
  }

  load(session: string): StoredSession {
    this.#usable();
    return attempt(`cannot load session ${session}`, () => this.#read(session));
  }

  saveSnapshot(session: string, seq: number, bytes: Uint8Array): void {
    this.#usable();
    attempt(`cannot save a snapshot of session ${session}`, () => {
      const log = this.#log(session);
      if (seq < log.snapshot) return;
      writeSnapshot(this.#path(session, "snap"), session, seq, bytes);
      this.#syncNames();
      // From here on the records are superfluous: a crash before they are gone leaves some that load skips.
      this.#dropRecords(log, seq);
      log.snapshot = seq;
      log.last = Math.max(log.last, seq);
    });
  }

  delete(session: string): void {
    this.#usable();
    attempt(`cannot delete session ${session}`, () => {
      const log = this.#logs.get(session);
      if (log !== undefined) this.#forget(log);
      for (const kind of ["log", "snap", "log.tmp", "snap.tmp"]) rmSync(this.#path(session, kind), { force: true });
      this.#syncNames();
    });
  }

  async flush(): Promise<void> {
    this.#usable();
    const dirty = [...this.#open.values()].filter((log) => log.file?.dirty);
    try {
      this.#lock.verify();
      await Promise.all(dirty.map((log) => this.#sync(log)));
      if (this.#namesDirty) this.#syncNames();
    } catch (cause) {
      // After a failed fsync the kernel may call the pages clean: nothing written later could be acknowledged honestly.
      this.#failure = storeError(`cannot flush ${this.#directory}`, cause);
      throw this.#failure;
    }
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    attempt(`cannot close ${this.#directory}`, () => {
      for (const log of this.#open.values()) this.#close(log);
      if (this.#namesDirty) this.#syncNames();
      this.#lock.release();
    });
  }

  #usable(): void {
    if (this.#closed) throw new TrihorizonError("CLOSED", `the store of ${this.#directory} is closed`);
    if (this.#failure !== null) throw this.#failure;
  }

  #path(session: string, kind: string): string {
    return join(
      this.#directory,
      `${createHash("sha256").update(JSON.stringify(session)).digest("hex").slice(0, 40)}.${kind}`,
    );
  }

  #log(session: string): Log {
    const known = this.#logs.get(session);
    if (known === undefined) {
      this.#read(session);
      return this.#logs.get(session) as Log;
    }
    this.#logs.delete(session);
    this.#logs.set(session, known);
    return known;
  }

  #read(session: string): StoredSession {
    const path = this.#path(session, "log");
    const snapshot = readSnapshot(this.#path(session, "snap"), session);
    const { records, length, torn } = readLog(path, session);
    const seq = snapshot?.seq ?? 0;
    const rest = records.filter((record) => record.seq > seq);
    if (rest[0] !== undefined) requireNext(session, rest[0].seq, seq);
    if (torn > 0) cut(path, length, torn);
    let log = this.#logs.get(session);
    if (log === undefined) {
      log = { session, path, length, snapshot: seq, last: 0, file: null };
      this.#logs.set(session, log);
      const [oldest] = this.#logs.values();
      if (this.#logs.size > maxLogs) this.#forget(oldest as Log);
    }
    log.length = length;
    log.snapshot = seq;
    log.last = rest.at(-1)?.seq ?? seq;
    return { snapshot, records: rest };
  }

  #forget(log: Log): void {
    this.#logs.delete(log.session);
    this.#close(log);
  }

  /** The open file of a log, created with its header when needed. */
  #file(log: Log): OpenFile {
    this.#open.delete(log.session);
    this.#open.set(log.session, log);
    log.file ??= { descriptor: openSync(log.path, "a"), dirty: false, syncing: 0 };
    const [oldest] = this.#open.values();
    if (this.#open.size > maxFiles) this.#close(oldest as Log);
    if (log.length === 0) {
      ftruncateSync(log.file.descriptor, 0);
      log.length = appendTo(log.file.descriptor, 0, headerLine(log.session));
      log.file.dirty = true;
      this.#namesDirty = true;
    }
    return log.file;
  }

  #dropRecords(log: Log, seq: number): void {
    if (log.length === 0) return;
    const header = headerLine(log.session).length;
    if (log.last <= seq) {
      const file = this.#file(log);
      ftruncateSync(file.descriptor, header);
      file.dirty = true;
      log.length = header;
      return;
    }
    const kept = readLog(log.path, log.session).records.filter((record) => record.seq > seq);
    this.#close(log);
    rewriteLog(log.path, log.session, kept);
    log.length = readLog(log.path, log.session).length;
    this.#syncNames();
  }

  async #sync(log: Log): Promise<void> {
    const { file } = log;
    if (file === null) return;
    file.dirty = false;
    file.syncing += 1;
    try {
      await promisify(fsync)(file.descriptor);
    } finally {
      file.syncing -= 1;
      if (log.file !== file && file.syncing === 0) closeSync(file.descriptor);
    }
  }

  #close(log: Log): void {
    const { file } = log;
    if (file === null) return;
    if (file.dirty) fsyncSync(file.descriptor);
    log.file = null;
    this.#open.delete(log.session);
    if (file.syncing === 0) closeSync(file.descriptor);
  }

  /** Makes created, renamed and removed names durable. */
  #syncNames(): void {
    this.#namesDirty = false;
    // Windows cannot open a directory for this, and does not need it.
    if (process.platform === "win32") return;
    const directory = openSync(this.#directory, "r");
    try {
      fsyncSync(directory);
    } finally {
      closeSync(directory);
    }
  }
}

function cut(path: string, length: number, torn: number): void {
  const file = openSync(path, "r+");
  try {
    ftruncateSync(file, length);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  process.emitWarning(`cut ${torn} bytes of an unfinished write off ${path}`, { code: "TRIHORIZON_TORN_WRITE" });
}

function attempt<T>(what: string, action: () => T): T {
  try {
    return action();
  } catch (cause) {
    if (cause instanceof TrihorizonError) throw cause;
    throw new TrihorizonError("STORE", `${what}: ${reason(cause)}`, { cause });
  }
}
