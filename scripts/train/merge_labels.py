"""Merges two annotators' lines into bench/quality/labels: ids, message numbers and spans, never text.

    python scripts/train/merge_labels.py DATA FIRST.jsonl SECOND.jsonl ikat|mtragun|bfcl|traces

A line an annotator wrote: {"id", "turn", "intent", "event", "needs", "refs": [{"text", "type", "target", "item"}], "ellipsis",
"doc_request", "constraints"}. Where the two differ on intent or event both are kept; a reference only one marked has
`agreed: false`; `needs` is what both named, `needs_any` what either did; `ellipsis` is null where they differ.
"""

import json
import sys
from pathlib import Path

from conversations import unlabelled


def messages(data: Path) -> dict[tuple[str, int], str]:
    """User messages by conversation and message number."""
    numbered = ((id, n, m) for id, (_, messages) in unlabelled(data).items() for n, m in enumerate(messages, 1))
    return {(id, n): m["content"] for id, n, m in numbered if m["role"] == "user"}


def utf16(text: str, end: int) -> int:
    return len(text[:end].encode("utf-16-le")) // 2


def spans(text: str, refs: list[dict]) -> list[dict]:
    """References with a span for their text: the first occurrence not taken yet."""
    placed = []
    for ref in refs:
        start = text.find(ref["text"])
        while start >= 0 and any(p["at"][0] == start for p in placed):
            start = text.find(ref["text"], start + 1)
        if start >= 0:
            placed.append({**ref, "at": (start, start + len(ref["text"]))})
    return placed


def overlap(a: dict, b: dict) -> bool:
    return a["at"][0] < b["at"][1] and b["at"][0] < a["at"][1]


def merge_refs(text: str, first: list[dict], second: list[dict]) -> list[dict]:
    one, two = spans(text, first), spans(text, second)
    merged = []
    for ref in one + [r for r in two if not any(overlap(r, o) for o in one)]:
        other = next((r for r in (two if ref in one else one) if overlap(ref, r)), None)
        both = [ref] + ([other] if other else [])
        merged.append(
            {
                "span": [utf16(text, ref["at"][0]), utf16(text, ref["at"][1])],
                "type": sorted({r["type"] for r in both}),
                "target": sorted({t for r in both for t in r["target"]}),
                "item": ref.get("item"),
                "agreed": other is not None,
            }
        )
    return sorted(merged, key=lambda r: r["span"])


def unique(a, b) -> list:
    return [a] if a == b else [a, b]


def merge(text: str, a: dict, b: dict) -> dict:
    return {
        "id": a["id"],
        "turn": a["turn"],
        "intent": unique(a["intent"], b["intent"]),
        "event": unique(a["event"], b["event"]),
        "needs": sorted(set(a["needs"]) & set(b["needs"])),
        "needs_any": sorted(set(a["needs"]) | set(b["needs"])),
        "refs": merge_refs(text, a["refs"], b["refs"]),
        "ellipsis": a["ellipsis"] if a["ellipsis"] == b["ellipsis"] else None,
    }


def main() -> None:
    data, first, second, kind = Path(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4]
    texts = messages(data)
    read = lambda path: {(l["id"], l["turn"]): l for l in map(json.loads, open(path, encoding="utf-8"))}
    one, two = read(first), read(second)
    keys = sorted(set(one) & set(two) & set(texts))
    rows = [merge(texts[key], one[key], two[key]) for key in keys]
    out = Path("bench/quality/labels") / f"{kind}.jsonl"
    out.write_text("".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows), encoding="utf-8")
    agreed = sum(r["agreed"] for row in rows for r in row["refs"])
    marked = sum(len(row["refs"]) for row in rows)
    same = sum(len(row["intent"]) == 1 for row in rows)
    print(f"{kind}: {len(rows)} turns, intent agreement {same / len(rows):.3f}, reference agreement {agreed}/{marked}")


if __name__ == "__main__":
    main()
