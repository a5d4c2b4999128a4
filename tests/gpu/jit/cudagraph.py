"""cudagraph.py [REPLAYS] - torch.cuda.CUDAGraph: registered Triton kernels, captured and replayed.

Prints checksums of the outputs, and on standard error the time of a replay.
"""

import sys
import time

import torch

sys.path.append(sys.path[0] + "/../pytorch")
from torch_sums import bits_sum  # noqa: E402
from triton_kernels import rms_norm_fwd, rms_norm_wrong_eps, softmax_fwd  # noqa: E402

ROWS, COLS, BLOCK, LAYERS = 64, 1000, 1024, 20


def main():
    replays = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    torch.manual_seed(11)
    x = (0.02 * torch.randn(ROWS, COLS, device="cuda")).to(torch.bfloat16)
    w = torch.ones(COLS, device="cuda", dtype=torch.bfloat16)
    m = (torch.randn(COLS, COLS, device="cuda") / COLS ** 0.5).to(torch.bfloat16)
    y, z = torch.empty_like(x), torch.empty_like(x)
    inner = torch.empty_like(x)
    total = torch.zeros(ROWS, COLS, device="cuda")

    def step():
        inner.copy_(x)
        for layer in range(LAYERS):
            norm = rms_norm_wrong_eps if layer == LAYERS - 1 else rms_norm_fwd
            norm[(ROWS,)](inner, w, y, COLS, COLS, COLS, 1e-6, BLOCK=BLOCK)
            inner.copy_(0.02 * (y @ m))
            softmax_fwd[(ROWS,)](y, z, COLS, COLS, COLS, BLOCK=BLOCK)
        total.add_(z)

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()

    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    total.zero_()
    start = time.perf_counter()
    for replay in range(replays):
        x.add_(0.001)
        graph.replay()
        if replay % 100 == 0:
            print("replay", replay, bits_sum(y), bits_sum(z))
    torch.cuda.synchronize()
    print("%.1f us a replay" % ((time.perf_counter() - start) / replays * 1e6), file=sys.stderr)
    print("end", bits_sum(y), bits_sum(z), bits_sum(total))
    step()
    torch.cuda.synchronize()
    print("eager", bits_sum(y), bits_sum(z))


if __name__ == "__main__":
    main()
