"""Learns the token vectors: start from the teacher's vectors of single tokens, then fit whole texts."""
import numpy as np

from table import counts, unit

SEED = 28


def components(vectors, dim):
    """The directions that keep most of the teacher's dot products (no centring: cosines stay what they are)."""
    _, basis = np.linalg.eigh(vectors.T @ vectors)
    return np.ascontiguousarray(basis[:, ::-1][:, :dim])


def smooth_weights(frequency, a=1e-3):
    """SIF weights: frequent tokens count less."""
    p = (frequency + 1) / (frequency + 1).sum()
    return (a / (a + p)).astype(np.float32)


def fit(rows, texts, targets, strength=None, epochs=10, rate=3e-3, matching=8.0, batch=1024, decay=0.0, report=None):
    """Adam on the rows that occur in a batch. Loss of a batch: mean of 1 - cosine(text, target) + matching * mean squared
    difference between the cosines of all pairs of texts in the batch and the teacher's."""
    rng = np.random.default_rng(SEED)
    rows, start = rows.copy(), rows.copy()
    first, second = np.zeros_like(rows), np.zeros_like(rows)
    total, step = epochs * (len(targets) // batch), 0
    for epoch in range(epochs):
        order, losses = rng.permutation(len(targets)), []
        for at in range(0, len(order) - batch + 1, batch):
            step += 1
            part = order[at:at + batch]
            x, t = texts[part], targets[part]
            used = np.unique(x.indices)
            x = x[:, used]
            raw = x @ rows[used]
            length = np.maximum(np.linalg.norm(raw, axis=1, keepdims=True), 1e-6)
            s = raw / length
            gap = s @ s.T - t @ t.T
            np.fill_diagonal(gap, 0)
            losses.append((1 - (s * t).sum(1).mean(), np.sqrt((gap ** 2).mean())))
            grad = -t / batch + (4 * matching / batch ** 2) * (gap @ s)
            grad = (grad - (grad * s).sum(1, keepdims=True) * s) / length
            grad = (x.T @ grad) * batch
            if decay:
                grad += decay * (rows[used] - start[used])
            m = first[used] = .9 * first[used] + .1 * grad
            v = second[used] = .99 * second[used] + .01 * grad ** 2
            now = rate * min(1, step / 100) * .5 * (1 + np.cos(np.pi * step / total))
            rows[used] -= now * (m / (1 - .9 ** step)) / (np.sqrt(v / (1 - .99 ** step)) + 1e-6)
        if report and (epoch % 4 == 3 or epoch == epochs - 1):
            print(f"  epoch {epoch + 1}: 1-cos {np.mean(losses, 0)[0]:.4f} pair rmse {np.mean(losses, 0)[1]:.4f} | {report(rows)}", flush=True)
    return rows
