/** What a session remembers of the history that a client resends with every request. */
import { identityOf, isPlain } from "./message.js";
import type { AppendMessage, Message } from "./types.js";

/**
 * The beginning of a session's history, as messages that were found to be it: the same messages sent again are recognised
 * without their text crossing into the core. It may be forgotten at any time; the core has the hashes of all of it.
 */
export class History {
  readonly #roles: string[] = [];
  /** The text of a message of role and text, the identity of any other. */
  readonly #texts: string[] = [];

  /** How many of `messages` are, from the first on, the ones remembered; 0 when one differs, which the core decides on. */
  same(messages: readonly AppendMessage[]): number {
    const known = Math.min(messages.length, this.#texts.length);
    for (let at = 0; at < known; at += 1) {
      const message = messages[at] as AppendMessage;
      if (message?.role !== this.#roles[at] || textual(message) !== this.#texts[at]) return 0;
    }
    return known;
  }

  /** The history begins with these. Returns how many more characters are held. */
  remember(messages: readonly AppendMessage[]): number {
    let more = 0;
    for (let at = this.#texts.length; at < messages.length; at += 1) {
      const message = messages[at] as AppendMessage;
      const text = textual(message);
      this.#roles.push(message.role);
      this.#texts.push(text);
      more += text.length;
    }
    return more;
  }

  forget(): void {
    this.#roles.length = 0;
    this.#texts.length = 0;
  }
}

/** Tells messages of one role apart: no text of a message of text alone is the identity of another kind of message. */
function textual(message: Message): string {
  return typeof message.content === "string" && isPlain(message) ? message.content : `\0${identityOf(message)}`;
}
