import { Scene } from "../inputs/scenes.js";
import { percentiles } from "../measure/percentiles.js";
import { rotate } from "../measure/throughput.js";
import { delivered } from "../product.js";
import { atMost, type Row } from "../row.js";

const TURNS = 1000;

/** The whole way: embedding, references, thread, intent, selection, packing, messages and headers. Dry, so that the log stays at its length. */
export const assembleLatency: Row = {
  number: "11",
  claims: [
    {
      row: "11.p50",
      what: "assemble over 1,000 turns, text to headers, built-in embedder: p50",
      unit: "us",
      bar: atMost(100),
    },
    { row: "11.p99", what: "the same: p99", unit: "us", bar: atMost(250) },
  ],
  run({ product, lists, effort }) {
    const scene = new Scene(lists).digressing(TURNS);
    const texts = scene.queries(64, 100).map(({ text }) => text);
    const engine = product.createEngine({ budget: 4000 });
    const session = engine.session("11");
    for (const { role, content } of scene.turns) session.append({ role, content });
    const { p50, p99 } = percentiles(
      rotate(texts, (text) => delivered(session.assemble(text, { dryRun: true }))),
      effort,
      effort.calls / 5,
    );
    engine.close();
    return { "11.p50": { rounds: p50 }, "11.p99": { rounds: p99 } };
  },
};
