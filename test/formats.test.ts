import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import type { Conversation } from "../src/formats/conversation.js";
import { parseConversations, readConversations } from "../src/formats/read.js";

const directory = mkdtempSync(join(tmpdir(), "trihorizon-formats-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const dialogue = [
  { role: "user", content: "How do I configure etcd?" },
  { role: "assistant", content: "1. Write etcd.conf" },
];

describe("Chat Completions", () => {
  const object = { title: "etcd", messages: dialogue };

  test.each([
    ["an array of messages", JSON.stringify(dialogue), [""]],
    ["an indented array", JSON.stringify(dialogue, null, 2), [""]],
    ["an object", JSON.stringify(object), ["etcd"]],
    ["an array of objects", JSON.stringify([object, object]), ["etcd", "etcd"]],
    ["an array of arrays", JSON.stringify([dialogue, dialogue]), ["", ""]],
    ["lines of objects", `${JSON.stringify(object)}\n${JSON.stringify(object)}\n`, ["etcd", "etcd"]],
    ["lines of arrays", `${JSON.stringify(dialogue)}\r\n\r\n${JSON.stringify(dialogue)}`, ["", ""]],
    ["lines of messages", dialogue.map((message) => JSON.stringify(message)).join("\n"), [""]],
    ["a byte order mark", `\uFEFF${JSON.stringify(object)}`, ["etcd"]],
    ["blank lines before", `\n\n  ${JSON.stringify(object, null, 2)}`, ["etcd"]],
  ])("%s", async (_name, text, titles) => {
    const conversations = await parseConversations(text);
    expect(conversations.map(({ title }) => title)).toEqual(titles);
    for (const { messages } of conversations) expect(messages).toEqual(dialogue);
  });

  test("titles come from the usual fields", async () => {
    const lines = [{ id: "c1" }, { task_id: 7 }, { name: "n" }, { title: "  ", conversation_id: "x" }, {}].map(
      (fields) => JSON.stringify({ ...fields, messages: dialogue }),
    );
    const conversations = await parseConversations(lines.join("\n"));
    expect(conversations.map(({ title }) => title)).toEqual(["c1", "7", "n", "x", ""]);
  });

  test("tool calls, content parts, names, ids and the old function role are kept", async () => {
    const [conversation] = await parseConversations(
      JSON.stringify([
        {
          role: "user",
          content: [
            { type: "text", text: "what is this?" },
            { type: "image_url", image_url: { url: "x" } },
          ],
          name: "ann",
          id: "m1",
        },
        {
          role: "assistant",
          content: null,
          tool_calls: [{ id: "c", type: "function", function: { name: "look", arguments: "{}" } }],
        },
        { role: "tool", tool_call_id: "c", content: "a cat" },
        { role: "assistant", content: null, function_call: { name: "old", arguments: { a: 1 } } },
        { role: "function", name: "old", content: "done" },
      ]),
    );
    expect(conversation?.messages).toEqual([
      {
        role: "user",
        content: [
          { type: "text", text: "what is this?" },
          { type: "image_url", image_url: { url: "x" } },
        ],
        name: "ann",
        id: "m1",
      },
      { role: "assistant", content: null, tool_calls: [{ id: "c", function: { name: "look", arguments: "{}" } }] },
      { role: "tool", tool_call_id: "c", content: "a cat" },
      { role: "assistant", content: null, tool_calls: [{ id: "", function: { name: "old", arguments: '{"a":1}' } }] },
      { role: "tool", content: "done", name: "old" },
    ]);
  });
});

describe("ChatGPT export", () => {
  const node = (id: string, parent: string | null, role: string, text: string, more: object = {}): object => ({
    id,
    parent,
    children: [],
    message: {
      id,
      author: { role },
      create_time: 1_700_000_000.5,
      content: { content_type: "text", parts: [text] },
      ...more,
    },
  });

  test("the branch that was shown is read, without what was hidden", async () => {
    const mapping = {
      root: { id: "root", message: null, parent: null, children: ["s"] },
      s: node("s", "root", "system", "", {}),
      h: node("h", "s", "user", "profile", { metadata: { is_visually_hidden_from_conversation: true } }),
      u: node("u", "h", "user", "first question"),
      old: node("old", "u", "assistant", "an answer that was regenerated"),
      a: node("a", "u", "assistant", "the answer"),
      call: node("call", "a", "assistant", "print(1)", {
        recipient: "python",
        content: { content_type: "code", text: "print(1)" },
      }),
      tool: node("tool", "call", "tool", "1", {
        author: { role: "tool", name: "python" },
        content: { content_type: "execution_output", text: "1" },
      }),
    };
    const [conversation] = await parseConversations(JSON.stringify([{ title: "T", mapping, current_node: "tool" }]));
    const timestamp = 1_700_000_000_500;
    expect(conversation).toEqual({
      title: "T",
      messages: [
        { role: "user", content: "first question", timestamp },
        { role: "assistant", content: "the answer", timestamp },
        {
          role: "assistant",
          content: null,
          tool_calls: [{ id: "call", function: { name: "python", arguments: "print(1)" } }],
          timestamp,
        },
        { role: "tool", content: "1", name: "python", tool_call_id: "call", timestamp },
      ],
    });
  });

  test("without a current node the last child is followed, and a loop ends", async () => {
    const mapping = {
      root: { parent: null, children: ["u"], message: null },
      u: {
        parent: "root",
        children: ["x", "y"],
        message: { author: { role: "user" }, content: { content_type: "text", parts: ["q"] } },
      },
      x: {
        parent: "u",
        children: [],
        message: { author: { role: "assistant" }, content: { content_type: "text", parts: ["no"] } },
      },
      y: {
        parent: "u",
        children: ["u"],
        message: { author: { role: "assistant" }, content: { content_type: "text", parts: ["yes"] } },
      },
    };
    const [conversation] = await parseConversations(JSON.stringify({ title: "T", mapping }));
    expect(conversation?.messages.map(({ content }) => content)).toContain("q");
  });
});

test("Claude export: text, calls and results in their order", async () => {
  const [conversation] = await parseConversations(
    JSON.stringify([
      {
        uuid: "u",
        name: "A chat",
        chat_messages: [
          {
            sender: "human",
            text: "see file",
            content: [],
            created_at: "2025-01-01T00:00:00Z",
            attachments: [{ file_name: "f", extracted_content: "the file" }],
          },
          {
            sender: "assistant",
            text: "ignored when there is content",
            created_at: "2025-01-01T00:00:01Z",
            content: [
              { type: "text", text: "Let me look." },
              { type: "tool_use", id: "t1", name: "search", input: { q: "etcd" } },
              { type: "tool_result", tool_use_id: "t1", name: "search", content: [{ type: "text", text: "found" }] },
              { type: "text", text: "It is there." },
            ],
          },
          { sender: "human", text: "thanks", created_at: "never" },
          { sender: "assistant", text: "welcome" },
        ],
      },
    ]),
  );
  const [first, second] = [Date.UTC(2025, 0, 1), Date.UTC(2025, 0, 1, 0, 0, 1)];
  expect(conversation).toEqual({
    title: "A chat",
    messages: [
      { role: "user", content: "see file\n\nthe file", timestamp: first },
      {
        role: "assistant",
        content: "Let me look.",
        tool_calls: [{ id: "t1", function: { name: "search", arguments: '{"q":"etcd"}' } }],
        timestamp: second,
      },
      { role: "tool", content: "found", name: "search", tool_call_id: "t1", timestamp: second },
      { role: "assistant", content: "It is there.", timestamp: second },
      { role: "user", content: "thanks" },
      { role: "assistant", content: "welcome" },
    ],
  });
});

test("ShareGPT: records, bare arrays, calls", async () => {
  const turns = [
    { from: "system", value: "be brief" },
    { from: "human", value: "hi" },
    { from: "function_call", value: '{"name":"f","arguments":{"a":1}}' },
    { from: "observation", value: "1" },
    { from: "gpt", value: "one" },
  ];
  const messages = [
    { role: "system", content: "be brief" },
    { role: "user", content: "hi" },
    { role: "assistant", content: null, tool_calls: [{ id: "call_1", function: { name: "f", arguments: '{"a":1}' } }] },
    { role: "tool", content: "1", tool_call_id: "call_1" },
    { role: "assistant", content: "one" },
  ];
  expect(await parseConversations(JSON.stringify([{ id: "s", conversations: turns }]))).toEqual([
    { title: "s", messages },
  ]);
  expect(await parseConversations(JSON.stringify({ id: "s", items: turns }))).toEqual([{ title: "s", messages }]);
  expect(await parseConversations(JSON.stringify(turns))).toEqual([{ title: "", messages }]);
  await expect(
    parseConversations(JSON.stringify([{ conversations: [{ from: "martian", value: "x" }] }])),
  ).rejects.toMatchObject({
    code: "UNKNOWN_FORMAT",
    value: "martian",
  });
});

test("LoCoMo: sessions in numeric order, dates, captions, speakers", async () => {
  const [conversation] = await parseConversations(
    JSON.stringify([
      {
        sample_id: "conv-1",
        qa: [],
        conversation: {
          speaker_a: "Ann",
          speaker_b: "Ben",
          session_10: [{ speaker: "Ben", dia_id: "D10:1", text: "last" }],
          session_10_date_time: "not a date",
          session_1: [{ speaker: "Ann", dia_id: "D1:1", text: "look", blip_caption: "a dog" }],
          session_1_date_time: "12:05 am on 8 May, 2023",
          session_2: [{ speaker: "Ben", dia_id: "D2:1", text: "nice" }],
          session_2_date_time: "1:56 pm on 9 May, 2023",
        },
      },
    ]),
  );
  expect(conversation).toEqual({
    title: "conv-1: Ann and Ben",
    messages: [
      { role: "user", content: "look [image: a dog]", id: "D1:1", timestamp: Date.UTC(2023, 4, 8, 0, 5) },
      { role: "assistant", content: "nice", id: "D2:1", timestamp: Date.UTC(2023, 4, 9, 13, 56) },
      { role: "assistant", content: "last", id: "D10:1" },
    ],
  });
});

describe("what cannot be read", () => {
  test.each([
    ["an empty file", "", /empty/],
    ["not JSON", "hello\nworld", /not JSON/],
    ["a bad line", `${JSON.stringify({ messages: dialogue })}\n{broken`, /line 2 is not JSON/],
    ["an unknown object", '{"a":1}', /no reader for an object with a/],
    ["an unknown object in an array", JSON.stringify([{ messages: dialogue }, { b: 2 }]), /conversation 2: no reader/],
    ["an unknown line", `${JSON.stringify({ messages: dialogue })}\n42`, /line 2: no reader for number/],
    ["an unknown role", JSON.stringify([{ role: "wizard", content: "x" }]), /unknown role "wizard"/],
    [
      "a message that is none",
      JSON.stringify({ messages: [{ role: "user", content: "x" }, 3] }),
      /message 2 has no role/,
    ],
  ])("%s is a typed error that says where", async (_name, text, message) => {
    const error: unknown = await parseConversations(text).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "UNKNOWN_FORMAT", message: expect.stringMatching(message) as string });
  });

  test("a missing file", async () => {
    await expect(collect(join(directory, "missing.json"))).rejects.toMatchObject({ code: "NOT_FOUND" });
  });
});

test("a large JSON Lines file is a stream: the first conversation arrives before the rest is read", async () => {
  const path = join(directory, "large.jsonl");
  const line = JSON.stringify({ messages: [{ role: "user", content: "x".repeat(10_000) }] });
  writeFileSync(path, `${Array.from({ length: 2_000 }, () => line).join("\n")}\n{broken\n`);
  const stream = readConversations(path);
  expect((await stream.next()).value).toMatchObject({ title: "" });
  await stream.return(undefined);
  await expect(collect(path)).rejects.toThrow(/line 2001 is not JSON/);
});

async function collect(path: string): Promise<Conversation[]> {
  const conversations: Conversation[] = [];
  for await (const conversation of readConversations(path)) conversations.push(conversation);
  return conversations;
}
