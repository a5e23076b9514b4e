/** `mtragun/`: CLARIFY on the last turns of conversations whose last turn people labelled. */

import type { Message } from "trihorizon";
import type { Conversation, Label } from "../data.js";
import type { Bench, Dataset } from "../dataset.js";
import { Feed } from "../feed.js";
import { gold } from "../intents.js";
import { share } from "../metrics.js";
import type { Predictor, Sheet } from "../metrics.js";
import { brief, textOf } from "../text.js";

interface Clarified {
  id: string;
  messages: Message[];
  last_turn: "Follow-up" | "Clarification" | "N/A";
}

export const mtragun: Dataset<Clarified> = {
  name: "mtragun",
  folder: "mtragun",
  measure(records, profile, engine, bench) {
    const decided = labelsOfTurns(bench);
    records.forEach((record, index) => {
      if (onlyTurn(record)) return;
      const feed = new Feed(engine, `mtragun-${index}`);
      feed.appendAll(record.messages.slice(0, -1));
      const text = textOf(record.messages.at(-1) as Message);
      const turn = feed.ask(text);
      const predicted = turn.intent === "CLARIFY";
      const truth = isClarification(record, predicted, decided);
      score(bench.sheet, profile, index, predicted, truth);
      if (predicted !== truth) {
        bench.errors.note(
          profile,
          `mtragun: CLARIFY ${truth ? "missed" : "spurious"}`,
          turn.confidence,
          () => `${record.id} got ${turn.intent} (${turn.confidence.toFixed(2)}: ${turn.reason}): "${brief(text)}"`,
        );
      }
    });
  },
  baselines(records, bench) {
    const decided = labelsOfTurns(bench);
    records.forEach((record, index) => {
      if (!onlyTurn(record)) score(bench.sheet, "constant", index, true, isClarification(record, true, decided));
    });
  },
};

const onlyTurn = ({ messages }: Clarified): boolean =>
  !messages.slice(0, -1).some((message) => message.role === "user");

/** "Where it conflicts with `turns/`, `turns/` decides": labels of the same conversations, by id and message number. */
function labelsOfTurns(bench: Bench): Map<string, Label> {
  const conversations = bench.read("turns") as Conversation[];
  return new Map(
    conversations.flatMap(({ id, labels }) => labels.map((label) => [`${id} ${label.turn}`, label] as const)),
  );
}

function isClarification(record: Clarified, predicted: boolean, decided: ReadonlyMap<string, Label>): boolean {
  const label = decided.get(`${record.id} ${record.messages.length}`);
  if (label === undefined) return record.last_turn === "Clarification";
  return gold(
    label.intent.map((intent) => intent === "CLARIFY"),
    predicted,
  );
}

function score(sheet: Sheet, by: Predictor, conversation: number, predicted: boolean, truth: boolean): void {
  const hit = +(predicted && truth);
  sheet.add("mtragun.clarify.precision", share, by, conversation, [hit, +predicted]);
  sheet.add("mtragun.clarify.recall", share, by, conversation, [hit, +truth]);
}
