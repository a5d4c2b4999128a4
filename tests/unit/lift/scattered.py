"""Kernels in Triton that store at rows from memory, and their PTX for sm_90: python3 scattered.py FOLDER writes the files.

Needs Triton (3.6 made the ones in ptx/), no GPU.
"""

import sys

import triton
import triton.language as tl

from products import write


@triton.jit
def experts(a, b, c, weights, order, expert, padded, n, k_size, slots, b_expert, TOP: tl.constexpr, M: tl.constexpr, N: tl.constexpr,
            K: tl.constexpr, NARROW: tl.constexpr):
    tiles = tl.cdiv(n, N)
    row, column = tl.program_id(0) // tiles, tl.program_id(0) % tiles
    if row * M >= tl.load(padded):
        return
    at = tl.load(order + row * M + tl.arange(0, M))
    used = at < slots
    depth, columns = tl.arange(0, K), column * N + tl.arange(0, N)
    a_at = a + (at // TOP)[:, None] * k_size + depth[None, :]
    b_at = b + tl.load(expert + row).to(tl.int64) * b_expert + (columns % n)[None, :] * k_size + depth[:, None]
    total = tl.zeros((M, N), dtype=tl.float32)
    for k in range(0, k_size, K):
        inside = depth < k_size - k
        left = tl.load(a_at, mask=used[:, None] & inside[None, :], other=0.0)
        right = tl.load(b_at, mask=inside[:, None], other=0).to(left.dtype)
        total = tl.dot(left, right, total)
        if NARROW:
            total = total.to(tl.bfloat16).to(tl.float32)
        a_at += K
        b_at += K
    total *= tl.load(weights + at, mask=used, other=0.0)[:, None]
    to = c + at[:, None] * n + columns[None, :]
    tl.store(to, total.to(c.dtype.element_ty), mask=used[:, None] & (columns < n)[None, :])


@triton.jit
def put(x, rows, y, width, SIZE: tl.constexpr):
    columns = tl.arange(0, SIZE)
    row, to = tl.program_id(0), tl.load(rows + tl.program_id(0))
    number = tl.load(x + row * width + columns, mask=columns < width)
    tl.store(y + to * width + columns, number * 3, mask=columns < width)


def main(folder):
    words = {"n": "i32", "k_size": "i32", "slots": "i32", "b_expert": "i32"}
    tile = {"TOP": 2, "M": 16, "N": 32, "K": 32}
    for kind in ("bf16", "fp16"):
        arrays = {name: "*" + kind for name in "abc"}
        arrays |= {"weights": "*fp32", "order": "*i32", "expert": "*i32", "padded": "*i32"}
        for name, narrow in (("", False), ("_narrow", True)):
            if kind == "bf16" or not narrow:
                path = f"{folder}/experts_{kind}{name}.ptx"
                write(path, experts, arrays | words, dict(tile, NARROW=narrow))
    write(f"{folder}/experts_i8.ptx", experts, arrays | {"a": "*bf16", "b": "*i8", "c": "*bf16"} | words,
          dict(tile, NARROW=False))
    write(f"{folder}/put.ptx", put, {"x": "*fp32", "rows": "*i64", "y": "*fp32", "width": "i32"}, {"SIZE": 128})


if __name__ == "__main__":
    main(sys.argv[1])
