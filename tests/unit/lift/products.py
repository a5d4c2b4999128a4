"""Kernels on tensor cores and with atomics in Triton, and their PTX for sm_90: python3 products.py FOLDER writes the files.

Needs Triton (3.6 made the ones in ptx/), no GPU.
"""

import re
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.language.extra.cuda import libdevice


@triton.jit
def tile(a, b, c, k_size, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns, depth = tl.arange(0, N), tl.arange(0, K)
    a_at = a + rows[:, None] * k_size + depth[None, :]
    b_at = b + depth[:, None] * N + columns[None, :]
    total = tl.zeros((M, N), dtype=tl.float32)
    for _ in range(0, k_size, K):
        total = tl.dot(tl.load(a_at), tl.load(b_at), total)
        a_at += K
        b_at += K * N
    tl.store(c + rows[:, None] * N + columns[None, :], total.to(c.dtype.element_ty))


@triton.jit
def eights(a, b, c, k_size, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, NARROW: tl.constexpr):
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns, depth = tl.arange(0, N), tl.arange(0, K)
    a_at = a + rows[:, None] * k_size + depth[None, :]
    b_at = b + depth[:, None] + columns[None, :] * k_size
    total = tl.zeros((M, N), dtype=tl.float32)
    for _ in range(0, k_size, K):
        total = tl.dot(tl.load(a_at).to(b.dtype.element_ty), tl.load(b_at), total)
        if NARROW:
            total = total.to(tl.bfloat16).to(tl.float32)
        a_at += K
        b_at += K
    tl.store(c + rows[:, None] * N + columns[None, :], total)


@triton.jit
def integer(a, b, c, scale, k_size, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, NARROW: tl.constexpr):
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns, depth = tl.arange(0, N), tl.arange(0, K)
    a_at = a + rows[:, None] * k_size + depth[None, :]
    b_at = b + depth[:, None] + columns[None, :] * k_size
    total = tl.zeros((M, N), dtype=tl.float32)
    for k in range(0, k_size, K):
        part = tl.dot(tl.load(a_at), tl.load(b_at), out_dtype=tl.int32)
        total += part.to(tl.float32) * tl.load(scale + k // K)
        if NARROW:
            total = total.to(tl.bfloat16).to(tl.float32)
        a_at += K
        b_at += K
    tl.store(c + rows[:, None] * N + columns[None, :], total.to(tl.bfloat16))


@triton.jit
def scaled(a, b, scale, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows, columns, depth = tl.program_id(0) * M + tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    factors = tl.load(b + depth[:, None] * N + columns[None, :]) * tl.load(scale + depth)[:, None]
    total = tl.dot(tl.load(a + rows[:, None] * K + depth[None, :]), factors.to(b.dtype.element_ty))
    tl.store(c + rows[:, None] * N + columns[None, :], total.to(c.dtype.element_ty))


@triton.jit
def carried(a, b, c, out, steps, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows, columns, depth = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    state = tl.zeros((K, N), dtype=tl.float32)
    at = out + rows[:, None] * N + columns[None, :]
    for step in range(steps):
        factors = state.to(a.dtype.element_ty)
        rest = tl.load(b + rows[:, None] * N + columns[None, :]).to(tl.float32)
        rest += tl.dot(tl.load(a + rows[:, None] * K + depth[None, :]), factors)
        tl.store(at, rest.to(out.dtype.element_ty))
        turned = tl.load(c + rows[None, :] * K + depth[:, None])
        state += tl.dot(turned, rest.to(a.dtype.element_ty)) * 0.01
        at += M * N
        b += M * N


@triton.jit
def settled(x, y, points, SIZE: tl.constexpr):
    at = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    number = tl.load(x + at, mask=at < points)
    tl.store(y + at, tl.exp(number), mask=at < points)
    tl.debug_barrier()
    tl.store(y + at, number * 3 + 1, mask=at < points)


@triton.jit
def clamped(x, y, SIZE: tl.constexpr):
    at = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    number = tl.load(x + at) * 1.7
    tl.store(y + at, tl.clamp(number, -0.5, 0.5) + 0.1)


@triton.jit
def edged(a, b, c, rows, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    row, column, depth = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    left = tl.load(a + row[:, None] * K + depth[None, :], mask=row[:, None] < rows, other=0.0)
    right = tl.load(b + depth[:, None] + column[None, :] * K, mask=column[None, :] < rows, other=0.0)
    tl.store(c + row[:, None] * N + column[None, :], tl.dot(left, right), mask=row[:, None] < rows)


@triton.jit
def small(x, y, scale, back, SIZE: tl.constexpr):
    at = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    number = tl.load(x + at)
    unit = tl.max(tl.abs(number), 0) / 448.0
    narrow = (number / unit).to(tl.float8e4nv)
    tl.store(y + at, narrow)
    tl.store(scale + tl.program_id(0), unit)
    tl.store(back + at, narrow.to(tl.float32) * unit)


@triton.jit
def quant_groups(x, y, scales, size, eps, least, most, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    inside = at < size
    number = tl.load(x + tl.program_id(0) * size + at, mask=inside, other=0.0).to(tl.float32)
    unit = tl.maximum(tl.max(tl.abs(number)), eps) / most
    narrow = tl.clamp(number / unit, least, most).to(y.dtype.element_ty)
    tl.store(y + tl.program_id(0) * size + at, narrow, mask=inside)
    tl.store(scales + tl.program_id(0), unit)


@triton.jit
def integers(x, y, z, scales, SIZE: tl.constexpr):
    at = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    number = tl.load(x + at).to(tl.float32)
    least = tl.minimum(tl.min(number), 0.0)
    unit = tl.maximum((tl.maximum(tl.max(number), 0.0) - least) / 255.0, 1e-8)
    zero = libdevice.rint(-least / unit)
    tl.store(scales + tl.program_id(0), unit)
    tl.store(y + at, tl.clamp(libdevice.rint(number / unit) + zero, 0.0, 255.0).to(tl.uint8))
    whole = libdevice.round(number / (tl.max(tl.abs(number)) / 127.0)).to(tl.int32)
    tl.store(z + at, tl.minimum(tl.maximum(whole, -127), 127).to(tl.int8))


@triton.jit
def folded(x, y, rows, columns, SIZE: tl.constexpr, NARROW: tl.constexpr):
    at = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    total = tl.zeros((SIZE,), tl.float32)
    for row in range(rows):
        total += tl.load(x + row * columns + at).to(tl.float32)
        if NARROW:
            total = total.to(tl.bfloat16).to(tl.float32)
    tl.store(y + at, total.to(y.dtype.element_ty))


@triton.jit
def gated(x, gate, y, scales, SIZE: tl.constexpr):
    at = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    left = tl.load(x + at).to(tl.float32)
    number = left * tl.sigmoid(left) * tl.load(gate + at).to(tl.float32)
    unit = tl.maximum(tl.max(tl.abs(number)), 1e-10) / 448.0
    tl.store(scales + tl.program_id(0), unit)
    tl.store(y + at, (number / unit).to(y.dtype.element_ty))


@triton.jit
def turned(x, y, M: tl.constexpr, N: tl.constexpr):
    row, column = tl.arange(0, M), tl.arange(0, N)
    first = tl.program_id(0) * M * N
    number = tl.load(x + first + row[:, None] * N + column[None, :]).to(tl.float32) * 3.0
    tl.store(y + first + column[None, :] * M + row[:, None], number.to(y.dtype.element_ty))


@triton.jit
def attend(q, k, v, out, keys, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr, NARROW: tl.constexpr):
    rows = tl.program_id(0) * M + tl.arange(0, M)
    wide, columns = tl.arange(0, D), tl.arange(0, N)
    query = tl.load(q + rows[:, None] * D + wide[None, :])
    most = tl.full((M,), -float("inf"), tl.float32)
    share = tl.zeros((M,), tl.float32)
    total = tl.zeros((M, D), tl.float32)
    for first in range(0, keys, N):
        at = first + columns
        score = tl.dot(query, tl.load(k + at[None, :] * D + wide[:, None])) * 0.25
        now = tl.maximum(most, tl.max(score, 1))
        weight = tl.exp2(score - now[:, None])
        fade = tl.exp2(most - now)
        total = tl.dot(weight.to(v.dtype.element_ty), tl.load(v + at[:, None] * D + wide[None, :]), total * fade[:, None])
        if NARROW:
            total = total.to(tl.bfloat16).to(tl.float32)
        share = share * fade + tl.sum(weight, 1)
        most = now
    tl.store(out + rows[:, None] * D + wide[None, :], (total / share[:, None]).to(out.dtype.element_ty))


@triton.jit
def boxes(a, b, c, k_size, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, NARROW: tl.constexpr):
    row = tl.program_id(0) * M
    total = tl.zeros((M, N), dtype=tl.float32)
    for k in range(0, k_size, K):
        total = tl.dot(a.load([row, k]), b.load([0, k]).T, total)
        if NARROW:
            total = total.to(tl.bfloat16).to(tl.float32)
    c.store([row, 0], total.to(c.dtype))


@triton.jit
def boxes_on(a, b, c, m_size, k_size, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    for row in tl.range(tl.program_id(0) * M, m_size, tl.num_programs(0) * M, flatten=True):
        total = tl.zeros((M, N), dtype=tl.float32)
        for k in range(0, k_size, K):
            total = tl.dot(a.load([row, k]), b.load([0, k]).T, total)
        c.store([row, 0], total.to(c.dtype))


@triton.jit
def boxes_made(a, b, c, m_size, k_size, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, NARROW: tl.constexpr):
    left = tl.make_tensor_descriptor(a, [m_size, k_size], [k_size, 1], [M, K])
    right = tl.make_tensor_descriptor(b, [N, k_size], [k_size, 1], [N, K])
    to = tl.make_tensor_descriptor(c, [m_size, N], [N, 1], [M, N])
    row = tl.program_id(0) * M
    total = tl.zeros((M, N), dtype=tl.float32)
    for k in range(0, k_size, K):
        total = tl.dot(left.load([row, k]), right.load([0, k]).T, total)
        if NARROW:
            total = total.to(tl.bfloat16).to(tl.float32)
    to.store([row, 0], total.to(c.dtype.element_ty))


@triton.jit
def boxes_roles(a, b, c, m_size, k_size, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, NARROW: tl.constexpr):
    left = tl.make_tensor_descriptor(a, [m_size, k_size], [k_size, 1], [M, K])
    right = tl.make_tensor_descriptor(b, [N, k_size], [k_size, 1], [N, K])
    to = tl.make_tensor_descriptor(c, [m_size, N], [N, 1], [M, N])
    row = tl.program_id(0) * M
    total = tl.zeros((M, N), dtype=tl.float32)
    for k in tl.range(0, k_size, K, warp_specialize=True):
        total = tl.dot(left.load([row, k]), right.load([0, k]).T, total)
        if NARROW:
            total = total.to(tl.bfloat16).to(tl.float32)
    to.store([row, 0], total.to(c.dtype.element_ty))


@triton.jit
def groups(a, b, c, sizes, count, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, MADE: tl.constexpr,
           NARROW: tl.constexpr, SHORT: tl.constexpr, SWAPPED: tl.constexpr):
    kind: tl.constexpr = tl.pointer_type(tl.float16)
    for group in range(count):
        m, n, k = tl.load(sizes + group * 3), tl.load(sizes + group * 3 + 1), tl.load(sizes + group * 3 + 2)
        left, right = tl.load(a + group).to(kind), tl.load(b + group).to(kind)
        to = tl.load(c + (count - 1 - group if SWAPPED else group)).to(kind)
        if MADE:
            lefts = tl.make_tensor_descriptor(left, [m, k], [k, 1], [M, K])
            rights = tl.make_tensor_descriptor(right, [n, k], [k, 1], [N, K])
            outs = tl.make_tensor_descriptor(to, [m, n], [n, 1], [M, N])
        for row in range(tl.program_id(0) * M, m, tl.num_programs(0) * M):
            for column in range(0, n, N):
                total = tl.zeros((M, N), dtype=tl.float32)
                rows, columns, depth = row + tl.arange(0, M), column + tl.arange(0, N), tl.arange(0, K)
                for first in range(0, k - K * group if SHORT else k, K):
                    if MADE:
                        total = tl.dot(lefts.load([row, first]), rights.load([column, first]).T, total)
                    else:
                        factors = tl.load(left + rows[:, None] * k + first + depth[None, :])
                        others = tl.load(right + columns[None, :] * k + first + depth[:, None])
                        total = tl.dot(factors, others, total)
                    if NARROW:
                        total = total.to(tl.bfloat16).to(tl.float32)
                if MADE:
                    outs.store([row, column], total.to(tl.float16))
                else:
                    tl.store(to + rows[:, None] * n + columns[None, :], total.to(tl.float16))


def write(path, function, types, constants, warps=4, capability=90):
    kinds = dict(types, **{name: "constexpr" for name in constants})
    aligned = {(i,): [["tt.divisibility", 16]] for i, kind in enumerate(types.values()) if "desc" not in kind}
    source = ASTSource(function, kinds, constants, aligned)
    options = {"num_warps": warps, "num_stages": 2}
    text = triton.compile(source, target=GPUTarget("cuda", capability, 32), options=options).asm["ptx"]
    text = re.sub(r"\n\t*\.section\s+\.debug_.*", "\n", text, flags=re.S)
    text = re.sub(r"[ \t]*//.*|\t*\.(loc|file)\s.*", "", text)
    text = re.sub(r"\n{2,}", "\n", text)
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def main(folder):
    arrays = {"a": "*fp16", "b": "*fp16", "c": "*fp16", "k_size": "i32"}
    write(f"{folder}/tile_wgmma.ptx", tile, arrays, {"M": 64, "N": 32, "K": 32})
    arrays = {"a": "*bf16", "b": "*bf16", "c": "*bf16", "k_size": "i32"}
    write(f"{folder}/tile_mma.ptx", tile, arrays, {"M": 32, "N": 32, "K": 32}, warps=2)
    arrays = {"a": "*fp32", "b": "*fp32", "c": "*fp32", "k_size": "i32"}
    write(f"{folder}/tile_tf32.ptx", tile, arrays, {"M": 16, "N": 16, "K": 16}, warps=1)
    arrays = {"a": "*fp8e5", "b": "*fp8e5", "c": "*fp32", "k_size": "i32"}
    sizes = {"M": 64, "N": 16, "K": 32, "NARROW": False}
    write(f"{folder}/tile_e5m2.ptx", eights, arrays, sizes)
    write(f"{folder}/tile_e5m2_narrow.ptx", eights, arrays, dict(sizes, NARROW=True))
    arrays = {"a": "*fp32", "b": "*fp8e4nv", "c": "*fp32", "k_size": "i32"}
    write(f"{folder}/tile_e4m3.ptx", eights, arrays, sizes)
    arrays["a"] = "*fp8e4nv"
    write(f"{folder}/tile_e4m3_mma.ptx", eights, arrays, dict(sizes, M=16), warps=1, capability=89)
    arrays = {"a": "*i8", "b": "*i8", "c": "*bf16", "scale": "*fp32", "k_size": "i32"}
    sizes = {"M": 64, "N": 32, "K": 32, "NARROW": False}
    write(f"{folder}/tile_i8.ptx", integer, arrays, sizes)
    write(f"{folder}/tile_i8_narrow.ptx", integer, arrays, dict(sizes, NARROW=True))
    write(f"{folder}/tile_i8_mma.ptx", integer, arrays, dict(sizes, M=16), warps=1, capability=80)
    arrays = {"a": "*bf16", "b": "*bf16", "scale": "*fp32", "c": "*bf16"}
    write(f"{folder}/tile_scaled.ptx", scaled, arrays, {"M": 64, "N": 32, "K": 64})
    arrays = {"a": "*bf16", "b": "*bf16", "c": "*bf16", "out": "*bf16", "steps": "i32"}
    write(f"{folder}/tile_carried.ptx", carried, arrays, {"M": 64, "N": 32, "K": 64})
    arrays = {"a": "*bf16", "b": "*bf16", "c": "*fp32", "rows": "i32"}
    write(f"{folder}/tile_edged.ptx", edged, arrays, {"M": 64, "N": 64, "K": 32}, warps=1)
    write(f"{folder}/settled.ptx", settled, {"x": "*fp32", "y": "*fp32", "points": "i32"}, {"SIZE": 512})
    arrays = {"x": "*fp32", "y": "*fp8e4nv", "scale": "*fp32", "back": "*fp32"}
    write(f"{folder}/small.ptx", small, arrays, {"SIZE": 512})
    write(f"{folder}/clamped.ptx", clamped, {"x": "*fp32", "y": "*fp32"}, {"SIZE": 512})
    arrays = {"x": "*bf16", "y": "*fp8e4nv", "scales": "*fp32", "size": "i32", "eps": "fp32", "least": "fp32", "most": "fp32"}
    write(f"{folder}/quant_groups.ptx", quant_groups, arrays, {"SIZE": 128}, warps=1, capability=89)
    arrays["y"] = "*i8"
    write(f"{folder}/groups_i8.ptx", quant_groups, arrays, {"SIZE": 128}, warps=1)
    arrays = {"x": "*bf16", "y": "*u8", "z": "*i8", "scales": "*fp32"}
    write(f"{folder}/integers.ptx", integers, arrays, {"SIZE": 1024})
    arrays = {"x": "*bf16", "gate": "*bf16", "y": "*fp8e4nv", "scales": "*fp32"}
    write(f"{folder}/gated.ptx", gated, arrays, {"SIZE": 1024})
    arrays = {"x": "*bf16", "y": "*fp8e4nv", "rows": "i32", "columns": "i32"}
    for name, narrow in (("", False), ("_narrow", True)):
        write(f"{folder}/folded{name}.ptx", folded, arrays, {"SIZE": 512, "NARROW": narrow})
    write(f"{folder}/turned.ptx", turned, {"x": "*fp16", "y": "*fp8e5"}, {"M": 32, "N": 32})
    arrays = {"a": "*bf16", "b": "*bf16", "c": "*fp8e4nv", "k_size": "i32"}
    write(f"{folder}/tile_to_e4m3.ptx", tile, arrays, {"M": 64, "N": 32, "K": 32})
    arrays = {"q": "*fp8e5", "k": "*fp8e5", "v": "*fp8e5", "out": "*fp8e5", "keys": "i32"}
    write(f"{folder}/attend_e5m2.ptx", attend, arrays, {"M": 64, "N": 32, "D": 32, "NARROW": False})
    arrays = {"q": "*bf16", "k": "*bf16", "v": "*bf16", "out": "*bf16", "keys": "i32"}
    for name, narrow in (("", False), ("_narrow", True)):
        write(f"{folder}/attend{name}.ptx", attend, arrays, {"M": 64, "N": 32, "D": 32, "NARROW": narrow})
    maps = {"a": "tensordesc<fp16[64, 32]>", "b": "tensordesc<fp16[32, 32]>", "c": "tensordesc<fp16[64, 32]>"}
    sizes = {"M": 64, "N": 32, "K": 32}
    for name, narrow in (("", False), ("_narrow", True)):
        write(f"{folder}/boxes{name}.ptx", boxes, dict(maps, k_size="i32"), dict(sizes, NARROW=narrow))
        arrays = {"a": "*fp16", "b": "*fp16", "c": "*fp16", "m_size": "i32", "k_size": "i32"}
        write(f"{folder}/boxes_made{name}.ptx", boxes_made, arrays, dict(sizes, NARROW=narrow))
        arrays["c"] = "*fp8e5"
        write(f"{folder}/boxes_to_e5m2{name}.ptx", boxes_made, arrays, dict(sizes, NARROW=narrow))
        arrays["c"] = "*fp16"
        write(f"{folder}/boxes_roles{name}.ptx", boxes_roles, arrays, dict(sizes, M=64 if narrow else 128, NARROW=narrow))
    lists = {"a": "*i64", "b": "*i64", "c": "*i64", "sizes": "*i32", "count": "i32"}
    right = dict(sizes, MADE=False, NARROW=False, SHORT=False, SWAPPED=False)
    for name, wrong in (("", {}), ("_narrow", {"NARROW": True}), ("_short", {"SHORT": True}), ("_swapped", {"SWAPPED": True}),
                        ("_made", {"MADE": True}), ("_made_narrow", {"MADE": True, "NARROW": True})):
        write(f"{folder}/groups{name}.ptx", groups, lists, dict(right, **wrong))
    write(f"{folder}/boxes_on.ptx", boxes_on, dict(maps, m_size="i32", k_size="i32"), sizes)


if __name__ == "__main__":
    main(sys.argv[1])
