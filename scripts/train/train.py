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
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

from conversations import Conversation, aba, annotated, cast2020, gecor, interleaved, turns, written

MODEL = Path("packs/model.json")
REPORT = Path("scripts/train/report.json")
LABELS = Path("bench/quality/labels")
FOLDS = 5
INTENTS = ["EXPLORE", "DRILL_DOWN", "CLARIFY", "CONTINUE"]
# The rare intents weigh more: macro-F1 counts them as much as the common ones.
RARE = [1.3, 1.0, 1.2, 1.0]
# Sources differ in size, not in worth; these keep the largest from deciding alone.
WEIGHTS = {"natural": 1.0, "challenge": 1.0, "ikat": 0.6, "mtragun": 0.6, "gecor": 0.5, "aba": 1.0, "interleaved": 0.5, "cast2020": 1.0, "bfcl": 0.2, "traces": 0.2, "written": 0.6}

# ikat's labels of dependence were made by careful rewriters, and the bar is as much on them as on gecor's.
CONTEXT_WEIGHTS = WEIGHTS | {"ikat": 2.4}

# Ridge penalty of the weights of a turn's vector, which has many more dimensions than there are features.
MEANING = 0.5

# Resuming and opening are rare, and once missed they are missed for many turns: both are lifted over what the likelihood
# asks for, as far as F1 gains where turns are filed by the engine ("thread.filed" of the report, after a build).
LIFTED = (0.7, 0.7)


# As in threads.rs: what no turn is less likely to have done, and how likely a turn is to be where it was filed that is left
# there whatever its answer says.
LEAST_ODDS, SURE = -5.0, 0.9
ANSWER_OPENS = ["similarity", "answers", "overlap"]


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
    x = np.concatenate([g[0] for g in groups])
    accepted = np.concatenate([g[1] for g in groups])
    w = np.array([g[2] for g in groups])
    sizes = np.array([len(g[1]) for g in groups])
    group, start = np.repeat(np.arange(len(groups)), sizes), np.cumsum(sizes) - sizes

    def loss(theta):
        z = x @ theta
        p = np.exp(z - np.maximum.reduceat(z, start)[group])
        p /= np.add.reduceat(p, start)[group]
        inside = np.add.reduceat(p * accepted, start) + 1e-12
        g = w[group] * (p - p * accepted / inside[group])
        return -(w * np.log(inside)).sum() + l2 * (theta**2).sum(), x.T @ g + 2 * l2 * theta

    return minimize(loss, np.zeros(x.shape[1]), jac=True, method="L-BFGS-B", options={"maxiter": 500}).x


def fit_meaning(v, accepted, w, scores, l2):
    """Weights of the dimensions of `v` that are added to `scores`, one row a class; of one class its log-odds.

    Fitted on what the features leave over, so that a model stays whole where a turn has no vector.
    """
    binary = accepted.ndim == 1
    k, n = 1 if binary else accepted.shape[1], v.shape[1]

    def loss(theta):
        t = theta.reshape(k, n)
        z = v @ t.T + scores.reshape(-1, k)
        if binary:
            p = sigmoid(z)
            inside = np.where(accepted[:, None], p, 1 - p)[:, 0]
            g = w[:, None] * (p - accepted[:, None])
        else:
            p = np.exp(z - z.max(1, keepdims=True))
            p /= p.sum(1, keepdims=True)
            inside = (p * accepted).sum(1)
            g = w[:, None] * (p - p * accepted / (inside[:, None] + 1e-12))
        return -(w * np.log(inside + 1e-12)).sum() + l2 * (theta**2).sum(), (g.T @ v + 2 * l2 * t).ravel()

    theta = minimize(loss, np.zeros(k * n), jac=True, method="L-BFGS-B", options={"maxiter": 500}).x
    return theta if binary else theta.reshape(k, n)


def fit_read(x, v, y, w, rows, l2):
    """Weights of features with a bias, and of dimensions, of a logistic regression on some rows."""
    x, v, y, w = x[rows], v[rows], y[rows], w[rows]
    theta = fit_binary(x, y.astype(float), w, l2)
    return theta, fit_meaning(v, y, w, x @ theta[:-1] + theta[-1], MEANING)


def fit_choice_meaning(choices, scores, l2):
    """Weights of a turn's vector that are added to the scores of its options: to all dormant threads', and to a new one's."""
    v = np.array([c.meaning for c in choices])
    sizes = np.array([len(c.accepted) for c in choices])
    group, start = np.repeat(np.arange(len(choices)), sizes), np.cumsum(sizes) - sizes
    accepted, score = np.concatenate([c.accepted for c in choices]), np.concatenate(scores)
    w = np.array([c.weight for c in choices])
    opens, leaves = np.zeros(len(group)), np.ones(len(group))
    opens[start + sizes - 1], leaves[start + sizes - 1] = 1, 0
    leaves[start + np.array([c.active for c in choices])] = 0

    def loss(theta):
        resume, new = theta.reshape(2, -1) @ v.T
        z = score + leaves * resume[group] + opens * new[group]
        p = np.exp(z - np.maximum.reduceat(z, start)[group])
        p /= np.add.reduceat(p, start)[group]
        inside = np.add.reduceat(p * accepted, start) + 1e-12
        g = w[group] * (p - p * accepted / inside[group])
        gradient = np.stack([v.T @ np.add.reduceat(g * leaves, start), v.T @ np.add.reduceat(g * opens, start)])
        return -(w * np.log(inside)).sum() + l2 * (theta**2).sum(), gradient.ravel() + 2 * l2 * theta

    return minimize(loss, np.zeros(2 * v.shape[1]), jac=True, method="L-BFGS-B", options={"maxiter": 300}).x.reshape(2, -1)


def folds(groups: list[str]):
    """The fold of each row, by conversation, the same in every run."""
    order = {g: i % FOLDS for i, g in enumerate(sorted(set(groups)))}
    return np.array([order[g] for g in groups])


def f1(predicted, gold):
    tp = (predicted & gold).sum()
    return 2 * tp / max(1, predicted.sum() + gold.sum())


def macro_f1(predicted, gold):
    return (f1(predicted, gold) + f1(~predicted, ~gold)) / 2


def described(conversations: list[Conversation], program: str, own: bool = False):
    """Runs the features program; yields names, then (conversation, turn, row). With `own`, turns are filed by the engine."""
    requests = []
    for c in conversations:
        wanted = sorted(n for n in c.labels if n > 1)
        keep = ("role", "content", "tool_calls", "tool_call_id", "name")
        messages = [{k: m[k] for k in keep if m.get(k) is not None} for m in c.messages]
        requests.append(json.dumps({"id": c.id, "messages": messages, "threads": c.threads, "turns": wanted, "own": own}))
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


def choose(choices, candidate, wanted, c: Conversation):
    """Adds the choice among a candidate's targets, if there is one to make."""
    if not wanted or not candidate["targets"] or candidate["shape"] in ("Ordinal", "Turn", "Action"):
        return
    accepted = np.array([t[0] in wanted for t in candidate["targets"]])
    if accepted.any() and not accepted.all():
        choices.append((np.array([t[1] for t in candidate["targets"]]), accepted, WEIGHTS[c.source], c.group, c.source))


def references(rows):
    x, v, y, w, g, source, choices, missed, gold = [], [], [], [], [], [], [], 0, 0
    for c, turn, row in rows:
        label = c.labels[turn]
        if c.source == "cast2020" and label["needs"]:
            # What a reference points at is labelled, not which expressions are references.
            accept = set(label["needs"])
            for candidate in row["candidates"]:
                choose(choices, candidate, accept, c)
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
            choose(choices, candidate, set().union(*(m[3] for m in over)) if over else set(), c)
            # Detection learns nothing from seeing a turn again behind another conversation.
            if c.source == "interleaved":
                continue
            x.append(candidate["features"])
            v.append(candidate["meaning"])
            y.append(bool(over))
            w.append(weight)
            g.append(c.group)
            source.append(c.source)
        gold += sum(m[2] for m in marks)
        missed += sum(m[2] and m[:2] not in hit for m in marks)
    print(f"reference candidates {len(y)}, positive {sum(y)}, gold {gold}, without a candidate {missed}")
    return np.array(x), meanings(v), np.array(y), np.array(w), g, np.array(source), choices


def train_references(rows, report):
    x, v, y, w, g, source, choices = references(rows)
    fold = folds(g)
    p = np.zeros(len(y))
    for k in range(FOLDS):
        theta, meaning = fit_read(x, v, y, w, fold != k, 1.0)
        p[fold == k] = sigmoid(x[fold == k] @ theta[:-1] + theta[-1] + v[fold == k] @ meaning)
    natural = source == "natural"
    # An expression that is not seen cannot be resolved: of thresholds that are about as good, the lowest.
    scores = {t: f1(p[natural] > t, y[natural]) for t in np.arange(0.2, 0.7, 0.02)}
    best = min(t for t, score in scores.items() if score > max(scores.values()) - 0.007)
    report["reference"] = {s: round(float(f1(p[source == s] > best, y[source == s])), 3) for s in sorted(set(source))} | {"threshold": round(float(best), 2)}
    theta, meaning = fit_read(x, v, y, w, fold >= 0, 1.0)
    groups = np.array([c[3] for c in choices])
    fold = folds(list(groups))
    right = np.zeros(len(choices))
    for k in range(FOLDS):
        t = fit_choice([c[:3] for c, f in zip(choices, fold) if f != k], 1.0)
        for i in np.flatnonzero(fold == k):
            right[i] = choices[i][1][np.argmax(choices[i][0] @ t)]
    report["target"] = {s: round(float(right[[c[4] == s for c in choices]].mean()), 3) for s in sorted({c[4] for c in choices})}
    return theta, meaning, float(best), fit_choice([c[:3] for c in choices], 1.0)


def meanings(rows):
    """Vectors of turns, one a row; of a turn without one, zeros."""
    size = max(map(len, rows))
    return np.array([row or [0.0] * size for row in rows])


def normalised(text: str) -> str:
    return re.sub(r"[^\w\s]", "", text.lower()).split().__str__()


def context_label(c: Conversation, turn: int, label: dict):
    if c.source == "gecor":
        return label["context"]
    if c.source == "ikat" and label.get("resolved"):
        return int(normalised(label["resolved"]) != normalised(c.messages[turn - 1]["content"]))
    if "needs" in label and c.source not in ("ikat", "interleaved"):
        return int(bool(label["needs"])) if bool(label["needs"]) == bool(label["needs_any"]) else None
    return None


def train_dependence(rows, report, name, label_of, l2=1.0):
    x, v, y, w, g, source = [], [], [], [], [], []
    weights = CONTEXT_WEIGHTS if name == "context" else WEIGHTS
    for c, turn, row in rows:
        value = label_of(c, turn, c.labels[turn])
        if value is not None:
            x.append(row["dependence"]), v.append(row["meaning"]), y.append(bool(value)), w.append(weights[c.source]), g.append(c.group), source.append(c.source)
    x, v, y, w, source = np.array(x), meanings(v), np.array(y), np.array(w), np.array(source)
    fold = folds(g)
    p = np.zeros(len(y))
    for k in range(FOLDS):
        theta, meaning = fit_read(x, v, y, w, fold != k, l2)
        p[fold == k] = sigmoid(x[fold == k] @ theta[:-1] + theta[-1] + v[fold == k] @ meaning)
    score = macro_f1 if name == "context" else f1
    barred = [s for s in (("natural", "ikat", "gecor") if name == "context" else ("natural",)) if (source == s).any()]
    best = max(np.arange(0.15, 0.8, 0.02), key=lambda t: sum(score(p[source == s] > t, y[source == s]) for s in barred))
    report[name] = {s: round(float(score(p[source == s] > best, y[source == s])), 3) for s in sorted(set(source))} | {"threshold": round(float(best), 2)}
    return *fit_read(x, v, y, w, fold >= 0, l2), float(best)


def thread_options(row, names):
    """One row an option, the new thread last: what the turn shares with each thread, and what it says of itself.

    Blocks: closeness to the active thread | to a dormant one, and a bias | the turn when it resumes | when it opens, and a bias.
    """
    seen = row["thread"]
    n, m = len(names["closeness"]), len(names["subject"])
    x = np.zeros((len(seen["threads"]) + 1, 2 * n + 2 * m + 2))
    for option, (thread, features) in zip(x, seen["threads"]):
        if thread == seen["active"]:
            option[:n] = features
        else:
            option[n : 2 * n], option[2 * n], option[2 * n + 1 : 2 * n + 1 + m] = features, 1, seen["subject"]
    x[-1, 2 * n + 1 + m : -1], x[-1, -1] = seen["subject"], 1
    return x


@dataclass
class ThreadChoice:
    """A labelled turn's choice among its threads; the last option is a new one."""

    options: np.ndarray
    accepted: np.ndarray
    weight: float
    group: str
    source: str
    active: int
    events: list[str]
    meaning: list[float]
    threads: list[int]
    answer: dict[int, list[float]] | None


def thread_choices(rows, names):
    """The choice of each labelled turn, grouped by the conversation that the turn is of, in interleavings too."""
    found = []
    size = max(len(row["meaning"]) for _, _, row in rows)
    for c, turn, row in rows:
        label = c.labels[turn]
        if "event" not in label or row["thread"] is None:
            continue
        ordinals = [thread for thread, _ in row["thread"]["threads"]]
        wanted = c.threads.get(turn)
        # A thread lives where its latest turn was filed.
        homes = [row["filed"][str(n)] for n in sorted(c.threads) if n < turn and c.threads[n] == wanted and str(n) in row["filed"]]
        if wanted is None and label["event"][0] == "resume":
            continue
        stays = wanted is None and label["event"][0] != "new"
        home = row["thread"]["active"] if stays else homes[-1] if homes else None
        accepted = np.zeros(len(ordinals) + 1, bool)
        accepted[-1 if home is None else ordinals.index(home)] = True
        active = ordinals.index(row["thread"]["active"])
        if len(label["event"]) > 1:
            accepted[-1] |= "new" in label["event"]
            accepted[active] |= "stay" in label["event"] or "join" in label["event"]
        group = wanted if c.source == "interleaved" else c.group
        meaning = row["meaning"] or [0.0] * size
        found.append(ThreadChoice(thread_options(row, names), accepted, WEIGHTS[c.source], group, c.source, active, label["event"], meaning, ordinals, dict(row["answer"]) if "answer" in row else None))
    return found


def lifted(active, scores, resume, new):
    """Scores with something added to those of all dormant threads and to that of a new one."""
    added = np.full(len(scores), resume)
    added[active], added[-1] = 0, new
    return scores + added


def train_threads(rows, names, report):
    """One conditional logit over the threads; `rows` come filed as labelled and as the engine files them."""
    choices = thread_choices(rows, names)
    fold = folds([c.group for c in choices])
    scores = [np.zeros(0)] * len(choices)

    def fit(choices):
        theta = fit_choice([(c.options, c.accepted, c.weight) for c in choices], 1.0)
        return theta, fit_choice_meaning(choices, [c.options @ theta for c in choices], MEANING)

    found: dict = {}
    for k in range(FOLDS):
        theta, meaning = fit([c for c, f in zip(choices, fold) if f != k])
        for i in np.flatnonzero(fold == k):
            c = choices[i]
            scores[i] = lifted(c.active, c.options @ theta, *(meaning @ c.meaning + LIFTED))
            best = int(np.argmax(scores[i]))
            event = "new" if best == len(scores[i]) - 1 else "stay" if best == c.active else "resume"
            truth = event if c.accepted[best] else c.events[0]
            for name in ("new", "resume"):
                tally = found.setdefault(c.source, {}).setdefault(name, [0, 0, 0])
                tally[0] += event == name == truth
                tally[1] += event == name
                tally[2] += truth == name
    report["thread"] = {s: {n: round(2 * t[0] / max(1, t[1] + t[2]), 3) for n, t in v.items()} for s, v in found.items()}
    answers = train_answers(choices, scores, fold, names, report)
    theta, meaning = fit(choices)
    n, m = len(names["closeness"]), len(names["subject"])
    resume, new = LIFTED
    return dict(zip(("thread.resume", "thread.new"), meaning)), answers, {
        "thread.active": theta[:n],
        "thread.dormant": np.append(theta[n : 2 * n], theta[2 * n] + resume),
        "thread.resume": theta[2 * n + 1 : 2 * n + 1 + m],
        "thread.new": np.append(theta[2 * n + 1 + m : -1], theta[-1] + new),
    }


def answer_options(choice: ThreadChoice, scores, names):
    """One row an option: what the answer shares with it, beside what the turn's own decision leaves it.

    Blocks: log-odds | closeness to the thread that was active | to a dormant one, and a bias | the largest of all threads', and a bias.
    """
    n = len(names["closeness"])
    dormant = [z for at, z in enumerate(scores[:-1]) if at != choice.active]
    odds = np.array([scores[choice.active], max(dormant, default=-np.inf), scores[-1]])
    odds = np.maximum(odds - odds.max() - np.log(np.exp(odds - odds.max()).sum()), LEAST_ODDS)
    most = [max((f[names["closeness"].index(name)] for f in choice.answer.values()), default=0) for name in ANSWER_OPENS]
    x = np.zeros((len(scores), 2 * n + len(most) + 3))
    x[:, 0], x[choice.active, 0], x[-1, 0] = odds[1], odds[0], odds[2]
    for at, thread in enumerate(choice.threads):
        close = choice.answer.get(thread, np.zeros(n))
        if at == choice.active:
            x[at, 1 : n + 1] = close
        else:
            x[at, n + 1 : 2 * n + 1], x[at, 2 * n + 1] = close, 1
    x[-1, 2 * n + 2 : -1], x[-1, -1] = most, 1
    return x, odds.max() > np.log(SURE)


def train_answers(choices, scores, fold, names, report):
    """The choice made again once the answer is there, for turns whose filing was in doubt; `scores` are cross-validated."""
    seen = [i for i, c in enumerate(choices) if c.answer]
    options, sure = zip(*(answer_options(choices[i], scores[i], names) for i in seen))

    def fit(held_out):
        return fit_choice([(x, choices[i].accepted, choices[i].weight) for i, x in zip(seen, options) if fold[i] != held_out], 1.0)

    right: dict = {}
    for k in range(FOLDS):
        theta = fit(k)
        for i, x, certain in zip(seen, options, sure):
            if fold[i] == k:
                c = choices[i]
                first = np.argmax(scores[i])
                second = first if certain else np.argmax(x @ theta)
                right.setdefault(c.source, []).append((c.accepted[first], c.accepted[second]))
    report["answer"] = {s: dict(zip(("before", "after"), np.mean(v, axis=0).round(3).tolist())) for s, v in sorted(right.items())}
    theta = fit(None)
    n = len(names["closeness"])
    return {
        "answer.odds": named(theta[:1], ["odds"]),
        "answer.active": named(theta[1 : n + 1], names["closeness"]),
        "answer.dormant": named(theta[n + 1 : 2 * n + 2], names["closeness"]),
        "answer.new": named(theta[2 * n + 2 :], ANSWER_OPENS),
    }


def filed_events(own):
    """F1 of the events that the models of the last build decided, turn after turn, on what they were fitted on."""
    tallies: dict = {}
    for c, turn, row in own:
        gold = c.labels[turn].get("event")
        if gold is None:
            continue
        event = "stay" if row["event"] == "join" else row["event"]
        truth = event if event in gold else gold[0]
        for name in ("new", "resume"):
            tally = tallies.setdefault(c.source, {}).setdefault(name, [0, 0, 0])
            tally[0] += event == name == truth
            tally[1] += event == name
            tally[2] += truth == name
    return {s: {n: round(2 * t[0] / max(1, t[1] + t[2]), 3) for n, t in v.items()} for s, v in tallies.items()}


def train_needs(rows, report):
    """A conditional logit for the order, then a scale and bias that make probabilities of its scores."""
    choices = []
    for c, turn, row in rows:
        label = c.labels[turn]
        if "needs" in label and row["needs"]:
            x = np.array([features for _, features in row["needs"]])
            needed = np.array([n in label["needs"] for n, _ in row["needs"]])
            any_of = np.array([n in label.get("needs_any", []) for n, _ in row["needs"]])
            choices.append((x, needed, WEIGHTS[c.source], c.group, c.source, any_of, label.get("ellipsis")))
    fold = folds([c[3] for c in choices])
    right: dict = {}
    for k in range(FOLDS):
        theta = fit_choice([c[:3] for c, f in zip(choices, fold) if f != k and c[1].any()], 1.0)
        for i in np.flatnonzero(fold == k):
            x, needed, _, _, source, any_of, elliptical = choices[i]
            best = np.argmax(x @ theta)
            if needed.any():
                right.setdefault(source, []).append(needed[best])
            if elliptical and source == "natural":
                right.setdefault("carries over", []).append(any_of[best])
    report["need"] = {s: round(float(np.mean(v)), 3) for s, v in sorted(right.items())}
    theta = fit_choice([c[:3] for c in choices if c[1].any()], 1.0)
    z = np.concatenate([c[0] @ theta for c in choices])[:, None]
    w = np.concatenate([np.full(len(c[1]), c[2]) for c in choices])
    scale, bias = fit_binary(z, np.concatenate([c[1] for c in choices]).astype(float), w, 0.0)
    return np.append(theta * scale, bias)


def train_intents(rows, report, l2=0.3):
    x, v, accepted, gold, w, g, source = [], [], [], [], [], [], []
    for c, turn, row in rows:
        label = c.labels[turn]
        wanted = [i for i in label.get("intent", []) if i in INTENTS]
        if not wanted or row["tool"]:
            continue
        x.append(row["intent"]), v.append(row["meaning"]), accepted.append([i in wanted for i in INTENTS]), gold.append(INTENTS.index(wanted[0]))
        w.append(WEIGHTS[c.source]), g.append(c.group), source.append(c.source)
    x, v, accepted, w, source = np.array(x), meanings(v), np.array(accepted, float), np.array(w), np.array(source)
    w = w * (accepted * np.array(RARE)).max(1)

    def fit(rows):
        t = fit_softmax(x[rows], accepted[rows], w[rows], l2)
        return t, fit_meaning(v[rows], accepted[rows], w[rows], x[rows] @ t[:, :-1].T + t[:, -1], MEANING)

    fold = folds(g)
    predicted = np.zeros(len(gold), int)
    for k in range(FOLDS):
        t, meaning = fit(fold != k)
        predicted[fold == k] = (x[fold == k] @ t[:, :-1].T + t[:, -1] + v[fold == k] @ meaning.T).argmax(1)
    for s in sorted(set(source)):
        m = np.flatnonzero(source == s)
        right = np.array([accepted[i, predicted[i]] for i in m])
        truth = np.array([predicted[i] if accepted[i, predicted[i]] else gold[i] for i in m])
        f1s = {name: round(float(f1(predicted[m] == n, truth == n)), 3) for n, name in enumerate(INTENTS)}
        report.setdefault("intent", {})[s] = {"accuracy": round(float(right.mean()), 3), **f1s}
    return fit(np.full(len(gold), True))


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
    filed = natural + turns(args.data, "challenge") + annotated(args.data, LABELS) + written(args.data, LABELS) + aba(args.data)
    mixed = interleaved(natural, 1) + interleaved(natural, 2)
    # The models are compiled in: each run fits what can be fitted on the decisions of the models of the last build.
    names, rows = described(filed + mixed + gecor(args.data) + cast2020(args.data), args.features)
    _, own = described(filed + mixed, args.features, own=True)
    report: dict = {}
    reference, reference_meaning, reference_threshold, target = train_references(rows, report)
    ellipsis, ellipsis_meaning, ellipsis_threshold = train_dependence(rows, report, "ellipsis", lambda c, t, l: l.get("ellipsis"))
    context, context_meaning, context_threshold = train_dependence(rows, report, "context", context_label)
    report["thread.filed"] = filed_events(own)
    thread_meanings, answers, threads = train_threads(rows + own, names, report)
    need = train_needs(rows, report)
    intents, intent_meanings = train_intents(rows, report)
    meaning = {"reference": reference_meaning, "ellipsis": ellipsis_meaning, "context": context_meaning, **thread_meanings}
    meaning.update({f"intent.{intent}": row for intent, row in zip(INTENTS, intent_meanings)})
    model = {
        "models": {
            "reference": named(reference, names["reference"]),
            "target": named(target, names["target"]),
            "ellipsis": named(ellipsis, names["dependence"]),
            "context": named(context, names["dependence"]),
            "need": named(need, names["need"]),
            **{name: named(theta, names["closeness" if name in ("thread.active", "thread.dormant") else "subject"]) for name, theta in threads.items()},
            **answers,
            **{f"intent.{intent}": named(theta, names["intent"]) for intent, theta in zip(INTENTS, intents)},
        },
        "meanings": {name: [round(float(weight), 2) for weight in weights] for name, weights in meaning.items()},
        "thresholds": {
            "reference.structural": 0.3,
            "reference.described": round(reference_threshold, 2),
            "ellipsis": round(ellipsis_threshold, 2),
            "context": round(context_threshold, 2),
        },
    }
    print(json.dumps(report, indent=1))
    if not args.dry:
        # One line a vector: 256 lines of one number each tell nobody anything.
        text = re.sub(r"\[[^\]]*\]", lambda numbers: " ".join(numbers[0].split()), json.dumps(model, indent=1))
        MODEL.write_text(text + "\n", encoding="utf-8")
        REPORT.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
