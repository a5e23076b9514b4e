import { readFileSync } from "node:fs";
import { join } from "node:path";

import { ROOT } from "../root.js";
import type { MarkerLists } from "../../../test/twin/markers.js";

/** Marker and reference lists of the `spec` profile: one file for the engine, the twin and every contender. */
export function specLists(): MarkerLists {
  return JSON.parse(readFileSync(join(ROOT, "packs", "spec.json"), "utf8")) as MarkerLists;
}
