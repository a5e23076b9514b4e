import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { reason, TrihorizonError } from "../errors.js";
import { refuseUnknown, requireCount } from "../require.js";
import type { Calibration, Embedder } from "../types.js";
import type { Ort, OrtSession, OrtTensor } from "./ort.js";
import { readTokenizer, type TokenIds } from "./token-ids.js";

/** Options of {@link onnx}. */
export interface OnnxOptions {
  /** The model: path of an `.onnx` file, or its bytes. */
  model: string | Uint8Array;
  /** The text of the model's Hugging Face `tokenizer.json`. */
  tokenizer: string;
  /** Tokens read of a text, special ones included; the rest is cut off. 256 by default. */
  maxTokens?: number | undefined;
  /**
   * How the vectors of the tokens become one: their mean (the default), the first one (`cls`), or nothing to do because the
   * model gives one vector a text (`none`).
   */
  pooling?: "mean" | "cls" | "none" | undefined;
  /** Names the model in sessions and stores; by default a hash of its bytes. */
  id?: string | undefined;
  /** Maps its cosine to the scale of the thresholds; without it cosines are taken as they are. */
  calibration?: Calibration | undefined;
}

/**
 * An embedder that runs a sentence model with onnxruntime-node, on the CPU: milliseconds a text, so it is asynchronous
 * (`assembleAsync`, `appendAsync`). The packages `onnxruntime-node` and `@huggingface/tokenizers` are optional peers:
 * install them beside this one. Their install scripts are not needed (one downloads GPU libraries).
 *
 * @throws EMBEDDER when a package is missing or the model or tokenizer cannot be read; INVALID_OPTION.
 * @example
 * ```ts
 * const embedder = await onnx({ model: "minilm.onnx", tokenizer: await readFile("tokenizer.json", "utf8") });
 * const engine = createEngine({ embedder });
 * const turn = await engine.session("user-42").assembleAsync("How do I configure etcd?");
 * ```
 */
export async function onnx(options: OnnxOptions): Promise<Embedder> {
  const { model, tokenizer, maxTokens = 256, pooling = "mean", id, calibration, ...unknown } = options;
  refuseUnknown("onnx", unknown);
  requireCount("onnx.maxTokens", maxTokens);
  if (!["mean", "cls", "none"].includes(pooling)) {
    throw new TrihorizonError(
      "INVALID_OPTION",
      `onnx.pooling: got ${JSON.stringify(pooling)}, expected mean, cls or none`,
      { value: pooling },
    );
  }
  const bytes = typeof model === "string" ? await readModel(model) : model;
  const ort = await load<Ort>("onnxruntime-node");
  const ids = await readTokenizer(load, tokenizer, maxTokens);
  const session = await failing("the model cannot be loaded", () =>
    ort.InferenceSession.create(bytes, { logSeverityLevel: 3 }),
  );
  const run = new Run(ort, session, ids, pooling);
  return {
    id: id ?? `onnx:${createHash("sha256").update(bytes).digest("hex").slice(0, 16)}:${pooling}`,
    dimensions: (await run.embed("dimension")).length,
    ...(calibration === undefined ? {} : { calibration }),
    embed: (text) => run.embed(text),
  };
}

class Run {
  readonly #ort: Ort;
  readonly #session: OrtSession;
  readonly #ids: TokenIds;
  readonly #pooling: NonNullable<OnnxOptions["pooling"]>;

  constructor(ort: Ort, session: OrtSession, ids: TokenIds, pooling: NonNullable<OnnxOptions["pooling"]>) {
    this.#ort = ort;
    this.#session = session;
    this.#ids = ids;
    this.#pooling = pooling;
  }

  async embed(text: string): Promise<Float32Array> {
    const ids = this.#ids(text);
    const output = await failing("the model failed", async () => {
      const outputs = await this.#session.run(this.#feeds(ids));
      const name = this.#session.outputNames.find((candidate) =>
        /sentence_embedding|pooler|last_hidden_state/.test(candidate),
      );
      return outputs[this.#pooling === "none" ? (name ?? this.#first()) : this.#first()] as OrtTensor;
    });
    return this.#pool(output);
  }

  #first(): string {
    return this.#session.outputNames[0] as string;
  }

  #feeds(ids: readonly number[]): Record<string, OrtTensor> {
    const tensor = (value: (id: number) => number): OrtTensor =>
      new this.#ort.Tensor(
        "int64",
        BigInt64Array.from(ids, (id) => BigInt(value(id))),
        [1, ids.length],
      );
    return Object.fromEntries(
      this.#session.inputNames.map((name) => {
        if (name.includes("mask")) return [name, tensor(() => 1)];
        if (name.includes("type")) return [name, tensor(() => 0)];
        return [name, tensor((id) => id)];
      }),
    );
  }

  #pool({ data, dims }: OrtTensor): Float32Array {
    const width = dims.at(-1) ?? 0;
    const values = data as Float32Array;
    if (dims.length < 3 || this.#pooling !== "mean") return values.slice(0, width);
    const mean = new Float32Array(width);
    const rows = values.length / width;
    for (let row = 0; row < rows; row += 1) {
      for (let column = 0; column < width; column += 1) {
        mean[column] = (mean[column] as number) + (values[row * width + column] as number) / rows;
      }
    }
    return mean;
  }
}

async function readModel(path: string): Promise<Uint8Array> {
  return failing(`the model ${path} cannot be read`, () => readFile(path));
}

async function load<T>(name: string): Promise<T> {
  return failing(
    `onnx() needs the package ${name}, which could not be loaded; install it with \`npm install ${name} --ignore-scripts\``,
    async () => (await import(name)) as T,
  );
}

async function failing<T>(what: string, action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (cause) {
    throw new TrihorizonError("EMBEDDER", `${what}: ${reason(cause)}`, { cause });
  }
}
