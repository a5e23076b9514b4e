/** `aba/`: the third user turn resumes the first one's subject. */

import type { Message } from "trihorizon";
import type { Dataset } from "../dataset.js";
import { Feed } from "../feed.js";
import { share } from "../metrics.js";
import { brief, textOf } from "../text.js";

interface Return {
  id: string;
  messages: Message[];
}

const ROW = "aba.resume.recall";
const THIRD = 3;

export const aba: Dataset<Return> = {
  name: "aba",
  folder: "aba",
  measure(records, profile, engine, { sheet, errors }) {
    records.forEach(({ id, messages }, index) => {
      const feed = new Feed(engine, `aba-${index}`);
      const users: string[] = [];
      for (const message of messages) {
        if (message.role !== "user") {
          feed.append(message);
          continue;
        }
        const turn = feed.ask(textOf(message));
        users.push(turn.thread.id);
        if (users.length < THIRD) continue;
        const hit = turn.thread.event === "resume" && turn.thread.id === users[0];
        sheet.add(ROW, share, profile, index, [+hit, 1]);
        if (!hit) {
          errors.note(
            profile,
            "aba: not resumed",
            0,
            () =>
              `${id} ${turn.thread.event} ${turn.thread.id} (${turn.thread.similarity.toFixed(2)}), threads so far ${users.slice(0, -1).join(", ")}: "${brief(textOf(message))}"`,
          );
        }
        break;
      }
    });
  },
  baselines(records, { sheet, rankers }) {
    records.forEach(({ messages }, index) => {
      const users = messages.flatMap((message, i) => (message.role === "user" ? [i] : []));
      const [, second, third] = users;
      if (second === undefined || third === undefined) return;
      for (const ranker of rankers) {
        const log = ranker.log();
        for (const message of messages.slice(0, third)) log.add(textOf(message));
        const best = log.rank(textOf(messages[third] as Message))[0];
        sheet.add(ROW, share, ranker.baseline, index, [+(best !== undefined && best < second), 1]);
      }
    });
  },
};
