import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import type {
  AppendMessage,
  AssembleOptions,
  Classification,
  ClassifyOptions,
  EngineOptions,
  Info,
  Message,
  Turn,
} from "../../src/types.js";
import { DIMENSIONS } from "./inputs/vectors.js";
import { ROOT } from "./root.js";

/** The part of the public API that is measured. */
export interface Session {
  append(message: AppendMessage): unknown;
  sync(messages: readonly Message[]): unknown;
  classify(text: string, options?: ClassifyOptions): Classification;
  assemble(text: string, options?: AssembleOptions): Turn;
}

export interface Engine {
  session(id: string): Session;
  deleteSession(id: string): unknown;
  embed(text: string): Float32Array;
  info(): Info;
  close(): unknown;
}

/** The part of the raw binding that is measured. */
export interface Raw {
  /** Does nothing: what a crossing costs. */
  nothing(): void;
  engineOpen(optionsJson: string): number;
  engineClose(engine: number): void;
  sessionOpen(engine: number, id: string, namespace: string): number;
  append(
    session: number,
    role: number,
    content: string,
    meta: string | undefined,
    vector: Float32Array | undefined,
    now: number,
  ): number;
  classify(session: number, text: string, overrides?: number | string, vector?: Float32Array): unknown;
  /** Bytes outside its heap that V8 was told of. */
  externalMemory(): number;
  countTokens(engine: number, text: string): number;
}

export interface Product {
  createEngine(options?: EngineOptions): Engine;
  raw: Raw;
}

/** The package as built in this checkout. */
export async function loadProduct(): Promise<Product> {
  const facade = (await import(pathToFileURL(join(ROOT, "dist", "index.js")).href)) as Pick<Product, "createEngine">;
  const addon = createRequire(import.meta.url)(join(ROOT, "index.js")) as Raw & { classifier(): Raw["classify"] };
  return { createEngine: facade.createEngine, raw: { ...addon, classify: addon.classifier() } };
}

/** An engine whose vectors are always passed in. The log keeps every turn (the `spec` profile's ring would keep 50). */
export function vectorEngine(product: Product, options: EngineOptions = {}): Engine {
  return product.createEngine({ embedder: { id: "bench", dimensions: DIMENSIONS }, ring: 1_000_000, ...options });
}

/** The same through the raw binding; engine handle. */
export function rawVectorEngine({ raw }: Product, options: object = {}): number {
  return raw.engineOpen(
    JSON.stringify({ embedder: { host: { id: "bench", dimensions: DIMENSIONS } }, ring: 1_000_000, ...options }),
  );
}

/** Takes from a turn what a gateway sends on, so that nothing stays unbuilt. */
export function delivered(turn: Turn): number {
  return turn.envelope.items.length + turn.messages.length + Object.keys(turn.headers).length;
}
