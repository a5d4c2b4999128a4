"""Matrix products in Triton, and their PTX for sm_90: python3 matmul.py FOLDER writes the files beside this one.

Needs Triton (3.9 made the ones here), no GPU.
"""

import re
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def product(a, b, c, k_size, a_row, b_row, c_row, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, SUM: tl.constexpr):
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns = tl.program_id(1) * N + tl.arange(0, N)
    depth = tl.arange(0, K)
    a_at = a + rows[:, None] * a_row + depth[None, :]
    b_at = b + depth[:, None] * b_row + columns[None, :]
    total = tl.zeros((M, N), dtype=SUM)
    for _ in range(0, k_size, K):
        total = tl.dot(tl.load(a_at), tl.load(b_at), total, out_dtype=SUM)
        a_at += K
        b_at += K * b_row
    tl.store(c + rows[:, None] * c_row + columns[None, :], total.to(tl.float32))


@triton.jit
def described(a, b, c, k_size, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    row, column = tl.program_id(0) * M, tl.program_id(1) * N
    total = tl.zeros((M, N), dtype=tl.float32)
    for k in range(0, k_size, K):
        total = tl.dot(a.load([row, k]), b.load([column, k]).T, total)
    c.store([row, column], total)


def write(path, function, types, constants):
    kinds = dict(types, **{name: "constexpr" for name in constants})
    aligned = {(i,): [["tt.divisibility", 16]] for i, t in enumerate(types.values()) if t.startswith(("*", "i"))}
    source = ASTSource(function, kinds, constants, aligned)
    text = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": 4, "num_stages": 2}).asm["ptx"]
    text = re.sub(r'(\.file\s+1) ".*"', r'\1 "matmul.py"', text)
    text = re.sub(r"\n\t*\.section\s+\.debug_.*", "\n", text, flags=re.S)
    text = re.sub(r"[ \t]*//.*", "", text)
    text = re.sub(r"\n{2,}", "\n", text)
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def main(folder):
    sizes = {"k_size": "i32", "a_row": "i32", "b_row": "i32", "c_row": "i32"}
    for name, kind, total in (("f16", "fp16", tl.float32), ("f16_half", "fp16", tl.float16), ("tf32", "fp32", tl.float32)):
        arrays = {"a": "*" + kind, "b": "*" + kind, "c": "*fp32"}
        tile = {"M": 64, "N": 32, "K": 32 if kind == "fp32" else 64, "SUM": total}
        write(f"{folder}/product_{name}.ptx", product, dict(arrays, **sizes), tile)
    maps = {"a": "tensordesc<fp16[64,64]>", "b": "tensordesc<fp16[32,64]>", "c": "tensordesc<fp32[64,32]>"}
    write(f"{folder}/described.ptx", described, dict(maps, k_size="i32"), {"M": 64, "N": 32, "K": 64})


if __name__ == "__main__":
    main(sys.argv[1])
