import { feed } from "../contenders/feed.js";
import { Scene } from "../inputs/scenes.js";
import { ratios } from "../measure/statistics.js";
import { race, rotate } from "../measure/throughput.js";
import { delivered, vectorEngine } from "../product.js";
import { atMost, type Bench, type Row } from "../row.js";

/** 1 = ten times the turns cost ten times as much. */
export const growth: Row = {
  number: "16",
  claims: [
    { row: "16.100_to_1000", what: "growth of assemble, 100 → 1,000 turns, ÷ linear", unit: "x" },
    {
      row: "16.1000_to_10000",
      what: "growth of assemble, 1,000 → 10,000 turns, ÷ linear",
      unit: "x",
      bar: atMost(1.1),
    },
  ],
  run(bench) {
    const engine = vectorEngine(bench.product, { budget: 4000 });
    const times = race(
      {
        small: assembles(bench, engine, 100),
        middle: assembles(bench, engine, 1000),
        large: assembles(bench, engine, 10_000),
      },
      bench.effort,
    );
    engine.close();
    const tenth = (values: number[]) => values.map((value) => value / 10);
    return {
      "16.100_to_1000": { rounds: tenth(ratios(times.middle, times.small)) },
      "16.1000_to_10000": { rounds: tenth(ratios(times.large, times.middle)) },
    };
  },
};

function assembles({ lists }: Bench, engine: ReturnType<typeof vectorEngine>, turns: number): () => unknown {
  const scene = new Scene(lists).digressing(turns);
  const session = feed(engine.session(`16-${turns}`), scene.turns);
  return rotate(scene.queries(32, 100), ({ text, vector }) =>
    delivered(session.assemble(text, { vector, dryRun: true })),
  );
}
