import { feed } from "../contenders/feed.js";
import { Random } from "../inputs/random.js";
import { Scene } from "../inputs/scenes.js";
import { turnIn } from "../inputs/scripts.js";
import { ratios } from "../measure/statistics.js";
import { race, rotate } from "../measure/throughput.js";
import { vectorEngine } from "../product.js";
import { atMost, type Row } from "../row.js";

/** Other scripts must not pay for the conversion of their text. Length is counted in UTF-16 units. */
export const scripts: Row = {
  number: "6",
  claims: [
    { row: "6.cyrillic", what: "classify, vector given: Cyrillic turn of 1,000 ÷ ASCII", unit: "x", bar: atMost(1.5) },
    { row: "6.chinese", what: "the same, Chinese", unit: "x", bar: atMost(1.5) },
    { row: "6.emoji", what: "the same, emoji", unit: "x", bar: atMost(1.5) },
  ],
  run({ product, lists, effort }) {
    const scene = new Scene(lists).inThread(8);
    const queries = scene.queries(16, 1000);
    const engine = vectorEngine(product);
    const session = feed(engine.session("6"), scene.turns);
    const classify = (texts: readonly string[]) => {
      let next = 0;
      return rotate(
        texts,
        (text) => session.classify(text, { vector: queries[next++ % queries.length]!.vector }).intent,
      );
    };
    const random = new Random(6);
    const turns = (script: "cyrillic" | "chinese" | "emoji") => queries.map(() => turnIn(script, 1000, random));
    const times = race(
      {
        ascii: classify(queries.map(({ text }) => text)),
        cyrillic: classify(turns("cyrillic")),
        chinese: classify(turns("chinese")),
        emoji: classify(turns("emoji")),
      },
      effort,
    );
    engine.close();
    return {
      "6.cyrillic": { rounds: ratios(times.cyrillic, times.ascii) },
      "6.chinese": { rounds: ratios(times.chinese, times.ascii) },
      "6.emoji": { rounds: ratios(times.emoji, times.ascii) },
    };
  },
};
