/** What of a message crosses into the core: its text, its role and, as JSON, the rest. */
import { createHash } from "node:crypto";
import { TrihorizonError } from "./errors.js";
import { optionsJson, toJson } from "./json.js";
import { kindOf } from "./require.js";
import type { AppendMessage, Message, Role, ToolCall } from "./types.js";

const roles: ReadonlyMap<Role, number> = new Map([
  ["system", 0],
  ["developer", 1],
  ["user", 2],
  ["assistant", 3],
  ["tool", 4],
]);

/** The number of a role in native calls and records. */
export function roleNumber(role: Role): number {
  const number = roles.get(role);
  if (number !== undefined) return number;
  const known = [...roles.keys()];
  const got = typeof role === "string" ? JSON.stringify(role) : kindOf(role);
  throw new TrihorizonError("INVALID_MESSAGE", `unknown role ${got}: expected ${known.join(", ")}`, {
    value: role,
    limit: known,
  });
}

/** The text of a message; the text parts of structured content, one a line. */
export function textOf(message: Message): string {
  if (message === null || typeof message !== "object") throw misread("a message must be an object", message);
  const { content } = message;
  if (content === undefined || content === null) return "";
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) throw misread("content must be a string, null or an array of parts", content);
  return content
    .map((part: { text?: unknown } | null) => part?.text)
    .filter((text) => typeof text === "string")
    .join("\n");
}

/** The rest of a message as the core reads it, JSON; undefined when there is nothing. */
export function metaOf(message: AppendMessage): string | undefined {
  const { id, name, entities, tool_call_id: toolCallId, volatility, ttl, pinned } = message;
  const plain = isPlain(message);
  // As nearly all messages are.
  if (plain && (id ?? name ?? entities ?? volatility ?? ttl ?? pinned) === undefined) return undefined;
  const toolCalls = callsOf(message);
  const hash = plain ? undefined : identityOf(message);
  const json = optionsJson("message", { id, name, entities, toolCalls, toolCallId, volatility, ttl, pinned, hash });
  return json === "{}" ? undefined : json;
}

/**
 * What a message is recognised by in a history that a client resends (G-71). For a message of role and text it is what the
 * core recognises it by anyway, the role's number and the text; calls and their results are told apart by their ids as well.
 */
export function identityOf(message: Message): string {
  const text = textOf(message);
  const plain = String.fromCharCode(roleNumber(message.role)) + text;
  if (isPlain(message)) return plain;
  const calls = callsOf(message)?.map((call) => [call.id, call.name, call.arguments]);
  return createHash("sha256")
    .update(toJson("message", [plain, calls ?? [], message.tool_call_id ?? ""]))
    .digest("base64");
}

/** The calls as the core reads them; clients that make none may send null. */
function callsOf(message: Message): { id: string; name: string; arguments: string }[] | undefined {
  const calls: Message["tool_calls"] | null = message.tool_calls;
  if (calls === undefined || calls === null) return undefined;
  if (!Array.isArray(calls)) throw misread("tool_calls must be an array", calls);
  return calls.map((call: Partial<ToolCall> | null) => {
    const made = call?.function;
    if (made === undefined || made === null) throw misread("each of tool_calls must have a function", call);
    return { id: call?.id as string, name: made.name, arguments: made.arguments };
  });
}

/** A message of role and content, without calls or their results. */
export function isPlain({ tool_calls: calls, tool_call_id: answered }: Message): boolean {
  return calls === undefined && answered === undefined;
}

function misread(rule: string, value: unknown): TrihorizonError {
  return new TrihorizonError("INVALID_MESSAGE", `${rule}: got ${kindOf(value)}`, { value: kindOf(value) });
}
