/** What is used of onnxruntime-node, so that its types are not needed to build. */
export interface Ort {
  Tensor: new (type: "int64", data: BigInt64Array, dims: readonly number[]) => OrtTensor;
  InferenceSession: { create(model: Uint8Array, options: { logSeverityLevel: 3 }): Promise<OrtSession> };
}

export interface OrtSession {
  readonly inputNames: readonly string[];
  readonly outputNames: readonly string[];
  run(feeds: Record<string, OrtTensor>): Promise<Record<string, OrtTensor>>;
}

export interface OrtTensor {
  readonly data: unknown;
  readonly dims: readonly number[];
}
