"""triton_attention.py - attention in tiles with a running maximum, in Triton: right, and wrong in three ways.

    att_right
    att_unscaled    what was added up is not scaled down when a later tile has a larger score
    att_blurred     no mask within the tiles on the diagonal: a query sees the rest of its tile
    att_narrow      what is added up is rounded to bf16 after each tile

Prints a checksum of the bits of every output.
"""

import sys

import torch
import triton
import triton.language as tl

sys.path.append(sys.path[0] + "/../pytorch")
from torch_sums import bits_sum, wait_for_checks  # noqa: E402

NO_SCALE, NO_MASK, NARROW = tl.constexpr(1), tl.constexpr(2), tl.constexpr(3)  # FAULT


@triton.jit
def attend(Q, K, V, Y, LSE, heads, kv_heads, queries, keys, right, scale,
           DIM: tl.constexpr, TALL: tl.constexpr, WIDE: tl.constexpr, FAULT: tl.constexpr):
    head = tl.program_id(1)  # of all sequences, one behind the other
    shared = head // heads * kv_heads + head % heads * kv_heads // heads
    row = tl.program_id(0) * TALL + tl.arange(0, TALL)
    at = tl.arange(0, DIM)
    q = tl.load(Q + (head * queries + row[:, None]) * DIM + at[None, :], mask=row[:, None] < queries, other=0.0)
    most = tl.full((TALL,), -float("inf"), tl.float32)
    weight = tl.zeros((TALL,), tl.float32)
    mixed = tl.zeros((TALL, DIM), tl.float32)
    last = keys
    if right == 0:
        last = min(keys, (tl.program_id(0) + 1) * TALL + keys - queries)
    for start in range(0, last, WIDE):
        key = start + tl.arange(0, WIDE)
        there = (shared * keys + key[:, None]) * DIM + at[None, :]
        k = tl.load(K + there, mask=key[:, None] < keys, other=0.0)
        v = tl.load(V + there, mask=key[:, None] < keys, other=0.0)
        seen = (key[None, :] < keys) & (row[:, None] >= 0)
        if right == 0:
            place = row + keys - queries
            if FAULT == NO_MASK:
                place = place // WIDE * WIDE + WIDE - 1
            seen = seen & (key[None, :] <= place[:, None])
        score = tl.where(seen, tl.dot(q, tl.trans(k)) * scale, -float("inf"))
        now = tl.maximum(most, tl.max(score, axis=1))
        share = tl.exp(score - now[:, None])
        fade = tl.exp(most - now)
        weight = weight * fade + tl.sum(share, axis=1)
        if FAULT != NO_SCALE:
            mixed = mixed * fade[:, None]
        mixed = tl.dot(share.to(v.dtype), v, mixed)
        if FAULT == NARROW:
            mixed = mixed.to(tl.bfloat16).to(tl.float32)
        most = now
    y = (mixed / weight[:, None]).to(Y.dtype.element_ty)
    tl.store(Y + (head * queries + row[:, None]) * DIM + at[None, :], y, mask=row[:, None] < queries)
    tl.store(LSE + head * queries + row, most + tl.log(weight), mask=row < queries)


INTS = ["heads", "kv_heads", "queries", "keys", "dim", "right"]


@triton.jit(do_not_specialize=INTS)
def att_right(Q, K, V, Y, LSE, heads, kv_heads, queries, keys, dim, right, scale,
              DIM: tl.constexpr, TALL: tl.constexpr, WIDE: tl.constexpr):
    attend(Q, K, V, Y, LSE, heads, kv_heads, queries, keys, right, scale, DIM, TALL, WIDE, 0)


@triton.jit(do_not_specialize=INTS)
def att_unscaled(Q, K, V, Y, LSE, heads, kv_heads, queries, keys, dim, right, scale,
                 DIM: tl.constexpr, TALL: tl.constexpr, WIDE: tl.constexpr):
    attend(Q, K, V, Y, LSE, heads, kv_heads, queries, keys, right, scale, DIM, TALL, WIDE, NO_SCALE)


@triton.jit(do_not_specialize=INTS)
def att_blurred(Q, K, V, Y, LSE, heads, kv_heads, queries, keys, dim, right, scale,
                DIM: tl.constexpr, TALL: tl.constexpr, WIDE: tl.constexpr):
    attend(Q, K, V, Y, LSE, heads, kv_heads, queries, keys, right, scale, DIM, TALL, WIDE, NO_MASK)


@triton.jit(do_not_specialize=INTS)
def att_narrow(Q, K, V, Y, LSE, heads, kv_heads, queries, keys, dim, right, scale,
               DIM: tl.constexpr, TALL: tl.constexpr, WIDE: tl.constexpr):
    attend(Q, K, V, Y, LSE, heads, kv_heads, queries, keys, right, scale, DIM, TALL, WIDE, NARROW)


# batch, heads, heads of the keys, queries, keys, dim, causal
SHAPES = [(2, 4, 4, 512, 512, 64, False), (2, 4, 4, 512, 512, 64, True), (1, 8, 2, 1000, 1000, 64, True),
          (1, 6, 3, 333, 777, 64, True), (3, 4, 1, 257, 129, 64, False), (2, 2, 2, 100, 2000, 64, False),
          (2, 4, 2, 640, 640, 128, True), (1, 4, 4, 250, 1111, 128, False)]
WRONG = [(2, 4, 4, 512, 512, 64, True), (1, 8, 2, 1000, 1000, 64, True)]


def run(kernel, batch, heads, kv_heads, queries, keys, dim, causal):
    q = torch.randn(batch, heads, queries, dim, device="cuda").half()
    k = torch.randn(batch, kv_heads, keys, dim, device="cuda").half()
    v = torch.randn(batch, kv_heads, keys, dim, device="cuda").half()
    y = torch.empty_like(q)
    lse = torch.empty(batch, heads, queries, device="cuda")
    kernel[(triton.cdiv(queries, 64), batch * heads)](
        q, k, v, y, lse, heads, kv_heads, queries, keys, dim, 0 if causal else -1, 1 / dim ** 0.5,
        DIM=dim, TALL=64, WIDE=64)
    print(kernel.__name__, batch, heads, kv_heads, queries, keys, dim, causal, bits_sum(y), bits_sum(lse))
    wait_for_checks()
    return q, k, v, y, lse


def main():
    torch.manual_seed(31)
    for _ in range(3):
        for shape in SHAPES:
            run(att_right, *shape)
    for kernel in (att_unscaled, att_blurred, att_narrow):
        for shape in WRONG:
            run(kernel, *shape)


if __name__ == "__main__":
    main()
