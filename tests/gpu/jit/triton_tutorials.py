"""triton_tutorials.py - kernels such as Triton's tutorials teach, in many shapes; all of them are right.

Vector addition, fused softmax, a matrix product with and without leaky relu, dropout by a mask and by a
seed, layer normalisation and its gradients. Prints a checksum of the bits of every output.
"""

import sys
import time

import torch
import triton
import triton.language as tl

sys.path.append(sys.path[0] + "/../pytorch")
from torch_sums import bits_sum, wait_for_checks  # noqa: E402


@triton.jit(do_not_specialize=["n"])
def tut_add(X, Y, OUT, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(OUT + at, tl.load(X + at, mask=inside) + tl.load(Y + at, mask=inside), mask=inside)


# Fewer programs than rows: each takes every so manieth row.
@triton.jit(do_not_specialize=["y_stride", "x_stride", "rows", "cols"])
def tut_softmax(Y, X, y_stride, x_stride, rows, cols, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    for row in range(tl.program_id(0), rows, tl.num_programs(0)):
        x = tl.load(X + row * x_stride + at, mask=at < cols, other=-float("inf"))
        e = tl.exp(x - tl.max(x, axis=0))
        tl.store(Y + row * y_stride + at, e / tl.sum(e, axis=0), mask=at < cols)


# Programs in groups of GROUP rows of tiles, so that neighbours share what they read.
@triton.jit
def product_tile(A, B, m, n, k, a_row, b_row, TILE: tl.constexpr, DEPTH: tl.constexpr, GROUP: tl.constexpr):
    down, across = tl.cdiv(m, TILE), tl.cdiv(n, TILE)
    first = tl.program_id(0) // (GROUP * across) * GROUP
    height = min(down - first, GROUP)
    inner = tl.program_id(0) % (GROUP * across)
    rows = (first + inner % height) * TILE + tl.arange(0, TILE)
    cols = (inner // height) * TILE + tl.arange(0, TILE)
    total = tl.zeros((TILE, TILE), dtype=tl.float32)
    for start in range(0, k, DEPTH):
        deep = start + tl.arange(0, DEPTH)
        a = tl.load(A + rows[:, None] * a_row + deep[None, :],
                    mask=(rows[:, None] < m) & (deep[None, :] < k), other=0.0)
        b = tl.load(B + deep[:, None] * b_row + cols[None, :],
                    mask=(deep[:, None] < k) & (cols[None, :] < n), other=0.0)
        total = tl.dot(a, b, total)
    return total, rows, cols


@triton.jit
def tut_matmul(A, B, C, m, n, k, a_row, b_row, c_row,
               TILE: tl.constexpr, DEPTH: tl.constexpr, GROUP: tl.constexpr):
    total, rows, cols = product_tile(A, B, m, n, k, a_row, b_row, TILE, DEPTH, GROUP)
    tl.store(C + rows[:, None] * c_row + cols[None, :], total.to(C.dtype.element_ty),
             mask=(rows[:, None] < m) & (cols[None, :] < n))


@triton.jit
def tut_matmul_leaky(A, B, C, m, n, k, a_row, b_row, c_row,
                     TILE: tl.constexpr, DEPTH: tl.constexpr, GROUP: tl.constexpr):
    total, rows, cols = product_tile(A, B, m, n, k, a_row, b_row, TILE, DEPTH, GROUP)
    total = tl.where(total >= 0, total, 0.01 * total)
    tl.store(C + rows[:, None] * c_row + cols[None, :], total.to(C.dtype.element_ty),
             mask=(rows[:, None] < m) & (cols[None, :] < n))


@triton.jit(do_not_specialize=["n", "p"])
def tut_dropout(X, KEEP, Y, n, p, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    keep = tl.load(KEEP + at, mask=inside, other=0) != 0
    tl.store(Y + at, tl.where(keep, tl.load(X + at, mask=inside) / (1 - p), 0.0), mask=inside)


@triton.jit(do_not_specialize=["n", "p", "seed"])
def tut_draw(KEEP, n, p, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(KEEP + at, (tl.rand(seed, at) > p).to(tl.uint8), mask=at < n)


# Draws the mask itself. KEEP is what tut_draw made of the same seed; it is there for who looks on.
@triton.jit(do_not_specialize=["n", "p", "seed"])
def tut_dropout_seeded(X, KEEP, Y, n, p, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    x = tl.load(X + at, mask=inside)
    tl.store(Y + at, tl.where(tl.rand(seed, at) > p, x / (1 - p), 0.0), mask=inside)


@triton.jit(do_not_specialize=["stride", "cols", "eps"])
def tut_layer_norm(X, Y, W, B, MEAN, RSTD, stride, cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < cols
    x = tl.load(X + row * stride + at, mask=inside, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / cols
    away = tl.where(inside, x - mean, 0.0)
    rstd = 1 / tl.sqrt(tl.sum(away * away, axis=0) / cols + eps)
    tl.store(MEAN + row, mean)
    tl.store(RSTD + row, rstd)
    w = tl.load(W + at, mask=inside, other=0.0).to(tl.float32)
    b = tl.load(B + at, mask=inside, other=0.0).to(tl.float32)
    tl.store(Y + row * stride + at, (away * rstd * w + b).to(Y.dtype.element_ty), mask=inside)


# dx of its row, and what the row brings to the gradients of w and b, which tut_col_sum adds up.
@triton.jit(do_not_specialize=["stride", "cols"])
def tut_layer_norm_dx(DX, DY, X, W, MEAN, RSTD, DW_PART, DB_PART, stride, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < cols
    x = tl.load(X + row * stride + at, mask=inside, other=0.0).to(tl.float32)
    dy = tl.load(DY + row * stride + at, mask=inside, other=0.0).to(tl.float32)
    w = tl.load(W + at, mask=inside, other=0.0).to(tl.float32)
    rstd = tl.load(RSTD + row)
    hat = tl.where(inside, (x - tl.load(MEAN + row)) * rstd, 0.0)
    g = dy * w
    along = tl.sum(hat * g, axis=0) / cols
    mean = tl.sum(g, axis=0) / cols
    dx = (g - (hat * along + mean)) * rstd
    tl.store(DX + row * stride + at, dx.to(DX.dtype.element_ty), mask=inside)
    tl.store(DW_PART + row * cols + at, dy * hat, mask=inside)
    tl.store(DB_PART + row * cols + at, dy, mask=inside)


@triton.jit(do_not_specialize=["rows", "cols"])
def tut_col_sum(PART, OUT, rows, cols, TALL: tl.constexpr, WIDE: tl.constexpr):
    at = tl.program_id(0) * WIDE + tl.arange(0, WIDE)
    total = tl.zeros((TALL, WIDE), dtype=tl.float32)
    for start in range(0, rows, TALL):
        row = start + tl.arange(0, TALL)
        inside = (row[:, None] < rows) & (at[None, :] < cols)
        total += tl.load(PART + row[:, None] * cols + at[None, :], mask=inside, other=0.0)
    tl.store(OUT + at, tl.sum(total, axis=0).to(OUT.dtype.element_ty), mask=at < cols)


def add(n):
    x, y = torch.randn(n, device="cuda"), torch.randn(n, device="cuda")
    out = torch.empty_like(x)
    tut_add[(triton.cdiv(n, 1024),)](x, y, out, n, BLOCK=1024)
    print("add", n, bits_sum(out))


def softmax(rows, cols):
    x = 3 * torch.randn(rows, cols + 5, device="cuda")
    y = torch.empty(rows, cols + 3, device="cuda").fill_(7)
    tut_softmax[(min(rows, 100),)](y, x, y.stride(0), x.stride(0), rows, cols,
                                   BLOCK=max(256, triton.next_power_of_2(cols)))
    print("softmax", rows, cols, bits_sum(y))


def product(kernel, m, n, k):
    a = torch.randn(m, k, device="cuda").half()
    b = torch.randn(k, n, device="cuda").half()
    c = torch.empty(m, n, device="cuda").half()
    grid = (triton.cdiv(m, 64) * triton.cdiv(n, 64),)
    kernel[grid](a, b, c, m, n, k, a.stride(0), b.stride(0), c.stride(0), TILE=64, DEPTH=32, GROUP=8)
    print(kernel.__name__, m, n, k, bits_sum(c))


def dropout(n, p, seed):
    x = torch.randn(n, device="cuda")
    keep = torch.empty(n, device="cuda", dtype=torch.uint8)
    grid = (triton.cdiv(n, 1024),)
    tut_draw[grid](keep, n, p, seed, BLOCK=1024)
    for kernel, seeds in ((tut_dropout, ()), (tut_dropout_seeded, (seed,))):
        y = torch.empty_like(x)
        kernel[grid](x, keep, y, n, p, *seeds, BLOCK=1024)
        print(kernel.__name__, n, p, bits_sum(y))


def layer_norm(rows, cols):
    x = (torch.randn(rows, cols, device="cuda") * 2 + 0.5).half()
    w = (1 + 0.1 * torch.randn(cols, device="cuda")).half()
    b = (0.1 * torch.randn(cols, device="cuda")).half()
    dy = torch.randn(rows, cols, device="cuda").half()
    y, dx = torch.empty_like(x), torch.empty_like(x)
    mean, rstd = torch.empty(rows, device="cuda"), torch.empty(rows, device="cuda")
    parts = [torch.empty(rows, cols, device="cuda") for _ in range(2)]
    block = max(256, triton.next_power_of_2(cols))
    tut_layer_norm[(rows,)](x, y, w, b, mean, rstd, x.stride(0), cols, 1e-5, BLOCK=block)
    tut_layer_norm_dx[(rows,)](dx, dy, x, w, mean, rstd, parts[0], parts[1], x.stride(0), cols, BLOCK=block)
    print("layer_norm", rows, cols, bits_sum(y), bits_sum(mean), bits_sum(rstd), bits_sum(dx))
    for part in parts:
        out = torch.empty(cols, device="cuda").half()
        tut_col_sum[(triton.cdiv(cols, 64),)](part, out, rows, cols, TALL=32, WIDE=64)
        print("col_sum", rows, cols, bits_sum(out))


PRODUCTS = [(64, 64, 64), (128, 256, 512), (512, 384, 1024), (1024, 1024, 2048), (80, 48, 4096), (2048, 512, 256),
            (100, 77, 33), (257, 129, 1023), (33, 1000, 511), (999, 31, 2049), (65, 66, 67), (300, 300, 3001)]


def main():
    torch.manual_seed(23)
    product(tut_matmul_leaky, 64, 64, 64)  # its reference begins to be compiled
    for i in range(32):
        add(1 + i * i * 997)
    for rows in (2, 17, 128, 501):
        for cols in (2, 31, 128, 200, 781, 1024, 1823, 4096):
            softmax(rows, cols)
    for shape in PRODUCTS:
        for _ in range(3):
            product(tut_matmul, *shape)
            wait_for_checks()
    for i in range(16):
        dropout(1000 + 7919 * i, 0.05 + i / 20, 12345 + i)
    for rows in (3, 64, 257):
        for cols in (2, 96, 255, 640, 1000, 1151, 2048, 4000):
            layer_norm(rows, cols)
            wait_for_checks()
    wait_for_checks()
    time.sleep(2)  # so that its reference is there
    for shape in PRODUCTS:
        product(tut_matmul_leaky, *shape)
    wait_for_checks()


if __name__ == "__main__":
    main()
