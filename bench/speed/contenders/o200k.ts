/**
 * A Hugging Face `tokenizer.json` of `o200k_base`, made of gpt-tokenizer's ranks, so that all three tokenizers count the
 * same tokens.
 */
export async function o200kTokenizerJson(): Promise<object> {
  const specifier: string = "gpt-tokenizer/bpeRanks/o200k_base";
  const { default: ranks } = (await import(specifier)) as { default: ReadonlyArray<string | readonly number[]> };
  const letters = byteLetters();
  const encoder = new TextEncoder();
  const vocabulary = new Map<string, number>();
  ranks.forEach((bytes, rank) => {
    const token = typeof bytes === "string" ? encoder.encode(bytes) : bytes;
    vocabulary.set(Array.from(token, (byte) => letters[byte]).join(""), rank);
  });
  return {
    version: "1.0",
    added_tokens: [],
    normalizer: null,
    pre_tokenizer: {
      type: "Sequence",
      pretokenizers: [
        { type: "Split", pattern: { Regex: PATTERN }, behavior: "Isolated", invert: false },
        { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: false },
      ],
    },
    post_processor: null,
    decoder: { type: "ByteLevel", add_prefix_space: true, trim_offsets: true, use_regex: true },
    model: { type: "BPE", vocab: Object.fromEntries(vocabulary), merges: merges(vocabulary) },
  };
}

const CONTRACTION = "(?:'(?:[sS]|[dD]|[mM]|[tT]|[lL][lL]|[vV][eE]|[rR][eE]))?";
const PATTERN = [
  String.raw`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+${CONTRACTION}`,
  String.raw`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*${CONTRACTION}`,
  String.raw`\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`,
].join("|");

/** The two tokens that each token is merged from: what byte pair encoding with the lower ranks leaves of it. */
function merges(vocabulary: ReadonlyMap<string, number>): Array<[string, string]> {
  const pairs: Array<[string, string]> = [];
  for (const [token, rank] of vocabulary) {
    const parts = [...token];
    while (parts.length > 2) {
      let best = rank;
      let at = -1;
      for (let i = 0; i + 1 < parts.length; i++) {
        const merged = vocabulary.get(parts[i]! + parts[i + 1]!);
        if (merged !== undefined && merged < best) {
          best = merged;
          at = i;
        }
      }
      if (at === -1) break;
      parts.splice(at, 2, parts[at]! + parts[at + 1]!);
    }
    if (parts.length === 2) pairs.push([parts[0]!, parts[1]!]);
  }
  return pairs;
}

/** GPT-2's printable letter for each byte. */
function byteLetters(): string[] {
  let moved = 256;
  return Array.from({ length: 256 }, (_, byte) => {
    const printable = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
    return String.fromCodePoint(printable ? byte : moved++);
  });
}
