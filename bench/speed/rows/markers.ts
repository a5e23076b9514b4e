import { MARKED, MarkerRegex } from "../contenders/good/markers.js";
import { Scene } from "../inputs/scenes.js";
import { agree } from "../measure/agree.js";
import { ratios } from "../measure/statistics.js";
import { race, rotate } from "../measure/throughput.js";
import { atLeast, type Bench, type Finding, type Row } from "../row.js";

/**
 * One precompiled regular expression against our marker matching. Ours is measured as a whole raw `classify` (spec, empty
 * thread, so nothing else is left to do): the crossing and the result are in it, and the true ratio is higher.
 */
export const markers: Row = {
  number: "5",
  claims: [
    { row: "5.200.regex", what: "one V8 regex ÷ marker matching, 200 characters", unit: "x", bar: atLeast(1.5) },
    { row: "5.4000.regex", what: "one V8 regex ÷ marker matching, 4,000 characters", unit: "x", bar: atLeast(3) },
  ],
  run: (bench) => ({ "5.200.regex": compare(bench, 200), "5.4000.regex": compare(bench, 4000) }),
};

function compare({ product, lists, effort }: Bench, length: number): Finding {
  const { raw } = product;
  const texts = new Scene(lists).queries(32, length).map(({ text }) => text);
  const regex = new MarkerRegex(lists);
  const facade = product.createEngine({ profile: "spec" });
  const session = facade.session("5");
  for (const text of texts)
    agree("marker", {
      regex: regex.classOf(text) === MARKED.NOTHING,
      trihorizon: session.classify(text).intent === "EXPLORE",
    });
  facade.close();
  const engine = raw.engineOpen(JSON.stringify({ profile: "spec" }));
  const handle = raw.sessionOpen(engine, "5", "bench");
  const times = race(
    {
      regex: rotate(texts, (text) => regex.classOf(text)),
      ours: rotate(texts, (text) => raw.classify(handle, text)),
    },
    effort,
  );
  raw.engineClose(engine);
  return { rounds: ratios(times.regex, times.ours), note: "ours is a whole raw classify call" };
}
