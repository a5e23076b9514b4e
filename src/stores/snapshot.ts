/**
 * One session's snapshot file: a header line with its checksum, then the bytes.
 *
 * ```
 * trihorizon-snapshot 1 <sha256> <seq> <session, JSON>
 * <bytes>
 * ```
 */
import { createHash } from "node:crypto";
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync } from "node:fs";
import { TrihorizonError } from "../errors.js";
import { writeAll } from "./log.js";

const magic = "trihorizon-snapshot";
const version = "1";

/** Writes a snapshot in one step: a crash leaves the old one or the new one, on disk before this returns. */
export function writeSnapshot(path: string, session: string, seq: number, bytes: Uint8Array): void {
  const rest = `${seq} ${JSON.stringify(session)}`;
  const temporary = `${path}.tmp`;
  const file = openSync(temporary, "w");
  try {
    writeAll(file, Buffer.concat([Buffer.from(`${magic} ${version} ${digest(rest, bytes)} ${rest}\n`), bytes]));
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(temporary, path);
}

/**
 * Reads a snapshot; null when there is none.
 *
 * @throws STORE when it is damaged, or of another version or session.
 */
export function readSnapshot(path: string, session: string): { seq: number; bytes: Uint8Array } | null {
  if (!existsSync(path)) return null;
  const content = readFileSync(path);
  const end = content.indexOf(0x0a);
  const [name, found, sum, seq, ...words] = content.toString("utf8", 0, Math.max(end, 0)).split(" ");
  if (name === magic && found !== version) {
    throw new TrihorizonError(
      "STORE",
      `${path} is a snapshot of version ${found}; this package reads version ${version}`,
      {
        value: found,
        limit: version,
      },
    );
  }
  const bytes = new Uint8Array(content.subarray(end + 1));
  if (name !== magic || sum !== digest(`${seq} ${words.join(" ")}`, bytes)) {
    throw new TrihorizonError("STORE", `${path} is damaged: restore it from a backup, or delete the session`, {
      value: sum,
    });
  }
  if (words.join(" ") !== JSON.stringify(session)) {
    throw new TrihorizonError("STORE", `${path} is the snapshot of another session`, {
      value: words.join(" "),
      limit: session,
    });
  }
  return { seq: Number(seq), bytes };
}

function digest(rest: string, bytes: Uint8Array): string {
  return createHash("sha256").update(rest).update("\n").update(bytes).digest("hex");
}
