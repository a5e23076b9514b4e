"""English sentences and short questions to teach the table with: dictionaries and package texts that Debian ships, and
(with --data) the conversations of the evaluation data. Nothing of it is stored in the repository.

A source that is not installed is skipped aloud; the README lists the packages.
"""
import gzip
import json
import random
import re
import subprocess
import zlib
from pathlib import Path

SEED = 28
FORBIDDEN = {"locomo", "irc", "tiage"}          # never read: licence, or out of domain
WORDNET = Path("/usr/share/wordnet")
DICTD = Path("/usr/share/dictd")
FORTUNES = Path("/usr/share/games/fortunes")
FORTUNE_FILES = """computers cookie definitions education food goedel humorists kids law linux literature love magic
medicine miscellaneous news paradoxum people pets platitudes politics riddles science sports wisdom work""".split()

ASK = ["What is {n}?", "What is a {n}?", "How does {n} work?", "Tell me about {n}.", "Tell me more about {n}", "Why is {n} important?",
       "Can you explain {n}?", "I want to learn about {n}.", "What are the best {n} options?", "How much does a {n} cost?",
       "Where can I find {n}?", "I need help with my {n}.", "Is {n} dangerous?", "What causes {n}?", "and what about {n}?",
       "What's the difference between {n} and {m}?", "How is {n} related to {m}?", "Compare {n} with {m}.", "I like {n} and {m}.",
       "Does {n} have anything to do with {m}?", "What is the history of {n}?", "Who invented {n}?", "{n}", "{n} or {m}?",
       "Let's talk about {n} instead.", "Give me three examples of {n}", "I don't like {n}, what else is there?",
       "Which {n} should I choose for {m}?", "My {n} is broken, what can I do?", "When was {n} first used?"]
DO = ["How do I {v}?", "How do you {v} a {n}?", "Can you {v} the {n} for me?", "What does it mean to {v}?", "Please {v} the {n}.",
      "I'd like to {v} my {n}.", "Is it possible to {v} {n} without {m}?", "Should I {v} or not?", "I can't {v} the {n}",
      "What happens if I {v} it?", "Why do people {v}?", "Could you help me {v} this {n}?", "When should I {v} the {n}?"]


def clean(text):
    return re.sub(r"\s+", " ", text.replace("_", " ")).strip()


def sentences(text, low=3, high=110):
    """Runs of one to five sentences, so that long and short texts are both seen."""
    parts = [s for s in re.split(r"(?<=[.!?])\s+(?=[A-Z\"'(])", clean(text)) if s]
    rng, i = random.Random(zlib.crc32(text.encode())), 0
    while i < len(parts):
        n = rng.choice([1, 1, 1, 2, 3, 5])
        run = " ".join(parts[i:i + n])
        i += n
        if low <= len(run.split()) <= high:
            yield run


def wordnet(rng):
    glosses, examples, nouns, verbs = [], [], [], []
    for pos in ("noun", "verb", "adj", "adv"):
        path = WORDNET / f"data.{pos}"
        if not path.exists():
            return print("skipped: wordnet-base") or ([], [], [])
        for line in path.read_text().splitlines():
            if line.startswith("  "):
                continue
            data, _, gloss = line.partition(" | ")
            fields = data.split()
            words = [clean(fields[4 + 2 * i].split("(")[0]) for i in range(int(fields[3], 16))]
            examples += [clean(e) for e in re.findall(r'"([^"]{12,200})"', gloss)]
            meaning = clean(re.split(r'; "', gloss)[0])
            glosses.append(f"{rng.choice(words)}: {meaning}" if rng.random() < .4 else meaning)
            if pos == "noun":
                nouns += words
            elif pos == "verb":
                verbs += words
    questions = []
    for _ in range(34000):
        questions.append(rng.choice(ASK).format(n=rng.choice(nouns), m=rng.choice(nouns)))
    for _ in range(10000):
        questions.append(rng.choice(DO).format(v=rng.choice(verbs), n=rng.choice(nouns), m=rng.choice(nouns)))
    return glosses, examples, questions


def dictd(name, low):
    path = DICTD / f"{name}.dict.dz"
    if not path.exists():
        print(f"skipped: dict-{name}")
        return []
    text = gzip.open(path, "rt", encoding="utf-8", errors="ignore").read()
    text = re.sub(r"[{}]|\(\d{4}-\d\d-\d\d\)|<[^>]*>|\[[^\]]*\]|\\[^\\]*\\", "", text)
    return [s for block in re.split(r"\n\s*\n", text)[40:] for s in sentences(block, low)]


def debian():
    try:
        dump = subprocess.run(["apt-cache", "dumpavail"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return print("skipped: apt package descriptions") or []
    out = set()
    for record in dump.split("\n\n"):
        head = re.search(r"^Package: (\S+)", record, re.M)
        found = re.search(r"^Description(?:-en)?: (.*(?:\n .*)*)", record, re.M)
        if head and found and not re.search(r"^(lib|.*-(dev|doc|dbg|data|l10n)$)", head[1]):
            short, _, body = found[1].partition("\n")
            out.add(clean(short))
            for block in body.split("\n ."):
                out.update(sentences(block))
    return sorted(out)


def handbook():
    root = Path("/usr/share/doc/debian-handbook/html/en-US")
    out = []
    for path in sorted(root.glob("*.html")):
        for block in re.findall(r"<(?:p|div class=\"para\")[^>]*>(.*?)</(?:p|div)>", path.read_text(errors="ignore"), re.S):
            out += sentences(re.sub(r"<[^>]+>", "", block))
    return out


def fortunes():
    out = []
    for name in FORTUNE_FILES:
        path = FORTUNES / name
        if path.exists():
            for block in re.split(r"^%\n", path.read_text(errors="ignore"), flags=re.M):
                if len(block) < 400:
                    out += sentences(re.sub(r"\n\s*-- .*", "", block, flags=re.S))
    return out


def base_conversation(folder, name):
    """One name for all forms in which a conversation occurs, so that a held-out one is held out everywhere."""
    if folder == "traces":
        name = f"tau-air-{name}"
    name = re.sub(r"^challenge\d+-\d+-", "", name)
    name = re.sub(r"^(ikat\d+-\d+|tau-air-\d+).*", r"\1", name)
    return name if re.search(r"[a-z]", name) else f"{folder}-{name}"


def conversations(data):
    """(conversation, text) for every user turn and assistant sentence of the evaluation data that may be used."""
    out = []

    def walk(node, key, conversation):
        if isinstance(node, dict):
            if node.get("role") in ("system", "tool"):
                return
            for name, value in node.items():
                walk(value, name, conversation)
        elif isinstance(node, list):
            for value in node:
                walk(value, key, conversation)
        elif isinstance(node, str):
            if key in ("user", "raw_utterance", "manual_rewritten_utterance", "resolved", "complete", "with_ellipsis", "with_coreference",
                       "userMessage", "description", "title", "query", "claim"):
                out.append((conversation, clean(node)))
            elif key in ("content", "assistant", "text"):
                if len(node) < 300:
                    out.append((conversation, clean(node)))
                for line in node.split("\n"):
                    out.extend((conversation, s) for s in sentences(line.strip("#*- "), 2))

    for path in sorted(Path(data).rglob("*.json*")):
        if FORBIDDEN & set(path.parts):
            continue
        raw = path.read_text()
        records = [json.loads(line) for line in raw.splitlines() if line] if path.suffix == ".jsonl" else json.loads(raw)
        for i, record in enumerate(records):
            name = record.get("id") or record.get("number") or record.get("task_id") or record.get("caseId") or i
            conversation = base_conversation(path.parent.name, str(name))
            for key, value in record.items():
                if key not in ("labels", "id", "source", "licence", "tools"):
                    walk(value, key, conversation)
    return [(c, t) for c, t in dict.fromkeys(out) if 1 <= len(t.split()) <= 120]


def take(rng, texts, count):
    texts = sorted({t for t in texts if t and len(t) < 700})
    return rng.sample(texts, min(count, len(texts)))


def general():
    rng = random.Random(SEED)
    glosses, examples, questions = wordnet(rng)
    parts = {"wordnet glosses": take(rng, glosses, 34000), "wordnet examples": take(rng, examples, 26000),
             "questions made of wordnet words": take(rng, questions, 34000), "debian descriptions": take(rng, debian(), 22000),
             "foldoc": take(rng, dictd("foldoc", 5), 8000), "jargon": take(rng, dictd("jargon", 5), 4000),
             "devil": take(rng, dictd("devil", 4), 1500), "debian handbook": take(rng, handbook(), 4000),
             "fortunes": take(rng, fortunes(), 8000)}
    for name, texts in parts.items():
        print(f"  {len(texts):6} {name}")
    texts = sorted({t for p in parts.values() for t in p})
    rng.shuffle(texts)
    return texts
