import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The package's root: the bench runs from its compiled folder as well as from source. */
export const ROOT = rootAbove(dirname(fileURLToPath(import.meta.url)));

function rootAbove(folder: string): string {
  if (existsSync(join(folder, "packs")) && existsSync(join(folder, "Cargo.toml"))) return folder;
  const parent = dirname(folder);
  if (parent === folder) throw new Error("not inside the trihorizon repository");
  return rootAbove(parent);
}
