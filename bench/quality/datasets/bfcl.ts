/** `bfcl/`: tool-use conversations without assistant text; which result a turn needs. */

import type { Message } from "trihorizon";
import type { Dataset } from "../dataset.js";
import { Feed } from "../feed.js";
import { share } from "../metrics.js";
import type { Predictor, Sheet } from "../metrics.js";
import { brief, textOf } from "../text.js";

interface Run {
  id: string;
  turns: {
    turn: number;
    user: string;
    calls: string[];
    results: string[];
    earlier_tool_deps: { src_turn: number; src_call: number }[];
  }[];
}

export const bfcl: Dataset<Run> = {
  name: "bfcl",
  folder: "bfcl",
  measure(records, profile, engine, { sheet, errors }) {
    records.forEach(({ id, turns }, index) => {
      const feed = new Feed(engine, `bfcl-${index}`);
      /** Message of each result, by turn and call. */
      const results = new Map<string, number>();
      turns.forEach((step, i) => {
        const turn = feed.ask(step.user);
        const dependent = step.earlier_tool_deps.length > 0;
        if (i > 0) {
          scoreTool(sheet, profile, index, turn.intent === "TOOL_REFERENCE", dependent);
          if (dependent) {
            const top = turn.envelope.items.find((item) => item.tier === "E");
            const number = top && feed.item(top);
            const sources = step.earlier_tool_deps.map((source) => results.get(key(source.src_turn, source.src_call)));
            const hit = number !== undefined && sources.includes(number);
            sheet.add("bfcl.tool.source_top", share, profile, index, [+hit, 1]);
            if (!hit)
              errors.note(
                profile,
                "bfcl: wrong source",
                0,
                () =>
                  `${id} turn ${step.turn} gold "${brief(feed.text(sources[0]), 80)}", got "${brief(feed.text(number), 80)}": "${brief(step.user)}"`,
              );
          }
          if (dependent && turn.intent !== "TOOL_REFERENCE") {
            errors.note(
              profile,
              "bfcl: TOOL_REFERENCE missed",
              turn.confidence,
              () =>
                `${id} turn ${step.turn} got ${turn.intent} (${turn.confidence.toFixed(2)}: ${turn.reason}): "${brief(step.user)}"`,
            );
          }
        }
        messagesOf(step).forEach(({ message, call }) => {
          const number = feed.append(message);
          if (message.role === "tool") results.set(key(step.turn, call), number);
        });
      });
    });
  },
  baselines(records, { sheet, rankers }) {
    records.forEach(({ turns }, index) => {
      turns.slice(1).forEach((step) => scoreTool(sheet, "constant", index, true, step.earlier_tool_deps.length > 0));
      for (const ranker of rankers) {
        const log = ranker.log();
        const keys: string[] = [];
        for (const step of turns) {
          if (step.earlier_tool_deps.length > 0) {
            const best = keys[log.rank(step.user)[0] ?? -1];
            const hit = step.earlier_tool_deps.some((source) => key(source.src_turn, source.src_call) === best);
            sheet.add("bfcl.tool.source_top", share, ranker.baseline, index, [+hit, 1]);
          }
          for (const { message, call } of messagesOf(step)) {
            if (message.role !== "tool") continue;
            log.add(textOf(message));
            keys.push(key(step.turn, call));
          }
        }
      }
    });
  },
};

const key = (turn: number, call: number): string => `${turn} ${call}`;

function scoreTool(sheet: Sheet, by: Predictor, conversation: number, predicted: boolean, dependent: boolean): void {
  const hit = +(predicted && dependent);
  sheet.add("bfcl.tool.recall", share, by, conversation, [hit, +dependent]);
  sheet.add("bfcl.tool.precision", share, by, conversation, [hit, +predicted]);
}

/** Each call, followed by its result. */
function messagesOf(step: Run["turns"][number]): { message: Message; call: number }[] {
  return step.calls.flatMap((source, call) => {
    const id = `call-${step.turn}-${call}`;
    const { name, args } = parseCall(source);
    return [
      {
        message: {
          role: "assistant",
          content: null,
          tool_calls: [{ id, type: "function", function: { name, arguments: JSON.stringify(args) } }],
        } as const,
        call,
      },
      { message: { role: "tool", tool_call_id: id, name, content: step.results[call] ?? "" } as const, call },
    ];
  });
}

/** A Python-style call as a name and its keyword arguments, as text; positional ones are numbered. */
function parseCall(source: string): { name: string; args: Record<string, string> } {
  const [, name = source, list = ""] = /^\s*([\w.]+)\((.*)\)\s*$/s.exec(source) ?? [];
  const args: Record<string, string> = {};
  const argument = /(?:(\w+)\s*=\s*)?('(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|\[[^\]]*\]|\{[^}]*\}|[^,]+)\s*(?:,|$)/gs;
  let position = 0;
  for (const [, keyword, value = ""] of list.matchAll(argument))
    args[keyword ?? String(position++)] = value.trim().replace(/^(['"])(.*)\1$/s, "$2");
  return { name, args };
}
