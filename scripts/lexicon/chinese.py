"""Makes packs/zh.tags.txt: the likely part of speech of frequent Chinese words, for cutting text into words too.

    python scripts/lexicon/chinese.py dict.txt

`dict.txt` is the dictionary of jieba 0.42.1 (MIT), lines of word, count and tag. Verbs and adjectives of packs/zh.json come
first; words of a closed class or with a class of nouns are left to the pack.
"""

import collections
import json
import re
import sys
from pathlib import Path

PACKS = Path(__file__).parents[2] / "packs"
TAGS = {"v": "V", "a": "J", "ad": "R", "d": "R", "n": "N", "vn": "N", "an": "N", "l": "N", "ns": "N", "nz": "N"}
MOST = {"V": 700, "J": 300, "R": 150, "N": 2200}
VERBS = ["verb.said", "verb.saying", "verb.base", "verb.do", "verb.write", "verb.request"]
NOUNS = [
    "noun.speech", "noun.item", "noun.tool", "noun.generic", "noun.document", "noun.unique", "noun.human", "noun.output", "label",
]  # fmt: skip
OPEN = [*VERBS, *NOUNS, "adjective.evaluative", "it.empty"]


def main(dictionary: str) -> None:
    pack = json.loads((PACKS / "zh.json").read_text("utf-8"))
    words = pack["words"]
    among = lambda keys: {word for key in keys for word in words[key]}
    closed = among(key for key in words if key not in OPEN) | {w for values in pack["numbers"].values() for w in values}
    nouns, verbs, adjectives = among(NOUNS), among(VERBS), among(["adjective.evaluative"])
    verbs -= nouns
    tags: dict[str, list[str]] = collections.defaultdict(list)
    seen: set[str] = set()

    def add(tag: str, word: str) -> None:
        if word not in seen and word not in closed and (tag == "N" or word not in nouns):
            seen.add(word)
            tags[tag].append(word)

    for word in sorted(verbs - adjectives):
        add("V", word)
    for word in sorted(adjectives - verbs):
        add("J", word)
    rows = [line.split() for line in Path(dictionary).read_text("utf-8").splitlines()]
    count = collections.Counter()
    for word, _, tag in sorted(rows, key=lambda row: (int(row[1]), row[0], row[2]), reverse=True):
        tag = TAGS.get(tag)
        if not tag or not re.fullmatch("[\u4e00-\u9fff]{2,4}", word) or word in closed | nouns | seen or count[tag] >= MOST[tag]:
            continue
        # "不到", "没用": the negation must stay a word.
        if tag != "N" and word[0] in "不没是有无":
            continue
        count[tag] += 1
        add(tag, word)
    lines = [f"{tag} {' '.join(sorted(tags[tag]))}\n" for tag in "VJRN"]
    (PACKS / "zh.tags.txt").write_text("".join(lines), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
