import { readFileSync } from "node:fs";
import * as fc from "fast-check";
import { afterAll, expect, test } from "vitest";
import { createEngine } from "../src/index.js";
import { TurnLog } from "./twin/log.js";
import { everyPhrase, type MarkerLists } from "./twin/markers.js";
import { resolveReferences, type ScratchEntry } from "./twin/references.js";
import { assemble } from "./twin/spec.js";

const lists = JSON.parse(readFileSync(new URL("../packs/spec.json", import.meta.url), "utf8")) as MarkerLists;

const OVERHEAD = 4;
const DIMENSIONS = 5;
const engine = createEngine({
  profile: "spec",
  embedder: { id: "parity", dimensions: DIMENSIONS },
  messageOverhead: OVERHEAD,
  extract: false,
  ring: null,
  clock: () => 0,
});
afterAll(() => engine.close());

/** Lower case, so that the twin and the engine agree on what a letter is wherever case does not change lengths. */
const words = "etcd bug option with quorum unexplained furthermore ß 我想 👩‍👩‍👧 port, result. that's items".split(" ");
const shout = (text: string): string => text.toUpperCase();

/** Turns that hold these can be read as lists in prose ("etcd and then bug"), which the twin does not know. */
const PROSE = /\band\b|\bthe (first|second|third|fourth|fifth|last)\b/i;

function textOf(phrases: readonly string[]): fc.Arbitrary<string> {
  const phrase = fc.constantFrom(...phrases);
  const piece = fc.oneof(
    fc.constantFrom(...words),
    phrase,
    phrase.map(shout),
    phrase.map((text) => `x${text}`),
  );
  return fc.array(piece, { minLength: 1, maxLength: 5 }).map((parts) => parts.join(" "));
}

const any = textOf(everyPhrase(lists));
const plain = textOf(everyPhrase(lists).filter((text) => !PROSE.test(text)));
const list = fc.array(fc.constantFrom(...words), { minLength: 2, maxLength: 5 });
const enumeration = list.map((items) => `Choose:\n${items.map((item, index) => `${index + 1}. ${item}`).join("\n")}`);

// Directions that are near, between the thresholds and far, none of them within rounding of a threshold or of each other.
const vector = fc
  .array(fc.integer({ min: -3, max: 3 }), { minLength: DIMENSIONS, maxLength: DIMENSIONS })
  .filter((numbers) => numbers.some((number) => number !== 0))
  .map((numbers) => Float32Array.from(numbers, (number, index) => number + 0.013 * (index + 1)));

const saying = (content: fc.Arbitrary<string>) => ({ content, vector });
const user = fc.record({ kind: fc.constant("user" as const), ...saying(plain) });
const assistant = fc.record({ kind: fc.constant("assistant" as const), ...saying(fc.oneof(plain, enumeration)) });
const tool = fc.record({ kind: fc.constant("tool" as const), ...saying(plain) });
const last = fc.record({ kind: fc.constant("user" as const), ...saying(any) });
const step = fc.oneof(
  { weight: 4, arbitrary: user },
  { weight: 4, arbitrary: assistant },
  { weight: 1, arbitrary: tool },
);
/** A user begins: which thread an answer to nothing belongs to the document does not say. */
const conversation = fc
  .tuple(user, fc.array(step, { maxLength: 14 }), last)
  .map(([first, rest, end]) => [first, ...rest, end]);

test("the spec profile decides what the pseudo-code decides", () => {
  let id = 0;
  fc.assert(
    fc.property(conversation, fc.integer({ min: 10, max: 400 }), (steps, budget) => {
      const session = engine.session(`parity ${(id += 1)}`);
      const log = new TurnLog();
      const scratch: ScratchEntry[] = [];
      for (const { kind, content, vector: direction } of steps) {
        if (kind === "tool") {
          const { scratchId } = session.append({ role: "tool", name: "t", content });
          scratch.push({ scratchId: scratchId!, tool: "t", output: content });
        } else if (kind === "assistant") {
          session.append({ role: "assistant", content, vector: direction });
          log.append("ASSISTANT", content, direction);
        } else {
          const ours = session.assemble(content, { vector: direction, budget });
          const of = { budget, overhead: OVERHEAD, scratch, count: (said: string) => engine.countTokens(said) };
          const theirs = assemble(content, direction, log, lists, of);
          const resolved = resolveReferences(content, theirs.references, log, scratch);
          expect(ours.intent).toBe(theirs.intent);
          expect(ours.headers).toMatchObject(theirs.headers);
          expect(ours.thread.event).toBe(theirs.thread.event);
          expect(ours.thread.similarity).toBeCloseTo(Math.max(0, theirs.thread.similarity), 5);
          expect(ours.references.map(({ type, text: said, span, target }) => ({ type, said, span, target }))).toEqual(
            resolved.map(({ reference: { type, text: said, span }, target }) => ({ type, said, span, target })),
          );
          // A turn that points at tool output packs it by Tier E's own policy, which is not the pseudo-code's; pinned turns
          // that had to be cut to fit are beyond the twin.
          const wanted = theirs.items.reduce((sum, { tokens }) => sum + tokens, 0);
          if (scratch.length === 0 && wanted <= budget) {
            expect(ours.envelope.items.map((item) => item.id)).toEqual(theirs.items.map((item) => item.id));
          }
          log.append("USER", content, direction);
        }
      }
      expect(partition(session.turns().map(({ thread }) => thread))).toEqual(
        partition(log.turns.map(({ topicThread }) => topicThread)),
      );
    }),
    { numRuns: 400 },
  );
});

/** Threads numbered in the order of their first turns. */
function partition(threads: readonly (string | number)[]): number[] {
  const seen = [...new Set(threads)];
  return threads.map((thread) => seen.indexOf(thread));
}
