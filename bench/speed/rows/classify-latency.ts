import { everyPhrase } from "../../../test/twin/markers.js";
import { feed } from "../contenders/feed.js";
import { Scene } from "../inputs/scenes.js";
import { percentiles } from "../measure/percentiles.js";
import { ratios } from "../measure/statistics.js";
import { rotate } from "../measure/throughput.js";
import { vectorEngine } from "../product.js";
import { atMost, type Row } from "../row.js";

/** With a vector passed in and the locale set. Half of the turns hold a marker or reference phrase. */
export const withVector: Row = {
  number: "1a",
  claims: [
    {
      row: "1a.p50",
      what: "classify, default, 200 characters, 8 turns, vector and locale given",
      unit: "us",
      bar: atMost(6),
    },
    { row: "1a.p99_over_p50", what: "the same: p99 ÷ p50", unit: "x", bar: atMost(2.5) },
  ],
  run({ product, lists, effort }) {
    const scene = new Scene(lists).inThread(8);
    const queries = [...scene.queries(32, 200), ...scene.queries(32, 200, everyPhrase(lists))];
    const engine = vectorEngine(product);
    const session = feed(engine.session("1a"), scene.turns);
    const { p50, p99 } = percentiles(
      rotate(queries, ({ text, vector }) => session.classify(text, { vector, locale: "en" }).intent),
      effort,
    );
    engine.close();
    return { "1a.p50": { rounds: p50 }, "1a.p99_over_p50": { rounds: ratios(p99, p50) } };
  },
};

/** From the text alone. */
export const fromText: Row = {
  number: "1b",
  claims: [
    { row: "1b.p50", what: "the same from text: built-in embedder, automatic locale", unit: "us", bar: atMost(20) },
  ],
  run({ product, lists, effort }) {
    const scene = new Scene(lists).inThread(8);
    const queries = [...scene.queries(32, 200), ...scene.queries(32, 200, everyPhrase(lists))];
    const engine = product.createEngine();
    const session = engine.session("1b");
    for (const { role, content } of scene.turns) session.append({ role, content });
    const { p50 } = percentiles(
      rotate(queries, ({ text }) => session.classify(text).intent),
      effort,
    );
    engine.close();
    return { "1b.p50": { rounds: p50 } };
  },
};
