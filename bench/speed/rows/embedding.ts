import { readFileSync } from "node:fs";
import { join } from "node:path";

import { GoodEmbedder } from "../contenders/good/embedder.js";
import { Scene } from "../inputs/scenes.js";
import { agreeWithin } from "../measure/agree.js";
import { percentiles } from "../measure/percentiles.js";
import { ratios } from "../measure/statistics.js";
import { race, rotate } from "../measure/throughput.js";
import { ROOT } from "../root.js";
import { atLeast, atMost, type Bench, type Findings, type Row } from "../row.js";

/** From text to vector: the built-in table against the same table in JavaScript. */
export const embedding: Row = {
  number: "9",
  claims: [
    { row: "9.20.p50", what: "static embedding from text, 20 tokens", unit: "us", bar: atMost(5) },
    {
      row: "9.20.good_js",
      what: "JS with the same table and vocabulary ÷ ours, 20 tokens",
      unit: "x",
      bar: atLeast(15),
    },
    { row: "9.200.p50", what: "static embedding from text, 200 tokens", unit: "us", bar: atMost(40) },
    {
      row: "9.200.good_js",
      what: "JS with the same table and vocabulary ÷ ours, 200 tokens",
      unit: "x",
      bar: atLeast(15),
    },
  ],
  run(bench) {
    const embedder = new GoodEmbedder(readFileSync(join(ROOT, "crates", "core", "data", "embedder.bin")));
    return { ...measure(bench, embedder, 20), ...measure(bench, embedder, 200) };
  },
};

function measure({ product, lists, effort }: Bench, embedder: GoodEmbedder, length: number): Findings {
  const texts = new Scene(lists).queries(64, length * 8).map(({ text }) => shortened(text, length, embedder));
  const engine = product.createEngine();
  for (const text of texts)
    agreeWithin(`cosine of the vectors of ${JSON.stringify(text)}`, 1e-4, {
      self: 1,
      both: dot(embedder.embed(text), engine.embed(text)),
    });
  const ours = rotate(texts, (text) => engine.embed(text));
  const { p50 } = percentiles(ours, effort);
  const times = race({ js: rotate(texts, (text) => embedder.embed(text)), ours }, effort);
  engine.close();
  return { [`9.${length}.p50`]: { rounds: p50 }, [`9.${length}.good_js`]: { rounds: ratios(times.js, times.ours) } };
}

/** The longest run of whole words from the start that has at most `length` tokens. */
function shortened(text: string, length: number, embedder: GoodEmbedder): string {
  const words = text.split(" ");
  while (embedder.tokens(words.join(" ")).length > length) words.pop();
  return words.join(" ");
}

function dot(a: Float32Array, b: Float32Array): number {
  return a.reduce((sum, value, i) => sum + value * b[i]!, 0);
}
