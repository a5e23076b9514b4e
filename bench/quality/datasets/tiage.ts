/** `tiage/`: topic shifts in chit-chat, each utterance threaded on its own. */

import type { Dataset } from "../dataset.js";
import { Feed } from "../feed.js";
import { decision, f1 } from "../metrics.js";

interface Chat {
  id: string;
  /** Utterances of two alternating speakers: "1" = the topic shifts here, "0" = it does not, "-1" = the first. */
  value: [text: string, shift: "1" | "0" | "-1"][];
}

const ROW = "tiage.shift_f1";

export const tiage: Dataset<Chat> = {
  name: "tiage",
  folder: "tiage",
  measure(records, profile, engine, { sheet, errors }) {
    records.forEach(({ value }, index) => {
      const feed = new Feed(engine, `tiage-${index}`);
      value.forEach(([text, shift], i) => {
        const { event } = feed.ask(text, { name: i % 2 === 0 ? "first" : "second" }).thread;
        if (shift === "-1") return;
        const predicted = event === "new" || event === "resume";
        sheet.add(ROW, f1, profile, index, decision(predicted, shift === "1"));
        errors.count(profile, "tiage: events", shift === "1" ? "shift" : "none", event);
      });
    });
  },
  baselines(records, { sheet }) {
    records.forEach(({ value }, index) => {
      for (const [, shift] of value)
        if (shift !== "-1") sheet.add(ROW, f1, "constant", index, decision(true, shift === "1"));
    });
  },
};
