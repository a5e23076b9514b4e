import type { AppendMessage } from "../types.js";
import { type Fields, type Format, isFields, objectsOf, stringOf, timestampField, titleOf } from "./conversation.js";

const months = [
  "january",
  "february",
  "march",
  "april",
  "may",
  "june",
  "july",
  "august",
  "september",
  "october",
  "november",
  "december",
];

/** A LoCoMo dialogue of two people over many dated sessions: the first speaker is read as the user. */
export const locomo: Format = {
  name: "LoCoMo",
  matches: (value) => Array.isArray(dialogueOf(value)["session_1"]),
  read: (value) => {
    const dialogue = dialogueOf(value);
    const speakers = [stringOf(dialogue["speaker_a"]), stringOf(dialogue["speaker_b"])].filter(Boolean).join(" and ");
    return {
      title: [titleOf(value, "sample_id"), speakers].filter(Boolean).join(": "),
      messages: sessionNumbers(dialogue).flatMap((number) => readSession(dialogue, number)),
    };
  },
};

function dialogueOf(value: Fields): Fields {
  return isFields(value["conversation"]) ? value["conversation"] : value;
}

function sessionNumbers(dialogue: Fields): number[] {
  return Object.keys(dialogue)
    .map((key) => /^session_(\d+)$/.exec(key)?.[1])
    .filter((digits) => digits !== undefined)
    .map(Number)
    .sort((a, b) => a - b);
}

function readSession(dialogue: Fields, number: number): AppendMessage[] {
  const time = timestampField(parseDate(stringOf(dialogue[`session_${number}_date_time`])));
  return objectsOf(dialogue[`session_${number}`]).map((utterance): AppendMessage => {
    const caption = stringOf(utterance["blip_caption"]);
    return {
      role: utterance["speaker"] === dialogue["speaker_a"] ? "user" : "assistant",
      content: `${stringOf(utterance["text"])}${caption === "" ? "" : ` [image: ${caption}]`}`,
      ...(typeof utterance["dia_id"] === "string" ? { id: utterance["dia_id"] } : {}),
      ...time,
    };
  });
}

/** "1:56 pm on 8 May, 2023", read as UTC. */
function parseDate(text: string): number {
  const [, hour, minute, half, day, month, year] = /^(\d+):(\d+) (am|pm) on (\d+) (\w+), (\d+)$/i.exec(text) ?? [];
  const index = months.indexOf((month ?? "").toLowerCase());
  if (index < 0) return Number.NaN;
  return Date.UTC(
    Number(year),
    index,
    Number(day),
    (Number(hour) % 12) + (half?.toLowerCase() === "pm" ? 12 : 0),
    Number(minute),
  );
}
