"""Fits the small logistic models of packs/model.json on labelled conversations, cross-validated by conversation.

    cargo build --release --example features -p trihorizon-core
    python scripts/train/train.py DATA [--features PROGRAM] [--dry]

Writes packs/model.json (weights under the names of the features they multiply) and scripts/train/report.json (what
cross-validation measured). Needs numpy and scipy; fitted in rounds, since later models see what earlier ones decided.
"""

import argparse
import json
import re
import subprocess
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

from conversations import Conversation, aba, annotated, gecor, interleaved, turns

MODEL = Path("packs/model.json")
REPORT = Path("scripts/train/report.json")
LABELS = Path("bench/quality/labels")
FOLDS = 5
INTENTS = ["EXPLORE", "DRILL_DOWN", "CLARIFY", "CONTINUE"]
# The rare intents weigh more: macro-F1 counts them as much as the common ones.
RARE = [1.3, 1.0, 2.0, 1.0]
# Sources differ in size, not in worth; these keep the largest from deciding alone.
WEIGHTS = {"natural": 1.0, "challenge": 1.0, "ikat": 0.6, "mtragun": 0.6, "gecor": 0.5, "aba": 1.0, "interleaved": 0.5}


def sigmoid(z):
    return 1 / (1 + np.exp(-np.clip(z, -40, 40)))


def fit_binary(x, y, w, l2):
    """Weights and bias of a logistic regression, ridge-penalised but for the bias."""

    def loss(theta):
        z = x @ theta[:-1] + theta[-1]
        p = sigmoid(z)
        value = -(w * (y * np.log(p + 1e-12) + (1 - y) * np.log(1 - p + 1e-12))).sum() + l2 * (theta[:-1] ** 2).sum()
        g = w * (p - y)
        return value, np.concatenate([x.T @ g + 2 * l2 * theta[:-1], [g.sum()]])

    return minimize(loss, np.zeros(x.shape[1] + 1), jac=True, method="L-BFGS-B", options={"maxiter": 500}).x


def fit_softmax(x, accepted, w, l2):
    """One weight vector and bias a class; `accepted` marks every class a row may have."""
    n, k = x.shape[1], accepted.shape[1]

    def loss(theta):
        t = theta.reshape(k, n + 1)
        z = x @ t[:, :-1].T + t[:, -1]
        z -= z.max(1, keepdims=True)
        p = np.exp(z)
        p /= p.sum(1, keepdims=True)
        inside = (p * accepted).sum(1) + 1e-12
        value = -(w * np.log(inside)).sum() + l2 * (t[:, :-1] ** 2).sum()
        g = w[:, None] * (p - p * accepted / inside[:, None])
        gradient = np.concatenate([g.T @ x + 2 * l2 * t[:, :-1], g.sum(0)[:, None]], axis=1)
        return value, gradient.ravel()

    theta = minimize(loss, np.zeros(k * (n + 1)), jac=True, method="L-BFGS-B", options={"maxiter": 500}).x
    return theta.reshape(k, n + 1)


def fit_choice(groups, l2):
    """Weights of a conditional logit: in each group of rows some are accepted."""
    n = groups[0][0].shape[1]

    def loss(theta):
        value, gradient = l2 * (theta**2).sum(), 2 * l2 * theta
        for x, accepted, w in groups:
            z = x @ theta
            p = np.exp(z - z.max())
            p /= p.sum()
            inside = p[accepted].sum() + 1e-12
            value -= w * np.log(inside)
            q = np.where(accepted, p / inside, 0)
            gradient = gradient + w * (x.T @ (p - q))
        return value, gradient

    return minimize(loss, np.zeros(n), jac=True, method="L-BFGS-B", options={"maxiter": 300}).x


def folds(groups: list[str]):
    """The fold of each row, by conversation, the same in every run."""
    order = {g: i % FOLDS for i, g in enumerate(sorted(set(groups)))}
    return np.array([order[g] for g in groups])


def f1(predicted, gold):
    tp = (predicted & gold).sum()
    return 2 * tp / max(1, predicted.sum() + gold.sum())


def macro_f1(predicted, gold):
    return (f1(predicted, gold) + f1(~predicted, ~gold)) / 2


def described(conversations: list[Conversation], program: str):
    """Runs the features program; yields names, then (conversation, turn, row)."""
    requests = []
    for c in conversations:
        wanted = sorted(n for n in c.labels if n > 1)
        keep = ("role", "content", "tool_calls", "tool_call_id", "name")
        messages = [{k: m[k] for k in keep if m.get(k) is not None} for m in c.messages]
        requests.append(json.dumps({"id": c.id, "messages": messages, "threads": c.threads, "turns": wanted}))
    output = subprocess.run([program], input="\n".join(requests), capture_output=True, text=True, check=True).stdout.splitlines()
    by_id = {c.id: c for c in conversations}
    names = json.loads(output[0])
    rows = [json.loads(line) for line in output[1:]]
    return names, [(by_id[r["id"]], r["turn"], r) for r in rows]


def spans_of(label: dict, text: str):
    """(start, end, agreed, accepted messages) of each gold reference, UTF-16 units."""
    accepted = set(label.get("needs", []))
    for ref in label.get("refs", []):
        wanted = set(ref["target"]) | accepted
        if "span" in ref:
            yield (*ref["span"], ref["agreed"], wanted)
        else:
            for found in re.finditer(r"(?<!\w)" + re.escape(ref["text"]) + r"(?!\w)", text):
                start, end = (len(text[:p].encode("utf-16-le")) // 2 for p in found.span())
                yield start, end, ref["agreed"], wanted


def references(rows):
    x, y, w, g, source, choices, missed, gold = [], [], [], [], [], [], 0, 0
    for c, turn, row in rows:
        label = c.labels[turn]
        if "refs" not in label:
            continue
        marks = list(spans_of(label, c.messages[turn - 1]["content"]))
        weight = WEIGHTS[c.source]
        hit = set()
        for candidate in row["candidates"]:
            start, end = candidate["span"]
            over = [m for m in marks if m[0] < end and start < m[1]]
            hit.update(m[:2] for m in over)
            if over and not any(m[2] for m in over):
                continue
            x.append(candidate["features"])
            y.append(bool(over))
            w.append(weight)
            g.append(c.group)
            source.append(c.source)
            wanted = set().union(*(m[3] for m in over)) if over else set()
            if wanted and candidate["targets"] and candidate["shape"] not in ("Ordinal", "Turn", "Action"):
                accepted = np.array([t[0] in wanted for t in candidate["targets"]])
                if accepted.any() and not accepted.all():
                    choices.append((np.array([t[1] for t in candidate["targets"]]), accepted, weight, c.group, c.source))
        gold += sum(m[2] for m in marks)
        missed += sum(m[2] and m[:2] not in hit for m in marks)
    print(f"reference candidates {len(y)}, positive {sum(y)}, gold {gold}, without a candidate {missed}")
    return np.array(x), np.array(y), np.array(w), g, np.array(source), choices


def train_references(rows, report):
    x, y, w, g, source, choices = references(rows)
    fold = folds(g)
    p = np.zeros(len(y))
    for k in range(FOLDS):
        theta = fit_binary(x[fold != k], y[fold != k].astype(float), w[fold != k], 1.0)
        p[fold == k] = sigmoid(x[fold == k] @ theta[:-1] + theta[-1])
    natural = source == "natural"
    best = max(np.arange(0.2, 0.7, 0.02), key=lambda t: f1(p[natural] > t, y[natural]))
    report["reference"] = {s: round(float(f1(p[source == s] > best, y[source == s])), 3) for s in set(source)} | {"threshold": round(float(best), 2)}
    theta = fit_binary(x, y.astype(float), w, 1.0)
    groups = np.array([c[3] for c in choices])
    fold = folds(list(groups))
    right = np.zeros(len(choices))
    for k in range(FOLDS):
        t = fit_choice([c[:3] for c, f in zip(choices, fold) if f != k], 1.0)
        for i in np.flatnonzero(fold == k):
            right[i] = choices[i][1][np.argmax(choices[i][0] @ t)]
    report["target"] = {s: round(float(right[[c[4] == s for c in choices]].mean()), 3) for s in {c[4] for c in choices}}
    return theta, float(best), fit_choice([c[:3] for c in choices], 1.0)


def normalised(text: str) -> str:
    return re.sub(r"[^\w\s]", "", text.lower()).split().__str__()


def context_label(c: Conversation, turn: int, label: dict):
    if c.source == "gecor":
        return label["context"]
    if c.source == "ikat" and label.get("resolved"):
        return int(normalised(label["resolved"]) != normalised(c.messages[turn - 1]["content"]))
    if "needs" in label and c.source != "ikat":
        return int(bool(label["needs"])) if bool(label["needs"]) == bool(label["needs_any"]) else None
    return None


def train_dependence(rows, report, name, label_of, l2=1.0):
    x, y, w, g, source = [], [], [], [], []
    for c, turn, row in rows:
        value = label_of(c, turn, c.labels[turn])
        if value is not None:
            x.append(row["dependence"]), y.append(bool(value)), w.append(WEIGHTS[c.source]), g.append(c.group), source.append(c.source)
    x, y, w, source = np.array(x), np.array(y), np.array(w), np.array(source)
    fold = folds(g)
    p = np.zeros(len(y))
    for k in range(FOLDS):
        theta = fit_binary(x[fold != k], y[fold != k].astype(float), w[fold != k], l2)
        p[fold == k] = sigmoid(x[fold == k] @ theta[:-1] + theta[-1])
    score = macro_f1 if name == "context" else f1
    barred = [s for s in (("ikat", "gecor") if name == "context" else ("natural",)) if (source == s).any()]
    best = max(np.arange(0.15, 0.8, 0.02), key=lambda t: sum(score(p[source == s] > t, y[source == s]) for s in barred))
    report[name] = {s: round(float(score(p[source == s] > best, y[source == s])), 3) for s in set(source)} | {"threshold": round(float(best), 2)}
    return fit_binary(x, y.astype(float), w, l2), float(best)


def train_threads(rows, report):
    x, event, rival_right, w, g, source = [], [], [], [], [], []
    for c, turn, row in rows:
        label = c.labels[turn]
        if "event" not in label or row["thread"] is None or len(label["event"]) > 1:
            continue
        x.append(row["thread"]), event.append(label["event"][0]), rival_right.append(row["rival"] == c.threads.get(turn))
        w.append(WEIGHTS[c.source]), g.append(c.group), source.append(c.source)
    x, event, w, source, rival_right = np.array(x), np.array(event), np.array(w), np.array(source), np.array(rival_right)
    fold = folds(g)
    out = {}
    p = {"new": np.zeros(len(event)), "resume": np.zeros(len(event))}
    gold = {"new": event == "new", "resume": (event == "resume") & rival_right}
    for name in p:
        mask = np.ones(len(event), bool) if name == "new" else x[:, 8] > 0
        if name == "new":
            mask &= event != "resume"
        for k in range(FOLDS):
            train = mask & (fold != k)
            theta = fit_binary(x[train], gold[name][train].astype(float), w[train], 0.5)
            p[name][fold == k] = sigmoid(x[fold == k] @ theta[:-1] + theta[-1])
        p[name] = np.where(x[:, 8] > 0, p[name], 0) if name == "resume" else p[name]
        out[name] = fit_binary(x[mask], gold[name][mask].astype(float), w[mask], 0.5)
    grid = np.arange(0.1, 0.9, 0.04)
    mixed = np.isin(source, ["interleaved", "natural"])

    def decided(tn, tr):
        resume = p["resume"] > tr
        return ~resume & (p["new"] > tn), resume

    def total(t):
        new, resume = decided(*t)
        inter = source == "interleaved"
        return f1(new[mixed], event[mixed] == "new") + f1(resume[inter] & rival_right[inter], event[inter] == "resume") + 0.5 * f1(new[source == "natural"], event[source == "natural"] == "new")

    best = max(((a, b) for a in grid for b in grid), key=total)
    new, resume = decided(*best)
    for s in sorted(set(source)):
        m = source == s
        report.setdefault("thread", {})[s] = {"new": round(float(f1(new[m], event[m] == "new")), 3), "resume": round(float(f1(resume[m] & rival_right[m], event[m] == "resume")), 3)}
    report["thread"]["thresholds"] = [round(float(t), 2) for t in best]
    return out, best


def train_intents(rows, report, l2=0.3):
    x, accepted, gold, w, g, source = [], [], [], [], [], []
    for c, turn, row in rows:
        label = c.labels[turn]
        wanted = [i for i in label.get("intent", []) if i in INTENTS]
        if not wanted or row["tool"]:
            continue
        x.append(row["intent"]), accepted.append([i in wanted for i in INTENTS]), gold.append(INTENTS.index(wanted[0]))
        w.append(WEIGHTS[c.source]), g.append(c.group), source.append(c.source)
    x, accepted, w, source = np.array(x), np.array(accepted, float), np.array(w), np.array(source)
    w = w * (accepted * np.array(RARE)).max(1)
    fold = folds(g)
    predicted = np.zeros(len(gold), int)
    for k in range(FOLDS):
        t = fit_softmax(x[fold != k], accepted[fold != k], w[fold != k], l2)
        predicted[fold == k] = (x[fold == k] @ t[:, :-1].T + t[:, -1]).argmax(1)
    for s in sorted(set(source)):
        m = np.flatnonzero(source == s)
        right = np.array([accepted[i, predicted[i]] for i in m])
        truth = np.array([predicted[i] if accepted[i, predicted[i]] else gold[i] for i in m])
        f1s = {name: round(float(f1(predicted[m] == n, truth == n)), 3) for n, name in enumerate(INTENTS)}
        report.setdefault("intent", {})[s] = {"accuracy": round(float(right.mean()), 3), **f1s}
    return fit_softmax(x, accepted, w, l2)


def named(theta, names):
    weights = {name: round(float(v), 3) for name, v in zip(names, theta) if abs(v) >= 0.0005}
    if len(theta) > len(names):
        weights["bias"] = round(float(theta[-1]), 3)
    return weights


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--features", default="cargo run --release --example features")
    parser.add_argument("--dry", action="store_true")
    args = parser.parse_args()
    natural = turns(args.data, "natural")
    conversations = natural + turns(args.data, "challenge") + annotated(args.data, LABELS, "ikat") + annotated(args.data, LABELS, "mtragun") + gecor(args.data) + aba(args.data) + interleaved(natural, 1) + interleaved(natural, 2)
    # The models are compiled in: each run fits what can be fitted on the decisions of the models of the last build.
    names, rows = described(conversations, args.features)
    report: dict = {}
    reference, reference_threshold, target = train_references(rows, report)
    ellipsis, ellipsis_threshold = train_dependence(rows, report, "ellipsis", lambda c, t, l: l.get("ellipsis"))
    context, context_threshold = train_dependence(rows, report, "context", context_label)
    threads, (new_threshold, resume_threshold) = train_threads(rows, report)
    intents = train_intents(rows, report)
    model = {
        "models": {
            "reference": named(reference, names["reference"]),
            "target": named(target, names["target"]),
            "ellipsis": named(ellipsis, names["dependence"]),
            "context": named(context, names["dependence"]),
            "thread.new": named(threads["new"], names["thread"]),
            "thread.resume": named(threads["resume"], names["thread"]),
            **{f"intent.{intent}": named(theta, names["intent"]) for intent, theta in zip(INTENTS, intents)},
        },
        "thresholds": {
            "reference.structural": 0.3,
            "reference.described": round(reference_threshold, 2),
            "ellipsis": round(ellipsis_threshold, 2),
            "context": round(context_threshold, 2),
            "thread.new": round(new_threshold, 2),
            "thread.resume": round(resume_threshold, 2),
        },
    }
    print(json.dumps(report, indent=1))
    if not args.dry:
        MODEL.write_text(json.dumps(model, indent=1) + "\n", encoding="utf-8")
        REPORT.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
