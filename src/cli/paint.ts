/** Colours, on a terminal that wants them. */
export class Paint {
  readonly #on: boolean;

  constructor(stream: { isTTY?: boolean }, environment: NodeJS.ProcessEnv = process.env) {
    // NO_COLOR counts when it is set to anything but the empty string.
    this.#on = stream.isTTY === true && !environment["NO_COLOR"] && environment["TERM"] !== "dumb";
  }

  bold(text: string): string {
    return this.#wrap(text, 1, 22);
  }

  dim(text: string): string {
    return this.#wrap(text, 2, 22);
  }

  green(text: string): string {
    return this.#wrap(text, 32, 39);
  }

  yellow(text: string): string {
    return this.#wrap(text, 33, 39);
  }

  cyan(text: string): string {
    return this.#wrap(text, 36, 39);
  }

  magenta(text: string): string {
    return this.#wrap(text, 35, 39);
  }

  #wrap(text: string, on: number, off: number): string {
    return this.#on ? `\x1b[${on}m${text}\x1b[${off}m` : text;
  }
}
