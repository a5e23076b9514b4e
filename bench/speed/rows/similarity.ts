import { feed } from "../contenders/feed.js";
import { nearest } from "../contenders/nearest.js";
import { Scene } from "../inputs/scenes.js";
import { agreeWithin } from "../measure/agree.js";
import { ratios } from "../measure/statistics.js";
import { race, rotate } from "../measure/throughput.js";
import { vectorEngine } from "../product.js";
import { atLeast, type Finding, type Row } from "../row.js";

const TURNS = 1000;

/** One vector against a thousand. Ours is a whole `classify` call (spec, 40 characters), so its true ratio is higher. */
export const similarity: Row = {
  number: "7",
  claims: [
    {
      row: "7.good_js",
      what: "maximum similarity over 1,000 × 384: unrolled JS ÷ ours",
      unit: "x",
      bar: atLeast(20),
    },
    { row: "7.blocked_js", what: "the same in JS that takes four rows at a time ÷ ours", unit: "x" },
    { row: "7.simsimd", what: "simsimd, pair by pair ÷ ours", unit: "x", bar: atLeast(12) },
    { row: "7.usearch", what: "usearch, exact search ÷ ours", unit: "x", bar: atLeast(7) },
  ],
  async run({ product, lists, effort }) {
    const scene = new Scene(lists).inThread(TURNS);
    const queries = scene.queries(16, 40);
    const engine = vectorEngine(product, { profile: "spec" });
    const session = feed(engine.session("7"), scene.turns);
    const others = Object.entries(await nearest(scene.turns.map(({ vector }) => vector)));

    const contenders: Record<string, () => unknown> = {
      ours: rotate(queries, ({ text, vector }) => session.classify(text, { vector }).intent),
    };
    for (const [name, find] of others) {
      if (find instanceof Error) continue;
      for (const { text, vector } of queries) {
        const ours = session.classify(text, { vector }).similarity;
        agreeWithin("maximum similarity", 1e-4, { trihorizon: ours, [name]: find(vector) });
      }
      contenders[name] = rotate(queries, ({ vector }) => find(vector));
    }
    const times = race(contenders, effort);
    engine.close();
    const findings = others.map(([name, find]): [string, Finding] => [
      `7.${name}`,
      find instanceof Error ? { missing: find.message } : { rounds: ratios(times[name]!, times["ours"]!) },
    ]);
    return Object.fromEntries(findings);
  },
};
