import type { MarkerLists } from "../../../test/twin/markers.js";
import { Writer } from "./english.js";
import { Random } from "./random.js";
import { SUBJECTS } from "./subjects.js";
import { direction, near } from "./vectors.js";

export interface SceneTurn {
  role: "user" | "assistant";
  content: string;
  vector: Float32Array;
}

export interface Query {
  text: string;
  vector: Float32Array;
}

/** An invented conversation with turns that might come next. The same seed gives the same conversation. */
export class Scene {
  readonly turns: SceneTurn[] = [];
  readonly #random: Random;
  readonly #writer: Writer;
  readonly #centres: Float32Array[];
  #subject = 0;

  constructor(lists: MarkerLists, seed = 28) {
    this.#random = new Random(seed);
    this.#writer = new Writer(lists, this.#random);
    this.#centres = SUBJECTS.map(() => direction(this.#random));
  }

  /** User and assistant in turn, all on one subject. */
  inThread(turns: number): this {
    while (this.turns.length < turns) this.#say();
    return this;
  }

  /** The same, changing the subject every few exchanges and coming back to earlier ones. */
  digressing(turns: number): this {
    let left = 0;
    while (this.turns.length < turns) {
      if (left-- === 0) {
        this.#subject = this.#random.integer(SUBJECTS.length);
        left = 4 + this.#random.integer(12);
      }
      this.#say();
      this.#say();
    }
    this.turns.length = turns;
    return this;
  }

  /** User turns of one length on the current subject. `phrases`: each with one of them in the middle. */
  queries(count: number, length: number, phrases: readonly string[] = []): Query[] {
    return Array.from({ length: count }, (_, i) => ({
      text:
        phrases.length === 0
          ? this.#writer.turn(length, SUBJECTS[this.#subject])
          : this.#writer.turnWith(phrases[i % phrases.length]!, length),
      vector: near(this.#centres[this.#subject]!, this.#random),
    }));
  }

  #say(): void {
    const user = this.turns.length % 2 === 0;
    const subject = SUBJECTS[this.#subject];
    const content = user
      ? this.#writer.turn(40 + this.#random.integer(120), subject)
      : this.#writer.answer(150 + this.#random.integer(300), subject);
    this.turns.push({
      role: user ? "user" : "assistant",
      content,
      vector: near(this.#centres[this.#subject]!, this.#random),
    });
  }
}
