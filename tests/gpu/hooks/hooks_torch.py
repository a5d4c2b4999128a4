"""hooks_torch.py [profile] - PyTorch through every road to the driver: cuBLAS, cuDNN's attention, ATen, Triton, a graph.

With `profile` the same runs under torch.profiler too, and the last line says how often each kernel was launched there.
"""

import collections
import json
import sys

import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x, y, z, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(z + i, tl.load(x + i, i < n) + tl.load(y + i, i < n), i < n)


def step():
    a = torch.randn(512, 512, device="cuda", dtype=torch.bfloat16, requires_grad=True)
    q = torch.randn(2, 8, 256, 64, device="cuda", dtype=torch.bfloat16)
    attended = torch.nn.functional.scaled_dot_product_attention(q, q, q)
    ((a @ a).relu().float().sum() + attended.float().sum()).backward()
    x = torch.randn(5000, device="cuda")
    z = torch.empty_like(x)
    add_kernel[(5,)](x, x, z, 5000, BLOCK=1024)
    return z


def work():
    torch.manual_seed(0)
    for _ in range(10):
        z = step()
    x = torch.randn(4096, device="cuda")
    out = torch.empty_like(x)
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            add_kernel[(4,)](x, x, out, 4096, BLOCK=1024)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = x
        for _ in range(8):
            y = (y * 1.0001).sin()
        add_kernel[(4,)](y, x, out, 4096, BLOCK=1024)
    for _ in range(20):
        graph.replay()
    torch.cuda.synchronize()
    return float(z.sum()), float(out.sum())


def main():
    print(work())
    if sys.argv[1:] != ["profile"]:
        return
    from torch.profiler import ProfilerActivity, profile
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        print(work())
    kernels = collections.Counter(e.name for e in profiler.events() if e.device_type.name == "CUDA")
    print("kernels " + json.dumps(kernels, sort_keys=True))


if __name__ == "__main__":
    main()
