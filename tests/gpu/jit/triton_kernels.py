"""triton_kernels.py DTYPE - an ordinary PyTorch + Triton script.

Correct rmsnorm, softmax and swiglu kernels, each with mutants:

    rms_norm_bf16_acc    the mean square is accumulated in bf16 between 64-wide tiles
    rms_norm_wrong_eps   eps is 1e-3, whatever the caller asked for
    softmax_tail_zero    columns past the end are loaded as 0, not as -inf
    swiglu_wrong_alpha   silu(x) is taken as x * sigmoid(1.702 x)

Prints a checksum of the bits of every output.
"""

import sys

import torch
import triton
import triton.language as tl

sys.path.append(sys.path[0] + "/../pytorch")
from torch_sums import bits_sum  # noqa: E402


@triton.jit
def rms_norm_fwd(X, W, Y, x_stride, y_stride, n_cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(X + row * x_stride + cols, mask=mask, other=0.0).to(tl.float32)
    w = tl.load(W + cols, mask=mask, other=0.0).to(tl.float32)
    inv = 1.0 / tl.sqrt(tl.sum(x * x, axis=0) / n_cols + eps)
    tl.store(Y + row * y_stride + cols, (x * inv * w).to(Y.dtype.element_ty), mask=mask)


@triton.jit
def rms_norm_wrong_eps(X, W, Y, x_stride, y_stride, n_cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(X + row * x_stride + cols, mask=mask, other=0.0).to(tl.float32)
    w = tl.load(W + cols, mask=mask, other=0.0).to(tl.float32)
    inv = 1.0 / tl.sqrt(tl.sum(x * x, axis=0) / n_cols + 1e-3)
    tl.store(Y + row * y_stride + cols, (x * inv * w).to(Y.dtype.element_ty), mask=mask)


@triton.jit
def rms_norm_bf16_acc(X, W, Y, x_stride, y_stride, n_cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = 0.0
    for start in range(0, n_cols, 64):
        tile = start + tl.arange(0, 64)
        x = tl.load(X + row * x_stride + tile, mask=tile < n_cols, other=0.0).to(tl.float32)
        total = (total + tl.sum(x * x, axis=0)).to(tl.bfloat16).to(tl.float32)
    inv = 1.0 / tl.sqrt(total / n_cols + eps)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(X + row * x_stride + cols, mask=mask, other=0.0).to(tl.float32)
    w = tl.load(W + cols, mask=mask, other=0.0).to(tl.float32)
    tl.store(Y + row * y_stride + cols, (x * inv * w).to(Y.dtype.element_ty), mask=mask)


@triton.jit
def softmax_fwd(X, Y, x_stride, y_stride, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(X + row * x_stride + cols, mask=mask, other=-float("inf")).to(tl.float32)
    e = tl.exp(x - tl.max(x, axis=0))
    y = e / tl.sum(e, axis=0)
    tl.store(Y + row * y_stride + cols, y.to(Y.dtype.element_ty), mask=mask)


@triton.jit
def softmax_tail_zero(X, Y, x_stride, y_stride, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(X + row * x_stride + cols, mask=mask, other=0.0).to(tl.float32)
    e = tl.exp(x - tl.max(x, axis=0))
    y = e / tl.sum(e, axis=0)
    tl.store(Y + row * y_stride + cols, y.to(Y.dtype.element_ty), mask=mask)


@triton.jit
def swiglu_fwd(GATE, UP, Y, stride, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    gate = tl.load(GATE + row * stride + cols, mask=mask, other=0.0).to(tl.float32)
    up = tl.load(UP + row * stride + cols, mask=mask, other=0.0).to(tl.float32)
    y = gate / (1.0 + tl.exp(-gate)) * up
    tl.store(Y + row * stride + cols, y.to(Y.dtype.element_ty), mask=mask)


@triton.jit
def swiglu_wrong_alpha(GATE, UP, Y, stride, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    gate = tl.load(GATE + row * stride + cols, mask=mask, other=0.0).to(tl.float32)
    up = tl.load(UP + row * stride + cols, mask=mask, other=0.0).to(tl.float32)
    y = gate / (1.0 + tl.exp(-1.702 * gate)) * up
    tl.store(Y + row * stride + cols, y.to(Y.dtype.element_ty), mask=mask)


SHAPES = [(64, 1024), (33, 1000), (7, 777), (128, 4096), (3, 5000), (512, 2048)]


def main():
    dtype = {"bf16": torch.bfloat16, "f32": torch.float32}[sys.argv[1]]
    torch.manual_seed(7)
    for rows, cols in SHAPES:
        block = triton.next_power_of_2(cols)
        wide = torch.randn(rows, cols + 24, device="cuda", dtype=torch.float32)
        weight = (1 + 0.1 * torch.randn(cols, device="cuda", dtype=torch.float32)).to(dtype)
        small = (0.02 * wide).to(dtype)[:, :cols]  # rows with a pitch
        scores = (2 * wide).to(dtype)[:, :cols]
        gate = wide[:, :cols].contiguous().to(dtype)
        up = wide[:, 24:].contiguous().to(dtype)
        for kernel in (rms_norm_fwd, rms_norm_bf16_acc, rms_norm_wrong_eps):
            y = torch.empty(rows, cols, device="cuda", dtype=dtype)
            kernel[(rows,)](small, weight, y, small.stride(0), y.stride(0), cols, 1e-6, BLOCK=block)
            print(kernel.__name__, rows, cols, bits_sum(y))
        for kernel in (softmax_fwd, softmax_tail_zero):
            y = torch.empty(rows, cols, device="cuda", dtype=dtype)
            kernel[(rows,)](scores, y, scores.stride(0), y.stride(0), cols, BLOCK=block)
            print(kernel.__name__, rows, cols, bits_sum(y))
        for kernel in (swiglu_fwd, swiglu_wrong_alpha):
            y = torch.empty(rows, cols, device="cuda", dtype=dtype)
            kernel[(rows,)](gate, up, y, gate.stride(0), cols, BLOCK=block)
            print(kernel.__name__, rows, cols, bits_sum(y))


if __name__ == "__main__":
    main()
