import type { Turn } from "../../../src/types.js";
import { type AssembledTurn, assemble as specAssemble } from "../../../test/twin/spec.js";
import { feed, goodLog, specLog } from "../contenders/feed.js";
import { type GoodTurn, assemble as goodAssemble } from "../contenders/good/assemble.js";
import { type GptTokenizer, optional } from "../contenders/packages.js";
import { Scene } from "../inputs/scenes.js";
import { agree } from "../measure/agree.js";
import { ratios } from "../measure/statistics.js";
import { race, rotate } from "../measure/throughput.js";
import { delivered, vectorEngine } from "../product.js";
import { atLeast, type Bench, type Claim, type Findings, type Row } from "../row.js";

const BUDGET = 4000;
/** `messageOverhead` of the engine. */
const OVERHEAD = 4;

const BARS = [
  { turns: 100, good: 10, spec: 100 },
  { turns: 1000, good: 20, spec: 250 },
  { turns: 5000, good: 15, spec: null },
] as const;

/** One envelope with messages and headers, `spec` profile, vector passed in, dry. */
export const assemble: Row = {
  number: "10",
  claims: BARS.flatMap(({ turns, good, spec }): Claim[] => [
    {
      row: `10.${turns}.good_js`,
      what: `assemble, budget 4,000, ${turns} turns: good JS ÷ ours`,
      unit: "x",
      bar: atLeast(good),
    },
    ...(spec === null
      ? []
      : [
          {
            row: `10.${turns}.spec_js`,
            what: `the same: pseudo-code in JS with gpt-tokenizer recount ÷ ours`,
            unit: "x" as const,
            bar: atLeast(spec),
          },
        ]),
  ]),
  async run(bench) {
    const gpt = await optional("gpt-tokenizer/encoding/o200k_base");
    if (gpt instanceof Error) return Object.fromEntries(this.claims.map(({ row }) => [row, { missing: gpt.message }]));
    const findings: Findings[] = BARS.map(({ turns, spec }) => measure(bench, turns, spec !== null, gpt));
    return Object.assign({}, ...findings) as Findings;
  },
};

function measure({ product, lists, effort }: Bench, turns: number, withSpec: boolean, gpt: GptTokenizer): Findings {
  const scene = new Scene(lists).digressing(turns);
  const queries = scene.queries(32, 100).map((query) => ({ ...query, array: Array.from(query.vector) }));
  const engine = vectorEngine(product, { profile: "spec", budget: BUDGET, extract: false, messageOverhead: OVERHEAD });
  const session = feed(engine.session("10"), scene.turns);
  const log = goodLog(scene.turns, lists, (text) => gpt.countTokens(text));
  const ours = ({ text, vector }: Query) => session.assemble(text, { vector, dryRun: true });
  const good = ({ text, vector }: Query) => goodAssemble(log, text, vector, BUDGET, OVERHEAD);

  const options = { budget: BUDGET, overhead: OVERHEAD, count: (text: string) => gpt.countTokens(text) };
  const naive = withSpec ? specLog(scene.turns) : null;
  const spec = naive === null ? null : ({ text, array }: Query) => specAssemble(text, array, naive, lists, options);

  for (const query of queries) {
    const turn = ours(query);
    const answers = {
      trihorizon: fromEngine(turn),
      good_js: fromGood(good(query)),
      ...(spec === null ? {} : { spec_js: fromSpec(spec(query)) }),
    };
    agree(`envelope of ${JSON.stringify(query.text)} over ${turns} turns`, answers);
  }
  const times = race({ ours: rotate(queries, (query) => delivered(ours(query))), good: rotate(queries, good) }, effort);
  const findings: Record<string, Findings[string]> = {
    [`10.${turns}.good_js`]: { rounds: ratios(times.good, times.ours) },
  };
  if (spec !== null) {
    const slow = race(
      { ours: rotate(queries, (query) => delivered(ours(query))), spec: rotate(queries, spec) },
      effort,
    );
    findings[`10.${turns}.spec_js`] = { rounds: ratios(slow.spec, slow.ours) };
  }
  engine.close();
  return findings;
}

interface Query {
  text: string;
  vector: Float32Array;
  array: number[];
}

/** What all contenders have to agree on. The thread's name is left out: only the engine makes one. */
interface Answer {
  intent: string;
  items: unknown[];
  tokens: number;
  messages: unknown[];
  headers: Record<string, string>;
}

function fromEngine({ intent, envelope, messages, headers }: Turn): Answer {
  const { "CRP-Context-Active-Thread": _, ...others } = headers;
  return { intent, items: envelope.items.map(({ id }) => id), tokens: envelope.tokens, messages, headers: others };
}

function fromGood({ intent, items, tokens, messages, headers }: GoodTurn): Answer {
  return { intent, items, tokens, messages, headers };
}

function fromSpec({ intent, items, messages, headers }: AssembledTurn): Answer {
  const tokens = items.reduce((sum, item) => sum + item.tokens, 0);
  return { intent, items: items.map(({ id }) => id), tokens, messages, headers };
}
