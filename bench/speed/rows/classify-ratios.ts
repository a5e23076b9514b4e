import { classifyIntent } from "../../../test/twin/intent.js";
import { feed, goodLog, specLog } from "../contenders/feed.js";
import { type Query, Scene } from "../inputs/scenes.js";
import { agree, agreeWithin } from "../measure/agree.js";
import { ratios } from "../measure/statistics.js";
import { race, rotate } from "../measure/throughput.js";
import { type Session, vectorEngine } from "../product.js";
import { atLeast, type Bench, type Claim, type Finding, type Row } from "../row.js";

interface Case {
  claim: Claim;
  turns: number;
  /** Phrases that the turns hold; none = no marker hit. */
  phrases: readonly string[];
}

const LENGTH = 200;

/** Against the specification's pseudo-code, line by line. */
export const pseudoCode: Row = ratioRow("3", "spec_js", "pseudo-code in JS", [
  [8, 80],
  [100, 80],
  [500, 80],
]);

/** Against good JavaScript. */
export const goodJs: Row = ratioRow(
  "4",
  "good_js",
  "good JS",
  [
    [0, 2],
    [8, 10],
    [100, 25],
    [500, 40],
  ],
  1.2,
);

function ratioRow(
  number: string,
  contender: "spec_js" | "good_js",
  name: string,
  bars: ReadonlyArray<readonly [turns: number, bar: number]>,
  markerBar?: number,
): Row {
  const claim = (variant: string, what: string, bar: number): Claim => ({
    row: `${number}.${variant}.${contender}`,
    what: `${name} ÷ classify (spec), ${what}`,
    unit: "x",
    bar: atLeast(bar),
  });
  const cases: Case[] = bars.map(([turns, bar]) => ({
    claim: claim(String(turns), `no marker hit, ${turns} turns`, bar),
    turns,
    phrases: [],
  }));
  if (markerBar !== undefined)
    cases.push({
      claim: claim("marker", "marker hit, 8 turns", markerBar),
      turns: 8,
      phrases: ["what do you mean", "explain again"],
    });
  return {
    number,
    claims: cases.map((one) => one.claim),
    run: (bench) => Object.fromEntries(cases.map((one) => [one.claim.row, compare(bench, one, contender)])),
  };
}

function compare(
  { product, lists, effort }: Bench,
  { turns, phrases }: Case,
  contender: "spec_js" | "good_js",
): Finding {
  const scene = new Scene(lists).inThread(turns);
  const queries = scene.queries(64, LENGTH, phrases);
  const engine = vectorEngine(product, { profile: "spec" });
  const session = feed(engine.session("classify"), scene.turns);
  const spec = specLog(scene.turns);
  const good = goodLog(scene.turns, lists);
  const asSpec = queries.map(({ text, vector }) => ({ text, vector: Array.from(vector) }));
  const run = {
    spec_js: rotate(asSpec, ({ text, vector }) => classifyIntent(text, vector, spec, lists)),
    good_js: rotate(queries, ({ text, vector }) => good.classify(text, vector)),
  };
  for (const query of queries)
    check(
      query,
      session,
      () => classifyIntent(query.text, query.vector, spec, lists),
      () => good.classify(query.text, query.vector),
    );
  const times = race(
    { theirs: run[contender], ours: rotate(queries, ({ text, vector }) => session.classify(text, { vector }).intent) },
    effort,
  );
  engine.close();
  return { rounds: ratios(times.theirs, times.ours) };
}

function check(
  { text, vector }: Query,
  session: Session,
  spec: () => ReturnType<typeof classifyIntent>,
  good: () => { intent: string; similarity: number | null },
): void {
  const ours = session.classify(text, { vector });
  const theirs = spec();
  const better = good();
  agree(`intent of ${JSON.stringify(text)}`, {
    trihorizon: ours.intent,
    spec_js: theirs.intent,
    good_js: better.intent,
  });
  if (theirs.topicSimilarity === null || better.similarity === null) return;
  agreeWithin(`similarity of ${JSON.stringify(text)}`, 1e-4, {
    trihorizon: ours.similarity,
    spec_js: theirs.topicSimilarity,
    good_js: better.similarity,
  });
}
