/** Vectors in records: little-endian float32, base64. */
import { TrihorizonError } from "./errors.js";
import { kindOf } from "./require.js";

/** Text form of a vector. */
export function encodeVector(vector: Float32Array): string {
  return Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength).toString("base64");
}

/** The vector of its text form. */
export function decodeVector(text: string): Float32Array {
  const bytes = Buffer.from(text, "base64");
  // Pooled buffers need not be aligned to 4: copy.
  return new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
}

/** A float32 vector, or a typed error; dimension and values are the core's to check (G-56). */
export function requireFloats(vector: unknown): Float32Array {
  if (vector instanceof Float32Array) return vector;
  throw new TrihorizonError("INVALID_VECTOR", `a vector must be a Float32Array: got ${kindOf(vector)}`, {
    value: kindOf(vector),
    limit: "Float32Array",
  });
}

/** A float32 vector of its own memory, or a typed error. Costs more than an empty call: V8 makes an object of the memory. */
export function checkVector(vector: unknown): Float32Array {
  const floats = requireFloats(vector);
  if (typeof SharedArrayBuffer !== "undefined" && floats.buffer instanceof SharedArrayBuffer) {
    throw new TrihorizonError(
      "INVALID_VECTOR",
      "a vector on a SharedArrayBuffer may change while it is read: pass a copy",
      {
        value: "SharedArrayBuffer",
        limit: "ArrayBuffer",
      },
    );
  }
  return floats;
}
