import { roleNumber } from "../message.js";
import type { AppendMessage, Message, Role, ToolCall } from "../types.js";
import { type Fields, type Format, isFields, objectsOf, stringOf, titleOf, unknownFormat } from "./conversation.js";

/** An object with `messages`, as sent to a Chat Completions endpoint. */
export const chatCompletions: Format = {
  name: "Chat Completions",
  matches: (value) => Array.isArray(value["messages"]),
  read: (value) => ({
    title: titleOf(value, "title", "name", "id", "task_id", "conversation_id"),
    messages: readMessages(value["messages"] as unknown[]),
  }),
};

/** True for a single message. */
export function isMessage(value: unknown): boolean {
  return (
    isFields(value) &&
    typeof value["role"] === "string" &&
    ("content" in value || "tool_calls" in value || "function_call" in value)
  );
}

/** The messages of an array. */
export function readMessages(values: readonly unknown[]): AppendMessage[] {
  return values.map((value, index) => readMessage(value, index));
}

function readMessage(value: unknown, index: number): AppendMessage {
  if (!isFields(value) || typeof value["role"] !== "string")
    throw unknownFormat(`message ${index + 1} has no role`, value);
  const role = (value["role"] === "function" ? "tool" : value["role"]) as Role;
  roleNumber(role);
  const calls = readCalls(value);
  return {
    role,
    content: (value["content"] ?? null) as NonNullable<Message["content"]> | null,
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
    ...(typeof value["tool_call_id"] === "string" ? { tool_call_id: value["tool_call_id"] } : {}),
    ...(typeof value["name"] === "string" ? { name: value["name"] } : {}),
    ...(typeof value["id"] === "string" ? { id: value["id"] } : {}),
    ...(typeof value["timestamp"] === "number" ? { timestamp: value["timestamp"] } : {}),
  };
}

function readCalls(message: Fields): ToolCall[] {
  const legacy = isFields(message["function_call"]) ? [{ id: "", function: message["function_call"] }] : [];
  return [...objectsOf(message["tool_calls"]), ...legacy].map((call) => {
    const called = isFields(call["function"]) ? call["function"] : {};
    return {
      id: stringOf(call["id"]),
      function: { name: stringOf(called["name"]), arguments: argumentsOf(called["arguments"]) },
    };
  });
}

function argumentsOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value ?? {});
}
