import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";

const script = `
import { createEngine } from ${JSON.stringify(new URL("../dist/index.js", import.meta.url).href)};
const engine = createEngine({ profile: "spec", embedder: "lexical" });
const chat = engine.session("shapes");
chat.append({ role: "user", content: "How do I configure etcd?" });
chat.append({ role: "assistant", content: "Write etcd.conf, and open port 2379." });
gc(); // What the start of Node left.
let read = 0;
const turn = () => {
  read += chat.classify("which port is that?").confidence;
  const { envelope, messages, headers } = chat.assemble("which port is that?", { dryRun: true });
  read += envelope.items.length + messages.length + Object.keys(headers).length;
};
for (let times = 0; times < 20000; times += 1) turn();
console.log("collected");
gc();
gc();
turn();
`;

// V8 tells of each function it compiled, and of the code it throws away since a hidden class is gone.
test("a full collection leaves the code compiled for results", () => {
  const flags = ["--expose-gc", "--trace-opt", "--trace-deopt", "--input-type=module"];
  const { stdout, status } = spawnSync(process.execPath, [...flags, "--eval", script], {
    encoding: "utf8",
    maxBuffer: 2 ** 26,
  });
  expect(status).toBe(0);
  const [before = "", after = ""] = stdout.split("collected\n");
  expect(before).toMatch(/completed optimizing.*assemble/);
  expect(after.split("\n").filter((line) => line.includes("weak objects"))).toEqual([]);
});
