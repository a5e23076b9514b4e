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


def exchanges(turns: list[dict]) -> list[dict]:
    """Messages of turns that hold what the user said and what was answered."""
    return [m for t in turns for m in ({"role": "user", "content": t["user"]}, {"role": "assistant", "content": t.get("assistant") or ""})]


def executed(turns: list[dict]) -> list[dict]:
    """Messages of `bfcl` turns: each call, followed by its result."""
    messages = []
    for turn in turns:
        messages.append({"role": "user", "content": turn["user"]})
        for n, (call, result) in enumerate(zip(turn["calls"], turn["results"])):
            name, _, arguments = call.partition("(")
            made = {"id": f"call-{turn['turn']}-{n}", "type": "function", "function": {"name": name, "arguments": json.dumps({"0": arguments[:-1]})}}
            messages.append({"role": "assistant", "content": None, "tool_calls": [made]})
            messages.append({"role": "tool", "tool_call_id": made["id"], "name": name, "content": result})
    return messages


def unlabelled(data: Path) -> dict[str, tuple[str, list[dict]]]:
    """Source and messages of the conversations that bench/quality/labels has labels for, by id."""
    found = {line["id"]: (kind, line["messages"]) for kind in ("mtragun", "aba") for line in lines(data / kind)}
    found.update({line["id"]: ("ikat", exchanges(line["turns"])) for line in lines(data / "ikat")})
    found.update({line["id"]: ("bfcl", executed(line["turns"])) for line in lines(data / "bfcl")})
    trajectories = json.loads((data / "traces" / "tau-airline-30.json").read_text(encoding="utf-8"))
    for n, trajectory in enumerate(trajectories):
        found[f"trace-{n}"] = ("traces", [m for m in trajectory["messages"] if m["role"] != "system"])
    return found


def threads_of(events: dict[int, str]) -> dict[int, str]:
    """The threads that follow from the events of a conversation."""
    threads, thread, previous, opened = {1: "T1"}, "T1", "T1", 1
    for number, event in sorted(events.items()):
        if event == "new":
            opened += 1
            previous, thread = thread, f"T{opened}"
        elif event == "resume":
            previous, thread = thread, previous
        threads[number] = thread
    return threads


def annotated(data: Path, labels: Path) -> list[Conversation]:
    """The conversations of `unlabelled` with the labels of two annotators; threads follow from the events."""
    resolved = {(line["id"], 2 * n + 1): turn["resolved"] for line in lines(data / "ikat") for n, turn in enumerate(line["turns"])}
    sources = unlabelled(data)
    by_conversation: dict[str, dict[int, dict]] = {}
    for kind in ("ikat", "mtragun", "bfcl", "traces"):
        for row in lines(labels, f"{kind}.jsonl"):
            label = {**row, "source": kind, "resolved": resolved.get((row["id"], row["turn"]), "")}
            by_conversation.setdefault(row["id"], {})[row["turn"]] = label
    found = []
    for id, rows in by_conversation.items():
        kind, messages = sources[id]
        threads = threads_of({number: row["event"][0] for number, row in rows.items()})
        found.append(Conversation(id, id, kind, messages, rows, threads))
    return found


def written(data: Path, labels: Path) -> list[Conversation]:
    """Beginnings of conversations of `unlabelled`, each with a turn written for the purpose, of a rarer kind."""
    sources = unlabelled(data)
    found = []
    for n, row in enumerate(lines(labels, "written.jsonl")):
        messages = [*sources[row["id"]][1][: row["turn"] - 1], {"role": "user", "content": row["text"]}]
        label = {**row, "needs_any": row["needs"], "source": "written"}
        found.append(Conversation(f"{row['id']}/{n}", row["id"], "written", messages, {row["turn"]: label}))
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
