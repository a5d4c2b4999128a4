#!/usr/bin/env python3
"""vllm.py FOLDER [--library FILE] - vLLM's own kernels, from an unmodified copy of its sources in FOLDER.

Builds a library of the kernels that carry time, with a binding that this script writes, unless --library names a built
one. Calls each operation over dtypes, sizes and strides, holds every result loosely against PyTorch and prints one line
for each operation. Forks of vLLM do as well.
"""

import os
import re
import sys
import tempfile

import torch

f = torch.nn.functional
SOURCES = ["layernorm_kernels.cu", "activation_kernels.cu", "pos_encoding_kernels.cu", "cache_kernels.cu",
           "moe/topk_softmax_kernels.cu", "quantization/w8a8/fp8/common.cu", "quantization/fp8/common.cu",
           "quantization/w8a8/int8/scaled_quant.cu", "quantization/compressed_tensors/int8_quant_kernels.cu"]
LIMIT, ALPHA = 1.5, 1.702
GATED = {"silu_and_mul": lambda a, b: f.silu(a) * b,
         "mul_and_silu": lambda a, b: a * f.silu(b),
         "silu_and_mul_clamp": lambda a, b: f.silu(a.clamp(max=LIMIT)) * b.clamp(-LIMIT, LIMIT),
         "gelu_and_mul": lambda a, b: f.gelu(a) * b,
         "gelu_tanh_and_mul": lambda a, b: f.gelu(a, approximate="tanh") * b,
         "fatrelu_and_mul": lambda a, b: torch.where(a > LIMIT, a, 0) * b,
         "swigluoai_and_mul": lambda a, b: (b.clamp(-LIMIT, LIMIT) + 1) * a.clamp(max=LIMIT) *
                                           torch.sigmoid(ALPHA * a.clamp(max=LIMIT))}
POINTWISE = {"gelu_new": lambda a: f.gelu(a, approximate="tanh"), "gelu_fast": lambda a: f.gelu(a, approximate="tanh"),
             "gelu_quick": lambda a: a * torch.sigmoid(1.702 * a)}
QUANTISED = ["static_scaled_fp8_quant", "dynamic_scaled_fp8_quant", "dynamic_per_token_scaled_fp8_quant",
             "static_scaled_int8_quant", "dynamic_scaled_int8_quant"]
OPS = ["rms_norm", "fused_add_rms_norm", *GATED, *POINTWISE, "rotary_embedding", "reshape_and_cache",
       "reshape_and_cache_flash", "copy_blocks", "topk_softmax", *QUANTISED]
SCHEMA = {"Tensor": "Tensor", "optional<Tensor>": "Tensor?", "vector<Tensor>": "Tensor[]", "double": "float", "bool": "bool",
          "int64_t": "int", "string": "str", "optional<tuple<int64_t,int64_t>>": "(int, int)?"}
DTYPES = [torch.float16, torch.bfloat16, torch.float32]
CLOSE = {torch.float16: 1e-2, torch.bfloat16: 6e-2, torch.float32: 2e-4}
ROWS, WIDTHS = [1, 7, 300], [37, 768, 1000, 4096]
SIZES = [(d, r, c) for d in DTYPES for r in ROWS for c in WIDTHS]
# CUDA 13 took away names that older sources use.
CUDA_13 = """
#include <cub/cub.cuh>
#include <cuda/functional>
#if CCCL_MAJOR_VERSION >= 3
namespace cub { using Sum = ::cuda::std::plus<>; using Max = ::cuda::maximum<>; }
#endif
"""


def binding(base):
    """C++ that registers each operation that the sources define, under its formals' names."""
    lines, defs = ["#include <torch/all.h>", "#include <torch/library.h>"], []
    for path in [os.path.join(base, source) for source in SOURCES]:
        text = re.sub(r"//[^\n]*", "", open(path).read()) if os.path.exists(path) else ""
        for name, inside in [d for d in re.findall(r"^void (\w+)\(([^{;]*)\)\s*\{", text, re.M) if d[0] in OPS]:
            schema = []
            for formal in re.split(r",(?![^<]*>)", inside):
                cpp, formal = re.fullmatch(r"\s*(.*?)\s*(\w+)\s*", formal, re.S).groups()
                schema.append(SCHEMA[re.sub(r"\b(std|torch|at|c10)::|\bconst\b|&|\s", "", cpp)] + " " + formal)
            lines.append("void %s(%s);" % (name, inside))
            defs.append('    m.def("%s(%s) -> ()", &%s);' % (name, ", ".join(schema), name))
    return "\n".join(lines + ["TORCH_LIBRARY(cuvet_vllm, m)", "{"] + defs + ["}", ""])


def build(base):
    from torch.utils import cpp_extension
    folder = tempfile.mkdtemp(prefix="cuvet_vllm_")
    for name, text in (("binding.cpp", binding(base)), ("cuda_13.h", CUDA_13)):
        with open(os.path.join(folder, name), "w") as out:
            out.write(text)
    sources = [os.path.join(base, name) for name in SOURCES if os.path.exists(os.path.join(base, name))]
    # PyTorch forbids conversions of half numbers, which vLLM's own build allows again.
    allowed = ["-U__CUDA_NO_%s__" % word for word in ("HALF_OPERATORS", "HALF_CONVERSIONS", "BFLOAT16_CONVERSIONS",
                                                      "HALF2_OPERATORS")]
    cpp_extension.load("cuvet_vllm", sources + [os.path.join(folder, "binding.cpp")], extra_include_paths=[base],
                       extra_cuda_cflags=["-O2", "-DNDEBUG", "-DENABLE_FP8", "--expt-extended-lambda", "-include",
                                          os.path.join(folder, "cuda_13.h"), *allowed],
                       extra_ldflags=["-lcuda"], build_directory=folder, is_python_module=False)
    return os.path.join(folder, "cuvet_vllm.so")


class Operation:
    """Calls one operation by its formals' names. What a version lacks is dropped, what is not given is zero or none."""

    def __init__(self, name):
        self.name, self.calls, self.worst = name, 0, 0.0
        self.call = getattr(torch.ops.cuvet_vllm, name, None)
        self.formals = {a.name: str(a.type) for a in self.call.default._schema.arguments} if self.call else {}

    def __call__(self, **given):
        args = [given.get(name, {"bool": False, "int": 0}.get(kind)) for name, kind in self.formals.items()]
        self.call(*[float(a) if kind == "float" else a for a, kind in zip(args, self.formals.values())])
        self.calls += 1

    def holds(self, got, expected, close=None):
        close = CLOSE[got.dtype] if close is None else close
        error = ((got.float() - expected.float()).abs() / (1 + expected.float().abs())).max().item()
        self.worst = max(self.worst, error)
        if not error <= close:
            sys.exit("%s: off by %g, %s of %s" % (self.name, error, list(got.shape), got.dtype))

    def report(self):
        if self.call:
            print("%-36s %4d calls, off by at most %.2g" % (self.name, self.calls, self.worst), flush=True)


def normal(*shape, dtype=torch.float32, pad=0):
    """Random numbers in rows that may be further apart than they are long."""
    return torch.randn(*shape[:-1], shape[-1] + pad, device="cuda").to(dtype)[..., :shape[-1]]


def normed(x, w):
    return x.float() * torch.rsqrt(x.float().square().mean(-1, keepdim=True) + 1e-6) * w.float()


def norms(text):
    norm, fused = Operation("rms_norm"), Operation("fused_add_rms_norm")
    for dtype, rows, cols in SIZES:
        for pad in [0, 64] if "input_stride" in text else [0]:
            x, w = normal(rows, cols, dtype=dtype, pad=pad if cols % 8 == 0 else 0), normal(cols, dtype=dtype)
            out = torch.empty(rows, cols, device="cuda", dtype=dtype)
            norm(out=out, input=x, weight=w, epsilon=1e-6)
            norm.holds(out, normed(x, w))
            for shift in (0, 1):  # 1: one element behind an aligned address, which takes the kernel without vectors
                y = normal(rows * (cols + pad) + shift, dtype=dtype)[shift:].view(rows, cols + pad)[:, :cols]
                residual = normal(rows, cols, dtype=dtype)
                total = (y.float() + residual.float()).to(dtype)
                fused(input=y, residual=residual, weight=w, epsilon=1e-6)
                fused.holds(residual, total)
                fused.holds(y, normed(total, w))
    shapes = [(9, 24, 128), (2, 5, 12, 64)] if "NUM_DIMS" in text else []
    for dtype, shape in [(d, s) for d in DTYPES for s in shapes]:  # queries inside rows that hold keys and values, too
        x, w = normal(*shape, dtype=dtype)[..., 2:8, :], normal(shape[-1], dtype=dtype)
        out = torch.empty(x.shape, device="cuda", dtype=dtype)
        norm(out=out, input=x, weight=w, epsilon=1e-6)
        norm.holds(out, normed(x, w))
    norm.report()
    fused.report()


def activations(_):
    for name, formula in (GATED | POINTWISE).items():
        op = Operation(name)
        for dtype, rows, cols in SIZES if op.call else []:
            x = normal(rows, cols * (2 if name in GATED else 1), dtype=dtype) * 3
            out = torch.empty(rows, cols, device="cuda", dtype=dtype)
            op(out=out, input=x, limit=LIMIT, threshold=LIMIT, alpha=ALPHA)
            parts = (x.float()[:, ::2], x.float()[:, 1::2]) if "oai" in name else x.float().split(cols, -1)
            op.holds(out, formula(*parts))
        op.report()


def turned(x, table, neox):
    """x[tokens][heads][dim] by a row of cosines, then sines, for each token."""
    cos, sin = table.float().unsqueeze(1).chunk(2, -1)
    half = cos.shape[-1]
    head, rest = x.float()[..., :2 * half], x.float()[..., 2 * half:]
    a, b = head.chunk(2, -1) if neox else (head[..., ::2], head[..., 1::2])
    pair = a * cos - b * sin, b * cos + a * sin
    return torch.cat([*pair, rest] if neox else [torch.stack(pair, -1).flatten(-2), rest], -1)


def rotations(_):
    op = Operation("rotary_embedding")
    shapes = [(heads, neox) for heads in ((8, 2, 128, 128), (32, 8, 64, 64), (5, 1, 80, 32)) for neox in (True, False)]
    for dtype, rows, ((heads, kv, dim, rot), neox) in [(d, r, s) for d in DTYPES for r in ROWS for s in shapes]:
        angles = torch.outer(torch.arange(500.0), 10000 ** -(torch.arange(0, rot, 2) / rot)).cuda()
        table = torch.cat([angles.cos(), angles.sin()], -1).to(dtype)
        positions = torch.randint(500, (rows,), device="cuda")
        qkv = normal(rows, (heads + 2 * kv) * dim, dtype=dtype)
        query, key = qkv[:, :heads * dim], qkv[:, heads * dim:(heads + kv) * dim]
        expected = [turned(t.reshape(rows, -1, dim), table[positions], neox).flatten(1) for t in (query, key)]
        op(positions=positions, query=query, key=key, head_size=dim, cos_sin_cache=table, is_neox=neox)
        op.holds(torch.cat([query, key], 1), torch.cat(expected, 1))
    op.report()


def caches(text):
    split, flash, copy = (Operation(n) for n in ("reshape_and_cache", "reshape_and_cache_flash", "copy_blocks"))
    one = torch.ones(1, device="cuda")
    for dtype, rows, (heads, dim, page) in [(d, r, s) for d in DTYPES for r in ROWS for s in ((8, 128, 16), (3, 80, 32))]:
        qkv, blocks, x = normal(rows, 3, heads, dim, dtype=dtype), 300 // page + 6, 16 // dtype.itemsize
        slots = torch.randperm(blocks * page, device="cuda")[:rows]
        slots[2::5] = -1
        live = slots >= 0
        b, s = slots[live] // page, slots[live] % page
        given = {"key": qkv[:, 1], "value": qkv[:, 2], "slot_mapping": slots, "kv_cache_dtype": "auto",
                 "k_scale": one, "v_scale": one, "kv_scale": one}
        for heads_first in [False, True] if "head_stride" in text else [False]:
            shape = (blocks, heads, page, dim) if heads_first else (blocks, page, heads, dim)
            pair = [normal(*shape, dtype=dtype).transpose(1, 2 if heads_first else 1) for _ in range(2)]
            expected = [p.clone() for p in pair]
            expected[0][b, s], expected[1][b, s] = qkv[live, 1], qkv[live, 2]
            flash(key_cache=pair[0], value_cache=pair[1], k_cache=pair[0], v_cache=pair[1], **given)
            flash.holds(torch.stack(pair), torch.stack(expected), 0)
        keys, values = normal(blocks, heads, dim // x, page, x, dtype=dtype), normal(blocks, heads, dim, page, dtype=dtype)
        expected = [keys.clone(), values.clone()]
        expected[0][b, :, :, s], expected[1][b, :, :, s] = qkv[live, 1].unflatten(-1, (dim // x, x)), qkv[live, 2]
        split(key_cache=keys, value_cache=values, **given)
        split.holds(torch.cat([keys.flatten(), values.flatten()]), torch.cat([e.flatten() for e in expected]), 0)
        pairs = torch.tensor([[0, 5], [1, 3]], device="cuda")
        if copy.call:
            copy(key_caches=[keys], value_caches=[values], block_mapping=pairs)
            copy.holds(keys[pairs[:, 1]], keys[pairs[:, 0]], 0)
    for op in (split, flash, copy):
        op.report()


def routers(_):
    op = Operation("topk_softmax")
    experts = [(8, 2), (60, 4), (64, 6), (72, 8), (128, 8)]  # 60 and 72 have no kernel of their own
    kinds = [(d, n) for d in DTYPES for n in (False, True)] if "bias" in op.formals else [(torch.float32, False)]
    for rows, (cols, best), (dtype, renormalise) in [(r, e, k) for r in ROWS for e in experts for k in kinds if op.call]:
        x, weights = normal(rows, cols, dtype=dtype), torch.empty(rows, best, device="cuda")
        places, sources = (torch.empty(rows, best, device="cuda", dtype=torch.int32) for _ in range(2))
        op(topk_weights=weights, topk_indices=places, token_expert_indices=sources, gating_output=x, renormalize=renormalise)
        expected = torch.topk(torch.softmax(x.float(), -1), best)[0]
        op.holds(weights, expected / (expected.sum(-1, keepdim=True) if renormalise else 1))
    op.report()


def quantisations(_):
    for name in QUANTISED:
        op, top = Operation(name), 448.0 if "fp8" in name else 127.0
        for dtype, rows, cols in SIZES if op.call else []:
            x = normal(rows, cols, dtype=dtype) * 2
            out = torch.empty(rows, cols, device="cuda", dtype=torch.float8_e4m3fn if "fp8" in name else torch.int8)
            shapes = [((rows, 1) if "scales" in op.formals else (1,), None)]
            shapes += [((rows, 1), (1, -1)), ((1, cols), (-1, 1))] if "opt_group_shape" in op.formals else []
            for shape, group in shapes:
                scale = (torch.rand(shape, device="cuda") * .02 + .01) * ("static" in name)
                op(out=out, input=x, scale=scale.flatten() if group else scale, scales=scale, opt_group_shape=group)
                op.holds(out.float() / top, (x.float() / scale).clamp(-top, top) / top, 0.04 if "fp8" in name else 0.006)
        op.report()


def main():
    folders = [os.path.join(sys.argv[1], name) for name in ("csrc", "kernels", "")]
    base = next(path for path in folders if os.path.exists(os.path.join(path, SOURCES[0])))
    torch.ops.load_library(sys.argv[3] if sys.argv[2:3] == ["--library"] else build(base))
    torch.manual_seed(1)
    for part, source in zip((norms, activations, rotations, caches, routers, quantisations), SOURCES):
        path = os.path.join(base, source)
        part(open(path).read() if os.path.exists(path) else "")
    torch.cuda.synchronize()


if __name__ == "__main__":
    main()
