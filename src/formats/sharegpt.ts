import type { AppendMessage, Role } from "../types.js";
import { type Fields, type Format, isFields, objectsOf, stringOf, titleOf, unknownFormat } from "./conversation.js";

const speakers: Record<string, Role> = {
  human: "user",
  user: "user",
  gpt: "assistant",
  chatgpt: "assistant",
  assistant: "assistant",
  bing: "assistant",
  bard: "assistant",
  model: "assistant",
  system: "system",
  tool: "tool",
  observation: "tool",
  function_response: "tool",
  function_call: "assistant",
};

/** A ShareGPT record: `conversations` (or `items`) of `{ from, value }`. */
export const sharegpt: Format = {
  name: "ShareGPT",
  matches: (value) => listOf(value).some(isShareGptMessage),
  read: (value) => {
    const system = stringOf(value["system"]);
    return {
      title: titleOf(value, "title", "id"),
      messages: [
        ...(system === "" ? [] : [{ role: "system" as const, content: system }]),
        ...readShareGpt(listOf(value)),
      ],
    };
  },
};

/** True for a single ShareGPT message. */
export function isShareGptMessage(value: unknown): boolean {
  return isFields(value) && typeof value["from"] === "string" && "value" in value;
}

/** The messages of an array of `{ from, value }`. */
export function readShareGpt(values: readonly Fields[]): AppendMessage[] {
  let calls = 0;
  return values.map((value, index): AppendMessage => {
    const from = stringOf(value["from"]);
    const role = speakers[from.toLowerCase()];
    if (role === undefined)
      throw unknownFormat(`message ${index + 1} is from ${JSON.stringify(from)}, which is no known speaker`, from);
    const text = stringOf(value["value"]);
    if (from.toLowerCase() === "function_call") {
      calls += 1;
      return { role, content: null, tool_calls: [readCall(text, `call_${calls}`)] };
    }
    return { role, content: text, ...(role === "tool" && calls > 0 ? { tool_call_id: `call_${calls}` } : {}) };
  });
}

function readCall(text: string, id: string): { id: string; function: { name: string; arguments: string } } {
  try {
    const call = JSON.parse(text) as { name?: unknown; arguments?: unknown };
    return { id, function: { name: stringOf(call.name), arguments: JSON.stringify(call.arguments ?? {}) } };
  } catch {
    return { id, function: { name: "function", arguments: text } };
  }
}

function listOf(value: Fields): Fields[] {
  const conversations = objectsOf(value["conversations"]);
  return conversations.length > 0 ? conversations : objectsOf(value["items"]);
}
