import { build } from "hdr-histogram-js";

import type { Effort } from "./effort.js";
import { kept } from "./throughput.js";

/** Microseconds, one number a round. */
export interface Percentiles {
  p50: number[];
  p99: number[];
}

/** Times every call by itself. The clock's own cost (some 50 ns) is included. */
export function percentiles(run: () => unknown, effort: Effort, calls = effort.calls): Percentiles {
  const result: Percentiles = { p50: [], p99: [] };
  for (let call = 0; call < calls; call++) kept.result = run();
  for (let round = 0; round < effort.rounds; round++) {
    const histogram = build({
      lowestDiscernibleValue: 1,
      highestTrackableValue: 60e9,
      numberOfSignificantValueDigits: 3,
    });
    globalThis.gc?.();
    for (let call = 0; call < calls; call++) {
      const start = performance.now();
      kept.result = run();
      histogram.recordValue(Math.round((performance.now() - start) * 1e6));
    }
    result.p50.push(histogram.getValueAtPercentile(50) / 1e3);
    result.p99.push(histogram.getValueAtPercentile(99) / 1e3);
  }
  return result;
}
