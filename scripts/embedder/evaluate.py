"""Measures sentence vectors on the evaluation data. Every embedder is a function: list of texts -> unit vectors."""
import json
import random
from pathlib import Path

import numpy as np
from scipy.stats import pearsonr, rankdata, spearmanr

import corpus
from corpus import SEED, base_conversation


def auc(positive, negative):
    ranks = rankdata(np.concatenate([positive, negative]))
    return (ranks[:len(positive)].sum() - len(positive) * (len(positive) + 1) / 2) / (len(positive) * len(negative))


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines() if line]


def pairs(data, keep):
    """Text pairs of which about half are from one conversation, so that all similarities occur."""
    rng = random.Random(SEED)
    groups = {}
    for conversation, text in corpus.conversations(data):
        if keep(conversation) and len(text.split()) > 1:
            groups.setdefault(conversation, []).append(text)
    names, out = sorted(groups), []
    for _ in range(6000):
        a, b = rng.choice(names), rng.choice(names)
        out.append((rng.choice(groups[a]), rng.choice(groups[a])))
        out.append((rng.choice(groups[a]), rng.choice(groups[b])))
    return [(a, b) for a, b in dict.fromkeys(out) if a != b]


def natural(data, keep=lambda c: True):
    """Conversations as lists of (text, thread, event, source) of their user turns."""
    out = []
    for path in sorted((Path(data) / "turns").glob("natural-*.jsonl")):
        for record in lines(path):
            if keep(base_conversation("turns", record["id"])):
                out.append([(record["messages"][l["turn"] - 1]["content"], l["thread"], l["event"], record["source"])
                            for l in record["labels"]])
    return out


def thread_pairs(data, keep=lambda c: True):
    """(turn, earlier turns of its thread) and (turn, as many turns of another conversation)."""
    rng, same, other = random.Random(SEED), [], []
    talks = natural(data, keep)
    for i, talk in enumerate(talks):
        for k, (text, thread, event, source) in enumerate(talk):
            before = [t for t, th, _, _ in talk[:k] if th == thread]
            if k and before:
                same.append((text, before))
            for j in rng.sample([j for j in range(len(talks)) if j != i], 5) if k else []:
                other.append((text, [t for t, *_ in talks[j][:k]]))
    return same, other


def best(embed, pairs):
    """Highest cosine of each text with its list of texts."""
    texts = sorted({t for a, b in pairs for t in [a, *b]})
    row = {t: i for i, t in enumerate(texts)}
    vectors = embed(texts)
    return np.array([max(vectors[[row[t] for t in b]] @ vectors[row[a]]) for a, b in pairs])


def facts(data, keep, field):
    out = []
    for path in sorted((Path(data) / "ikat").glob("*.jsonl")):
        for record in lines(path):
            if keep(base_conversation("ikat", record["id"])):
                for turn in record["turns"]:
                    if turn["facts"] and turn[field]:
                        out.append((turn[field], record["facts"], set(turn["facts"])))
    return out


def fact_recall(embed, items, k=3):
    scores = []
    for text, known, gold in items:
        vectors = embed([text] + [f["text"] for f in known])
        order = np.argsort(-(vectors[1:] @ vectors[0]), kind="stable")[:k]
        scores.append(len(gold & {known[i]["id"] for i in order}) / len(gold))
    return float(np.mean(scores))


def cast(data, embed):
    """Over dependent turns: AUC of the turns depended on against the other earlier turns, and how often the best is one."""
    positive, negative, top = [], [], []
    for path in sorted((Path(data) / "cast2020").glob("*.json")):
        for talk in json.loads(path.read_text()):
            vectors = embed([t["raw_utterance"] for t in talk["turn"]])
            place = {t["number"]: i for i, t in enumerate(talk["turn"])}
            for i, turn in enumerate(talk["turn"]):
                gold = turn.get("query_turn_dependence", [])
                gold = {place[g] for g in (gold if isinstance(gold, list) else [gold]) + [turn.get("result_turn_dependence")] if g in place}
                if gold and i > 1:
                    cosines = vectors[:i] @ vectors[i]
                    positive += [cosines[j] for j in range(i) if j in gold]
                    negative += [cosines[j] for j in range(i) if j not in gold]
                    top.append(int(np.argmax(cosines)) in gold)
    return auc(positive, negative), float(np.mean(top))


def aba(data, keep=lambda c: True):
    records = [r for p in sorted((Path(data) / "aba").glob("*.jsonl")) for r in lines(p) if keep(base_conversation("aba", r["id"]))]
    turns = [[m["content"] for m in r["messages"] if m["role"] == "user"] for r in records]
    return [(t[2], [t[0]]) for t in turns], [(t[2], [t[1]]) for t in turns]


def measure(embed, teacher, data, keep):
    """keep(conversation) chooses the conversations; the two small sets (cast, aba) are always measured whole."""
    result = {}
    texts = pairs(data, keep)
    unique = sorted({t for p in texts for t in p})
    row = {t: i for i, t in enumerate(unique)}
    left, right = ([row[p[i]] for p in texts] for i in (0, 1))
    ours, theirs = ((v[left] * v[right]).sum(1) for v in (embed(unique), teacher(unique)))
    result["spearman_with_teacher"] = float(spearmanr(ours, theirs).statistic)
    result["pearson_with_teacher"] = float(pearsonr(ours, theirs).statistic)
    same, other = thread_pairs(data, keep)
    result["natural_thread_auc"] = float(auc(best(embed, same), best(embed, other)))
    result["ikat_facts_recall3"] = fact_recall(embed, facts(data, keep, "user"))
    result["ikat_facts_recall3_resolved"] = fact_recall(embed, facts(data, keep, "resolved"))
    result["cast_dependence_auc"], result["cast_dependence_top1"] = cast(data, embed)
    first, second = aba(data)
    a, b = best(embed, first), best(embed, second)
    result["aba_auc"], result["aba_accuracy"] = float(auc(a, b)), float(np.mean(a > b))
    result["n_pairs"], result["n_thread_turns"], result["n_fact_turns"] = len(texts), len(same), len(facts(data, keep, "user"))
    return {k: round(float(v), 4) for k, v in result.items()}
