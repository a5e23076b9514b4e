"""Labelled conversations of the evaluation data in one shape, for training and for its cross-validation."""

import json
import math
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Conversation:
    id: str
    group: str
    source: str
    messages: list[dict]
    labels: dict[int, dict] = field(default_factory=dict)
    threads: dict[int, str] = field(default_factory=dict)


def lines(folder: Path, pattern: str = "*.jsonl"):
    for file in sorted(folder.glob(pattern)):
        with file.open(encoding="utf-8") as handle:
            yield from map(json.loads, handle)


def turns(data: Path, kind: str) -> list[Conversation]:
    """`natural` or `challenge` conversations; their labels' refs carry text, not spans."""
    found = []
    for line in lines(data / "turns", f"{kind}-*.jsonl"):
        labels = {label["turn"]: {**label, "source": kind} for label in line["labels"]}
        threads = {turn: label["thread"] for turn, label in labels.items() if label.get("thread")}
        found.append(Conversation(line["id"], line["id"], kind, line["messages"], labels, threads))
    return found


def annotated(data: Path, labels: Path, kind: str) -> list[Conversation]:
    """`ikat` or `mtragun` with the labels of bench/quality/labels; threads follow from the events."""
    by_conversation: dict[str, dict[int, dict]] = {}
    for row in lines(labels, f"{kind}.jsonl"):
        by_conversation.setdefault(row["id"], {})[row["turn"]] = {**row, "source": kind}
    found = []
    for line in lines(data / kind):
        rows = by_conversation.get(line["id"])
        if rows is None:
            continue
        if kind == "ikat":
            messages, resolved = [], {}
            for index, turn in enumerate(line["turns"]):
                messages += [{"role": "user", "content": turn["user"]}, {"role": "assistant", "content": turn.get("assistant") or ""}]
                resolved[2 * index + 1] = turn["resolved"]
            for number, row in rows.items():
                row["resolved"] = resolved.get(number, "")
        else:
            messages = line["messages"]
        threads, thread, previous, opened = {1: "T1"}, "T1", "T1", 1
        for number in sorted(rows):
            event = rows[number]["event"][0]
            if event == "new":
                opened += 1
                previous, thread = thread, f"T{opened}"
            elif event == "resume":
                previous, thread = thread, previous
            threads[number] = thread
        found.append(Conversation(line["id"], line["id"], kind, messages, rows, threads))
    return found


def gecor(data: Path) -> list[Conversation]:
    """Turns labelled for context dependence: equal to an elliptical or coreferent variant, or to the complete one."""
    found = []
    for line in lines(data / "gecor"):
        messages, labels = [], {}
        for index, turn in enumerate(line["turns"]):
            messages += [{"role": "user", "content": turn["user"]}, {"role": "assistant", "content": turn.get("assistant") or ""}]
            variants = {turn["with_ellipsis"], turn["with_coreference"]} - {""}
            if index > 0 and turn["user"] == turn["complete"]:
                labels[2 * index + 1] = {"context": 0, "source": "gecor"}
            elif index > 0 and turn["user"] in variants:
                labels[2 * index + 1] = {"context": 1, "source": "gecor"}
        found.append(Conversation(line["id"], line["id"], "gecor", messages, labels))
    return found


def aba(data: Path) -> list[Conversation]:
    found = []
    for line in lines(data / "aba"):
        labels = {3: {"event": ["new"], "source": "aba"}, 5: {"event": ["resume"], "thread": "A", "source": "aba"}}
        found.append(Conversation(line["id"], line["id"], "aba", line["messages"], labels, {1: "A", 3: "B", 5: "A"}))
    return found


def cast2020(data: Path) -> list[Conversation]:
    """The user's turns alone; a turn needs those whose question or answer it depends on."""
    found = []
    for topic in json.loads((data / "cast2020" / "dev.json").read_text(encoding="utf-8")):
        messages, labels = [], {}
        for turn in topic["turn"]:
            messages.append({"role": "user", "content": turn["raw_utterance"]})
            needs = set(turn.get("query_turn_dependence") or [])
            if isinstance(turn.get("result_turn_dependence"), int):
                needs.add(turn["result_turn_dependence"])
            labels[turn["number"]] = {"needs": sorted(needs), "needs_any": sorted(needs), "source": "cast2020"}
        found.append(Conversation(f"cast2020-{topic['number']}", f"cast2020-{topic['number']}", "cast2020", messages, labels))
    return found


def interleaved(natural: list[Conversation], depth: int) -> list[Conversation]:
    """A up to the answer to its user turn ⌈n/2⌉, then B (at depth 2 broken by C in the same way), then the rest of A."""

    def halves(conversation: Conversation) -> tuple[list[dict], list[dict]]:
        users = [i for i, m in enumerate(conversation.messages) if m["role"] == "user"]
        middle = math.ceil(len(users) / 2)
        cut = users[middle] if middle < len(users) else len(conversation.messages)
        return conversation.messages[:cut], conversation.messages[cut:]

    def next_of_other_source(index: int, taken: set[str]) -> Conversation | None:
        for step in range(1, len(natural)):
            other = natural[(index + step) % len(natural)]
            if source_of(other) != source_of(natural[index]) and other.id not in taken:
                return other
        return None

    found = []
    for index, a in enumerate(natural):
        if sum(m["role"] == "user" for m in a.messages) < 3:
            continue
        b = next_of_other_source(index, {a.id})
        if b is None:
            continue
        first, rest = halves(a)
        parts = [(a, m) for m in first]
        if depth == 2:
            c = next_of_other_source(natural.index(b), {a.id, b.id})
            b_first, b_rest = halves(b)
            parts += [(b, m) for m in b_first] + [(c, m) for m in c.messages] + [(b, m) for m in b_rest]
        else:
            parts += [(b, m) for m in b.messages]
        parts += [(a, m) for m in rest]
        messages, labels, threads, seen, current = [], {}, {}, set(), None
        # Message numbers within each conversation, and what they became.
        numbers: dict[str, dict[int, int]] = {}
        for conversation, message in parts:
            messages.append(message)
            mine = numbers.setdefault(conversation.id, {})
            mine[len(mine) + 1] = len(messages)
            if message["role"] != "user":
                continue
            number = len(messages)
            threads[number] = conversation.id
            if current is not None:
                event = "stay" if conversation.id == current else "resume" if conversation.id in seen else "new"
                label = conversation.labels.get(len(mine), {})
                needs = {key: [mine[n] for n in label.get(key, [])] for key in ("needs", "needs_any")}
                refs = [{**ref, "target": [mine[n] for n in ref["target"]]} for ref in label.get("refs", [])]
                labels[number] = {"event": [event], "thread": conversation.id, "source": "interleaved", "refs": refs, **needs}
            current = conversation.id
            seen.add(conversation.id)
        found.append(Conversation(f"{a.id}/{depth}", a.id, "interleaved", messages, labels, threads))
    return found


def source_of(conversation: Conversation) -> str:
    return conversation.id.split("-")[0]
