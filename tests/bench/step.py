"""step.py KIND... - the time of a transformer-like step: 24 Triton rmsnorms, 24 bf16 matmuls, D = 2048.

Kinds, each with a kernel of its own name so that the journal tells them apart:

    prefill   4096 tokens, ten steps between waits
    decode    8 tokens, ten steps between waits
    device    4096 tokens, torch.cuda.synchronize() after each step
    stream    4096 tokens, stream.synchronize() after each step

Prints one JSON line: kind -> {median, p10, p90} in microseconds a step, and {cost, hook}: the shares of the time
that cuvet says it has cost, and apart from it the hook.

    step.py rates KIND P...    under cuvet: the same at each sampling probability, in turns

JSON line: P -> microseconds a step, one number a turn.
"""

import ctypes
import json
import sys
import time

import torch
import triton
import triton.language as tl

from counters import counters

WIDTH, LAYERS, EPS = 2048, 12, 1e-6


@triton.jit
def rms_norm_row(X, W, Y, x_stride, y_stride, n_cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(X + row * x_stride + cols, mask=mask, other=0.0).to(tl.float32)
    w = tl.load(W + cols, mask=mask, other=0.0).to(tl.float32)
    inv = 1.0 / tl.sqrt(tl.sum(x * x, axis=0) / n_cols + eps)
    tl.store(Y + row * y_stride + cols, (x * inv * w).to(Y.dtype.element_ty), mask=mask)


@triton.jit
def step_rms_norm_prefill(X, W, Y, x_stride, y_stride, n_cols, eps, BLOCK: tl.constexpr):
    rms_norm_row(X, W, Y, x_stride, y_stride, n_cols, eps, BLOCK)


@triton.jit
def step_rms_norm_decode(X, W, Y, x_stride, y_stride, n_cols, eps, BLOCK: tl.constexpr):
    rms_norm_row(X, W, Y, x_stride, y_stride, n_cols, eps, BLOCK)


@triton.jit
def step_rms_norm_device(X, W, Y, x_stride, y_stride, n_cols, eps, BLOCK: tl.constexpr):
    rms_norm_row(X, W, Y, x_stride, y_stride, n_cols, eps, BLOCK)


@triton.jit
def step_rms_norm_stream(X, W, Y, x_stride, y_stride, n_cols, eps, BLOCK: tl.constexpr):
    rms_norm_row(X, W, Y, x_stride, y_stride, n_cols, eps, BLOCK)


# kind: (kernel, tokens, samples, steps in one sample, wait)
KINDS = {
    "prefill": (step_rms_norm_prefill, 4096, 40, 10, "stream"),
    "decode": (step_rms_norm_decode, 8, 80, 10, "stream"),
    "device": (step_rms_norm_device, 4096, 150, 1, "device"),
    "stream": (step_rms_norm_stream, 4096, 150, 1, "stream"),
}


class Step:
    def __init__(self, kernel, tokens):
        self.kernel, self.tokens = kernel, tokens
        self.x = torch.randn(tokens, WIDTH, device="cuda", dtype=torch.bfloat16)
        self.norm = torch.empty_like(self.x)
        self.gain = torch.ones(WIDTH, device="cuda", dtype=torch.bfloat16)
        self.weights = [torch.randn(WIDTH, WIDTH, device="cuda", dtype=torch.bfloat16) / WIDTH ** 0.5
                        for _ in range(2)]

    def __call__(self):
        for i in range(2 * LAYERS):
            self.kernel[(self.tokens,)](self.x, self.gain, self.norm, WIDTH, WIDTH, WIDTH, EPS,
                                        BLOCK=WIDTH)
            torch.mm(self.norm, self.weights[i % 2], out=self.x)


def measure(kind):
    kernel, tokens, samples, steps, wait = KINDS[kind]
    step = Step(kernel, tokens)
    stream = torch.cuda.current_stream()
    for _ in range(10):
        step()
    stream.synchronize()
    times = []
    before, begin = counters(), time.perf_counter()
    for _ in range(samples):
        start = time.perf_counter()
        for _ in range(steps):
            step()
        if wait == "device":
            torch.cuda.synchronize()
        else:
            stream.synchronize()
        times.append((time.perf_counter() - start) * 1e6 / steps)
    seconds, after = time.perf_counter() - begin, counters()
    times.sort()
    return {"median": times[len(times) // 2], "p10": times[len(times) // 10],
            "p90": times[len(times) * 9 // 10], "cost": (after.cost - before.cost) / seconds,
            "hook": (after.hook - before.hook) / seconds}


TURNS = 24


def timed(step, stream, steps):
    start = time.perf_counter()
    for _ in range(steps):
        step()
    stream.synchronize()
    return (time.perf_counter() - start) * 1e6 / steps


def measure_rates(kind, rates):
    """Each turn goes through all rates, beginning with another one. What one has left to be judged is no load
    of the next: that waits for it, and warms up again."""
    cuvet = ctypes.CDLL(None)
    cuvet.cuvet_set_sample.argtypes = [ctypes.c_double]
    kernel, tokens, _, steps, _ = KINDS[kind]
    step = Step(kernel, tokens)
    stream = torch.cuda.current_stream()
    times = {rate: [] for rate in rates}
    for turn in range(-1, TURNS):
        for i in range(len(rates)):
            rate = rates[(turn + i) % len(rates)]
            cuvet.cuvet_flush(1000)
            cuvet.cuvet_set_sample(float(rate))
            timed(step, stream, 2)
            took = sorted(timed(step, stream, steps) for _ in range(3))[1]
            if turn >= 0:
                times[rate].append(took)
    return times


def main():
    torch.manual_seed(1)
    if sys.argv[1:2] == ["rates"]:
        print(json.dumps(measure_rates(sys.argv[2], sys.argv[3:])))
        return
    print(json.dumps({kind: measure(kind) for kind in sys.argv[1:] or KINDS}))


if __name__ == "__main__":
    main()
