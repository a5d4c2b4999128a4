#!/usr/bin/env python3
"""cupy_models.py STEPS - CuPy as its users write it: k-means, a conjugate gradient, and a network with two layers.

Prints a JSON line: the median time of a step in ms by this program's own clock, and a checksum. Knows nothing of cuvet.
"""

import json
import statistics
import sys
import time

import cupy


def k_means(points, centres):
    distance = ((points[:, None, :] - centres[None]) ** 2).sum(2)
    nearest = distance.argmin(1)
    for k in range(len(centres)):
        mine = nearest == k
        total = (points * mine[:, None]).sum(0)
        centres[k] = total / cupy.maximum(mine.sum(), 1)
    return centres


def conjugate_gradient(a, b, rounds=10):
    x, r = cupy.zeros_like(b), b.copy()
    p, rr = r, r @ r
    for _ in range(rounds):
        ap = a @ p
        alpha = rr / (p @ ap)
        x, r = x + alpha * p, r - alpha * ap
        new = r @ r
        p, rr = r + new / rr * p, new
    return x


def network(x, y, w1, w2, rate=0.05):
    h = cupy.tanh(x @ w1)
    z = h @ w2
    z = cupy.exp(z - z.max(1, keepdims=True))
    z /= z.sum(1, keepdims=True)
    d = (z - y) / len(x)
    dh = (d @ w2.T) * (1 - h * h)
    w2 -= rate * (h.T @ d)
    w1 -= rate * (x.T @ dh)
    return -(y * cupy.log(z + 1e-9)).sum() / len(x)


def program():
    """A step, which returns a checksum."""
    cupy.random.seed(0)
    points, centres = cupy.random.randn(20000, 16, dtype=cupy.float32), cupy.random.randn(8, 16, dtype=cupy.float32)
    a = cupy.random.randn(1000, 1000)
    a, b = a @ a.T + 1000 * cupy.eye(1000), cupy.random.randn(1000)
    x = cupy.random.randn(4096, 256, dtype=cupy.float32)
    y = cupy.eye(10, dtype=cupy.float32)[cupy.random.randint(0, 10, 4096)]
    w1, w2 = (cupy.random.randn(*s, dtype=cupy.float32) * 0.1 for s in ((256, 512), (512, 10)))

    def step():
        nonlocal centres
        centres = k_means(points, centres)
        solved = conjugate_gradient(a, b)
        value = network(x, y, w1, w2)
        return float(value) + float(solved.sum()) + float(centres.sum())

    return step


def main():
    step = program()
    times, total = [], 0
    for i in range(int(sys.argv[1]) + 3):
        begin = time.perf_counter()
        total = step()
        if i >= 3:
            times.append(time.perf_counter() - begin)
    print(json.dumps({"name": "cupy", "step_ms": statistics.median(times) * 1e3, "result": total}))


if __name__ == "__main__":
    main()
