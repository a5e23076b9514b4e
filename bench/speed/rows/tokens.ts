import { o200kTokenizerJson } from "../contenders/o200k.js";
import { optional } from "../contenders/packages.js";
import { Scene } from "../inputs/scenes.js";
import { agree } from "../measure/agree.js";
import { ratios } from "../measure/statistics.js";
import { race, rotate } from "../measure/throughput.js";
import { atLeast, type Row } from "../row.js";

/** Tokens of chat turns of 200 characters, `o200k_base` everywhere. */
export const tokens: Row = {
  number: "8",
  claims: [
    { row: "8.gpt_tokenizer", what: "token count of a chat turn: gpt-tokenizer ÷ ours", unit: "x", bar: atLeast(5) },
    {
      row: "8.hf_tokenizers",
      what: "@huggingface/tokenizers with the same vocabulary ÷ ours",
      unit: "x",
      bar: atLeast(50),
    },
  ],
  async run({ product, lists, effort }) {
    const { raw } = product;
    const gpt = await optional("gpt-tokenizer/encoding/o200k_base");
    if (gpt instanceof Error)
      return { "8.gpt_tokenizer": { missing: gpt.message }, "8.hf_tokenizers": { missing: gpt.message } };
    const hf = await optional("@huggingface/tokenizers");
    const tokenizer = hf instanceof Error ? null : new hf.Tokenizer(await o200kTokenizerJson(), {});
    const texts = new Scene(lists).queries(256, 200).map(({ text }) => text);
    const engine = raw.engineOpen(JSON.stringify({ tokens: "o200k" }));
    const contenders = {
      ours: (text: string) => raw.countTokens(engine, text),
      gpt: (text: string) => gpt.countTokens(text),
      ...(tokenizer === null ? {} : { hf: (text: string) => tokenizer.encode(text).ids.length }),
    };
    for (const text of texts)
      agree(
        `tokens of ${JSON.stringify(text)}`,
        Object.fromEntries(Object.entries(contenders).map(([name, count]) => [name, count(text)])),
      );
    const times = race(
      Object.fromEntries(Object.entries(contenders).map(([name, count]) => [name, rotate(texts, count)])),
      effort,
    ) as Record<string, number[]>;
    raw.engineClose(engine);
    return {
      "8.gpt_tokenizer": { rounds: ratios(times["gpt"]!, times["ours"]!) },
      "8.hf_tokenizers":
        hf instanceof Error ? { missing: hf.message } : { rounds: ratios(times["hf"]!, times["ours"]!) },
    };
  },
};
