import type { Message } from "../../../src/types.js";
import { Scene } from "../inputs/scenes.js";
import { median } from "../measure/statistics.js";
import { delivered } from "../product.js";
import { atMost, type Row } from "../row.js";

const MESSAGES = 1000;

/** A gateway's request: the client sends the whole history again, two messages are new. Beside it, parsing the body, which is paid anyway. */
export const request: Row = {
  number: "12",
  claims: [
    {
      row: "12",
      what: "sync + classify + assemble of a 1,000-message request, 2 new ÷ JSON.parse",
      unit: "x",
      bar: atMost(0.5),
    },
  ],
  run({ product, lists, effort, quick }) {
    const scene = new Scene(lists).digressing(MESSAGES - 2);
    const messages: Message[] = [
      { role: "system", content: "You are a helpful assistant. Answer briefly." },
      ...scene.turns.map(({ role, content }) => ({ role, content })),
      { role: "user", content: scene.queries(1, 100)[0]!.text },
    ];
    const body = JSON.stringify({ model: "any", messages });
    const before = messages.slice(0, -2);
    const rounds: number[] = [];
    for (let round = 0; round < effort.rounds; round++) {
      const engine = product.createEngine({ budget: 4000 });
      const parses: number[] = [];
      const handles: number[] = [];
      for (let call = 0; call < (quick ? 10 : 30); call++) {
        const session = engine.session(`12-${call}`);
        session.sync(before);
        const start = performance.now();
        const sent = (JSON.parse(body) as { messages: Message[] }).messages;
        const parsed = performance.now();
        const text = sent.at(-1)!.content as string;
        session.sync(sent.slice(0, -1));
        session.classify(text);
        const turn = session.assemble(text);
        delivered(turn);
        const handled = performance.now();
        if (turn.turnId !== MESSAGES - 1)
          throw new Error(`sync found ${MESSAGES - 1} known messages to be new: turn ${turn.turnId}`);
        parses.push(parsed - start);
        handles.push(handled - parsed);
      }
      engine.close();
      rounds.push(median(handles) / median(parses));
    }
    return { "12": { rounds } };
  },
};
