import { Worker } from "node:worker_threads";
import { expect, test } from "vitest";
import { createEngine } from "../src/index.js";

interface Told {
  told: string[];
  snapshot: string;
}

/** What one thread does and tells. Its source is sent to workers: it uses nothing but its parameters. */
async function decide(create: typeof createEngine, number: number): Promise<Told> {
  const engine = create({ clock: () => 0 });
  const chat = engine.session("worker");
  engine.facts().add([{ id: "f", text: `The client port of etcd is ${number}.` }]);
  chat.append({ role: "user", content: "How do I configure etcd?" });
  chat.append({ role: "assistant", content: `1. Install it.\n2. Open port ${number}.\n3. Start it.` });
  const turns = ["which port does the second step need?", "go on", "actually, what is a good backup?", "back to etcd"];
  const told = turns.map((text) => JSON.stringify({ ...JSON.parse(JSON.stringify(chat.assemble(text))), micros: 0 }));
  const snapshot = Buffer.from(chat.snapshot()).toString("base64");
  await engine.close();
  return { told, snapshot };
}

const here = (number: number): Promise<Told> => decide(createEngine, number);

/** Workers load the built package. */
const source = `const decide = ${decide.toString()};
const built = import(${JSON.stringify(new URL("../dist/index.js", import.meta.url).href)});`;

function there(number: number): Promise<Told> {
  const worker = new Worker(
    `${source}
    const { parentPort, workerData } = require("node:worker_threads");
    built.then(({ createEngine }) => decide(createEngine, workerData)).then((told) => parentPort.postMessage(told));`,
    { eval: true, workerData: number },
  );
  return new Promise((resolve, reject) => {
    let told: Told | undefined;
    worker.once("message", (message: Told) => (told = message));
    worker.once("error", reject);
    worker.once("exit", (code) => (told === undefined ? reject(new Error(`left with ${code}`)) : resolve(told)));
  });
}

const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => 2000 + index);

test("eight threads at once decide as this one does", async () => {
  const answers = await Promise.all(numbers(8).map(there));
  for (const [index, answer] of answers.entries()) {
    expect(answer.told.join()).toContain(`port ${2000 + index}`);
    expect(answer).toEqual(await here(2000 + index));
  }
});

test("forty threads at once", { timeout: 120_000 }, async () => {
  const answers = await Promise.all(numbers(40).map(there));
  for (const [index, answer] of answers.entries()) expect(answer).toEqual(await here(2000 + index));
});

test("forty threads one after the other, and one that is killed at work", { timeout: 120_000 }, async () => {
  const expected = await here(2000);
  const killed = new Worker(`${source} setInterval(async () => decide((await built).createEngine, 1), 1)`, {
    eval: true,
  });
  for (let round = 0; round < 20; round += 1) {
    const [first, second] = [await there(2000), await there(2000)];
    expect(first).toEqual(expected);
    expect(second).toEqual(expected);
    if (round === 3) await killed.terminate();
  }
});
