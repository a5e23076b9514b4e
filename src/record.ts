/** What happened to a session, as lines that rebuild it: written by {@link Journal}, read by {@link replay}. */
import { TrihorizonError } from "./errors.js";
import { type Native, guard } from "./native.js";
import type { StoreRecord } from "./types.js";
import { decodeVector, encodeVector } from "./vector.js";

/** Names the model of the vectors that a session records. */
export interface VectorModel {
  id: string;
}

// `meta`, `options` and `update` are kept as the JSON text that crossed into the core.
type Entry =
  | { op: "append"; role: number; content: string; meta?: object; now: number; vector?: string; model?: string }
  | { op: "assemble"; text: string; options?: object; now: number; vector?: string; model?: string }
  | { op: "thread"; update: object }
  | { op: "delete"; turn: number };

/** A message was appended. */
export function appendRecord(
  role: number,
  content: string,
  meta: string | undefined,
  vector: Float32Array | undefined,
  model: string,
  now: number,
): string {
  return `{"op":"append","role":${role},"content":${JSON.stringify(content)}${field("meta", meta)}${vectorFields(vector, model)},"now":${now}}`;
}

/** A user turn was assembled. */
export function assembleRecord(
  text: string,
  options: string | undefined,
  vector: Float32Array | undefined,
  model: string,
  now: number,
): string {
  return `{"op":"assemble","text":${JSON.stringify(text)}${field("options", options)}${vectorFields(vector, model)},"now":${now}}`;
}

/** The host wrote a thread's state. */
export function threadRecord(update: string): string {
  return `{"op":"thread","update":${update}}`;
}

/** A turn was erased. */
export function deleteRecord(turn: number): string {
  return `{"op":"delete","turn":${turn}}`;
}

/**
 * Applies one record to a native session.
 *
 * @throws STORE when it cannot be read; INVALID_VECTOR when its vector is of another model than `model` (G-56).
 */
export function replay(native: Native, session: number, record: StoreRecord, model: string): void {
  const entry = parse(record);
  guard(() => {
    switch (entry.op) {
      case "append":
        native.append(session, entry.role, entry.content, jsonOf(entry.meta), vectorOf(entry, model), entry.now);
        return;
      case "assemble":
        native.assemble(session, entry.text, jsonOf(entry.options), vectorOf(entry, model), entry.now);
        return;
      case "thread":
        native.updateThread(session, JSON.stringify(entry.update));
        return;
      case "delete":
        native.deleteTurn(session, entry.turn);
        return;
      default:
        throw new TrihorizonError(
          "STORE",
          `record ${record.seq} holds the unknown operation ${JSON.stringify((entry as { op: unknown }).op)}`,
          {
            value: record.data.slice(0, 100),
          },
        );
    }
  });
}

function parse(record: StoreRecord): Entry {
  try {
    return JSON.parse(record.data) as Entry;
  } catch (cause) {
    throw new TrihorizonError("STORE", `record ${record.seq} is not JSON`, { value: record.data.slice(0, 100), cause });
  }
}

function vectorOf(entry: { vector?: string; model?: string }, model: string): Float32Array | undefined {
  if (entry.vector === undefined) return undefined;
  if (entry.model !== model) {
    throw new TrihorizonError(
      "INVALID_VECTOR",
      `the session was recorded with vectors of ${JSON.stringify(entry.model)}, the engine embeds with ${JSON.stringify(model)}`,
      { value: entry.model, limit: model },
    );
  }
  return decodeVector(entry.vector);
}

function field(name: string, json: string | undefined): string {
  return json === undefined ? "" : `,"${name}":${json}`;
}

function vectorFields(vector: Float32Array | undefined, model: string): string {
  return vector === undefined ? "" : `,"vector":"${encodeVector(vector)}","model":${JSON.stringify(model)}`;
}

function jsonOf(value: object | undefined): string | undefined {
  return value === undefined ? undefined : JSON.stringify(value);
}
