import { type MarkerLists, everyPhrase } from "../../../test/twin/markers.js";
import type { Random } from "./random.js";
import { ANSWERS, QUESTIONS, SUBJECTS, type Subject } from "./subjects.js";

/** Writes invented English turns in which no phrase of the `spec` lists occurs, unless asked for. */
export class Writer {
  readonly #phrases: readonly string[];
  readonly #random: Random;

  constructor(lists: MarkerLists, random: Random) {
    this.#phrases = everyPhrase(lists);
    this.#random = random;
  }

  /** A user turn of exactly `length` UTF-16 units. */
  turn(length: number, subject: Subject = this.#random.pick(SUBJECTS)): string {
    return this.#fill(length, QUESTIONS, subject);
  }

  answer(length: number, subject: Subject = this.#random.pick(SUBJECTS)): string {
    return this.#fill(length, ANSWERS, subject);
  }

  /** A user turn with `phrase` in the middle. */
  turnWith(phrase: string, length: number): string {
    const half = (length - phrase.length - 2) >> 1;
    const before = this.turn(half);
    return `${before} ${phrase} ${this.turn(length - half - phrase.length - 2)}`;
  }

  #fill(length: number, sentences: typeof QUESTIONS, subject: Subject): string {
    for (let attempt = 0; attempt < 1000; attempt++) {
      let text = "";
      while (text.length < length) text += `${text === "" ? "" : " "}${this.#sentence(sentences, subject)}`;
      text = `${text.slice(0, length - 1).trimEnd()}?`.padEnd(length, "?");
      if (!this.#marked(text)) return text;
    }
    throw new Error(
      `no turn of ${length} characters without a marker: the lists of packs/spec.json leave no word to say`,
    );
  }

  #sentence(sentences: typeof QUESTIONS, subject: Subject): string {
    for (let attempt = 0; attempt < 1000; attempt++) {
      const sentence = this.#random.pick(sentences)(
        this.#random.pick(subject.deeds),
        this.#random.pick(subject.things),
        this.#random.pick(subject.things),
      );
      if (!this.#marked(sentence)) return sentence;
    }
    throw new Error(`no sentence about ${subject.name} without a marker`);
  }

  #marked(text: string): boolean {
    const lower = text.toLowerCase();
    return this.#phrases.some((phrase) => lower.includes(phrase));
  }
}
