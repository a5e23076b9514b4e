import { feed } from "../contenders/feed.js";
import { Scene } from "../inputs/scenes.js";
import { nowhere } from "../nowhere.js";
import { vectorEngine } from "../product.js";
import { atMost, type Row } from "../row.js";

const TURNS = 50;

/** Many live sessions at once: how fast they take turns, and what each holds beside its text. */
export const density: Row = {
  number: "15",
  claims: [
    { row: "15.turns", what: "turns per second through append + assemble, 10,000 sessions of 50 turns", unit: "/s" },
    {
      row: "15.f32",
      what: "native bytes a session without its text, 50 turns of 384 × f32",
      unit: "KB",
      bar: atMost(80),
    },
    { row: "15.i8", what: "the same, i8", unit: "KB", bar: atMost(25) },
  ],
  run({ product, lists, quick }) {
    const sessions = quick ? 500 : 10_000;
    const { turns } = new Scene(lists).digressing(TURNS);
    const text = turns.reduce((sum, { content }) => sum + Buffer.byteLength(content), 0);
    const engine = vectorEngine(product, { store: nowhere, maxSessions: sessions, budget: 4000 });
    const before = engine.info().bytes;
    const chats = Array.from({ length: sessions }, (_, i) => engine.session(`15-${i}`));
    const rates: number[] = [];
    for (let at = 0; at < TURNS; at += 2) {
      const user = turns[at]!;
      const assistant = turns[at + 1]!;
      const start = performance.now();
      for (const chat of chats) {
        chat.assemble(user.content, { vector: user.vector });
        chat.append(assistant);
      }
      rates.push((2 * sessions) / ((performance.now() - start) / 1e3));
    }
    const each = (engine.info().bytes - before) / sessions - text;
    engine.close();
    const small = vectorEngine(product, { store: nowhere, vectors: "i8" });
    const bare = small.info().bytes;
    feed(small.session("15-i8"), turns);
    const coded = small.info().bytes - bare - text;
    small.close();
    return {
      "15.turns": { rounds: rates },
      "15.f32": {
        rounds: [each / 1024],
        note: `${sessions} sessions; their text is ${(text / 1024).toFixed(1)} KB each`,
      },
      "15.i8": { rounds: [coded / 1024] },
    };
  },
};
