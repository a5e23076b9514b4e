import { once } from "node:events";
import { Worker } from "node:worker_threads";

import { median } from "../measure/statistics.js";
import type { Row } from "../row.js";
import type { Ready, Report, Start } from "../worker.js";

const ROUNDS = 9;

/** Independent sessions in two worker threads against one: whether the addon shares anything that makes them wait. */
export const threads: Row = {
  number: "14",
  claims: [
    { row: "14", what: "2 worker threads ÷ 1, assembles per second (expected ≥ 1.8 on two free cores)", unit: "x" },
    {
      row: "14.cpu",
      what: "processor time of an assemble: 2 worker threads ÷ 1 (1 when they share nothing)",
      unit: "x",
    },
    { row: "14.assembles", what: "assembles per second of one thread, 100 turns", unit: "/s" },
  ],
  async run({ quick }) {
    const seconds = quick ? 0.1 : 0.5;
    const workers = await Promise.all([launch(), launch()]);
    const one: Pace[] = [];
    const both: Pace[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const alone = workers[round % 2]!;
      const inTurn = [
        async () => one.push(await pace([alone], seconds)),
        async () => both.push(await pace(workers, seconds)),
      ];
      if (round % 2 === 1) inTurn.reverse();
      for (const measure of inTurn) await measure();
    }
    await Promise.all(workers.map((worker) => worker.end()));
    return {
      "14": { rounds: both.map(({ rate }, round) => rate / one[round]!.rate) },
      "14.cpu": { rounds: both.map(({ cost }, round) => cost / one[round]!.cost) },
      "14.assembles": { rounds: [median(one.map(({ rate }) => rate))] },
    };
  },
};

interface Hand {
  /** Assembles per second. */
  assemble(seconds: number): Promise<number>;
  end(): Promise<unknown>;
}

async function launch(): Promise<Hand> {
  const worker = new Worker(new URL("../worker.js", import.meta.url));
  const [ready] = (await once(worker, "message")) as [Ready];
  if (ready !== "ready") throw new Error(`the worker said ${String(ready)}`);
  return {
    async assemble(seconds) {
      const start: Start = { seconds };
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker thread has no origin
      worker.postMessage(start);
      const [{ rate }] = (await once(worker, "message")) as [Report];
      return rate;
    },
    end: () => worker.terminate(),
  };
}

interface Pace {
  /** Assembles per second, of all. */
  rate: number;
  /** Processor time of an assemble, times a constant. */
  cost: number;
}

async function pace(workers: readonly Hand[], seconds: number): Promise<Pace> {
  const before = process.cpuUsage();
  const rates = await Promise.all(workers.map((worker) => worker.assemble(seconds)));
  const { user, system } = process.cpuUsage(before);
  const rate = rates.reduce((sum, each) => sum + each, 0);
  return { rate, cost: (user + system) / rate };
}
