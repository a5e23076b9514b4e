import { Worker } from "node:worker_threads";
import { expect, test } from "vitest";

interface Answer {
  item: string;
  turns: number;
  messages: number;
}

test("forty worker threads at once, each with an engine of its own", { timeout: 180_000 }, async () => {
  const numbers = Array.from({ length: 40 }, (_, index) => 2000 + index);
  const answers = await Promise.all(numbers.map(ask));
  for (const [index, answer] of answers.entries()) {
    expect(answer).toEqual({
      item: expect.stringContaining(`port ${numbers[index]}`) as string,
      turns: 3,
      messages: 3,
    });
  }
});

function ask(number: number): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL("fixtures/worker.mjs", import.meta.url), { workerData: number });
    let answer: Answer | undefined;
    worker.once("message", (message: Answer) => (answer = message));
    worker.once("error", reject);
    worker.once("exit", (code) =>
      answer === undefined ? reject(new Error(`worker ${number} left with ${code}`)) : resolve(answer),
    );
  });
}
