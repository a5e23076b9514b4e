/** `ikat/`: context dependence, what a small envelope holds of a turn's missing words, and facts about the user as Tier P. */

import type { Engine, Profile } from "trihorizon";
import { pack } from "../baselines.js";
import { noteContext, scoreContext } from "../context.js";
import type { Bench, Dataset } from "../dataset.js";
import { Feed } from "../feed.js";
import { share } from "../metrics.js";
import type { Predictor, Sheet } from "../metrics.js";
import { bare, brief, contentWords, cost } from "../text.js";

interface Talk {
  id: string;
  facts: { id: string; text: string }[];
  turns: { user: string; resolved: string; assistant: string; facts: string[] }[];
}

const BUDGET = 250;
/** Facts that are looked at. */
const TOP = 3;

export const ikat: Dataset<Talk> = {
  name: "ikat",
  folder: "ikat",
  measure(records, profile, engine, bench) {
    records.forEach((talk, index) => {
      measureContext(talk, index, profile, engine, bench);
      measureFacts(talk, index, profile, engine, bench);
    });
  },
  baselines(records, { sheet, rankers }) {
    records.forEach((talk, index) => {
      talk.turns.slice(1).forEach((exchange) => {
        if (exchange.resolved !== "") scoreContext(sheet, "ikat", "constant", index, true, needsContext(exchange));
        if (exchange.facts.length === 0) sheet.add("ikat.facts.empty", share, "constant", index, [1, 1]);
      });
      for (const ranker of rankers) {
        const log = ranker.log();
        const said: string[] = [];
        const facts = ranker.log();
        for (const fact of talk.facts) facts.add(fact.text);
        talk.turns.forEach((exchange, i) => {
          if (i > 0) {
            const packed = [...pack(ranker, log.rank(exchange.user), said.map(cost), BUDGET)].map(
              (id) => said[id] as string,
            );
            scoreTerms(sheet, ranker.baseline, index, addedTerms(talk, i), packed);
            if (ranker.baseline !== "last-k")
              scoreFacts(
                sheet,
                ranker.baseline,
                index,
                exchange.facts,
                facts.rank(exchange.user).map((id) => talk.facts[id]?.id ?? ""),
              );
          }
          for (const text of [exchange.user, exchange.assistant]) {
            log.add(text);
            said.push(text);
          }
        });
      }
    });
  },
};

/** Without facts: what a turn needs of the conversation. */
function measureContext(talk: Talk, index: number, profile: Profile, engine: Engine, { sheet, errors }: Bench): void {
  const feed = new Feed(engine, `ikat-${index}`);
  talk.turns.forEach((exchange, i) => {
    const turn = feed.ask(exchange.user, { budget: BUDGET });
    if (i > 0 && exchange.resolved !== "") {
      const where = `${talk.id} turn ${i + 1}`;
      const gold = needsContext(exchange);
      scoreContext(sheet, "ikat", profile, index, turn.contextDependent, gold);
      noteContext(errors, "ikat", profile, where, exchange.user, exchange.resolved, turn, gold);
      const terms = addedTerms(talk, i);
      const lost = scoreTerms(
        sheet,
        profile,
        index,
        terms,
        turn.envelope.items.filter((item) => item.tier === "C").map((item) => item.text),
      );
      if (lost.length > 0)
        errors.note(
          profile,
          "ikat: terms not packed",
          lost.length,
          () => `${where} lost ${lost.join(" ")} of ${terms.join(" ")}: "${brief(exchange.user)}"`,
        );
    }
    if (exchange.assistant.trim() !== "") feed.append({ role: "assistant", content: exchange.assistant });
  });
}

/** With the facts in a namespace of the conversation's own. */
function measureFacts(talk: Talk, index: number, profile: Profile, engine: Engine, { sheet, errors }: Bench): void {
  const namespace = `ikat-${index}`;
  engine.facts(namespace).add(talk.facts.map(({ id, text }) => ({ id, text })));
  const feed = new Feed(engine, `ikat-facts-${index}`, namespace);
  talk.turns.forEach((exchange, i) => {
    const turn = feed.ask(exchange.user);
    if (i > 0) {
      const packed = turn.envelope.items.filter((item) => item.tier === "P").sort((a, b) => b.score - a.score);
      const ids = packed.map((item) => String(item.id));
      scoreFacts(sheet, profile, index, exchange.facts, ids);
      const text = (id: string): string => `"${brief(talk.facts.find((fact) => fact.id === id)?.text ?? id, 60)}"`;
      const lost = exchange.facts.filter((id) => !ids.slice(0, TOP).includes(id));
      if (lost.length > 0) {
        errors.note(
          profile,
          "ikat: facts missed",
          0,
          () =>
            `${talk.id} turn ${i + 1} lost ${lost.map(text).join(" ")}, got ${ids.slice(0, TOP).map(text).join(" ") || "none"}: "${brief(exchange.user)}"`,
        );
      }
    }
    if (exchange.assistant.trim() !== "") feed.append({ role: "assistant", content: exchange.assistant });
  });
}

const needsContext = ({ user, resolved }: Talk["turns"][number]): boolean => bare(user) !== bare(resolved);

/** Content words that the standalone turn adds and that were said before. */
function addedTerms({ turns }: Talk, i: number): string[] {
  const { user, resolved } = turns[i] as Talk["turns"][number];
  const own = new Set(contentWords(user));
  const earlier = new Set(
    turns.slice(0, i).flatMap((exchange) => contentWords(`${exchange.user} ${exchange.assistant}`)),
  );
  return [...new Set(contentWords(resolved))].filter((word) => !own.has(word) && earlier.has(word));
}

/** Returns the terms that are not packed. */
function scoreTerms(
  sheet: Sheet,
  by: Predictor,
  conversation: number,
  terms: readonly string[],
  packed: readonly string[],
): string[] {
  const held = new Set(packed.flatMap(contentWords));
  const lost = terms.filter((term) => !held.has(term));
  sheet.add("ikat.terms250", share, by, conversation, [terms.length - lost.length, terms.length]);
  return lost;
}

/** `ranked`: ids of the packed facts, best first. */
function scoreFacts(
  sheet: Sheet,
  by: Predictor,
  conversation: number,
  gold: readonly string[],
  ranked: readonly string[],
): void {
  if (gold.length === 0) {
    sheet.add("ikat.facts.empty", share, by, conversation, [+(ranked.length === 0), 1]);
    return;
  }
  const gain = (rank: number): number => 1 / Math.log2(rank + 2);
  const hits = ranked.slice(0, TOP).flatMap((id, rank) => (gold.includes(id) ? [gain(rank)] : []));
  const ideal = Array.from({ length: Math.min(TOP, gold.length) }, (_, rank) => gain(rank));
  const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);
  sheet.add("ikat.facts.recall3", share, by, conversation, [hits.length / gold.length, 1]);
  sheet.add("ikat.facts.ndcg3", share, by, conversation, [sum(hits) / sum(ideal), 1]);
}
