import { type Intent } from "../../../../test/twin/intent.js";
import type { MarkerLists } from "../../../../test/twin/markers.js";
import { MARKED, MarkerRegex } from "./markers.js";
import { Rows } from "./rows.js";

/** Turns of one subject, as row numbers. */
export interface Thread {
  rows: Int32Array;
  count: number;
}

export interface Decision {
  intent: Intent;
  /** To the active thread; null when a marker decided before it was needed. */
  similarity: number | null;
}

export interface Assignment {
  /** Null = a thread of its own. */
  thread: number | null;
  /** To the active thread. */
  active: number;
}

/** The turn log as a careful engineer would keep it: contiguous unit rows, token counts taken once, threads as row lists. */
export class GoodLog {
  readonly rows: Rows;
  readonly contents: string[] = [];
  readonly roles: Array<"user" | "assistant"> = [];
  readonly tokens: number[] = [];
  readonly threads: Thread[] = [];
  active = -1;
  /** Fewest tokens of a turn. */
  shortest = Infinity;
  readonly #markers: MarkerRegex;

  constructor(lists: MarkerLists, dimensions: number) {
    this.#markers = new MarkerRegex(lists);
    this.rows = new Rows(dimensions);
  }

  get length(): number {
    return this.contents.length;
  }

  append(role: "user" | "assistant", content: string, vector: Float32Array, tokens: number): void {
    if (role === "user" || this.active === -1)
      this.active = this.assign(vector).thread ?? this.threads.push({ rows: new Int32Array(16), count: 0 }) - 1;
    const row = this.rows.push(vector);
    this.contents.push(content);
    this.roles.push(role);
    this.tokens.push(tokens);
    this.shortest = Math.min(this.shortest, tokens);
    const thread = this.threads[this.active]!;
    if (thread.count === thread.rows.length) {
      const grown = new Int32Array(thread.rows.length * 2);
      grown.set(thread.rows);
      thread.rows = grown;
    }
    thread.rows[thread.count++] = row;
  }

  /** SPEC-028 §5.2: similarity only when no marker has decided. */
  classify(text: string, vector: Float32Array): Decision {
    return this.#decide(text, () =>
      this.active === -1 ? 0 : this.#similarity(this.rows.unit(vector), this.threads[this.active]!),
    );
  }

  /** The same when the similarity to the active thread is known already. */
  classifyWith(text: string, similarity: number): Decision {
    return this.#decide(text, () => similarity);
  }

  /** SPEC-028 §3.3; of equally similar threads the most recently active one. */
  assign(vector: Float32Array): Assignment {
    const query = this.rows.unit(vector);
    let best = 0.7;
    let thread: number | null = null;
    let active = 0;
    for (let i = 0; i < this.threads.length; i++) {
      const candidate = this.threads[i]!;
      const similarity = this.#similarity(query, candidate);
      if (i === this.active) active = similarity;
      if (
        similarity > best ||
        (thread !== null && similarity === best && last(candidate) > last(this.threads[thread]!))
      ) {
        best = similarity;
        thread = i;
      }
    }
    return { thread, active };
  }

  #decide(text: string, similarity: () => number): Decision {
    switch (this.#markers.classOf(text)) {
      case MARKED.TOOL:
        return { intent: "TOOL_REFERENCE", similarity: null };
      case MARKED.CLARIFY:
        return { intent: "CLARIFY", similarity: null };
      case MARKED.REFERENCE:
        return { intent: "DRILL_DOWN", similarity: null };
      case MARKED.CONTINUE:
        return { intent: "CONTINUE", similarity: null };
      case MARKED.NOTHING: {
        const topic = similarity();
        return { intent: topic < 0.5 ? "EXPLORE" : "CONTINUE", similarity: topic };
      }
    }
  }

  #similarity(query: Float32Array, thread: Thread): number {
    return this.rows.maxSimilarity(query, thread.rows, thread.count);
  }
}

function last(thread: Thread): number {
  return thread.rows[thread.count - 1]!;
}
