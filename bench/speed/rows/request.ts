import type { Message, Turn } from "../../../src/types.js";
import { Scene } from "../inputs/scenes.js";
import { median } from "../measure/statistics.js";
import { delivered, type Session } from "../product.js";
import { atMost, type Row } from "../row.js";

const MESSAGES = 1000;

/**
 * A gateway's request: the client sends the whole history of the request before again, with the answer and the next turn. Beside
 * it, parsing the body, which is paid anyway.
 */
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
    const bodyOf = (sent: Message[]): string => JSON.stringify({ model: "any", messages: sent });
    const [before, body] = [bodyOf(messages.slice(0, -2)), bodyOf(messages)];
    const rounds: number[] = [];
    for (let round = 0; round < effort.rounds; round++) {
      const engine = product.createEngine({ budget: 4000 });
      const parses: number[] = [];
      const handles: number[] = [];
      for (let call = 0; call < (quick ? 10 : 30); call++) {
        const session = engine.session(`12-${call}`);
        handle(session, parse(before));
        const start = performance.now();
        const sent = parse(body);
        const parsed = performance.now();
        const turn = handle(session, sent);
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

function parse(body: string): Message[] {
  return (JSON.parse(body) as { messages: Message[] }).messages;
}

/** What a gateway does with a request. */
function handle(session: Session, messages: Message[]): Turn {
  const text = messages.at(-1)!.content as string;
  session.sync(messages.slice(0, -1));
  session.classify(text);
  const turn = session.assemble(text);
  delivered(turn);
  return turn;
}
