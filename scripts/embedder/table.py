"""The table file (magic THSE), its WordPiece tokenizer and how a text becomes a vector."""
import json
import struct
import unicodedata
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

MAGIC, VERSION = b"THSE", 1
UNKNOWN = "[UNK]"
DIM = 256


def usable(token):
    """Keeps tokens of Latin letters, digits, punctuation (not the East Asian one) and Greek. The teacher knows nothing of the other scripts: a text in
    one of them must count as not covered instead of getting a vector that means nothing."""
    if token.startswith("[unused") or token in ("[PAD]", "[CLS]", "[SEP]", "[MASK]", UNKNOWN):
        return False
    for char in token.removeprefix("##") or "#":
        if char >= "\u2e80":
            return False
        if unicodedata.category(char)[0] in "LM" and not unicodedata.name(char, "").startswith(("LATIN", "GREEK")):
            return False
    return True


def make_tokenizer(vocab):
    """BERT uncased over the table's vocabulary. A word that cannot be split gets the id n, which is no row: it is left out."""
    ids = {token: i for i, token in enumerate(vocab)}
    ids[UNKNOWN] = len(vocab)
    tokenizer = Tokenizer(models.WordPiece(ids, unk_token=UNKNOWN, max_input_chars_per_word=100))
    tokenizer.normalizer = normalizers.BertNormalizer(clean_text=True, handle_chinese_chars=True, strip_accents=True, lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return tokenizer


def token_ids(tokenizer, texts):
    n = tokenizer.get_vocab_size() - 1
    return [[i for i in e.ids if i != n] for e in tokenizer.encode_batch(list(texts))]


def counts(ids, n):
    """Sparse matrix text x token."""
    ends = np.cumsum([0] + [len(i) for i in ids])
    flat = np.fromiter((t for i in ids for t in i), np.int32, ends[-1])
    matrix = csr_matrix((np.ones(len(flat), np.float32), flat, ends), shape=(len(ids), n))
    matrix.sum_duplicates()
    return matrix


def unit(x):
    return x / np.maximum(np.linalg.norm(x, axis=-1, keepdims=True), 1e-12)


def quantise(rows):
    scale = np.maximum(np.abs(rows).max(1), 1e-9) / 127
    return scale.astype("<f4"), np.clip(np.rint(rows / scale[:, None]), -127, 127).astype(np.int8)


def write(path, vocab, scale, rows, meta):
    text = "\n".join(vocab).encode()
    head = json.dumps(meta, ensure_ascii=False, sort_keys=True).encode()
    start = 12 + len(head) + 12
    text += b"\n" * (-(start + len(text)) % 4)
    Path(path).write_bytes(MAGIC + struct.pack("<II", VERSION, len(head)) + head
                           + struct.pack("<III", len(vocab), rows.shape[1], len(text)) + text
                           + scale.astype("<f4").tobytes() + rows.astype(np.int8).tobytes())


class Table:
    def __init__(self, path):
        data = Path(path).read_bytes()
        version, length = struct.unpack_from("<II", data, 4)
        assert data[:4] == MAGIC and version == VERSION
        self.meta = json.loads(data[12:12 + length])
        at = 12 + length
        n, d, size = struct.unpack_from("<III", data, at)
        self.vocab = data[at + 12:at + 12 + size].decode().rstrip("\n").split("\n")
        at += 12 + size
        assert at % 4 == 0 and len(self.vocab) == n and len(data) == at + 4 * n + n * d
        self.scale = np.frombuffer(data, "<f4", n, at)
        self.rows = np.frombuffer(data, np.int8, n * d, at + 4 * n).reshape(n, d)
        self.tokenizer = make_tokenizer(self.vocab)

    def embed(self, texts):
        rows = self.rows.astype(np.float32) * self.scale[:, None]
        return unit(counts(token_ids(self.tokenizer, texts), len(rows)) @ rows)

    def embed_exactly(self, text):
        """One text as the engine computes it: tokens in order, f32 throughout."""
        ids = token_ids(self.tokenizer, [text])[0]
        total = np.zeros(self.rows.shape[1], np.float32)
        for i in ids:
            total += self.scale[i] * self.rows[i].astype(np.float32)
        length = np.sqrt(np.sum(total * total, dtype=np.float32))
        return ids, total / length if length > 0 else total
