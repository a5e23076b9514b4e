/** What of a message crosses into the core: its text, its role and, as JSON, the rest. */
import { createHash } from "node:crypto";
import { TrihorizonError } from "./errors.js";
import { optionsJson } from "./json.js";
import type { AppendMessage, Message, Role } from "./types.js";

const roles: Record<Role, number> = { system: 0, developer: 1, user: 2, assistant: 3, tool: 4 };

/** The number of a role in native calls and records. */
export function roleNumber(role: Role): number {
  const number = (roles as Partial<Record<string, number>>)[role];
  if (number === undefined) {
    throw new TrihorizonError(
      "INVALID_MESSAGE",
      `unknown role ${JSON.stringify(role)}: expected ${Object.keys(roles).join(", ")}`,
      {
        value: role,
        limit: Object.keys(roles),
      },
    );
  }
  return number;
}

/** The text of a message; the text parts of structured content, one a line. */
export function textOf(content: Message["content"]): string {
  if (content === undefined || content === null) return "";
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) {
    throw new TrihorizonError("INVALID_MESSAGE", "content must be a string, null or an array of parts", {
      value: typeof content,
    });
  }
  return content
    .map((part: { text?: unknown } | null) => part?.text)
    .filter((text) => typeof text === "string")
    .join("\n");
}

/** The rest of a message as the core reads it, JSON; undefined when there is nothing. */
export function metaOf(message: AppendMessage): string | undefined {
  const { id, name, entities, tool_calls: calls, tool_call_id: toolCallId, volatility, ttl, pinned } = message;
  const toolCalls = calls?.map((call) => ({
    id: call.id,
    name: call.function.name,
    arguments: call.function.arguments,
  }));
  const hash = isPlain(message) ? undefined : identityOf(message);
  const json = optionsJson("message", { id, name, entities, toolCalls, toolCallId, volatility, ttl, pinned, hash });
  return json === "{}" ? undefined : json;
}

/**
 * What a message is recognised by in a history that a client resends (G-71). For a message of role and text it is what the
 * core recognises it by anyway, the role's number and the text; calls and their results are told apart by their ids as well.
 */
export function identityOf(message: Message): string {
  const plain = String.fromCharCode(roleNumber(message.role)) + textOf(message.content);
  if (isPlain(message)) return plain;
  const calls = message.tool_calls?.map((call) => [call.id, call.function.name, call.function.arguments]);
  return createHash("sha256")
    .update(JSON.stringify([plain, calls ?? [], message.tool_call_id ?? ""]))
    .digest("base64");
}

function isPlain({ tool_calls: calls, tool_call_id: answered }: Message): boolean {
  return calls === undefined && answered === undefined;
}
