/** The engine's table in JavaScript: the file's vocabulary and int8 rows, WordPiece, weighted mean, unit length. */
export class GoodEmbedder {
  readonly #vocabulary: Map<string, number>;
  readonly #scales: Float32Array;
  readonly #rows: Int8Array;
  readonly #dimensions: number;
  readonly #longest: number;

  /** Reads a `THSE` file (scripts/embedder). */
  constructor(file: Uint8Array) {
    const bytes = file.slice();
    const view = new DataView(bytes.buffer);
    if (new TextDecoder().decode(bytes.subarray(0, 4)) !== "THSE" || view.getUint32(4, true) !== 1)
      throw new Error("not an embedder table of version 1");
    const head = 12 + view.getUint32(8, true);
    const [count, dimensions, size] = [0, 4, 8].map((at) => view.getUint32(head + at, true)) as [
      number,
      number,
      number,
    ];
    const vocabulary = head + 12;
    const tokens = new TextDecoder()
      .decode(bytes.subarray(vocabulary, vocabulary + size))
      .trimEnd()
      .split("\n");
    this.#vocabulary = new Map(tokens.map((token, id) => [token, id]));
    this.#longest = Math.max(...tokens.map((token) => token.length));
    this.#scales = new Float32Array(bytes.buffer, vocabulary + size, count);
    this.#rows = new Int8Array(bytes.buffer, vocabulary + size + 4 * count, count * dimensions);
    this.#dimensions = dimensions;
  }

  embed(text: string): Float32Array {
    const sum = new Float32Array(this.#dimensions);
    for (const id of this.tokens(text)) {
      const scale = this.#scales[id]!;
      let at = id * this.#dimensions;
      for (let i = 0; i < sum.length; i += 4, at += 4) {
        sum[i]! += scale * this.#rows[at]!;
        sum[i + 1]! += scale * this.#rows[at + 1]!;
        sum[i + 2]! += scale * this.#rows[at + 2]!;
        sum[i + 3]! += scale * this.#rows[at + 3]!;
      }
    }
    let square = 0;
    for (let i = 0; i < sum.length; i++) square += sum[i]! * sum[i]!;
    const factor = 1 / Math.sqrt(square);
    for (let i = 0; i < sum.length; i++) sum[i]! *= factor;
    return sum;
  }

  /** BERT's uncased WordPiece ids of an ASCII text; words that cannot be split are left out. */
  tokens(text: string): number[] {
    const ids: number[] = [];
    for (const word of text.toLowerCase().match(/[a-z0-9]+|[^\sa-z0-9]/g) ?? []) {
      const whole = this.#vocabulary.get(word);
      if (whole === undefined) this.#split(word, ids);
      else ids.push(whole);
    }
    return ids;
  }

  #split(word: string, ids: number[]): void {
    const before = ids.length;
    for (let start = 0; start < word.length;) {
      let end = Math.min(word.length, start + this.#longest);
      let id: number | undefined;
      while (end > start && id === undefined) {
        id = this.#vocabulary.get(start === 0 ? word.slice(0, end) : `##${word.slice(start, end)}`);
        if (id === undefined) end--;
      }
      if (id === undefined) {
        ids.length = before;
        return;
      }
      ids.push(id);
      start = end;
    }
  }
}
