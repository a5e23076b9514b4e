/** What a dataset is to the harness. */

import type { Engine, Profile, ThreadEvent } from "trihorizon";
import type { Ranker } from "./baselines.js";
import type { Errors } from "./errors.js";
import type { Sheet } from "./metrics.js";

/** Where the measurements of one dataset go. */
export interface Bench {
  sheet: Sheet;
  errors: Errors;
  /** last-k, BM25 and, when the engine exposes its embedder, dense. */
  rankers: readonly Ranker[];
  /** Records of another subfolder; none when it is missing. */
  read(folder: string): readonly unknown[];
}

/** `T` is a record of the subfolder, trusted to have the documented shape. */
export interface Dataset<T> {
  /** What `--only` accepts, beside the folder. */
  name: string;
  folder: string;
  /** Runs the engine of a profile over the records. */
  measure(records: readonly T[], profile: Profile, engine: Engine, bench: Bench): void;
  /** Runs the simple methods over the records. */
  baselines(records: readonly T[], bench: Bench): void;
}

/** The labels know no `join`: it is a way to stay. */
export const gradedEvent = (event: ThreadEvent): "new" | "resume" | "stay" => (event === "join" ? "stay" : event);
