/** `gecor/`: restaurant turns that were shortened, beside turns that were left complete. */

import { noteContext, scoreContext } from "../context.js";
import type { Dataset } from "../dataset.js";
import { Feed } from "../feed.js";

interface Dialogue {
  id: string;
  turns: { user: string; complete: string; with_ellipsis: string; with_coreference: string; assistant: string }[];
}

export const gecor: Dataset<Dialogue> = {
  name: "gecor",
  folder: "gecor",
  measure(records, profile, engine, { sheet, errors }) {
    records.forEach(({ id, turns }, index) => {
      const feed = new Feed(engine, `gecor-${index}`);
      turns.forEach((exchange, i) => {
        const turn = feed.ask(exchange.user);
        const gold = needsContext(exchange);
        if (i > 0 && gold !== null) {
          scoreContext(sheet, "gecor", profile, index, turn.contextDependent, gold);
          noteContext(errors, "gecor", profile, `${id} turn ${i + 1}`, exchange.user, exchange.complete, turn, gold);
        }
        if (exchange.assistant.trim() !== "") feed.append({ role: "assistant", content: exchange.assistant });
      });
    });
  },
  baselines(records, { sheet }) {
    records.forEach(({ turns }, index) => {
      for (const exchange of turns.slice(1)) {
        const gold = needsContext(exchange);
        if (gold !== null) scoreContext(sheet, "gecor", "constant", index, true, gold);
      }
    });
  },
};

/** Null for a turn that equals none of its variants. */
function needsContext({ user, complete, with_ellipsis, with_coreference }: Dialogue["turns"][number]): boolean | null {
  if (user === complete) return false;
  return user === with_ellipsis || user === with_coreference ? true : null;
}
