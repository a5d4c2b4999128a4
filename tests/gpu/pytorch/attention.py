"""attention.py - torch's scaled_dot_product_attention by its FlashAttention kernels.

Causal and not, f16 and bf16, heads that share keys, dims and lengths that are no multiples of a tile,
both orders of heads and time in memory; and few queries of many keys, which the kernels split.
"""

import sys

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from torch_sums import bits_sum, wait_for_checks

KNOWN = ((2, 6), (2, 11))  # config/kernels/flashattention.yaml has the structs of these and those between

# batch, heads, heads of the keys, queries, keys, dim
SHAPES = ((2, 16, 16, 512, 512, 64), (1, 16, 4, 1000, 1000, 128), (4, 12, 12, 257, 257, 64), (3, 32, 8, 384, 384, 40),
          (2, 24, 24, 333, 700, 96), (1, 32, 8, 777, 777, 256), (8, 8, 1, 256, 256, 32))
SPLIT = ((1, 4, 4, 64, 8192, 128), (1, 8, 8, 16, 5000, 64))


def draw(dtype, outer, batch, heads, time, dim):
    """[batch][heads][time][dim], in memory with the heads before the time (outer) or behind it."""
    if outer:
        return torch.randn(batch, heads, time, dim, device="cuda").to(dtype)
    return torch.randn(batch, time, heads, dim, device="cuda").to(dtype).transpose(1, 2)


def attend(dtype, shape, causal, outer):
    batch, heads, kv_heads, queries, keys, dim = shape
    q = draw(dtype, outer, batch, heads, queries, dim)
    k = draw(dtype, outer, batch, kv_heads, keys, dim)
    v = draw(dtype, outer, batch, kv_heads, keys, dim)
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        y = scaled_dot_product_attention(q, k, v, is_causal=causal, scale=0.8 / dim ** 0.5,
                                         enable_gqa=heads != kv_heads)
    print(dtype, shape, "causal" if causal else "all", bits_sum(y))
    wait_for_checks()


def main():
    version = tuple(int(n) for n in torch.__version__.split(".")[:2])
    if not KNOWN[0] <= version <= KNOWN[1]:
        print("PyTorch %s: where its FlashAttention keeps its parameters is known of %d.%d to %d.%d" %
              ((torch.__version__,) + KNOWN[0] + KNOWN[1]))
        return 77
    print("PyTorch", torch.__version__)
    torch.manual_seed(11)
    for dtype in (torch.float16, torch.bfloat16):
        for i, shape in enumerate(SHAPES):
            for causal in (False, True):
                if not causal or shape[3] == shape[4]:
                    attend(dtype, shape, causal, outer=i % 2 == 0)
        for shape in SPLIT:
            attend(dtype, shape, causal=False, outer=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
