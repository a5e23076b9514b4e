/**
 * Decides, for every user turn of a chat, what the model should see. Start at {@link createEngine}.
 *
 * @module
 */
export { createEngine, type Engine } from "./engine.js";
export { onnx, type OnnxOptions } from "./embedders/onnx.js";
export { type ErrorCode, errorCodes, type ErrorDetails, TrihorizonError } from "./errors.js";
export type { Facts, SearchOptions } from "./facts.js";
export { engineOptions } from "./options.js";
export type { Session } from "./session.js";
export type { StandardResult, StandardSchema } from "./standard-schema.js";
export { fileStore, type FileStoreOptions } from "./stores/file.js";
export { memoryStore, type MemoryStoreOptions } from "./stores/memory.js";
export type * from "./types.js";
