"""fuzz_kernels.py CUVET - `cuvet fuzz` on the GPU, on kernels in a folder of Triton's cache.

A softmax by rows is quiet in 400 cases, one whose padding enters the sum is found within 30 of each of five seeds, and
the same cases by the references on the CPU have the same outcomes. The first argument is the program cuvet.
"""

import os
import re
import subprocess
import sys
import tempfile

import torch
import triton
import triton.language as tl

REGISTRY = """version: 1
kernels:
  - kernel: /^softmax_(right|padded)$/
    signature: >
      f32 y[rows:y_stride][cols], const f32 x[rows:x_stride][cols], i32 x_stride, i32 y_stride, i32 cols, ...
    let: {rows: grid.x}
    reference: softmax
    fuzz:
      rows: 1..200
      cols: 1..1024
      block: 32 * triton.num_warps
      shared: triton.shared
      grid: [rows]
"""


@triton.jit(do_not_specialize=["x_stride", "y_stride", "cols"])
def softmax_right(y, x, x_stride, y_stride, cols, BLOCK: tl.constexpr):
    column = tl.arange(0, BLOCK)
    value = tl.load(x + tl.program_id(0) * x_stride + column, mask=column < cols, other=-float("inf"))
    power = tl.exp(value - tl.max(value, 0))
    tl.store(y + tl.program_id(0) * y_stride + column, power / tl.sum(power, 0), mask=column < cols)


@triton.jit(do_not_specialize=["x_stride", "y_stride", "cols"])
def softmax_padded(y, x, x_stride, y_stride, cols, BLOCK: tl.constexpr):
    column = tl.arange(0, BLOCK)
    value = tl.load(x + tl.program_id(0) * x_stride + column, mask=column < cols, other=0.0)
    power = tl.exp(value - tl.max(value, 0))
    tl.store(y + tl.program_id(0) * y_stride + column, power / tl.sum(power, 0), mask=column < cols)


def compile_kernels():
    x = torch.randn(7, 1000, device="cuda")
    y = torch.empty_like(x)
    for kernel in (softmax_right, softmax_padded):
        kernel[(7,)](y, x, x.stride(0), y.stride(0), 1000, BLOCK=1024, num_warps=4)
    torch.cuda.synchronize()


def fuzz(cuvet, registry, cache, *options):
    command = [cuvet, "fuzz", "-c", registry, "--device", "gpu", "--shrink", "0", *options, cache]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout + done.stderr


def expect(what, holds, text):
    print(("ok: " if holds else "FAILED: ") + what)
    if not holds:
        sys.exit(text)


def main():
    cuvet = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        cache, registry = os.path.join(folder, "cache"), os.path.join(folder, "registry.yaml")
        os.environ["TRITON_CACHE_DIR"] = cache
        with open(registry, "w") as out:
            out.write(REGISTRY)
        compile_kernels()
        code, text = fuzz(cuvet, registry, cache, "-k", "softmax_right", "--cases", "400")
        expect("a right kernel is quiet", code == 0 and " 400 match" in text, text)
        seconds = float(re.search(r"400 cases in ([0-9.]+) s", text).group(1))
        print("measured: %.0f cases a second, references on the GPU" % (400 / max(seconds, 0.1)))
        for seed in range(1, 6):
            code, text = fuzz(cuvet, registry, cache, "-k", "softmax_padded", "--cases", "30", "--seed", str(seed))
            expect("a wrong one is found within 30 cases of seed %d" % seed, code == 3, text)
        outcomes = []
        for oracle in ("gpu", "cpu"):
            code, text = fuzz(cuvet, registry, cache, "-k", "softmax_padded", "--cases", "60", "--findings", "0", "--list",
                              "--oracle", oracle)
            outcomes.append(re.findall(r"^case (\d+) \S+ ([a-z ]+),", text, re.M))
        expect("both oracles agree", len(outcomes[0]) == 60 and outcomes[0] == outcomes[1], str(outcomes))


if __name__ == "__main__":
    main()
