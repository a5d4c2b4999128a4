"""attention_gradients.py - gradients of torch's scaled_dot_product_attention by FlashAttention and by memory-efficient attention.

Prints sums of the results whose bits do not depend on the order of atomics.
"""

import sys

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from torch_sums import bits_sum, wait_for_checks

# batch, heads, queries, keys, dim
SHAPES = ((2, 8, 256, 256, 64), (1, 6, 300, 300, 128), (3, 4, 129, 200, 40), (2, 4, 77, 77, 96))
BACKENDS = {"flash": SDPBackend.FLASH_ATTENTION, "efficient": SDPBackend.EFFICIENT_ATTENTION}


def attend(name, dtype, shape, causal, bias):
    batch, heads, queries, keys, dim = shape
    q, k, v = (torch.randn(batch, n, heads, dim, device="cuda").to(dtype).transpose(1, 2).requires_grad_()
               for n in (queries, keys, keys))
    mask = torch.randn(batch, heads, queries, keys, device="cuda").to(dtype) if bias else None
    with sdpa_kernel(BACKENDS[name]):
        y = scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal)
        y.backward(torch.randn_like(y))
    exact = (y, k.grad, v.grad) if name == "flash" else (y,)
    print(name, dtype, shape, "causal" if causal else "bias" if bias else "all", *(bits_sum(t) for t in exact))
    wait_for_checks()


def main():
    torch.manual_seed(13)
    for name in BACKENDS:
        for dtype in (torch.float16, torch.bfloat16) + ((torch.float32,) if name == "efficient" else ()):
            for shape in SHAPES:
                attend(name, dtype, shape, causal=False, bias=False)
                if shape[2] == shape[3]:
                    attend(name, dtype, shape, causal=True, bias=False)
                if name == "efficient" and shape[3] % 8 == 0:
                    attend(name, dtype, shape, causal=False, bias=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
