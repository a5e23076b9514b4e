"""Fits the map from a cosine to the scale of the thresholds 0.50 (stay) and 0.70 (join).

The cosine is the highest one between a user turn and the user turns of a thread. Pairs of a turn and a thread:
  yes: the turn continues the thread (natural turns; the third turn of an A-B-A dialogue and its first)
  no:  the thread is another conversation's, taken up to as many turns (half of the weight: of another source), a thread
       that the turn leaves (event `new`), or the subject in the middle of an A-B-A dialogue
Both sides weigh the same.
"""
import random
import zlib

import numpy as np

from corpus import SEED
from evaluate import aba, best, natural

JOIN_PRECISION, SURE_PRECISION, NEW_PRIOR = 0.90, 0.95, 0.15
IDENTITY = {"x": [-1, 1], "y": [-1, 1]}


def labelled(data, keep=lambda c: True):
    rng, yes, no, weights = random.Random(SEED), [], [], []
    talks = natural(data, keep)
    for i, talk in enumerate(talks):
        for k, (text, thread, event, source) in enumerate(talk):
            if not k:
                continue
            before = [t for t, th, _, _ in talk[:k] if th == thread]
            if before:
                yes.append((text, before))
            elif event == ["new"]:
                active = talk[k - 1][1]
                no.append((text, [t for t, th, _, _ in talk[:k] if th == active]))
                weights.append(4)
            for alike in (True, False):
                pool = [j for j in range(len(talks)) if j != i and (talks[j][0][3] == source) == alike]
                for j in rng.sample(pool, min(4, len(pool))):
                    no.append((text, [t for t, *_ in talks[j][:k]]))
                    weights.append(1)
    first, second = aba(data, keep)
    yes, no, weights = yes + first, no + second, weights + [4] * len(second)
    return yes, no, np.array(weights, float)


def rates(yes, no, weights, at):
    """Share of the yes pairs above, share of the no pairs above, precision at equal priors."""
    recall, false = float((yes > at).mean()), float(weights[no > at].sum() / weights.sum())
    return recall, false, recall / max(recall + false, 1e-9)


def lowest(yes, no, weights, precision):
    """The lowest cosine with this precision, taken as the mean over the cosines around it: the tail is made of few pairs."""
    def around(x):
        return np.mean([rates(yes, no, weights, x + d / 100)[2] for d in range(-3, 4)])
    return next(x / 1000 for x in range(50, 950) if around(x / 1000) >= precision)


def new_f1(yes, no, weights, at):
    """F1 of "new subject" if a share NEW_PRIOR of the turns opens one."""
    recall, false, _ = rates(yes, no, weights, at)
    hit, miss, wrong = NEW_PRIOR * (1 - false), NEW_PRIOR * false, (1 - NEW_PRIOR) * (1 - recall)
    return 2 * hit / (2 * hit + miss + wrong)


def fit(embed, data, keep=lambda c: True):
    """0.50 = the best F1 of "new subject"; 0.70 = precision 0.90 of "belongs to it", at equal priors; 0.85 = precision 0.95."""
    pairs_yes, pairs_no, weights = labelled(data, keep)
    yes, no = best(embed, pairs_yes), best(embed, pairs_no)
    stay = max((x / 1000 for x in range(50, 900)), key=lambda x: new_f1(yes, no, weights, x))
    join = lowest(yes, no, weights, JOIN_PRECISION)
    sure = lowest(yes, no, weights, SURE_PRECISION)
    x = [-1, 0, stay, join, sure, 1]
    y = [-1, 0, .5, .7, .85, 1]
    return {"x": [round(v, 3) for v in x], "y": y}, operating_points(embed, data, {"x": x, "y": y})


def operating_points(embed, data, calibration, keep=lambda c: True):
    pairs_yes, pairs_no, weights = labelled(data, keep)
    yes, no = best(embed, pairs_yes), best(embed, pairs_no)
    out = {"pairs": [len(yes), len(no)]}
    for y in (.5, .6, .7, .8):
        at = float(np.interp(y, calibration["y"], calibration["x"]))
        recall, false, precision = rates(yes, no, weights, at)
        out[f"{y:.2f}"] = {"cosine": round(at, 3), "continuing above": round(recall, 3), "foreign above": round(false, 3),
                           "precision at equal priors": round(precision, 3)}
    return out


def cross_validated(embed, data, folds=5):
    """The operating points of knots fitted on the other conversations, mean over the folds."""
    def fold(conversation):
        return zlib.crc32(conversation.encode()) // 5 % folds
    parts = []
    for f in range(folds):
        knots, _ = fit(embed, data, lambda c: fold(c) != f)
        parts.append(operating_points(embed, data, knots, lambda c: fold(c) == f))
    return {y: {k: round(float(np.mean([p[y][k] for p in parts])), 3) for k in parts[0][y]} for y in ("0.50", "0.70")}
