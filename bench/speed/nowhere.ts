import type { Store } from "../../src/types.js";

/** Keeps nothing, so that what is measured is the engine and not a store. */
export const nowhere: Store = {
  sync: true,
  append: () => undefined,
  load: () => ({ snapshot: null, records: [] }),
  saveSnapshot: () => undefined,
  delete: () => undefined,
  flush: () => Promise.resolve(),
  close: () => undefined,
};
