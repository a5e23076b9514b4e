/** One thread of row 14: its own engine and sessions, assembling for as long as it is told. */
import { parentPort } from "node:worker_threads";

import { feed } from "./contenders/feed.js";
import { specLists } from "./inputs/pack.js";
import { Scene } from "./inputs/scenes.js";
import { rotate } from "./measure/throughput.js";
import { delivered, loadProduct, vectorEngine } from "./product.js";

export type Ready = "ready";

export interface Start {
  seconds: number;
}

export interface Report {
  /** Assembles per second. */
  rate: number;
}

const SESSIONS = 16;
const TURNS = 100;

const port = parentPort;
if (port === null) throw new Error("worker.ts runs in a worker thread");

const lists = specLists();
const engine = vectorEngine(await loadProduct(), { budget: 4000 });
const scenes = Array.from({ length: SESSIONS }, (_, i) => {
  const scene = new Scene(lists, i).digressing(TURNS);
  return { session: feed(engine.session(`14-${i}`), scene.turns), query: scene.queries(1, 100)[0]! };
});
const assemble = rotate(scenes, ({ session, query }) =>
  delivered(session.assemble(query.text, { vector: query.vector, dryRun: true })),
);
for (let call = 0; call < 2000; call++) assemble();

port.on("message", ({ seconds }: Start) => {
  const start = performance.now();
  let calls = 0;
  let elapsed = 0;
  for (; elapsed < seconds * 1e3; elapsed = performance.now() - start) {
    for (let i = 0; i < SESSIONS; i++) assemble();
    calls += SESSIONS;
  }
  const report: Report = { rate: (calls / elapsed) * 1e3 };
  port.postMessage(report);
});
const ready: Ready = "ready";
port.postMessage(ready);
