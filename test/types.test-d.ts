import { expectTypeOf, test } from "vitest";
import {
  createEngine,
  type AppendResult,
  type ErrorCode,
  type Intent,
  type Session,
  type Target,
  type TrihorizonError,
  type Turn,
} from "../src/index.js";

declare const session: Session;

test("what a turn is", () => {
  expectTypeOf(session.assemble("x")).toEqualTypeOf<Turn>();
  expectTypeOf<Turn["intent"]>().toEqualTypeOf<Intent>();
  expectTypeOf<Turn["turnId"]>().toEqualTypeOf<number | null>();
  expectTypeOf<Turn["references"][number]["target"]>().toEqualTypeOf<Target | null>();
  expectTypeOf<Turn["headers"]>().toEqualTypeOf<Record<string, string>>();
  expectTypeOf(session.assembleAsync("x")).resolves.toEqualTypeOf<Turn>();
});

test("an append gives one id or none", () => {
  const result: AppendResult = session.append({ role: "user", content: "x" });
  if (result.turnId !== undefined) expectTypeOf(result.turnId).toEqualTypeOf<number>();
  else expectTypeOf(result.scratchId).toEqualTypeOf<string | undefined>();
});

test("a target tells its kind", () => {
  const target = session.classify("x").references[0]!.target!;
  if (target.kind === "turn") expectTypeOf(target.id).toEqualTypeOf<number>();
  else expectTypeOf(target.id).toEqualTypeOf<string>();
});

test("codes are a closed union", () => {
  expectTypeOf<TrihorizonError["code"]>().toEqualTypeOf<ErrorCode>();
  // @ts-expect-error -- no such code
  const code: ErrorCode = "OOPS";
  expectTypeOf(code).toBeString();
});

test("what is no option is refused by the compiler", () => {
  // @ts-expect-error -- misspelt
  createEngine({ halflife: 6 });
  // @ts-expect-error -- an engine's option is none of a call
  session.assemble("x", { ring: 5 });
  // @ts-expect-error -- a weight is missing
  session.assemble("x", { blend: { P: 0.5, C: 0.5 } });
  // @ts-expect-error -- an array is no vector
  session.assemble("x", { vector: [1, 2, 3] });
  // @ts-expect-error -- no such role
  session.append({ role: "bot", content: "x" });
});
