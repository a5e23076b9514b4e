import { TrihorizonError } from "../errors.js";
import { refuseUnknown, requireCount } from "../require.js";
import type { Store, StoredSession, StoreRecord } from "../types.js";

/** Options of {@link memoryStore}. */
export interface MemoryStoreOptions {
  /** Sessions kept; the one written or read longest ago is dropped first. A positive whole number, 10,000 by default. */
  maxSessions?: number | undefined;
}

interface Entry {
  snapshot: { seq: number; bytes: Uint8Array } | null;
  records: StoreRecord[];
}

/**
 * Sessions in this process's memory, bounded, lost with it. Synchronous. One store may be shared by several engines, one
 * after the other.
 *
 * @throws INVALID_OPTION when `maxSessions` is not a positive whole number.
 * @example
 * ```ts
 * const engine = createEngine({ store: memoryStore({ maxSessions: 500 }) });
 * ```
 */
export function memoryStore(options: MemoryStoreOptions = {}): Store {
  const { maxSessions = 10_000, ...unknown } = options;
  refuseUnknown("memoryStore", unknown);
  requireCount("memoryStore.maxSessions", maxSessions);
  return new MemoryStore(maxSessions);
}

class MemoryStore implements Store {
  readonly sync = true;
  readonly #max: number;
  // Insertion order is the order of use.
  readonly #sessions = new Map<string, Entry>();

  constructor(max: number) {
    this.#max = max;
  }

  append(session: string, record: StoreRecord): void {
    const entry = this.#entry(session);
    const last = entry.records.at(-1)?.seq ?? entry.snapshot?.seq ?? 0;
    if (record.seq <= last) return;
    requireNext(session, record.seq, last);
    entry.records.push({ seq: record.seq, data: record.data });
  }

  load(session: string): StoredSession {
    const entry = this.#sessions.get(session);
    if (entry === undefined) return { snapshot: null, records: [] };
    this.#touch(session, entry);
    return { snapshot: entry.snapshot, records: [...entry.records] };
  }

  saveSnapshot(session: string, seq: number, bytes: Uint8Array): void {
    const entry = this.#entry(session);
    if (seq < (entry.snapshot?.seq ?? 0)) return;
    entry.snapshot = { seq, bytes: bytes.slice() };
    entry.records = entry.records.filter((record) => record.seq > seq);
  }

  delete(session: string): void {
    this.#sessions.delete(session);
  }

  flush(): Promise<void> {
    return Promise.resolve();
  }

  close(): void {
    // Kept: another engine may open the same store again.
  }

  #entry(session: string): Entry {
    const entry = this.#sessions.get(session) ?? { snapshot: null, records: [] };
    this.#touch(session, entry);
    return entry;
  }

  #touch(session: string, entry: Entry): void {
    this.#sessions.delete(session);
    this.#sessions.set(session, entry);
    if (this.#sessions.size > this.#max) {
      const [oldest] = this.#sessions.keys();
      this.#sessions.delete(oldest as string);
    }
  }
}

/** @internal Refuses a record that would leave a gap: the ones before it were lost. */
export function requireNext(session: string, seq: number, last: number): void {
  if (seq !== last + 1) {
    throw new TrihorizonError(
      "STORE",
      `record ${seq} of session ${session} would leave a gap: the store has ${last} records`,
      {
        value: seq,
        limit: last + 1,
      },
    );
  }
}
