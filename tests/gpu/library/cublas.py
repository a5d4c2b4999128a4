"""cublas.py - what cuBLAS makes of products of matrices, shown to the judge.

The parameters of cuBLAS's own kernels say nothing (descriptors, tables), so none of them can be
registered. But for each product there is a launch of a kernel that copies it and has the factors among its
parameters, product_NAME, and that is held against the reference.

Lines that begin with "measured: " say how much worse than exact the products are, over all elements, beyond
the half ulp of the output: as a multiple of S = sum |a b|, and of the bound.
"""

import math
import sys

import torch
import triton
import triton.language as tl

sys.path.append(sys.path[0] + "/../pytorch")
from torch_sums import bits_sum, wait_for_checks  # noqa: E402

SIZES = (256, 1024, 4096, 16384)
LAMBDA = 8
TENSOR_ROUNDOFF = 1.0625 * 2.0 ** -13  # fp8_tensor and fp8_fast: shim/plan/tolerance.h
BITS = {torch.bfloat16: (8, -126), torch.float16: (11, -14), torch.float32: (24, -126)}  # and the least exponent


@triton.jit
def copy(FROM, TO, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(TO + at, tl.load(FROM + at, mask=at < count), mask=at < count)


@triton.jit
def product_bf16(A, B, FROM, C, m, n, k, BLOCK: tl.constexpr):
    copy(FROM, C, m * n, BLOCK)


@triton.jit
def product_f16(A, B, FROM, C, m, n, k, BLOCK: tl.constexpr):
    copy(FROM, C, m * n, BLOCK)


@triton.jit
def product_f32(A, B, FROM, C, m, n, k, BLOCK: tl.constexpr):
    copy(FROM, C, m * n, BLOCK)


@triton.jit
def product_tf32(A, B, FROM, C, m, n, k, BLOCK: tl.constexpr):
    copy(FROM, C, m * n, BLOCK)


# Products of f16 and bf16 whose outputs are f32.
@triton.jit
def product_hidden_bf16(A, B, FROM, C, m, n, k, BLOCK: tl.constexpr):
    copy(FROM, C, m * n, BLOCK)


@triton.jit
def product_hidden_f16(A, B, FROM, C, m, n, k, BLOCK: tl.constexpr):
    copy(FROM, C, m * n, BLOCK)


# The same, by an entry that does not declare that the inputs are rounded: wrong.
@triton.jit
def product_undeclared(A, B, FROM, C, m, n, k, BLOCK: tl.constexpr):
    copy(FROM, C, m * n, BLOCK)


@triton.jit
def product_fp8_bf16(X, W, FROM, Y, m, n, k, BLOCK: tl.constexpr):
    copy(FROM, Y, m * n, BLOCK)


@triton.jit
def product_fp8_bf16_fast(X, W, FROM, Y, m, n, k, BLOCK: tl.constexpr):
    copy(FROM, Y, m * n, BLOCK)


@triton.jit
def product_fp8_f32(X, W, FROM, Y, m, n, k, BLOCK: tl.constexpr):
    copy(FROM, Y, m * n, BLOCK)


@triton.jit
def product_fp8_f32_fast(X, W, FROM, Y, m, n, k, BLOCK: tl.constexpr):
    copy(FROM, Y, m * n, BLOCK)


def half_ulp(values, dtype):
    bits, least = BITS[dtype]
    exponent = torch.frexp(values.abs())[1].double() - 1
    return torch.exp2(exponent.clamp(min=least) - bits)


class Excess:
    """The worst of a kernel's products so far."""

    def __init__(self, name, roundoff, inputs, chain=0):
        """`chain`: of how many terms sums are that tensor cores truncate at every step; 0 for none."""
        self.name, self.roundoff, self.inputs, self.chain = name, roundoff, inputs, chain
        self.of_s, self.of_bound, self.by_k = 0.0, 0.0, {}

    def add(self, a, b, got):
        """a [m][k] and b [k][n] in f64."""
        k, exact, total = a.shape[1], a @ b, a.abs() @ b.abs()
        error = (got.double() - exact).abs()
        ulp = half_ulp(torch.maximum(exact.abs(), got.double().abs()), got.dtype)
        share = ((error - ulp).clamp(min=0) / total).max().item()
        chain = min(k, self.chain) * TENSOR_ROUNDOFF
        bound = ulp + (LAMBDA * math.sqrt(k) * self.roundoff + 2 * self.inputs + chain) * total
        self.of_s = max(self.of_s, share)
        self.of_bound = max(self.of_bound, (error / bound).max().item())
        self.by_k[k] = max(self.by_k.get(k, 0.0), share)

    def print(self):
        def power(share):
            return "0" if share == 0 else "2^%.1f" % math.log2(share)

        print("measured: %-22s error up to %.3g of the bound; beyond the half ulp %s S; k = %s" % (
            self.name, self.of_bound, power(self.of_s),
            ", ".join("%d: %s" % (k, power(share)) for k, share in sorted(self.by_k.items()))))


def show(kernel, a, b, product, excess, wide):
    """The copy kernel's launch, and the errors; `wide` are a and b in f64."""
    seen = torch.empty_like(product)
    (m, n), k = product.shape, wide[0].shape[1]
    kernel[(triton.cdiv(m * n, 1024),)](a, b, product, seen, m, n, k, BLOCK=1024)
    excess.add(*wide, product)
    print(kernel.__name__, m, n, k, bits_sum(seen))
    wait_for_checks()


def draw(positive, rows, cols):
    """Around 0, or all of one sign: then what an accumulator cuts off adds up."""
    return (torch.rand if positive else torch.randn)(rows, cols, device="cuda")


def products(kernel, dtype, roundoff, inputs=0.0):
    excess = Excess(kernel.__name__[8:], roundoff, inputs)
    for m, n, k in [(512, 384, k) for k in SIZES] + [(100, 77, 1000)]:
        for positive in (False, True) if m == 512 else (False,):
            a, b = draw(positive, m, k).to(dtype), draw(positive, k, n).to(dtype)
            show(kernel, a, b, torch.mm(a, b), excess, (a.double(), b.double()))
    excess.print()


def products_hidden(kernel, dtype):
    """The first term is 1 and all others are about 2^-25: tensor cores cut off as much of them as they can."""
    excess = Excess(kernel.__name__[8:], 2.0 ** -24, 0.0)
    for k in SIZES:
        a, b = (2.0 ** -12.5 * (torch.rand(shape, device="cuda") + 0.5) for shape in ((512, k), (k, 384)))
        a[:, 0], b[0, :] = 1, 1
        a, b = a.to(dtype), b.to(dtype)
        show(kernel, a, b, torch.mm(a, b, out_dtype=torch.float32), excess, (a.double(), b.double()))
    excess.print()


def products_fp8(kernel, dtype, fast):
    """The third kind is positive, with a channel in 256 of up to 400 times the others: that hides them."""
    one = torch.ones((), device="cuda")
    name, chain = kernel.__name__[8:], max(SIZES) if fast else 128
    for kind, positive, most in ((name, False, 1), (name + " +", True, 1), (name + " outliers", True, 400)):
        excess = Excess(kind, 2.0 ** -24, 0.0, chain)
        for k in SIZES:
            x = draw(positive, 512, k)
            x[:, 5::256] *= most
            x, w = x.to(torch.float8_e4m3fn), draw(positive, 384, k).to(torch.float8_e4m3fn)
            y = torch._scaled_mm(x, w.t(), scale_a=one, scale_b=one, out_dtype=dtype, use_fast_accum=fast)
            show(kernel, x.view(torch.uint8), w.view(torch.uint8), y, excess,
                 (x.to(torch.float64), w.to(torch.float64).t()))
        excess.print()


def main():
    print("PyTorch", torch.__version__)
    torch.manual_seed(29)
    matmul = torch.backends.cuda.matmul
    matmul.allow_bf16_reduced_precision_reduction = False  # partial sums in the output's dtype are allowed else
    matmul.allow_fp16_reduced_precision_reduction = False
    matmul.allow_tf32 = False
    products(product_bf16, torch.bfloat16, 2.0 ** -24)
    products(product_f16, torch.float16, 2.0 ** -24)
    products(product_f32, torch.float32, 2.0 ** -24)
    products_hidden(product_hidden_bf16, torch.bfloat16)
    products_hidden(product_hidden_f16, torch.float16)
    matmul.allow_tf32 = True
    products(product_tf32, torch.float32, 2.0 ** -24, inputs=2.0 ** -11)
    products(product_undeclared, torch.float32, 2.0 ** -24)
    products_fp8(product_fp8_bf16, torch.bfloat16, False)
    products_fp8(product_fp8_bf16_fast, torch.bfloat16, True)
    products_fp8(product_fp8_f32, torch.float32, False)
    products_fp8(product_fp8_f32_fast, torch.float32, True)


if __name__ == "__main__":
    main()
