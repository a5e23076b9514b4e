"""Makes packs/en.tags.txt: the most likely part of speech of English words that a suffix cannot tell.

Source: the lexicon of Eric Brill's tagger v1.14 (MIT licence), as the PyPI package `textblob` carries it.
    pip download --no-deps textblob==0.20.1 && python scripts/lexicon/build.py textblob-0.20.1-py3-none-any.whl

Words are kept only where `guess` below, which crates/core/src/text/pack.rs repeats, is wrong: the rest is not data.
"""

import re
import sys
import zipfile
from pathlib import Path

TAGS = {
    "NN": "N", "NNS": "N", "VB": "V", "VBP": "V", "VBZ": "V", "VBD": "D", "VBN": "D", "VBG": "G",
    "JJ": "J", "JJR": "J", "JJS": "J", "RB": "R", "RBR": "R", "RBS": "R",
}
SUFFIXES = [("ly", "R"), ("ing", "G"), ("ed", "D"), ("ous", "J"), ("able", "J"), ("ible", "J"), ("ful", "J"), ("less", "J"), ("ive", "J"), ("al", "J"), ("ic", "J"), ("ish", "J")]


def guess(word: str) -> str:
    """The tag a suffix suggests; nouns are what is left."""
    return next((tag for suffix, tag in SUFFIXES if word.endswith(suffix) and len(word) > len(suffix) + 2), "N")


def lexicon(wheel: str) -> dict[str, str]:
    lines = zipfile.ZipFile(wheel).read("textblob/en/en-lexicon.txt").decode("utf-8").splitlines()
    pairs = (line.split() for line in lines if line and not line.startswith(";;;"))
    return {p[0]: TAGS[p[1]] for p in pairs if len(p) >= 2 and p[1] in TAGS and re.fullmatch(r"[a-z]{2,16}", p[0])}


def main() -> None:
    by_tag: dict[str, list[str]] = {}
    for word, tag in sorted(lexicon(sys.argv[1]).items()):
        if guess(word) != tag:
            by_tag.setdefault(tag, []).append(word)
    text = "".join(f"{tag} {' '.join(words)}\n" for tag, words in sorted(by_tag.items()))
    Path("packs/en.tags.txt").write_text(text, encoding="utf-8")
    print({tag: len(words) for tag, words in by_tag.items()}, len(text))


if __name__ == "__main__":
    main()
