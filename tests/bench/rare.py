"""rare.py OCCURRENCES - the step of step.py with a mutant among its rmsnorms that is wrong in 1 launch in 10,000.

The mutant's squares saturate at 1000, which no ordinary input comes near. Before one launch in 10,000 every
hundredth row of the input is multiplied by 50; the first time after 5000 launches.

Prints one JSON line: "step_us" over the whole run, "launches", and "planted", the numbers of the launches that
are wrong.
"""

import json
import sys
import time

import torch
import triton
import triton.language as tl

import step

PERIOD, FIRST, ROWS, FACTOR = 10000, 5000, 100, 50.0


@triton.jit
def step_rms_norm_rare(X, W, Y, x_stride, y_stride, n_cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(X + row * x_stride + cols, mask=mask, other=0.0).to(tl.float32)
    w = tl.load(W + cols, mask=mask, other=0.0).to(tl.float32)
    inv = 1.0 / tl.sqrt(tl.sum(tl.minimum(x * x, 1000.0), axis=0) / n_cols + eps)
    tl.store(Y + row * y_stride + cols, (x * inv * w).to(Y.dtype.element_ty), mask=mask)


class Planted:
    """Launched like the kernel; counts, and spoils the input where it is due."""

    def __init__(self, kernel):
        self.kernel, self.launches, self.planted, self.x = kernel, 0, [], None

    def __getitem__(self, grid):
        def launch(x, *args, **kwargs):
            if self.launches % PERIOD == FIRST:
                x[::ROWS].mul_(FACTOR)
                self.planted.append(self.launches)
            self.kernel[grid](x, *args, **kwargs)
            self.launches += 1
        return launch


def main():
    torch.manual_seed(1)
    kernel = Planted(step_rms_norm_rare)
    one = step.Step(kernel, 4096)
    stream = torch.cuda.current_stream()
    wanted = PERIOD * (int(sys.argv[1]) - 1) + FIRST + PERIOD // 10
    one()
    stream.synchronize()
    steps, start = 0, time.perf_counter()
    while kernel.launches < wanted:
        for _ in range(10):
            one()
        stream.synchronize()
        steps += 10
    took = time.perf_counter() - start
    print(json.dumps({"step_us": took * 1e6 / steps, "launches": kernel.launches, "planted": kernel.planted}))


if __name__ == "__main__":
    main()
