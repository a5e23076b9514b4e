/**
 * One session's append-only log: a header line, then one line a record, each with its checksum. Lines, so that a person
 * can read them.
 *
 * ```
 * trihorizon-log 1 <crc32> <session, JSON>
 * <crc32> <seq> <data>
 * ```
 */
import {
  closeSync,
  existsSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readFileSync,
  renameSync,
  writeSync,
} from "node:fs";
import { crc32 } from "node:zlib";
import { TrihorizonError } from "../errors.js";
import type { StoreRecord } from "../types.js";

const magic = "trihorizon-log";
const version = "1";
const newline = 0x0a;

/** What reading a log gave. */
export interface LogContent {
  records: StoreRecord[];
  /** Bytes up to the end of the last good line. */
  length: number;
  /** Bytes of a torn last write behind it. */
  torn: number;
}

/** The header line of a session's log. */
export function headerLine(session: string): Buffer {
  const name = JSON.stringify(session);
  return Buffer.from(`${magic} ${version} ${checksum(name)} ${name}\n`);
}

/** The line of a record. */
export function recordLine(record: StoreRecord): Buffer {
  const text = `${record.seq} ${record.data}`;
  return Buffer.from(`${checksum(text)} ${text}\n`);
}

/**
 * Reads a log. A last write that was cut short (or, after a power failure, a stretch of zeros) is reported as torn; damage
 * with good records behind it is an error.
 *
 * @throws STORE when the log is of another version or session, or damaged in its middle.
 */
export function readLog(path: string, session: string): LogContent {
  if (!existsSync(path)) return { records: [], length: 0, torn: 0 };
  const bytes = readFileSync(path);
  const header = headerLine(session);
  if (bytes.length < header.length && header.subarray(0, bytes.length).equals(bytes)) {
    return { records: [], length: 0, torn: bytes.length };
  }
  if (!bytes.subarray(0, header.length).equals(header)) throw foreign(path, bytes, session);

  const records: StoreRecord[] = [];
  let start = header.length;
  while (start < bytes.length) {
    const end = bytes.indexOf(newline, start);
    const record = end < 0 ? null : parseLine(bytes.toString("utf8", start, end));
    if (record === null) {
      if (bytes[start] !== 0 && end >= 0) refuseDamage(path, bytes, start, end);
      break;
    }
    const last = records.at(-1)?.seq;
    if (last !== undefined && record.seq !== last + 1) {
      throw new TrihorizonError("STORE", `${path} skips from record ${last} to ${record.seq}: it was altered`, {
        value: record.seq,
        limit: last + 1,
      });
    }
    records.push(record);
    start = end + 1;
  }
  return { records, length: start, torn: bytes.length - start };
}

/** Replaces a log in one step: a reader, or a crash, sees the old one or the new one. */
export function rewriteLog(path: string, session: string, records: readonly StoreRecord[]): void {
  const temporary = `${path}.tmp`;
  const file = openSync(temporary, "w");
  try {
    writeAll(file, Buffer.concat([headerLine(session), ...records.map(recordLine)]));
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(temporary, path);
}

/**
 * Appends whole lines to a log of known length; after a failed write what it left is cut off again.
 *
 * @returns the new length in bytes.
 */
export function appendTo(file: number, length: number, lines: Buffer): number {
  try {
    writeAll(file, lines);
  } catch (error) {
    ftruncateSync(file, length);
    throw error;
  }
  return length + lines.length;
}

/** Writes all of it: one call may write less. */
export function writeAll(file: number, bytes: Uint8Array): void {
  for (let done = 0; done < bytes.length;) done += writeSync(file, bytes, done);
}

function parseLine(line: string): StoreRecord | null {
  const text = line.slice(9);
  if (line[8] !== " " || checksum(text) !== line.slice(0, 8)) return null;
  const space = text.indexOf(" ");
  return { seq: Number(text.slice(0, space)), data: text.slice(space + 1) };
}

function refuseDamage(path: string, bytes: Buffer, start: number, end: number): void {
  for (let from = end + 1; from < bytes.length;) {
    const to = bytes.indexOf(newline, from);
    if (to < 0) return;
    if (parseLine(bytes.toString("utf8", from, to)) !== null) {
      throw new TrihorizonError(
        "STORE",
        `${path} is damaged at byte ${start}, with good records behind it: restore it from a backup, or delete the session`,
        { value: start },
      );
    }
    from = to + 1;
  }
}

function foreign(path: string, bytes: Buffer, session: string): TrihorizonError {
  const line = bytes.toString("utf8", 0, Math.max(0, bytes.indexOf(newline)));
  const [name, found] = line.split(" ");
  if (name === magic && found !== version) {
    return new TrihorizonError("STORE", `${path} is a log of version ${found}; this package reads version ${version}`, {
      value: found,
      limit: version,
    });
  }
  return new TrihorizonError("STORE", `${path} is not the log of session ${session}`, {
    value: line.slice(0, 100),
    limit: session,
  });
}

function checksum(text: string): string {
  return crc32(text).toString(16).padStart(8, "0");
}
