/** `locomo/`: the evidence for a question, packed from a very long dialogue. */

import type { Message } from "trihorizon";
import { pack } from "../baselines.js";
import type { Dataset } from "../dataset.js";
import { Feed } from "../feed.js";
import { share } from "../metrics.js";
import type { Predictor, Sheet } from "../metrics.js";
import { brief, cost } from "../text.js";

interface Utterance {
  speaker: string;
  dia_id: string;
  text: string;
  blip_caption?: string;
}

interface Dialogue {
  sample_id: string;
  conversation: Record<string, string | Utterance[]>;
  qa: { question: string; evidence: string[]; category: number }[];
}

const BUDGETS = [1000, 2000, 4000] as const;

export const locomo: Dataset<Dialogue> = {
  name: "locomo",
  folder: "locomo",
  measure(records, profile, engine, { sheet, errors }) {
    records.forEach((dialogue, index) => {
      const feed = new Feed(engine, `locomo-${index}`);
      const said = utterances(dialogue);
      feed.appendAll(said.map(({ message }) => message));
      for (const { question, evidence, category } of questions(dialogue, said)) {
        for (const budget of BUDGETS) {
          const packed = feed.packed(feed.peek(question, { budget }));
          score(
            sheet,
            profile,
            index,
            budget,
            category,
            evidence.every((place) => packed.has(place + 1)),
          );
          if (budget !== BUDGETS.at(-1)) continue;
          const lost = evidence.filter((place) => !packed.has(place + 1));
          if (lost.length > 0)
            errors.note(
              profile,
              `locomo: evidence not packed in ${budget}`,
              0,
              () =>
                `${dialogue.sample_id} [${category}] "${brief(question)}" lost ${lost.map((place) => `"${brief(feed.text(place + 1), 100)}"`).join(" ")}`,
            );
        }
      }
    });
  },
  baselines(records, { sheet, rankers }) {
    records.forEach((dialogue, index) => {
      const said = utterances(dialogue).map(({ id, text }) => ({ id, text }));
      const costs = said.map(({ text }) => cost(text));
      for (const ranker of rankers) {
        const log = ranker.log();
        for (const { text } of said) log.add(text);
        for (const { question, evidence, category } of questions(dialogue, said)) {
          const ranking = log.rank(question);
          for (const budget of BUDGETS) {
            const packed = pack(ranker, ranking, costs, budget);
            score(
              sheet,
              ranker.baseline,
              index,
              budget,
              category,
              evidence.every((place) => packed.has(place)),
            );
          }
        }
      }
    });
  },
};

/** Utterances in order, the first speaker as the user; text = speaker, text, image caption. */
function utterances({ conversation }: Dialogue): { id: string; text: string; message: Message }[] {
  const sessions = Object.keys(conversation)
    .filter((name) => /^session_\d+$/.test(name))
    .sort((a, b) => Number(a.slice("session_".length)) - Number(b.slice("session_".length)));
  return sessions
    .flatMap((name) => conversation[name] as Utterance[])
    .map(({ dia_id, speaker, text, blip_caption }) => {
      const content = `${speaker}: ${text}${blip_caption ? ` [image: ${blip_caption}]` : ""}`;
      return {
        id: dia_id,
        text: content,
        message: { role: speaker === conversation["speaker_a"] ? "user" : "assistant", content },
      };
    });
}

/** Questions with the places of their evidence. */
function questions(
  { qa }: Dialogue,
  said: readonly { id: string }[],
): { question: string; evidence: number[]; category: number }[] {
  const places = new Map(said.map(({ id }, place) => [id, place]));
  return qa
    .map(({ question, evidence, category }) => {
      const ids = evidence.flatMap((text) => text.split(/[;\s]+/)).filter((id) => /^D\d+:\d+$/.test(id));
      // Evidence that the dialogue does not hold cannot be packed: -1.
      return { question, category, evidence: ids.map((id) => places.get(id) ?? -1) };
    })
    .filter(({ evidence }) => evidence.length > 0);
}

function score(
  sheet: Sheet,
  by: Predictor,
  conversation: number,
  budget: number,
  category: number,
  hit: boolean,
): void {
  sheet.add(`locomo.all_evidence.${budget}`, share, by, conversation, [+hit, 1]);
  sheet.add(`locomo.all_evidence.${budget}.category${category}`, share, by, conversation, [+hit, 1]);
}
