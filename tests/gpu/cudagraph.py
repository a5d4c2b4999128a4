"""cudagraph.py - torch.cuda.CUDAGraph: registered Triton kernels, captured and replayed."""

import torch

from torch_sums import bits_sum
from triton_kernels import rms_norm_fwd, softmax_fwd

ROWS, COLS, BLOCK, REPLAYS = 64, 1000, 1024, 5


def main():
    torch.manual_seed(11)
    x = torch.randn(ROWS, COLS, device="cuda").to(torch.bfloat16)
    w = torch.ones(COLS, device="cuda", dtype=torch.bfloat16)
    y, z = torch.empty_like(x), torch.empty_like(x)

    def step():
        rms_norm_fwd[(ROWS,)](x, w, y, COLS, COLS, COLS, 1e-6, BLOCK=BLOCK)
        softmax_fwd[(ROWS,)](y, z, COLS, COLS, COLS, BLOCK=BLOCK)

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
    for replay in range(REPLAYS):
        x.copy_(torch.randn(ROWS, COLS, device="cuda"))
        graph.replay()
        torch.cuda.synchronize()
        print("replay", replay, bits_sum(y), bits_sum(z))
    step()
    torch.cuda.synchronize()
    print("eager", bits_sum(y), bits_sum(z))


if __name__ == "__main__":
    main()
