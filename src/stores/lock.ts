/** One writer a directory: a lock file that names its process, recovered when that process is gone. */
import { linkSync, readFileSync, renameSync, statSync, unlinkSync, utimesSync, writeFileSync } from "node:fs";
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { join } from "node:path";
import { TrihorizonError } from "../errors.js";

interface Owner {
  token: string;
  pid: number;
  host: string;
  /** When the process started: a pid alone may have been given to another one. */
  started: string;
}

// A lock of another host (a container that is gone, on a shared volume) cannot be asked; its holder touches it this often.
const heartbeatMs = 10_000;
const abandonedMs = 60_000;

/** Held from construction until `release`. */
export class DirectoryLock {
  readonly #path: string;
  readonly #owner: Owner = { token: randomUUID(), pid: process.pid, host: hostname(), started: startOf(process.pid) };
  readonly #timer: NodeJS.Timeout;

  /** @throws STORE when another live process, or another store of this one, writes to the directory. */
  constructor(directory: string) {
    this.#path = join(directory, "lock");
    if (!this.#create()) this.#takeOver(directory);
    this.#timer = setInterval(() => this.#touch(), heartbeatMs).unref();
  }

  /** @throws STORE when somebody took the lock, for instance by deleting the file. */
  verify(): void {
    if (readOwner(this.#path)?.token === this.#owner.token) return;
    throw new TrihorizonError(
      "STORE",
      `the lock ${this.#path} was taken by another process: what was written since is not safe`,
      {
        value: readOwner(this.#path)?.pid ?? null,
        limit: process.pid,
      },
    );
  }

  /** Gives the directory free; idempotent. */
  release(): void {
    clearInterval(this.#timer);
    if (readOwner(this.#path)?.token === this.#owner.token) unlinkSync(this.#path);
  }

  /** A link makes the whole file appear at once; where links are not supported it is created, then written. */
  #create(): boolean {
    const mine = this.#write();
    try {
      linkSync(mine, this.#path);
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    } finally {
      unlinkSync(mine);
    }
    try {
      writeFileSync(this.#path, JSON.stringify(this.#owner), { flag: "wx" });
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
      throw error;
    }
  }

  #write(): string {
    const mine = `${this.#path}.${this.#owner.token}`;
    writeFileSync(mine, JSON.stringify(this.#owner));
    return mine;
  }

  #takeOver(directory: string): void {
    const holder = readOwner(this.#path);
    if (holder !== null ? isAlive(holder, this.#path) : ageOf(this.#path) < 2_000) {
      throw new TrihorizonError(
        "STORE",
        `${directory} is written by another store (process ${holder?.pid ?? "unknown"} on ${holder?.host ?? "this host"}): close it first; if it is certain that nothing writes there, delete ${this.#path}`,
        { value: holder?.pid ?? null, limit: "one writer a directory" },
      );
    }
    renameSync(this.#write(), this.#path);
    // Several processes may recover the same stale lock: the last rename wins, the others see it here.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 25);
    this.verify();
  }

  #touch(): void {
    try {
      const now = new Date();
      if (readOwner(this.#path)?.token === this.#owner.token) utimesSync(this.#path, now, now);
    } catch {
      // The next flush verifies the lock and reports.
    }
  }
}

function readOwner(path: string): Owner | null {
  try {
    return JSON.parse(readFileSync(path, "utf8")) as Owner;
  } catch {
    return null;
  }
}

function isAlive(owner: Owner, path: string): boolean {
  if (owner.host !== hostname()) return ageOf(path) < abandonedMs;
  try {
    process.kill(owner.pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return false;
  }
  const started = startOf(owner.pid);
  return started === "" || owner.started === "" || started === owner.started;
}

/** Start time of a process, in the system's own terms; "" when the system does not tell. */
function startOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "";
  } catch {
    return "";
  }
}

function ageOf(path: string): number {
  try {
    return Date.now() - statSync(path).mtimeMs;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
