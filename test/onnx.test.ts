import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { describe, expect, test } from "vitest";
import { onnx } from "../src/embedders/onnx.js";
import { createEngine } from "../src/engine.js";

const model = new URL("fixtures/tiny.onnx", import.meta.url);
const tokenizer = readFileSync(new URL("fixtures/tiny-tokenizer.json", import.meta.url), "utf8");

const installed = isInstalled("onnxruntime-node");
if (!installed)
  process.stderr.write(
    "onnx tests skipped: onnxruntime-node is not installed (npm install --no-save --ignore-scripts onnxruntime-node)\n",
  );

describe.skipIf(!installed)("onnx embedder", () => {
  test("pools the vectors of the tokens, special ones included", async () => {
    const mean = await onnx({ model: model.pathname, tokenizer });
    expect(mean.dimensions).toBe(4);
    const [etcd, port, both] = await Promise.all(["etcd", "port", "ETCD port"].map(async (text) => mean.embed?.(text)));
    // Special tokens are zero vectors here: mean over 3 and 4 tokens.
    both?.forEach((value, index) => {
      expect(value).toBeCloseTo((((etcd?.[index] ?? 0) + (port?.[index] ?? 0)) * 3) / 4, 5);
    });
    const cls = await onnx({ model: readFileSync(model), tokenizer, pooling: "cls" });
    expect([...((await cls.embed?.("etcd")) ?? [])]).toEqual([0, 0, 0, 0]);
    expect(cls.id).not.toBe(mean.id);
  });

  test("cuts long texts and keeps the special tokens", async () => {
    const short = await onnx({ model: model.pathname, tokenizer, maxTokens: 4 });
    expect(await short.embed?.("etcd port backup database")).toEqual(await short.embed?.("etcd port"));
  });

  test("drives a session, asynchronously, and the session refuses the synchronous way", async () => {
    const engine = createEngine({ embedder: await onnx({ model: model.pathname, tokenizer }) });
    const chat = engine.session("s");
    await chat.appendAsync({ role: "user", content: "how is the etcd port" });
    const turn = await chat.assembleAsync("the etcd client port");
    expect(turn.similaritySource).toBe("embedding");
    expect(() => chat.assemble("the etcd client port")).toThrow(expect.objectContaining({ code: "EMBEDDER" }));
    await engine.close();
  });

  test("what cannot be read is a typed error", async () => {
    const bad = [
      { model: "/no/such/model.onnx", tokenizer },
      { model: Uint8Array.of(1, 2, 3), tokenizer },
      { model: model.pathname, tokenizer: "no json" },
    ];
    for (const options of bad) await expect(onnx(options)).rejects.toMatchObject({ code: "EMBEDDER" });
  });
});

test("bad options are refused before anything is loaded", async () => {
  await expect(onnx({ model: model.pathname, tokenizer, maxTokens: 0 })).rejects.toMatchObject({
    code: "INVALID_OPTION",
  });
  await expect(onnx({ model: model.pathname, tokenizer, pooling: "max" as never })).rejects.toMatchObject({
    code: "INVALID_OPTION",
  });
  await expect(onnx({ model: model.pathname, tokenizer, size: 3 } as never)).rejects.toMatchObject({
    code: "INVALID_OPTION",
  });
});

test.skipIf(installed)("a missing peer is a typed error that says what to install", async () => {
  await expect(onnx({ model: model.pathname, tokenizer })).rejects.toMatchObject({
    code: "EMBEDDER",
    message: expect.stringContaining("npm install onnxruntime-node") as string,
  });
});

function isInstalled(name: string): boolean {
  try {
    createRequire(import.meta.url).resolve(name);
    return true;
  } catch {
    return false;
  }
}
