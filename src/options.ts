import { TrihorizonError } from "./errors.js";
import { optionsJson } from "./json.js";
import { guard, native } from "./native.js";
import { kindOf, refuseUnknown, requireFunction, requireObject } from "./require.js";
import type { StandardSchema } from "./standard-schema.js";
import { memoryStore } from "./stores/memory.js";
import type { Embedder, EngineOptions, Store } from "./types.js";

/** Options, taken apart: functions stay here, the rest is the core's to validate. */
export interface SplitOptions {
  /** For the core, validated. */
  json: string;
  maxSessions: number;
  clock: () => number;
  embedder: Embedder | null;
  counter: ((text: string) => number) | null;
  store: Store;
  /** The store is of this engine only. */
  ownStore: boolean;
}

/**
 * Takes options apart and validates them; every rule and default but those of functions is the core's.
 *
 * @throws INVALID_OPTION, INVALID_BLEND, INVALID_BUDGET
 */
export function splitOptions(options: EngineOptions): SplitOptions {
  requireObject("options", options);
  const { clock = Date.now, store = "memory", tokens, embedder, ...rest } = options;
  requireFunction("clock", clock);
  const json = optionsJson("options", {
    ...rest,
    ...(tokens === undefined ? {} : { tokens: typeof tokens === "function" ? "custom" : tokens }),
    ...(embedder === undefined ? {} : { embedder: typeof embedder === "object" ? hostEmbedder(embedder) : embedder }),
  });
  const checked = guard(() => native().checkOptions(json));
  return {
    json: checked,
    maxSessions: (JSON.parse(checked) as { maxSessions: number }).maxSessions,
    clock,
    embedder: typeof embedder === "object" ? embedder : null,
    counter: typeof tokens === "function" ? tokens : null,
    store: store === "memory" ? memoryStore() : requireStore(store),
    ownStore: store === "memory",
  };
}

/**
 * The options of {@link createEngine} as a [Standard Schema](https://standardschema.dev): hand it to any library that
 * validates configuration. It is the same validation that `createEngine` does.
 *
 * @example
 * ```ts
 * const result = engineOptions["~standard"].validate({ halfLife: -1 });
 * result.issues; // [{ message: "halfLife: got -1, expected a number of turns above 0" }]
 * ```
 */
export const engineOptions: StandardSchema<EngineOptions> = {
  "~standard": {
    version: 1,
    vendor: "trihorizon",
    validate(value) {
      try {
        splitOptions(value as EngineOptions);
        return { value: value as EngineOptions };
      } catch (error) {
        if (error instanceof TrihorizonError && error.code !== "ADDON") return { issues: [{ message: error.message }] };
        throw error;
      }
    },
  },
};

function hostEmbedder(embedder: Embedder): object {
  requireObject("embedder", embedder);
  const { id, dimensions, calibration, embed, ...others } = embedder;
  // An instance of a class may hold what it likes; in an object written for this, anything else is a slip.
  if (Object.getPrototypeOf(embedder) === Object.prototype) {
    refuseUnknown("embedder", Object.fromEntries(Object.entries(others).filter(([, value]) => !isFunction(value))));
  }
  if (embed !== undefined) requireFunction("embedder.embed", embed);
  return { host: { id, dimensions, calibration } };
}

function isFunction(value: unknown): boolean {
  return typeof value === "function";
}

function requireStore(store: Store): Store {
  const methods = ["append", "load", "saveSnapshot", "delete", "flush", "close"] as const;
  const missing = methods.find((method) => typeof (store as Partial<Store> | null)?.[method] !== "function");
  if (missing === undefined && typeof store.sync === "boolean") return store;
  throw new TrihorizonError("INVALID_OPTION", `store must be "memory" or a Store: ${missing ?? "sync"} is missing`, {
    value: typeof store === "object" ? kindOf(store) : store,
    limit: methods.join(", "),
  });
}
