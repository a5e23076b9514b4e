import Benchmark from "benchmark";

import type { Effort } from "./effort.js";
import { median } from "./statistics.js";

// Otherwise `benchmark` pastes a contender's source into its loop, which loses the closure it needs.
Benchmark.support.decompilation = false;

/** One way to do the work, by name. */
export type Contenders = Readonly<Record<string, () => unknown>>;

/** Seconds a call, one number a round. */
export type Times<C extends Contenders> = { [name in keyof C]: number[] };

/** Keeps results alive, so that no contender's work can be optimised away. */
export const kept: { result: unknown } = { result: undefined };

/**
 * Measures the contenders side by side: every round runs each of them once, in an order that rotates, so that drift of the
 * machine meets all of them alike.
 */
export function race<C extends Contenders>(contenders: C, effort: Effort): Times<C> {
  const names: Array<keyof C> = Object.keys(contenders);
  const times = Object.fromEntries(names.map((name) => [name, [] as number[]])) as Times<C>;
  for (let round = 0; round < effort.rounds; round++) {
    for (let turn = 0; turn < names.length; turn++) {
      const name = names[(round + turn) % names.length]!;
      globalThis.gc?.();
      times[name].push(secondsACall(contenders[name]!, effort.seconds));
    }
  }
  return times;
}

function secondsACall(run: () => unknown, seconds: number): number {
  const benchmark = new Benchmark(
    () => {
      kept.result = run();
    },
    { minTime: seconds / 10, maxTime: seconds, minSamples: 5 },
  );
  benchmark.run();
  if (benchmark.error !== undefined) throw benchmark.error;
  return median(benchmark.stats.sample);
}

/** Calls `run` with the next item each time, so that no answer can be remembered from the last call. */
export function rotate<T>(items: readonly T[], run: (item: T) => unknown): () => unknown {
  let next = 0;
  return () => {
    if (next === items.length) next = 0;
    return run(items[next++]!);
  };
}
