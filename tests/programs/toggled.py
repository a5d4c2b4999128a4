#!/usr/bin/env python3
"""toggled.py NAME ... - what checking costs the programs of models.py, within one process: run it under cuvet.

For each program rounds in which checking is off and on by turns; while it is on, the first seconds, in which first launches are
checked, are not measured. Prints the median time of a step of both and their ratio, round by round, and the share of time that
cuvet's own account has. The hook itself is in both times.
"""

import ctypes
import os
import statistics
import sys
import time

import torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bench"))
import models  # noqa: E402
from counters import counters  # noqa: E402

ROUNDS, SETTLE_S, MEASURE_S = 3, 2.5, 2.0


def steps(step, seconds):
    """Times of steps for so long, in ms."""
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 3:
        begin = time.perf_counter()
        step()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - begin) * 1e3)
    return times


def measure(name, cuvet):
    torch.manual_seed(0)
    step = getattr(models, name)()
    steps(step, 1)
    ratios, off, on = [], [], []
    spent = checked = launched = 0
    for _ in range(ROUNDS):
        cuvet.cuvet_stop(2000)
        off += [statistics.mean(steps(step, MEASURE_S))]
        cuvet.cuvet_start()
        steps(step, SETTLE_S)
        before = counters()
        on += [statistics.mean(steps(step, MEASURE_S))]
        after = counters()
        ratios.append(on[-1] / off[-1])
        spent += after.cost - before.cost
        checked += sum(getattr(after, k) - getattr(before, k) for k in ("match", "mismatch", "inconclusive"))
        launched += after.registered - before.registered
    print("%-9s off %8.3f ms, on %8.3f ms, %.3fx (%s), account %.1f %%, %d of %d launches checked" % (
        name, statistics.median(off), statistics.median(on), statistics.median(ratios), " ".join("%.3f" % r for r in ratios),
        100 * spent / (ROUNDS * MEASURE_S), checked, launched), flush=True)


def main():
    cuvet = ctypes.CDLL(None)
    if not hasattr(cuvet, "cuvet_start"):
        sys.exit("toggled.py: runs under cuvet alone: cuvet run -- python3 %s NAME ..." % sys.argv[0])
    for name in sys.argv[1:]:
        measure(name, cuvet)


if __name__ == "__main__":
    main()
