"""study.py DTYPE - the study's 26 kernels in Triton, an ordinary script that knows of nothing around it.

NAME_0 is right, NAME_1 has the study's bug. A kernel's text is a function with a constexpr WRONG; what is
launched are two wrappers, for a kernel is known by its name. Each is launched on 30 draws of the study's
schema, with inputs in [-10, 10), in f32 or f16 (matmul in f32 alone).
"""

import random
import sys

import torch
import triton
import triton.language as tl

try:
    from triton.language.extra import libdevice
except ImportError:  # before Triton 3
    libdevice = tl.math

DEVICE = triton.runtime.driver.active.get_active_torch_device()
CASES = 30
SIZES = ["n", "m", "k", "cols", "keys", "dim"]  # 1 is a size like any other


def kernel(function):
    names = [name for name in SIZES if name in function.__code__.co_varnames[:function.__code__.co_argcount]]
    return triton.jit(function, do_not_specialize=names)


# --------------------------------------------------------------------------------- softmax


@triton.jit
def softmax(X, Y, cols, BLOCK: tl.constexpr, WRONG: tl.constexpr):
    at = tl.arange(0, BLOCK)
    row = tl.program_id(0) * cols
    other = 0.0 if WRONG else -float("inf")  # 1: what is masked is 0
    x = tl.load(X + row + at, mask=at < cols, other=other).to(tl.float32)
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(Y + row + at, (e / tl.sum(e, axis=0)).to(Y.dtype.element_ty), mask=at < cols)


@kernel
def triton_softmax_0(X, Y, cols, BLOCK: tl.constexpr):
    softmax(X, Y, cols, BLOCK, False)


@kernel
def triton_softmax_1(X, Y, cols, BLOCK: tl.constexpr):
    softmax(X, Y, cols, BLOCK, True)


@triton.jit
def softmax_padded(X, Y, cols, BLOCK: tl.constexpr, WRONG: tl.constexpr):
    at = tl.arange(0, BLOCK)
    row = tl.program_id(0) * cols
    x = tl.load(X + row + at, mask=at < cols, other=-float("inf")).to(tl.float32)
    most = tl.max(x, axis=0)
    padded = (cols + 127) // 128 * 128 if WRONG else cols  # 1: zeros up to there count
    e = tl.where(at < padded, tl.exp(tl.where(at < cols, x, 0.0) - most), 0.0)
    tl.store(Y + row + at, (e / tl.sum(e, axis=0)).to(Y.dtype.element_ty), mask=at < cols)


@kernel
def numpy_softmax_0(X, Y, cols, BLOCK: tl.constexpr):
    softmax_padded(X, Y, cols, BLOCK, False)


@kernel
def numpy_softmax_1(X, Y, cols, BLOCK: tl.constexpr):
    softmax_padded(X, Y, cols, BLOCK, True)


# ----------------------------------------------------------------------------------- norms


@kernel
def numpy_layernorm_0(X, W, B, Y, cols, eps, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    row = tl.program_id(0) * cols
    x = tl.load(X + row + at, mask=at < cols, other=0.0).to(tl.float32)
    w = tl.load(W + at, mask=at < cols, other=0.0).to(tl.float32)
    b = tl.load(B + at, mask=at < cols, other=0.0).to(tl.float32)
    off = tl.where(at < cols, x - tl.sum(x, axis=0) / cols, 0.0)
    y = off / tl.sqrt(tl.sum(off * off, axis=0) / cols + eps) * w + b
    tl.store(Y + row + at, y.to(Y.dtype.element_ty), mask=at < cols)


@triton.jit
def rmsnorm(X, W, Y, cols, eps, BLOCK: tl.constexpr, WRONG: tl.constexpr):
    at = tl.arange(0, BLOCK)
    row = tl.program_id(0) * cols
    x = tl.load(X + row + at, mask=at < cols, other=0.0).to(tl.float32)
    w = tl.load(W + at, mask=at < cols, other=0.0).to(tl.float32)
    ms = tl.sum(x * x, axis=0) / cols + eps
    y = x / (ms if WRONG else tl.sqrt(ms)) * w  # 1: the root is missing
    tl.store(Y + row + at, y.to(Y.dtype.element_ty), mask=at < cols)


@kernel
def triton_rmsnorm_0(X, W, Y, cols, eps, BLOCK: tl.constexpr):
    rmsnorm(X, W, Y, cols, eps, BLOCK, False)


@kernel
def triton_rmsnorm_1(X, W, Y, cols, eps, BLOCK: tl.constexpr):
    rmsnorm(X, W, Y, cols, eps, BLOCK, True)


@triton.jit
def l2norm(X, Y, cols, eps, BLOCK: tl.constexpr, WRONG: tl.constexpr):
    at = tl.arange(0, BLOCK)
    row = tl.program_id(0) * cols
    x = tl.load(X + row + at, mask=at < cols, other=0.0).to(tl.float32)
    squares = tl.sum(x * x, axis=0)
    y = x / tl.maximum(squares if WRONG else tl.sqrt(squares), eps)  # 1: the root is missing
    tl.store(Y + row + at, y.to(Y.dtype.element_ty), mask=at < cols)


@kernel
def triton_l2norm_0(X, Y, cols, eps, BLOCK: tl.constexpr):
    l2norm(X, Y, cols, eps, BLOCK, False)


@kernel
def triton_l2norm_1(X, Y, cols, eps, BLOCK: tl.constexpr):
    l2norm(X, Y, cols, eps, BLOCK, True)


# ----------------------------------------------------------------------------- activations


@kernel
def triton_gelu_0(X, Y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(X + at, mask=at < n).to(tl.float32)
    y = 0.5 * x * (1 + tl.erf(x * 0.7071067811865476))
    tl.store(Y + at, y.to(Y.dtype.element_ty), mask=at < n)


@kernel
def triton_gelu_1(X, Y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(X + at, mask=at < n).to(tl.float32)
    y = x * (1 + tl.erf(x * 0.7071067811865476))  # 0.5 is dropped
    tl.store(Y + at, y.to(Y.dtype.element_ty), mask=at < n)


@kernel
def triton_silu_0(X, Y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(X + at, mask=at < n).to(tl.float32)
    tl.store(Y + at, (x / (1 + tl.exp(-x))).to(Y.dtype.element_ty), mask=at < n)


@kernel
def triton_silu_1(X, Y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(X + at, mask=at < n).to(tl.float32)
    tl.store(Y + at, (x / (1 + tl.exp(-2 * x))).to(Y.dtype.element_ty), mask=at < n)  # 2 x


@kernel
def triton_relu_0(X, Y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(X + at, mask=at < n).to(tl.float32)
    tl.store(Y + at, tl.where(x < 0, 0.0, x).to(Y.dtype.element_ty), mask=at < n)


@kernel
def triton_leaky_relu_0(X, Y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(X + at, mask=at < n).to(tl.float32)
    tl.store(Y + at, tl.where(x > 0, x, 0.01 * x).to(Y.dtype.element_ty), mask=at < n)


@kernel
def triton_leaky_relu_1(X, Y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(X + at, mask=at < n).to(tl.float32)
    tl.store(Y + at, tl.where(x > 0, x, 0.1 * x).to(Y.dtype.element_ty), mask=at < n)  # 0.1


@kernel
def triton_sigmoid_0(X, Y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(X + at, mask=at < n).to(tl.float32)
    tl.store(Y + at, (1 / (1 + tl.exp(-x))).to(Y.dtype.element_ty), mask=at < n)


@kernel
def triton_tanh_0(X, Y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(X + at, mask=at < n).to(tl.float32)
    tl.store(Y + at, libdevice.tanh(x).to(Y.dtype.element_ty), mask=at < n)


@kernel
def triton_elu_0(X, Y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(X + at, mask=at < n).to(tl.float32)
    tl.store(Y + at, tl.where(x > 0, x, libdevice.expm1(x)).to(Y.dtype.element_ty), mask=at < n)


# -------------------------------------------------------------------------------- products


@kernel
def numpy_matmul_0(A, B, C, m, n, k, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    row, col = tl.program_id(0) // n, tl.program_id(0) % n
    a = tl.load(A + row * k + at, mask=at < k, other=0.0).to(tl.float32)
    b = tl.load(B + at * n + col, mask=at < k, other=0.0).to(tl.float32)
    tl.store(C + row * n + col, tl.sum(a * b, axis=0).to(C.dtype.element_ty))


@triton.jit
def matmul(A, B, C, m, n, k, BLOCK: tl.constexpr, WRONG: tl.constexpr):
    r = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)[:, None]
    c = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)[None, :]
    acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for l in range(0, k):
        a = tl.load(A + r * k + l, mask=r < m, other=0.0).to(tl.float32)
        b = tl.load(B + l * n + c, mask=c < n, other=0.0).to(tl.float32)
        if WRONG:
            acc = a * b  # for acc +=
        else:
            acc += a * b
    tl.store(C + r * n + c, acc.to(C.dtype.element_ty), mask=(r < m) & (c < n))


@kernel
def triton_matmul_0(A, B, C, m, n, k, BLOCK: tl.constexpr):
    matmul(A, B, C, m, n, k, BLOCK, False)


@kernel
def triton_matmul_1(A, B, C, m, n, k, BLOCK: tl.constexpr):
    matmul(A, B, C, m, n, k, BLOCK, True)


@triton.jit
def attention(Q, K, V, Y, keys, dim, scale, BLOCK: tl.constexpr, D: tl.constexpr):
    c = tl.arange(0, D)
    j = tl.arange(0, BLOCK)
    row = tl.program_id(0) * dim
    q = tl.load(Q + row + c, mask=c < dim, other=0.0).to(tl.float32)
    inside = (j[:, None] < keys) & (c[None, :] < dim)
    at = j[:, None] * dim + c[None, :]
    score = tl.sum(q[None, :] * tl.load(K + at, mask=inside, other=0.0).to(tl.float32), axis=1) * scale
    score = tl.where(j < keys, score, -float("inf"))
    p = tl.exp(score - tl.max(score, axis=0))
    y = tl.sum(p[:, None] * tl.load(V + at, mask=inside, other=0.0).to(tl.float32), axis=0)
    tl.store(Y + row + c, (y / tl.sum(p, axis=0)).to(Y.dtype.element_ty), mask=c < dim)


@kernel
def triton_attention_0(Q, K, V, Y, keys, dim, scale, BLOCK: tl.constexpr, D: tl.constexpr):
    attention(Q, K, V, Y, keys, dim, scale, BLOCK, D)


@kernel
def triton_attention_1(Q, K, V, Y, keys, dim, scale, BLOCK: tl.constexpr, D: tl.constexpr):
    attention(Q, K, V, Y, keys, dim, 1.0, BLOCK, D)  # no 1 / sqrt(dim)


@triton.jit
def flash(Q, K, V, Y, keys, dim, scale, BLOCK: tl.constexpr, D: tl.constexpr, WRONG: tl.constexpr):
    c = tl.arange(0, D)
    row = tl.program_id(0) * dim
    q = tl.load(Q + row + c, mask=c < dim, other=0.0).to(tl.float32)
    most = tl.full((1,), -float("inf"), tl.float32)
    total = tl.zeros((1,), tl.float32)
    acc = tl.zeros((D,), tl.float32)
    for start in range(0, keys, BLOCK):
        j = start + tl.arange(0, BLOCK)
        inside = (j[:, None] < keys) & (c[None, :] < dim)
        at = j[:, None] * dim + c[None, :]
        score = tl.sum(q[None, :] * tl.load(K + at, mask=inside, other=0.0).to(tl.float32), axis=1)
        score = tl.where(j < keys, score * scale, -float("inf"))
        new = tl.maximum(most, tl.max(score, axis=0))
        alpha = tl.exp(most - new)
        p = tl.exp(score - new)
        total = total * alpha + tl.sum(p, axis=0)
        if not WRONG:
            acc = acc * alpha  # 1: left out
        acc += tl.sum(p[:, None] * tl.load(V + at, mask=inside, other=0.0).to(tl.float32), axis=0)
        most = new
    tl.store(Y + row + c, (acc / total).to(Y.dtype.element_ty), mask=c < dim)


@kernel
def triton_flash_attention_0(Q, K, V, Y, keys, dim, scale, BLOCK: tl.constexpr, D: tl.constexpr):
    flash(Q, K, V, Y, keys, dim, scale, BLOCK, D, False)


@kernel
def triton_flash_attention_1(Q, K, V, Y, keys, dim, scale, BLOCK: tl.constexpr, D: tl.constexpr):
    flash(Q, K, V, Y, keys, dim, scale, BLOCK, D, True)


# -------------------------------------------------------------------------------- launches


class Draws:
    """The inputs of one kernel: the same in every run."""

    def __init__(self, name, dtype):
        self.sizes = random.Random(name)
        self.generator = torch.Generator(device=DEVICE).manual_seed(len(name))
        self.dtype = dtype

    def pick(self, *candidates):
        return self.sizes.choice(candidates)

    def tensor(self, *shape):
        u = torch.rand(shape, device=DEVICE, generator=self.generator)
        return (20 * u - 10).to(self.dtype)


def launch_softmax(f, draw):
    rows, cols = draw.pick(1, 2, 8) * draw.pick(1, 7, 128), draw.pick(3, 256, 1025)
    x = draw.tensor(rows, cols)
    f[(rows,)](x, torch.empty_like(x), cols, BLOCK=max(128, triton.next_power_of_2(cols)))


def launch_softmax_exact(f, draw):
    rows, cols = draw.pick(1, 2, 8) * draw.pick(1, 7, 128), draw.pick(3, 256, 1025)
    x = draw.tensor(rows, cols)
    f[(rows,)](x, torch.empty_like(x), cols, BLOCK=triton.next_power_of_2(cols))


def launch_norm(f, draw):
    rows, cols = draw.pick(1, 4), draw.pick(2, 3, 256, 1025)
    x, block = draw.tensor(rows, cols), triton.next_power_of_2(cols)
    weights = {"rmsnorm": 1, "layernorm": 2}.get(f.__name__.split("_")[1], 0)
    eps = 1e-6 if weights else 1e-12
    f[(rows,)](x, *[draw.tensor(cols) for _ in range(weights)], torch.empty_like(x), cols, eps, BLOCK=block)


def launch_cells(f, draw):
    x = draw.tensor(draw.pick(1, 4) * draw.pick(1, 3, 256, 1025))
    f[(triton.cdiv(x.numel(), 256),)](x, torch.empty_like(x), x.numel(), BLOCK=256)


def launch_matmul(f, draw):
    m, k, n = draw.pick(1, 2, 7, 64), draw.pick(1, 3, 16, 64), draw.pick(1, 2, 15, 64)
    c = torch.empty(m, n, device=DEVICE, dtype=draw.dtype)
    grid = (m * n,) if f.__name__.startswith("numpy") else (triton.cdiv(m, 16), triton.cdiv(n, 16))
    block = 64 if f.__name__.startswith("numpy") else 16
    f[grid](draw.tensor(m, k), draw.tensor(k, n), c, m, n, k, BLOCK=block)


def launch_attention(f, draw):
    flash_one = "flash" in f.__name__
    queries = draw.pick(1, 3, 16) if flash_one else draw.pick(1, 2, 8)
    keys = draw.pick(1, 3, 16, 64, 128, 256) if flash_one else draw.pick(1, 3, 16, 256)
    dim = 64 if flash_one else draw.pick(8, 16, 64)
    q, k, v = draw.tensor(queries, dim), draw.tensor(keys, dim), draw.tensor(keys, dim)
    block = 64 if flash_one else triton.next_power_of_2(keys)
    f[(queries,)](q, k, v, torch.empty_like(q), keys, dim, dim ** -0.5, BLOCK=block, D=dim)


KERNELS = [
    (launch_softmax, [numpy_softmax_0, numpy_softmax_1]),
    (launch_softmax_exact, [triton_softmax_0, triton_softmax_1]),
    (launch_norm, [numpy_layernorm_0, triton_rmsnorm_0, triton_rmsnorm_1, triton_l2norm_0, triton_l2norm_1]),
    (launch_cells, [triton_gelu_0, triton_gelu_1, triton_silu_0, triton_silu_1, triton_relu_0,
                    triton_leaky_relu_0, triton_leaky_relu_1, triton_sigmoid_0, triton_tanh_0, triton_elu_0]),
    (launch_matmul, [numpy_matmul_0, triton_matmul_0, triton_matmul_1]),
    (launch_attention, [triton_attention_0, triton_attention_1, triton_flash_attention_0,
                        triton_flash_attention_1]),
]


def main():
    dtype = {"f32": torch.float32, "f16": torch.float16}[sys.argv[1]]
    for launch, functions in KERNELS:
        if launch is launch_matmul and dtype != torch.float32:
            continue
        for function in functions:
            draw = Draws(function.__name__, dtype)
            for _ in range(CASES):
                launch(function, draw)
    if DEVICE.type == "cuda":
        torch.cuda.synchronize()


if __name__ == "__main__":
    main()
