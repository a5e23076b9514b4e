import { feed, feedRaw } from "../contenders/feed.js";
import { Scene } from "../inputs/scenes.js";
import { ratios } from "../measure/statistics.js";
import { race, rotate } from "../measure/throughput.js";
import { rawVectorEngine, vectorEngine } from "../product.js";
import { atMost, type Row } from "../row.js";

/** What is left when there is nothing to compare with: the crossing and the text pass. */
export const nearEmpty: Row = {
  number: "2",
  claims: [
    {
      row: "2.facade",
      what: "classify, spec, 40 characters, empty thread ÷ empty native call",
      unit: "x",
      bar: atMost(6),
    },
    { row: "2.raw", what: "the same without the façade", unit: "x", bar: atMost(6) },
  ],
  run({ product, lists, effort }) {
    const { raw } = product;
    const texts = new Scene(lists).queries(64, 40).map(({ text }) => text);
    const engine = product.createEngine({ profile: "spec" });
    const session = engine.session("2");
    const rawEngine = raw.engineOpen(JSON.stringify({ profile: "spec" }));
    const rawSession = raw.sessionOpen(rawEngine, "2", "bench");
    const times = race(
      {
        empty: () => raw.nothing(),
        facade: rotate(texts, (text) => session.classify(text).intent),
        raw: rotate(texts, (text) => raw.classify(rawSession, text)),
      },
      effort,
    );
    engine.close();
    raw.engineClose(rawEngine);
    return {
      "2.facade": { rounds: ratios(times.facade, times.empty) },
      "2.raw": { rounds: ratios(times.raw, times.empty) },
    };
  },
};

/** What the typed API costs on top of the binding. */
export const facade: Row = {
  number: "13",
  claims: [{ row: "13", what: "the façade's classify ÷ the raw native call", unit: "x", bar: atMost(1.2) }],
  run({ product, lists, effort }) {
    const { raw } = product;
    const scene = new Scene(lists).inThread(8);
    const queries = scene.queries(64, 200);
    const engine = vectorEngine(product, { locale: "en" });
    const session = feed(engine.session("13"), scene.turns);
    const rawEngine = rawVectorEngine(product, { locale: "en" });
    const rawSession = feedRaw(raw, raw.sessionOpen(rawEngine, "13", "bench"), scene.turns);
    const times = race(
      {
        facade: rotate(queries, ({ text, vector }) => session.classify(text, { vector }).intent),
        raw: rotate(queries, ({ text, vector }) => raw.classify(rawSession, text, 0, vector)),
      },
      effort,
    );
    engine.close();
    raw.engineClose(rawEngine);
    return { "13": { rounds: ratios(times.facade, times.raw) } };
  },
};
