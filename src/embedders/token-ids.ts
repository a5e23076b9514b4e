import { reason, TrihorizonError } from "../errors.js";

/** Token ids of a text, special ones included. */
export type TokenIds = (text: string) => number[];

interface Tokenizer {
  encode(text: string, options?: { add_special_tokens?: boolean }): { ids: number[] };
}

interface Tokenizers {
  Tokenizer: new (tokenizer: object, config: object) => Tokenizer;
}

/**
 * Reads a Hugging Face `tokenizer.json`. Long texts are cut so that the special tokens around them stay.
 *
 * @throws EMBEDDER
 */
export async function readTokenizer(
  load: <T>(name: string) => Promise<T>,
  json: string,
  maxTokens: number,
): Promise<TokenIds> {
  const { Tokenizer } = await load<Tokenizers>("@huggingface/tokenizers");
  let tokenizer: Tokenizer;
  let bare: number[];
  let full: number[];
  try {
    const parsed = JSON.parse(json) as { model?: { unk_token?: string } };
    // The library looks for the unknown token in the other file of a model, which says the same.
    tokenizer = new Tokenizer(parsed, { unk_token: parsed.model?.unk_token });
    bare = tokenizer.encode("a", { add_special_tokens: false }).ids;
    full = tokenizer.encode("a").ids;
  } catch (cause) {
    throw new TrihorizonError("EMBEDDER", `not a tokenizer.json: ${reason(cause)}`, { cause });
  }
  const start = full.findIndex((_, index) => bare.every((id, offset) => full[index + offset] === id));
  const before = full.slice(0, Math.max(0, start));
  const after = start < 0 ? [] : full.slice(start + bare.length);
  const room = maxTokens - before.length - after.length;
  return (text) => [
    ...before,
    ...tokenizer.encode(text, { add_special_tokens: false }).ids.slice(0, Math.max(1, room)),
    ...after,
  ];
}
