#!/usr/bin/env python3
"""serving.py mamba|sglang|xformers FOLDER [--library FILE] - kernels of mamba_ssm, SGLang and xFormers.

FOLDER has the packages, unmodified: mamba_ssm, causal_conv1d and their compiled modules; sglang; xformers. FILE is
sgl-kernel's library, whose operations are in the namespace sgl_kernel. Each operation runs in several dtypes and in
sizes of models, and its results are held loosely against plain torch in f64 on the CPU. Prints a line for each, and one
for each call that cannot run or is wrong. The exit status is 1 if a result is wrong.
"""

import importlib
import importlib.machinery
import os
import sys
import types

import torch
import torch.nn.functional as F

from triton_libraries import one_configuration, relative, rms, rope, stub

BF16, F16, F32, F8 = torch.bfloat16, torch.float16, torch.float32, torch.float8_e4m3fn
LOOSE = {BF16: 0.04, F16: 0.01, F32: 0.004}  # of the norm of the right result
FLOATS = (BF16, F16, F32)


def randn(*shape, dtype=F32, deviation=1.0, mean=0.0):
    return (torch.randn(*shape) * deviation + mean).to("cuda", dtype)


def plain(*tensors):
    """On the CPU, in f64."""
    return [t.detach().cpu().double() if t is not None else None for t in tensors]


# ---- mamba_ssm, causal_conv1d ----

def recurrence(x, dt, a, b, c, d, heads):
    """x [batch][time][heads][dim], dt behind softplus, of the first heads; b, c [batch][time][groups][states]."""
    shared = x.shape[2] // b.shape[2]
    state, out = x.new_zeros(x.shape[0], heads, x.shape[3], b.shape[3]), []
    group = torch.arange(heads) // shared
    for t in range(x.shape[1]):
        step = dt[:, t, :heads]
        more = (step[..., None] * x[:, t, :heads])[..., None] * b[:, t, group][:, :, None]
        state = state * (step * a[:heads]).exp()[..., None, None] + more
        out.append((state * c[:, t, group][:, :, None]).sum(-1) + x[:, t, :heads] * d[:heads, None])
    return torch.stack(out, 1)


def chunks(dtype, batch, length, heads, groups):
    scan = importlib.import_module("mamba_ssm.ops.triton.ssd_combined").mamba_chunk_scan_combined
    x = randn(batch, length, heads, 64, dtype=dtype)
    b, c = (randn(batch, length, groups, 128, dtype=dtype, deviation=0.3) for _ in range(2))
    dt, bias = randn(batch, length, heads, dtype=dtype), randn(heads, mean=-3)
    a, d = -torch.rand(heads, device="cuda") * 8 - 0.5, randn(heads)
    got = scan(x, dt, a, b, c, 256, D=d, dt_bias=bias, dt_softplus=True)
    px, pdt, pa, pb, pc, pd, pbias = plain(x, dt, a, b, c, d, bias)
    return [(got[:, :, :3], recurrence(px, F.softplus(pdt + pbias), pa, pb, pc, pd, 3))]


def selective(dtype, batch, length, dim, gated):
    scan = importlib.import_module("mamba_ssm.ops.selective_scan_interface").selective_scan_fn
    u, delta = randn(batch, dim, length, dtype=dtype), randn(batch, dim, length, dtype=dtype, deviation=0.5)
    z = randn(batch, dim, length, dtype=dtype) if gated else None
    b, c = (randn(batch, 16, length, dtype=dtype) for _ in range(2))
    a, d, bias = -torch.rand(dim, 16, device="cuda") * 8 - 0.5, randn(dim), randn(dim, mean=-3)
    got = scan(u, delta, a, b, c, d, z, bias, True)
    pu, pdelta, pa, pb, pc, pd, pz, pbias = plain(u, delta, a, b, c, d, z, bias)
    few = 5
    state, out = pu.new_zeros(batch, few, 16), []
    for t in range(length):
        step = F.softplus(pdelta[:, :few, t] + pbias[:few])
        state = state * (step[..., None] * pa[:few]).exp() + (step * pu[:, :few, t])[..., None] * pb[:, None, :, t]
        out.append((state * pc[:, None, :, t]).sum(-1) + pd[:few] * pu[:, :few, t])
    out = torch.stack(out, 2)
    return [(got[:, :few], out * F.silu(pz[:, :few]) if gated else out)]


def convolution(dtype, batch, length, dim, width, last, silu, kept=False):
    call = importlib.import_module("causal_conv1d").causal_conv1d_fn
    x = randn(batch, length, dim, dtype=dtype).mT if last else randn(batch, dim, length, dtype=dtype)
    w, bias = randn(dim, width, dtype=dtype, deviation=0.5), randn(dim, dtype=dtype)
    before = randn(batch, width - 1, dim, dtype=dtype).mT if kept else None
    got = call(x, w, bias, None, before, kept, None, "silu" if silu else None)
    px, pw, pbias, pbefore = plain(x, w, bias, before)
    front = pbefore if kept else px.new_zeros(batch, dim, width - 1)
    whole = torch.cat((front, px), -1)
    want = F.conv1d(whole, pw[:, None], pbias, groups=dim)
    want = F.silu(want) if silu else want
    return [(got[0], want), (got[1], whole[..., -(width - 1):])] if kept else [(got, want)]


def convolution_step(dtype, batch, dim, width, kept):
    call = importlib.import_module("causal_conv1d").causal_conv1d_update
    x, state = randn(batch, dim, dtype=dtype), randn(batch, dim, kept, dtype=dtype)
    w, bias = randn(dim, width, dtype=dtype, deviation=0.5), randn(dim, dtype=dtype)
    px, pstate, pw, pbias = plain(x, state, w, bias)
    got = call(x, state, w, bias, "silu")
    whole = torch.cat((pstate, px[..., None]), -1)
    return [(got, F.silu((whole[..., -width:] * pw).sum(-1) + pbias)), (state, whole[..., 1:])]


def step(dtype, batch, heads, dim, states, groups, tied):
    module = importlib.import_module("mamba_ssm.ops.triton.selective_state_update")
    state, b, c = (randn(batch, *shape, dtype=t) for shape, t in (
        ((heads, dim, states), F32), ((groups, states), dtype), ((groups, states), dtype)))
    x, z = (randn(batch, heads, dim, dtype=dtype) for _ in range(2))
    if tied:  # Mamba-2's: one number a head, no z
        dt = randn(batch, heads, dtype=dtype)[..., None].expand(batch, heads, dim)
        bias, d = (randn(heads)[:, None].expand(heads, dim) for _ in range(2))
        a, z = (-torch.rand(heads, device="cuda") - 0.5)[:, None, None].expand(heads, dim, states), None
    else:
        dt, bias, d = randn(batch, heads, dim, dtype=dtype), randn(heads, dim), randn(heads, dim)
        a = -torch.rand(heads, dim, states, device="cuda") - 0.5
    mine = plain(state, x, dt, a, b, c, d, z, bias)
    if not tied:  # Mamba's: without heads
        state, x, dt, a, b, c, d, z, bias = (
            state[:, 0], x[:, 0], dt[:, 0], a[0], b[:, 0], c[:, 0], d[0], z[:, 0], bias[0])
    got = module.selective_state_update(state, x, dt, a, b, c, d, z, bias, True)
    want = module.selective_state_update_ref(*mine, True)
    return [(got, want if tied else want[:, 0]), (state, mine[0] if tied else mine[0][:, 0])]


def gated_norm(dtype, rows, cols, group, before):
    norm = importlib.import_module("mamba_ssm.ops.triton.layernorm_gated").rmsnorm_fn
    x, z, w = randn(rows, cols, dtype=dtype), randn(rows, cols, dtype=dtype), randn(cols, deviation=0.1, mean=1)
    got = norm(x, w, None, z, 1e-5, group, before)
    px, pz, pw = (t.unflatten(-1, (-1, group)) for t in plain(x, z, w))
    want = rms(px, pw, 1e-5) * F.silu(pz) if before else rms(px * F.silu(pz), pw, 1e-5)
    return [(got, want.flatten(-2))]


def added_norm(dtype, rows, cols):
    norm = importlib.import_module("mamba_ssm.ops.triton.layer_norm").rms_norm_fn
    x, residual, w = randn(rows, cols, dtype=dtype), randn(rows, cols), randn(cols, dtype=dtype, deviation=0.1, mean=1)
    got, total = norm(x, w, None, residual, eps=1e-5, prenorm=True, residual_in_fp32=True)
    px, presidual, pw = plain(x, residual, w)
    return [(got, rms(px + presidual, pw, 1e-5)), (total, px + presidual)]


def gated_linear(dtype, rows, cols):
    x = randn(rows, 2 * cols, dtype=dtype).requires_grad_()
    got = importlib.import_module("mamba_ssm.ops.triton.k_activations").swiglu(x)
    mine = plain(x)[0].requires_grad_()
    want = F.silu(mine[:, :cols]) * mine[:, cols:]
    got.backward(torch.ones_like(got))
    want.sum().backward()
    return [(got, want), (x.grad, mine.grad)]


def mamba(folder, _):
    sys.setdlopenflags(os.RTLD_LAZY)  # gradients that a short build leaves out are not called
    stub("mamba_ssm", os.path.join(folder, "mamba_ssm"))
    one_configuration()
    return [
        ("chunked scan", chunks, (BF16, F16), [(2, 512, 64, 1), (1, 700, 64, 1), (2, 300, 32, 8)]),
        ("selective scan", selective, FLOATS[::2], [(2, 512, 1536, True), (1, 1000, 1536, False), (2, 77, 64, True),
                                                   (1, 2500, 128, True)]),
        ("convolution", convolution, FLOATS, [(2, 512, 2304, 4, True, True), (1, 1000, 1536, 4, False, True),
                                             (2, 77, 64, 3, False, False), (2, 64, 128, 2, True, False),
                                             (2, 200, 512, 4, True, True, True)]),
        ("convolution step", convolution_step, FLOATS, [(8, 2304, 4, 4), (1, 1536, 4, 3), (3, 100, 2, 5)]),
        ("state update", step, FLOATS, [(8, 64, 64, 128, 1, True), (1, 64, 64, 128, 8, True),
                                       (4, 1, 1536, 16, 1, False), (1, 1, 1536, 16, 1, False)]),
        ("gated norm", gated_norm, FLOATS, [(300, 4096, 4096, False), (300, 4096, 4096, True), (64, 4096, 512, False),
                                           (1, 4096, 4096, False), (1, 1536, 1536, True)]),
        ("added norm", added_norm, FLOATS, [(300, 2048), (1, 768), (64, 1000)]),
        ("swiglu", gated_linear, FLOATS, [(300, 2048), (7, 1000)]),
    ]


# ---- SGLang ----

def dequantised(q, scales, group):
    return (q.float().unflatten(-1, (-1, group)) * scales[..., None]).flatten(-2)


def sgl_group_quant(dtype, rows, cols, columns):
    x, q = randn(rows, cols, dtype=dtype), torch.empty(rows, cols, device="cuda", dtype=F8)
    scales = torch.empty(*((cols // 128, rows) if columns else (rows, cols // 128)), device="cuda")
    scales = scales.T if columns else scales
    torch.ops.sgl_kernel.sgl_per_token_group_quant_8bit(x, q, scales, 128, 1e-10, -448.0, 448.0, False)
    return [(dequantised(q, scales, 128), plain(x)[0])]


def sgl_row_quant(dtype, rows, cols):
    x, q, scales = randn(rows, cols, dtype=dtype), torch.empty(rows, cols, device="cuda", dtype=F8), randn(rows, 1)
    torch.ops.sgl_kernel.sgl_per_token_quant_fp8(x, q, scales)
    return [(dequantised(q, scales, cols), plain(x)[0])]


def sgl_tensor_quant(dtype, rows, cols):
    x, q = randn(rows, cols, dtype=dtype), torch.empty(rows, cols, device="cuda", dtype=F8)
    scale = torch.zeros(1, device="cuda")
    torch.ops.sgl_kernel.sgl_per_tensor_quant_fp8(x, q, scale, False)
    return [(q.float() * scale, plain(x)[0])]


def sgl_triton_quant(dtype, rows, cols):
    rows_i8 = importlib.import_module("sglang.srt.layers.quantization.int8_kernel")
    x = randn(rows, cols, dtype=dtype)
    q, scales = rows_i8.per_token_quant_int8(x)
    kernel, g, s = importlib.import_module("sglang.srt.layers.quantization.fp8_kernel")._per_token_group_quant_8bit, \
        torch.empty(rows, cols, device="cuda", dtype=F8), torch.empty(rows, cols // 128, device="cuda")
    kernel[(rows * cols // 128,)](x, g, s, 128, 128, 1e-10, bit8_min=-448.0, bit8_max=448.0, BLOCK=128, num_warps=1)
    return [(dequantised(q, scales, cols), plain(x)[0]), (dequantised(g, s, 128), plain(x)[0])]


def sgl_router(dtype, rows, experts, best, renormalise):
    x = randn(rows, experts, dtype=dtype)
    y, places = torch.empty(rows, best, device="cuda"), torch.empty(rows, best, device="cuda", dtype=torch.int32)
    torch.ops.sgl_kernel.topk_softmax(y, places, x, renormalise, 0.0, None)
    want = plain(x)[0].softmax(-1).topk(best).values
    return [(y, want / want.sum(-1, keepdim=True) if renormalise else want)]


def sgl_sum(dtype, tokens, best, cols, factor):
    x, y = randn(tokens, best, cols, dtype=dtype), torch.empty(tokens, cols, device="cuda", dtype=dtype)
    torch.ops.sgl_kernel.moe_sum_reduce(x, y, factor)
    return [(y, plain(x)[0].sum(1) * factor)]


def sgl_merge(dtype, tokens, heads, dim):
    a, b, y = (randn(tokens, heads, dim, dtype=dtype) for _ in range(3))
    lse_a, lse_b, lse = (randn(tokens, heads) for _ in range(3))
    torch.ops.sgl_kernel.merge_state_v2(a, lse_a, b, lse_b, y, lse)
    pa, pb, pla, plb = plain(a, b, lse_a, lse_b)
    w = torch.stack((pla, plb)).softmax(0)[..., None]
    return [(y, pa * w[0] + pb * w[1]), (lse, torch.logaddexp(pla, plb))]


def sgl_activation(dtype, rows, cols):
    x, y, pairs = randn(rows, 2 * cols, dtype=dtype), torch.empty(rows, cols, device="cuda", dtype=dtype), []
    for name, act in (("silu", F.silu), ("gelu", F.gelu), ("gelu_tanh", lambda t: F.gelu(t, approximate="tanh"))):
        getattr(torch.ops.sgl_kernel, name + "_and_mul")(y, x)
        px = plain(x)[0]
        pairs.append((y.clone(), act(px[:, :cols]) * px[:, cols:]))
    return pairs


def sgl_norm(dtype, rows, cols):
    x, residual, w = randn(rows, cols, dtype=dtype), randn(rows, cols, dtype=dtype), randn(cols, dtype=dtype, mean=1)
    px, presidual, pw = plain(x, residual, w)
    torch.ops.sgl_kernel.fused_add_rmsnorm(x, residual, w, 1e-6, False)
    return [(x, rms(px + presidual, pw)), (residual, px + presidual)]


def sgl_rope(dtype, tokens, heads, dim, cached):
    q, k = randn(tokens, heads, dim, dtype=dtype), randn(tokens, 2, dim, dtype=dtype)
    angle = torch.arange(4096)[:, None] * 10000.0 ** (-torch.arange(0, dim, 2) / dim)
    table = torch.cat((angle.cos(), angle.sin()), -1).to("cuda", F32 if cached else dtype)
    at = torch.randint(0, 4096, (tokens,), device="cuda")
    pq, ptable = plain(q, table)
    cos, sin = (t[at.cpu()].repeat(1, 2)[:, None] for t in ptable.chunk(2, -1))
    if cached:
        torch.ops.sgl_kernel.apply_rope_pos_ids_cos_sin_cache(q, k, q, k, table, at, False, False, *[None] * 4)
    else:
        torch.ops.sgl_kernel.rotary_embedding(at, q, k, dim, table, True)
    return [(q, rope(pq, cos, sin))]


def aligned(chosen, experts, rows):
    """Pairs of token and choice by expert, padded to whole blocks of `rows`, and the expert of each block."""
    flat, order, owner = chosen.flatten().tolist(), [], []
    for expert in range(experts):
        mine = [i for i, e in enumerate(flat) if e == expert]
        mine += [len(flat)] * (-len(mine) % rows)
        order, owner = order + mine, owner + [expert] * (len(mine) // rows)
    return [torch.tensor(t, dtype=torch.int32, device="cuda") for t in (order, owner, [len(order)])]


def expert_product(x, w, y, scales, routing, weighted, shared, config, flags=(False,) * 5, shape=None):
    """y = x times the weights of each row's expert; routing: the rows' weights, experts and order."""
    import triton.language as tl
    kernels = importlib.import_module("sglang.srt.layers.moe.fused_moe_triton.fused_moe_triton_kernels")
    weight, chosen, order = routing
    kernels.invoke_fused_moe_kernel(x, w, None, y, None, scales, None, weight, chosen, *order, weighted, shared, config,
                                    {BF16: tl.bfloat16, F16: tl.float16}[y.dtype], *flags, block_shape=shape,
                                    filter_expert=False)


def sgl_experts(dtype, tokens, hidden, inner, experts, best, group):
    """A layer of experts: gathered tokens times the weights of each, a gate, times its second weights, and the sum."""
    kernels = importlib.import_module("sglang.srt.layers.moe.fused_moe_triton.fused_moe_triton_kernels")
    rows = 16 if tokens < 200 else 64
    config = dict(BLOCK_SIZE_M=rows, BLOCK_SIZE_N=64, BLOCK_SIZE_K=32, GROUP_SIZE_M=group, num_warps=4, num_stages=3)
    x, up = randn(tokens, hidden, dtype=dtype), randn(experts, 2 * inner, hidden, dtype=dtype, deviation=hidden ** -0.5)
    down = randn(experts, hidden, inner, dtype=dtype, deviation=inner ** -0.5)
    weight, chosen = randn(tokens, experts).softmax(-1).topk(best, -1)
    routing = weight, chosen, aligned(chosen, experts, rows)
    both = torch.empty(tokens * best, 2 * inner, device="cuda", dtype=dtype)
    each, y = torch.empty(tokens, best, hidden, device="cuda", dtype=dtype), torch.empty(tokens, hidden, device="cuda", dtype=dtype)

    expert_product(x, up, both, None, routing, False, best, config)
    gated = (F.silu(both[:, :inner].float()) * both[:, inner:].float()).to(dtype)
    expert_product(gated, down, each.view(tokens * best, hidden), None, routing, True, 1, config)
    kernels.moe_sum_reduce_triton(each, y, 1.0)
    px, pup, pdown, pweight = plain(x, up, down, weight)
    halves = torch.einsum("tk,tbnk->tbn", px, pup[chosen.cpu()])
    out = torch.einsum("tbi,tbki->tbk", F.silu(halves[..., :inner]) * halves[..., inner:], pdown[chosen.cpu()])
    return [(both.view(tokens, best, 2 * inner), halves), (y, (out * pweight[..., None]).sum(1))]


SMALL = {  # of 8 bits: flags of invoke_fused_moe_kernel from use_fp8_w8a8 on, and the shape of a block of weights
    "fp8": ([True, False, False, False, False], [128, 128]), "int8": ([False, True, False, False, True], None),
    "int8 weights": ([False, False, True, False, False], None)}


def small_weights(w, kind):
    """Weights [experts][n][k] in 8 bits, and their scales: of blocks, or of each row."""
    if kind != "fp8":
        scales = w.float().abs().amax(-1, keepdim=True) / 127
        return (w.float() / scales).round().to(torch.int8), scales
    blocks = w.float().unflatten(2, (-1, 128)).unflatten(1, (-1, 128))
    scales = blocks.abs().amax((2, 4)) / 448
    return (blocks / scales[:, :, None, :, None]).flatten(3).flatten(1, 2).to(F8), scales


def sgl_small_experts(dtype, kind, tokens, hidden, inner, experts, best):
    """Both products of a layer of experts whose weights have 8 bits, each against plain numbers."""
    rows = 16 if tokens < 200 else 64
    config = dict(BLOCK_SIZE_M=rows, BLOCK_SIZE_N=64, BLOCK_SIZE_K=64, GROUP_SIZE_M=1, num_warps=4, num_stages=3)
    weight, chosen = randn(tokens, experts).softmax(-1).topk(best, -1)
    routing = weight, chosen, aligned(chosen, experts, rows)

    def product(x, n, weighted, shared):
        w = randn(experts, n, x.shape[1], dtype=dtype, deviation=x.shape[1] ** -0.5)
        q, scales = small_weights(w, kind)
        flags, shape = SMALL[kind]
        y = torch.empty(tokens, best, n, device="cuda", dtype=dtype)
        expert_product(x, q, y.view(-1, n), scales, routing, weighted, shared, config, flags, shape)
        px, pw, pweight = plain(x, w, weight)
        px = px[:, None].expand(-1, best, -1) if shared > 1 else px.view(tokens, best, -1)
        want = torch.einsum("tbk,tbnk->tbn", px, pw[chosen.cpu()])
        return y, want * pweight[..., None] if weighted else want

    pairs = [product(randn(tokens, hidden, dtype=dtype), inner, False, best)]
    return pairs + [product(randn(tokens * best, inner, dtype=dtype), hidden, True, 1)]


class Absent(types.ModuleType):
    """Stands for modules and functions of SGLang that the kernels do not need: is_hip() and its like are false."""
    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent(name)

    def __call__(self, *arguments, **named):
        return Absent("called") if not arguments or not callable(arguments[0]) else arguments[0]

    def __bool__(self):
        return False


class AbsentFinder:
    NAMES = ("sglang.srt.batch_invariant_ops", "sglang.srt.utils", "sglang.srt.layers.deep_gemm_wrapper", "sglang.jit_kernel", "sgl_kernel")

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        found = any(name == known or name.startswith(known + ".") for known in cls.NAMES)
        return importlib.machinery.ModuleSpec(name, cls, is_package=True) if found else None

    @staticmethod
    def create_module(spec):
        return Absent(spec.name)

    @staticmethod
    def exec_module(module):
        pass


def sglang(folder, library):
    for name in ("sglang", "sglang.srt", "sglang.srt.layers", "sglang.srt.layers.quantization", "sglang.srt.layers.moe",
                 "sglang.srt.layers.moe.fused_moe_triton"):
        stub(name, os.path.join(folder, *name.split(".")))
    sys.meta_path.insert(0, AbsentFinder)
    halves = FLOATS[:2]
    operations = [("triton quantisation", sgl_triton_quant, FLOATS, [(300, 4096), (1, 512)]),
                  ("experts", sgl_experts, halves, [(24, 64, 48, 8, 2, 1), (300, 512, 320, 16, 4, 8), (1000, 1024, 256, 64, 6, 1)]),
                  ("experts after quantisation", sgl_small_experts, halves,
                   [(kind, *size) for kind in SMALL for size in [(24, 256, 128, 8, 2), (300, 512, 384, 32, 4)]])]
    if not library:
        return operations
    torch.ops.load_library(library)
    return operations + [
        ("group quantisation", sgl_group_quant, FLOATS, [(300, 4096, False), (300, 4096, True), (4, 512, True)]),
        ("row quantisation", sgl_row_quant, halves, [(3000, 4096), (2500, 520)]),
        ("tensor quantisation", sgl_tensor_quant, FLOATS, [(300, 4096), (7, 100)]),
        ("router", sgl_router, FLOATS, [(300, 128, 8, True), (300, 64, 6, False), (200, 160, 6, False),
                                       (200, 60, 4, True), (5, 8, 2, True), (100, 256, 8, True), (30, 384, 9, False)]),
        ("sum of experts", sgl_sum, FLOATS, [(300, 8, 2048, 1.0), (64, 9, 7168, 2.5), (200, 6, 1024, 1.0),
                                            (20, 5, 512, 2.0), (200, 2, 512, 1.0)]),
        ("merge", sgl_merge, FLOATS, [(300, 32, 128), (7, 16, 64)]),
        ("activations", sgl_activation, halves, [(300, 4096), (1, 512), (33, 1384)]),
        ("added norm", sgl_norm, halves, [(300, 4096), (1, 2048)]),
        ("rope with a cache", sgl_rope, halves, [(300, 32, 128, True), (9, 8, 64, True)]),
        ("rope", sgl_rope, halves, [(300, 32, 128, False), (9, 8, 64, False)]),
    ]


# ---- xFormers ----

def xformers_norm(dtype, rows, cols, weighted, added):
    norms = importlib.import_module("xformers.ops._triton.rmsnorm_kernels")
    x, y, w = randn(rows, cols, dtype=dtype), randn(rows, cols, dtype=dtype), randn(cols, dtype=dtype, mean=1)
    px, py, pw = plain(x, y, w)
    pw, w = (pw, w) if weighted else (1.0, None)
    if not added:
        return [(norms._rms_norm_forward(x, w, 1e-6), rms(px, pw))]
    got = norms._rms_norm_add_forward(x, y, w, 1e-6)
    return [(got, rms(px + py, pw)), (x, px + py)]


def xformers_select(dtype, rows, cols, count):
    select = importlib.import_module("xformers.ops._triton.k_index_select_cat").index_select_cat_fwd
    x, at = randn(rows, cols, dtype=dtype), torch.randperm(rows, device="cuda")[:count]
    return [(select(torch.empty(count, cols, device="cuda", dtype=dtype), x, at), plain(x)[0][at.cpu()])]


def xformers(folder, _):
    for name in ("xformers", "xformers.ops", "xformers.ops._triton", "xformers.triton"):
        stub(name, os.path.join(folder, *name.split(".")))
    norms = [(300, 4096, True, False), (300, 4096, False, False), (64, 1000, True, False), (1, 768, True, False)]
    return [
        ("rms_norm", xformers_norm, FLOATS, norms),
        ("rms_norm_add", xformers_norm, FLOATS, [size[:3] + (True,) for size in norms]),
        ("index_select_cat", xformers_select, FLOATS, [(500, 1024, 300), (64, 1000, 9)]),
    ]


def run(name, call, dtypes, sizes):
    worst, calls, right = 0.0, 0, True
    for dtype, size in ((dtype, size) for dtype in dtypes for size in sizes):
        try:
            away = max(relative(got, want) for got, want in call(dtype, *size))
        except Exception as error:
            print(f"{name} {dtype} {size}: {type(error).__name__}: {(str(error).strip() or '-').splitlines()[0][:150]}",
                  flush=True)
            continue
        calls, worst = calls + 1, max(worst, away)
        if away > (0.04 if "quantisation" in name else LOOSE[dtype]):
            print(f"{name} {dtype} {size}: WRONG, by {away:.3g} of the norm", flush=True)
            right = False
    print(f"{name}: {calls} calls, by {worst:.2g} of the norm at most", flush=True)
    return right


def main():
    subject, folder = sys.argv[1:3]
    library = sys.argv[4] if sys.argv[3:4] == ["--library"] else None
    sys.path.insert(0, folder)
    torch.manual_seed(31)
    operations = {"mamba": mamba, "sglang": sglang, "xformers": xformers}[subject](folder, library)
    right = [run(*operation) for operation in operations]
    torch.cuda.synchronize()
    sys.exit(0 if all(right) else 1)


if __name__ == "__main__":
    main()
