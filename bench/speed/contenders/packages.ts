/** npm packages one would use instead. All are optional: a row whose package is not there says so. */

/** What is used of `gpt-tokenizer`. */
export interface GptTokenizer {
  countTokens(text: string): number;
}

/** What is used of `simsimd`: the inner product of two vectors. */
export interface SimSimd {
  dot(a: Float32Array, b: Float32Array): number;
}

/** What is used of `usearch`. */
export interface USearch {
  exactSearch(
    dataset: Float32Array,
    queries: Float32Array,
    dimensions: number,
    count: number,
    metric: string,
    threads: number,
  ): { keys: BigUint64Array; distances: Float32Array };
}

/** What is used of `@huggingface/tokenizers`. */
export interface HuggingFace {
  Tokenizer: new (tokenizer: object, config: object) => { encode(text: string): { ids: number[] } };
}

/** What is used of `tokenizers`, the binding of the Rust crate. */
export interface HuggingFaceNative {
  Tokenizer: { fromString(json: string): { encode(text: string): Promise<{ getLength(): number }> } };
}

interface Packages {
  "gpt-tokenizer/encoding/o200k_base": GptTokenizer;
  simsimd: SimSimd;
  usearch: USearch;
  "@huggingface/tokenizers": HuggingFace;
  tokenizers: HuggingFaceNative;
}

/** The package, or the reason why it cannot be used. */
export async function optional<N extends keyof Packages>(name: N): Promise<Packages[N] | Error> {
  try {
    const specifier: string = name;
    return (await import(specifier)) as Packages[N];
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message.split("\n")[0] : String(cause);
    return new Error(`${name} cannot be loaded here: ${reason}`, { cause });
  }
}
