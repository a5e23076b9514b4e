/** `cast2020/`: which earlier turn a question depends on; the answers are absent, a turn stands for its answer too. */

import type { Dataset } from "../dataset.js";
import { Feed } from "../feed.js";
import { share } from "../metrics.js";
import type { Predictor, Sheet } from "../metrics.js";
import { brief } from "../text.js";

interface Topic {
  number: number;
  turn: {
    number: number;
    raw_utterance: string;
    query_turn_dependence?: number[];
    result_turn_dependence?: number;
  }[];
}

export const cast2020: Dataset<Topic> = {
  name: "cast2020",
  folder: "cast2020",
  measure(records, profile, engine, { sheet, errors }) {
    records.forEach((topic, index) => {
      const feed = new Feed(engine, `cast2020-${index}`);
      topic.turn.forEach((question, i) => {
        const turn = feed.ask(question.raw_utterance);
        if (i === 0) return;
        const resolved = turn.references
          .map((reference) => feed.target(reference.target))
          .find((target) => target !== undefined);
        const message = resolved ?? feed.number(turn.carriesOver);
        const antecedent = message === undefined ? undefined : topic.turn[message - 1]?.number;
        score(sheet, profile, index, question, antecedent);
        const wanted = dependences(question);
        if (antecedent === undefined ? wanted.size > 0 : !wanted.has(antecedent)) {
          errors.note(
            profile,
            "cast2020: antecedents",
            0,
            () =>
              `topic ${topic.number} turn ${question.number} gold ${[...wanted].join("|") || "none"}, got ${antecedent ?? "none"} (${turn.references.map((reference) => `"${reference.text}"`).join(" ")}): "${brief(question.raw_utterance)}"`,
          );
        }
      });
    });
  },
  baselines(records, { sheet, rankers }) {
    records.forEach((topic, index) => {
      for (const ranker of rankers) {
        const log = ranker.log();
        topic.turn.forEach((question, i) => {
          const best = log.rank(question.raw_utterance)[0];
          if (i > 0)
            score(sheet, ranker.baseline, index, question, best === undefined ? undefined : topic.turn[best]?.number);
          log.add(question.raw_utterance);
        });
      }
      topic.turn.slice(1).forEach((question) => score(sheet, "constant", index, question, undefined));
    });
  },
};

function dependences(question: Topic["turn"][number]): Set<number> {
  const turns = new Set(question.query_turn_dependence ?? []);
  if (typeof question.result_turn_dependence === "number") turns.add(question.result_turn_dependence);
  return turns;
}

function score(
  sheet: Sheet,
  by: Predictor,
  conversation: number,
  question: Topic["turn"][number],
  antecedent: number | undefined,
): void {
  const wanted = dependences(question);
  if (wanted.size > 0)
    sheet.add("cast2020.antecedent.top1", share, by, conversation, [
      +(antecedent !== undefined && wanted.has(antecedent)),
      1,
    ]);
  else sheet.add("cast2020.abstention", share, by, conversation, [+(antecedent === undefined), 1]);
}
