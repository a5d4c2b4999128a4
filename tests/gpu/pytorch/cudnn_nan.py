"""cudnn_nan.py KEYS [SKIP [QUERIES]] - gradients of attention through cuDNN whose scores lie far below 0, in bf16 and f16.

cuDNN 9.19 makes NaN of dq where KEYS leaves 64 when divided by 128, and the logarithm of the sum is below about -88 in bf16, or
-11 in f16: e to the power of its opposite overflows in the columns behind the last key. Ends with SKIP where dq is finite. QUERIES, 64 unless
given, do not matter.
"""

import sys

import torch
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from torch_sums import wait_for_checks


def gradient(keys, queries, dtype, score):
    """dq where each query times each key is about `score`; the values do not matter."""
    dim = 64
    axis = F.normalize(torch.randn(dim, device="cuda"), dim=0) * (-score * dim ** 0.5) ** 0.5
    q = (axis + 0.05 * torch.randn(2, 4, queries, dim, device="cuda")).to(dtype).requires_grad_()
    k = (-axis + 0.05 * torch.randn(2, 4, keys, dim, device="cuda")).to(dtype).requires_grad_()
    v = torch.randn(2, 4, keys, dim, device="cuda").to(dtype).requires_grad_()
    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        y = F.scaled_dot_product_attention(q, k, v)
    y.backward(torch.randn_like(y))
    wait_for_checks()
    return q.grad


def main():
    torch.manual_seed(3)
    wrong = 0
    queries = int(sys.argv[3]) if len(sys.argv) > 3 else 64
    for dtype, score in ((torch.bfloat16, -122), (torch.float16, -30)):
        lost = int((~torch.isfinite(gradient(int(sys.argv[1]), queries, dtype, score))).sum())
        print(dtype, "elements of dq that are NaN:", lost)
        wrong += lost
    return int(sys.argv[2]) if len(sys.argv) > 2 and not wrong else 0


if __name__ == "__main__":
    sys.exit(main())
