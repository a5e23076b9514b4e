import type { AppendMessage } from "../types.js";
import { type Fields, type Format, isFields, objectsOf, stringOf, timestampField, titleOf } from "./conversation.js";

/** A ChatGPT data export: a tree of messages, of which the branch that was shown last is read. */
export const chatgpt: Format = {
  name: "ChatGPT export",
  matches: (value) => isFields(value["mapping"]),
  read: (value) => {
    const messages: AppendMessage[] = [];
    for (const message of shownBranch(value)) {
      const read = readMessage(message, messages.at(-1));
      if (read !== null) messages.push(read);
    }
    return { title: titleOf(value, "title", "id", "conversation_id"), messages };
  },
};

function shownBranch(value: Fields): Fields[] {
  const nodes = value["mapping"] as Record<string, unknown>;
  const branch: Fields[] = [];
  const seen = new Set<string>();
  for (let id = stringOf(value["current_node"]) || newestLeaf(nodes); id !== "" && !seen.has(id);) {
    seen.add(id);
    const node = nodes[id];
    if (!isFields(node)) break;
    if (isFields(node["message"])) branch.push(node["message"]);
    id = stringOf(node["parent"]);
  }
  return branch.toReversed();
}

/** Without a current node: the last child, from the root on. */
function newestLeaf(nodes: Record<string, unknown>): string {
  const root = Object.entries(nodes).find(([, node]) => isFields(node) && stringOf(node["parent"]) === "");
  let id = root?.[0] ?? "";
  for (const seen = new Set<string>(); !seen.has(id);) {
    seen.add(id);
    const node = nodes[id];
    const children = isFields(node) && Array.isArray(node["children"]) ? node["children"] : [];
    id = stringOf(children.at(-1)) || id;
  }
  return id;
}

function readMessage(message: Fields, before: AppendMessage | undefined): AppendMessage | null {
  const author = isFields(message["author"]) ? message["author"] : {};
  const content = isFields(message["content"]) ? message["content"] : {};
  const metadata = isFields(message["metadata"]) ? message["metadata"] : {};
  const text = textOf(content);
  const time = timestampField(Number(message["create_time"] ?? Number.NaN) * 1000);
  if (text.trim() === "" || metadata["is_visually_hidden_from_conversation"] === true) return null;
  switch (author["role"]) {
    case "system":
    case "user":
      return { role: author["role"], content: text, ...time };
    case "assistant": {
      const recipient = stringOf(message["recipient"]) || "all";
      if (recipient === "all") return { role: "assistant", content: text, ...time };
      const call = { id: stringOf(message["id"]), function: { name: recipient, arguments: text } };
      return { role: "assistant", content: null, tool_calls: [call], ...time };
    }
    case "tool": {
      const call = before?.tool_calls?.[0]?.id;
      return {
        role: "tool",
        content: text,
        name: stringOf(author["name"]),
        ...(call === undefined ? {} : { tool_call_id: call }),
        ...time,
      };
    }
    default:
      return null;
  }
}

function textOf(content: Fields): string {
  switch (content["content_type"]) {
    case "text":
    case "multimodal_text":
      return [...(Array.isArray(content["parts"]) ? content["parts"] : [])]
        .filter((part) => typeof part === "string")
        .join("\n");
    case "code":
    case "execution_output":
      return stringOf(content["text"]);
    case "tether_quote":
      return [stringOf(content["title"]), stringOf(content["text"])].filter(Boolean).join("\n");
    case "tether_browsing_display":
      return stringOf(content["result"]);
    case "system_error":
      return `Error: ${stringOf(content["text"])}`;
    default:
      // Thoughts, profile contexts and the like were never part of the dialogue.
      return objectsOf(content["parts"])
        .map((part) => stringOf(part["text"]))
        .join("\n");
  }
}
