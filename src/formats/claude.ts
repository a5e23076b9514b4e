import type { AppendMessage, ToolCall } from "../types.js";
import { type Fields, type Format, objectsOf, stringOf, timestampField, titleOf } from "./conversation.js";

/** A Claude data export. */
export const claude: Format = {
  name: "Claude export",
  matches: (value) => Array.isArray(value["chat_messages"]),
  read: (value) => ({
    title: titleOf(value, "name", "uuid"),
    messages: objectsOf(value["chat_messages"]).flatMap(readMessage),
  }),
};

function readMessage(message: Fields): AppendMessage[] {
  const time = timestampField(Date.parse(stringOf(message["created_at"])));
  if (message["sender"] === "human") return [{ role: "user", content: userText(message), ...time }];
  const parts = objectsOf(message["content"]);
  if (parts.length === 0) return [{ role: "assistant", content: stringOf(message["text"]), ...time }];
  return assistantMessages(parts).map((part) => ({ ...part, ...time }));
}

function userText(message: Fields): string {
  const text = objectsOf(message["content"])
    .map((part) => stringOf(part["text"]))
    .filter(Boolean)
    .join("\n");
  const attached = objectsOf(message["attachments"]).map((file) => stringOf(file["extracted_content"]));
  return [text || stringOf(message["text"]), ...attached].filter(Boolean).join("\n\n");
}

/** One exported message may hold text, calls and their results in turn: as many messages as they were. */
function assistantMessages(parts: readonly Fields[]): AppendMessage[] {
  const messages: AppendMessage[] = [];
  let text: string[] = [];
  let calls: ToolCall[] = [];
  const say = (): void => {
    if (text.length > 0 || calls.length > 0) {
      messages.push({
        role: "assistant",
        content: text.join("\n") || null,
        ...(calls.length > 0 ? { tool_calls: calls } : {}),
      });
    }
    text = [];
    calls = [];
  };
  for (const part of parts) {
    if (part["type"] === "text") {
      if (calls.length > 0) say();
      if (stringOf(part["text"]) !== "") text.push(stringOf(part["text"]));
    } else if (part["type"] === "tool_use") {
      const input = part["input"];
      const name = stringOf(part["name"]);
      calls.push({
        id: stringOf(part["id"]) || `call_${messages.length}_${calls.length}`,
        function: { name, arguments: JSON.stringify(input ?? {}) },
      });
    } else if (part["type"] === "tool_result") {
      const open =
        calls.at(-1)?.id ?? messages.findLast((message) => message.tool_calls !== undefined)?.tool_calls?.at(-1)?.id;
      say();
      messages.push({
        role: "tool",
        content: resultText(part["content"]),
        name: stringOf(part["name"]),
        tool_call_id: stringOf(part["tool_use_id"]) || (open ?? ""),
      });
    }
  }
  say();
  return messages;
}

function resultText(content: unknown): string {
  if (typeof content === "string") return content;
  return objectsOf(content)
    .map((part) => stringOf(part["text"]) || JSON.stringify(part))
    .join("\n");
}
