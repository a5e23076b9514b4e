"""Writes metrics.json: the teacher, the stages of our table and a ready table, measured alike.

  python compare.py --work DIR --data DIR      (after build.py --holdout and build.py with the same folders)
"""
import argparse
import importlib.util
import json
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file
from tokenizers import Tokenizer

import calibrate
from build import HERE, Cache, held_out
from evaluate import measure
from table import Table, counts, make_tokenizer, quantise, token_ids, unit


def from_rows(vocab, rows):
    tokenizer = make_tokenizer(list(vocab))
    return lambda texts: unit(counts(token_ids(tokenizer, texts), len(rows)) @ rows)


def wordllama():
    """The ready table of the PyPI package wordllama 0.4.0.post1, if it is installed (its own code is not needed)."""
    spec = importlib.util.find_spec("wordllama")
    if not spec:
        return None
    folder = Path(spec.submodule_search_locations[0])
    rows = load_file(folder / "weights/l2_supercat_256.safetensors")["embedding.weight"].astype(np.float32)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizers/l2_supercat_tokenizer_config.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()

    def embed(texts):
        ids = [e.ids for e in tokenizer.encode_batch(list(texts), add_special_tokens=False)]
        return unit(counts(ids, len(rows)) @ rows)
    return embed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    args = parser.parse_args()
    teacher = Cache(args.work)
    stages = np.load(args.work / "holdout.npz")
    scale, small = quantise(stages["rows"])
    int8 = from_rows(stages["vocab"], small.astype(np.float32) * scale[:, None])
    embedders = {"teacher": teacher, "PCA and SIF only": from_rows(stages["vocab"], stages["start"]),
                 "trained f32": from_rows(stages["vocab"], stages["rows"]), "trained int8": int8, "wordllama l2_supercat 256": wordllama()}
    result = {"unseen conversations": {}, "all conversations": {}}
    for name, embed in embedders.items():
        if embed:
            result["unseen conversations"][name] = measure(embed, teacher, args.data, held_out)
            result["all conversations"][name] = measure(embed, teacher, args.data, lambda c: True)
    table = Table(HERE.parent.parent / "crates/core/data/embedder.bin")
    result["all conversations"]["shipped"] = measure(table.embed, teacher, args.data, lambda c: True)
    result["calibration"] = {
        "shipped": calibrate.operating_points(table.embed, args.data, table.meta["calibration"]),
        "knots fitted on other conversations": calibrate.cross_validated(table.embed, args.data),
        "table that has not seen the conversations": calibrate.operating_points(int8, args.data, table.meta["calibration"], held_out)}
    (HERE / "metrics.json").write_text(json.dumps(result, indent=1) + "\n")
    for part in ("unseen conversations", "all conversations"):
        names = list(result[part])
        print(f"\n| {part} | " + " | ".join(names) + " |\n|---|" + "---|" * len(names))
        for key in result[part][names[0]]:
            print(f"| {key} | " + " | ".join(f"{result[part][n][key]:.3f}".removesuffix(".000") for n in names) + " |")
    print(json.dumps(result["calibration"], indent=1))


if __name__ == "__main__":
    main()
