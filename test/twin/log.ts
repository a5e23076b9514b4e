import { cosine } from "./similarity.js";

/** SPEC-028 §3.1, as far as the pseudo-code reads it. */
export interface LoggedTurn {
  turnId: number;
  role: "USER" | "ASSISTANT";
  content: string;
  embedding: ArrayLike<number>;
  /** Ordinal of its topic thread, from 0. */
  topicThread: number;
}

export interface ThreadDecision {
  thread: number;
  event: "join" | "resume" | "new";
  /** To that thread; of a new thread, to the most similar of the others. */
  similarity: number;
}

/** Strictly above it a turn joins a thread (R028-9). */
const JOIN = 0.7;

/** The Turn Log, naively: an array that is filtered whenever a question comes. */
export class TurnLog {
  readonly turns: LoggedTurn[] = [];
  activeThread: number | null = null;
  #threads = 0;
  #lastId = 0;

  get currentTurn(): number {
    return this.#lastId + 1;
  }

  get activeThreadTurns(): LoggedTurn[] {
    return this.turns.filter((turn) => turn.topicThread === this.activeThread);
  }

  /** Thread assignment of §3.3; of equal threads the most recently active one, then the older (G-18). */
  assignThread(embedding: ArrayLike<number>): ThreadDecision {
    let best: LoggedTurn | null = null;
    let similarity = -Infinity;
    for (const turn of this.turns) {
      const candidate = cosine(embedding, turn.embedding);
      if (
        candidate > similarity ||
        (candidate === similarity && best !== null && this.#lastTurn(turn) > this.#lastTurn(best))
      ) {
        best = turn;
        similarity = candidate;
      }
    }
    if (best === null) return { thread: this.#threads, event: "new", similarity: 0 };
    if (similarity <= JOIN) return { thread: this.#threads, event: "new", similarity };
    return { thread: best.topicThread, event: best.topicThread === this.activeThread ? "join" : "resume", similarity };
  }

  /** A user turn finds its thread; an assistant turn stays with the turn it answers, as in the example of §3.3. */
  append(role: LoggedTurn["role"], content: string, embedding: ArrayLike<number>): LoggedTurn {
    const thread =
      role === "USER" || this.activeThread === null ? this.assignThread(embedding).thread : this.activeThread;
    this.#threads = Math.max(this.#threads, thread + 1);
    this.activeThread = thread;
    const turn = { turnId: ++this.#lastId, role, content, embedding, topicThread: thread };
    this.turns.push(turn);
    return turn;
  }

  #lastTurn(of: LoggedTurn): number {
    return Math.max(...this.turns.filter((turn) => turn.topicThread === of.topicThread).map((turn) => turn.turnId));
  }
}
