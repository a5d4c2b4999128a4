"""attention_dropout.py - torch's scaled_dot_product_attention with dropout, by FlashAttention: results and gradients.

Eagerly, and as replays of a CUDA graph, whose seed and offset lie in memory. Prints sums of the results whose bits do not
depend on the order of atomics.
"""

import sys

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from torch_sums import bits_sum, wait_for_checks

# batch, heads, queries, keys, dim
SHAPES = ((3, 8, 256, 256, 64), (2, 6, 300, 300, 128), (3, 4, 129, 200, 32), (2, 4, 77, 77, 96))


def draw(dtype, shape):
    batch, heads, queries, keys, dim = shape
    return tuple(torch.randn(batch, n, heads, dim, device="cuda").to(dtype).transpose(1, 2).requires_grad_()
                 for n in (queries, keys, keys))


def attend(inputs, share, causal):
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        y = scaled_dot_product_attention(*inputs, dropout_p=share, is_causal=causal)
    return (y,) + torch.autograd.grad(y, inputs, torch.ones_like(y))


def replayed(dtype, shape):
    inputs = draw(dtype, shape)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        attend(inputs, 0.25, False)
    stream.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        results = attend(inputs, 0.25, False)
    for i in range(6):
        graph.replay()
        print("replay", i, dtype, bits_sum(results[0]), bits_sum(results[2]))
    wait_for_checks()


def main():
    torch.manual_seed(17)
    for dtype in (torch.float16, torch.bfloat16):
        for shape in SHAPES:
            for share in (0.1, 0.5):
                for causal in (False, True):
                    if causal and shape[2] != shape[3]:
                        continue
                    y, _, dk, dv = attend(draw(dtype, shape), share, causal)
                    print(dtype, shape, share, "causal" if causal else "all", *(bits_sum(t) for t in (y, dk, dv)))
                    wait_for_checks()
        replayed(dtype, SHAPES[0])
    return 0


if __name__ == "__main__":
    sys.exit(main())
