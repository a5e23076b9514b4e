/** `irc/`: untangling the conversations of a channel, with the speakers' names and without. */

import type { Engine } from "trihorizon";
import type { Dataset } from "../dataset.js";
import { Feed } from "../feed.js";
import { oneToOneOverlap, share } from "../metrics.js";
import type { Predictor, Sheet } from "../metrics.js";

interface Channel {
  id: string;
  first_labelled: number;
  lines: string[];
  /** [line that is answered, or the line itself; line]. */
  links: [number, number][];
}

const NAMED = "irc.one_to_one.names";
const ANONYMOUS = "irc.one_to_one.anonymous";

export const irc: Dataset<Channel> = {
  name: "irc",
  folder: "irc",
  measure(records, profile, engine, { sheet }) {
    records.forEach((channel, index) => {
      score(sheet, NAMED, profile, index, channel, threads(channel, `irc-${index}-names`, true, engine));
      score(sheet, ANONYMOUS, profile, index, channel, threads(channel, `irc-${index}-anonymous`, false, engine));
    });
  },
  baselines(records, { sheet }) {
    records.forEach((channel, index) => {
      // Every message answers the one before it: a single conversation.
      for (const row of [NAMED, ANONYMOUS]) score(sheet, row, "constant", index, channel, () => "one");
    });
  },
};

/** "[12:18] <name> text"; the name is missing where the line is an action. */
const LINE = /^(?:\[[\d:]+\]\s*)?(?:<(?<name>[^>]*)>\s?)?(?<text>.*)$/s;

const isNotice = (line: string): boolean => line.startsWith("===");

/**
 * Thread of each line. Without names every line is of the same, nameless user. A line without text (a speaker pressed
 * return) cannot be a turn and stands alone.
 */
function threads(channel: Channel, session: string, named: boolean, engine: Engine): (line: number) => string | number {
  const feed = new Feed(engine, session);
  const of = new Map<number, string>();
  channel.lines.forEach((line, i) => {
    if (isNotice(line)) return;
    const { name, text = "" } = LINE.exec(line)?.groups ?? {};
    if (text.trim() !== "") of.set(i, feed.ask(text, named && name !== undefined ? { name } : {}).thread.id);
  });
  return (line) => of.get(line) ?? line;
}

function score(
  sheet: Sheet,
  row: string,
  by: Predictor,
  conversation: number,
  channel: Channel,
  thread: (line: number) => unknown,
): void {
  const conversations = components(channel);
  const gold: number[] = [];
  const predicted: unknown[] = [];
  channel.lines.forEach((line, i) => {
    if (i < channel.first_labelled || isNotice(line)) return;
    gold.push(conversations(i));
    predicted.push(thread(i));
  });
  sheet.add(row, share, by, conversation, [oneToOneOverlap(gold, predicted), gold.length]);
}

/** Connected components of the links; a line that no link names is a conversation of its own. */
function components({ links }: Channel): (line: number) => number {
  const parent = new Map<number, number>();
  const root = (line: number): number => {
    const up = parent.get(line) ?? line;
    return up === line ? line : root(up);
  };
  for (const [a, b] of links) parent.set(root(b), root(a));
  return root;
}
