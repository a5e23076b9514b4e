import { storeError, type TrihorizonError } from "./errors.js";
import type { Store } from "./types.js";

/**
 * Writes one session's records through to its store, in order, and remembers what went wrong until somebody is told.
 * With a store of this engine only (`store: "memory"`) nothing is written: the live session is the only copy needed.
 */
export class Journal {
  readonly #store: Store;
  readonly #key: string;
  readonly #through: boolean;
  #seq = 0;
  #sinceSnapshot = 0;
  #tail: Promise<void> | null = null;
  #failure: TrihorizonError | null = null;

  constructor(store: Store, key: string, through: boolean) {
    this.#store = store;
    this.#key = key;
    this.#through = through;
  }

  /** Where the stored history ends. */
  get seq(): number {
    return this.#seq;
  }

  /** True while an asynchronous store has not taken everything yet. */
  get pending(): boolean {
    return this.#tail !== null;
  }

  /** True when the next record would be kept. */
  get through(): boolean {
    return this.#through;
  }

  /** The history in the store ends at `seq`, `records` of them since its snapshot. */
  resume(seq: number, records: number): void {
    this.#seq = seq;
    this.#sinceSnapshot = records;
  }

  /**
   * Writes one record.
   *
   * @throws STORE when a synchronous store fails; the failure of an asynchronous one is kept for {@link check}.
   */
  write(data: string): void {
    if (!this.#through) return;
    this.#seq += 1;
    this.#sinceSnapshot += 1;
    const record = { seq: this.#seq, data };
    this.#run(() => this.#store.append(this.#key, record));
  }

  /** True when the store asks for a snapshot by now. */
  get wantsSnapshot(): boolean {
    const every = this.#store.snapshotEvery;
    return this.#through && every !== undefined && this.#sinceSnapshot >= every;
  }

  /** Replaces everything written so far. */
  saveSnapshot(bytes: Uint8Array): void {
    const seq = this.#seq;
    this.#sinceSnapshot = 0;
    this.#run(() => this.#store.saveSnapshot(this.#key, seq, bytes));
  }

  /**
   * Throws the failure of an earlier asynchronous write, once.
   *
   * @throws STORE
   */
  check(): void {
    const failure = this.#failure;
    this.#failure = null;
    if (failure !== null) throw failure;
  }

  /** True when an asynchronous write failed and nobody was told yet. */
  get failed(): boolean {
    return this.#failure !== null;
  }

  /**
   * Resolves when the store has taken everything written so far.
   *
   * @throws STORE when a write failed; once.
   */
  async settled(): Promise<void> {
    while (this.#tail !== null) await this.#tail;
    this.check();
  }

  #run(action: () => void | Promise<void>): void {
    if (this.#tail === null) {
      try {
        const result = action();
        if (result !== undefined) this.#follow(result);
      } catch (cause) {
        throw storeError(`the store failed on session ${this.#key}`, cause);
      }
      return;
    }
    // One write at a time: the order is the store's only from then on.
    this.#follow(this.#tail.then(() => (this.#failure === null ? action() : undefined)));
  }

  #follow(result: Promise<void>): void {
    const tail = result.then(undefined, (cause: unknown) => {
      this.#failure ??= storeError(`the store failed on session ${this.#key}`, cause);
    });
    this.#tail = tail;
    void tail.then(() => {
      if (this.#tail === tail) this.#tail = null;
    });
  }
}
