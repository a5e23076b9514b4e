/** Reading the evaluation data: a folder of subfolders, each with any number of `.jsonl` and `.json` files. */

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Intent, Message, ReferenceType } from "trihorizon";

export interface GoldReference {
  text: string;
  type: ReferenceType[];
  /** Accepted messages, 1-based. */
  target: number[];
  item: number | null;
  row: string | null;
  /** False when only one annotator marked it: counts neither for nor against. */
  agreed: boolean;
}

export interface Label {
  /** 1-based number of the message, tool messages counted. */
  turn: number;
  intent: Intent[];
  event: ("new" | "stay" | "resume")[];
  thread: string | null;
  needs: number[];
  needs_any: number[];
  refs: GoldReference[];
  ellipsis: boolean;
  doc_request: boolean;
  constraints: string[];
  sure: boolean;
  /** Challenge turns only. */
  kind?: string;
}

/** A line of `turns/`. */
export interface Conversation {
  id: string;
  source: string;
  messages: Message[];
  labels: Label[];
}

/** Labelled turns of a rare kind, written for the purpose, as opposed to natural ones. */
export const isChallenge = (conversation: Conversation): boolean =>
  conversation.labels.some((label) => label.kind !== undefined);

/**
 * Every record of every data file of a subfolder, files in name order: the lines of a `.jsonl`, the elements of a JSON
 * array, or the entries of a JSON object as `{ id, value }`. Null when the subfolder is missing.
 */
export function readFolder(root: string, folder: string): unknown[] | null {
  const directory = join(root, folder);
  if (!existsSync(directory)) return null;
  return readdirSync(directory)
    .filter((name) => /\.jsonl?$/.test(name))
    .sort()
    .flatMap((name) => {
      const text = readFileSync(join(directory, name), "utf8");
      if (name.endsWith(".jsonl"))
        return text
          .split("\n")
          .filter((line) => line.trim() !== "")
          .map((line) => JSON.parse(line) as unknown);
      const parsed: unknown = JSON.parse(text);
      if (Array.isArray(parsed)) return parsed as unknown[];
      return Object.entries(parsed as object).map(([id, value]) => ({ id: `${name}/${id}`, value: value as unknown }));
    });
}
