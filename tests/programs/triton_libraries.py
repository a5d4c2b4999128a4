#!/usr/bin/env python3
"""triton_libraries.py liger|unsloth|fla|fla_unguarded FOLDER [DTYPE...] - operations of a library of Triton kernels.

FOLDER is an unmodified copy of the library's repository. Its operations run forward and backward, in each DTYPE (bf16,
f32, f16; all of them unless given) and several shapes. Results and gradients are held loosely against plain torch in
f64 on the CPU, so that a wrong call is seen. Prints a line for each operation, and one for each call that cannot run
or is wrong. The exit status is 1 if a result is wrong. fla_unguarded runs what FLA refuses with Triton 3.4 to 3.7.0 on
Hopper, because its gradient is wrong there.
"""

import importlib
import math
import os
import sys
import types

import torch
import torch.nn.functional as F

DTYPES = {"bf16": torch.bfloat16, "f32": torch.float32, "f16": torch.float16}
LOOSE = {"bf16": 0.04, "f32": 0.004, "f16": 0.01}  # of the norm of the right result
FEW = [(7, 64), (33, 1000)]
ROWS = FEW + [(300, 1536), (5, 77), (64, 513)]
LOGITS = [(16, 1000), (9, 777), (12, 32000)]
HEADS = [(2, 24, 4, 2, 64), (1, 9, 6, 3, 48)]


def randn(*shape, deviation=1.0, mean=0.0):
    return torch.randn(*shape).double() * deviation + mean


def angles(positions, dim):
    angle = torch.arange(positions).double()[:, None] * 10000.0 ** (-torch.arange(0, dim, 2).double() / dim)
    return torch.cat((angle, angle), -1)


def targets(rows, classes):
    target = torch.randint(0, classes, (rows,))
    target[rows // 3] = -100
    return target


# What the letters of an operation's inputs stand for, with r rows and c columns.
INPUTS = {
    "x": lambda r, c: randn(r, c), "w": lambda r, c: randn(c, deviation=.1, mean=1),
    "b": lambda r, c: randn(c, deviation=.1), "a": lambda r, c: randn(1, deviation=.1, mean=.5),
    "p": lambda r, c: randn(r, c).softmax(-1), "l": lambda r, c: randn(r, c).log_softmax(-1),
    "h": lambda r, c: randn(r, 64), "m": lambda r, c: randn(c, 64, deviation=.1), "t": targets,
    "i": lambda r, c: torch.randint(0, r, (40,)), "3": lambda n, c, s: randn(n, c, s), "v": lambda n, c, s: randn(c),
    "k": lambda b, t, c: randn(c, 4, deviation=.3), "q": lambda b, t, h, kv, d: randn(b, t, h, d),
    "K": lambda b, t, h, kv, d: randn(b, t, kv, d), "c": lambda b, t, h, kv, d: angles(t, d).cos(),
    "s": lambda b, t, h, kv, d: angles(t, d).sin(), "4": lambda b, t, h, d: randn(b, t, h, d),
    "n": lambda b, t, h, d: F.normalize(randn(b, t, h, d), dim=-1),
    "g": lambda b, t, h, d: F.logsigmoid(randn(b, t, h) + 3),
    "G": lambda b, t, h, d: F.logsigmoid(randn(b, t, h, d) + 3), "B": lambda b, t, h, d: randn(b, t, h).sigmoid(),
}


def relative(got, want):
    got, want = got.detach().cpu().double(), want.detach()
    if got.shape != want.shape:
        return math.inf
    away = (got - want).norm().item() / max(want.norm().item(), 1e-6 * math.sqrt(want.numel()))
    return away if math.isfinite(away) else math.inf


def placed(t, dtype):
    return t.detach().cuda().to(dtype).requires_grad_() if t.is_floating_point() else t.cuda()


def results(call, inputs):
    result = call(*inputs)
    return result if isinstance(result, tuple) else (result,)


def alone(dtype, shape, letters, call):
    """Runs the call, forward and backward, without plain torch beside it."""
    got = results(call, [placed(INPUTS[letter](*shape), dtype) for letter in letters])
    torch.autograd.backward(got, [torch.randn_like(r) for r in got])


def hold(dtype, shape, letters, call, plain):
    """Runs both, forward and backward, and returns the largest relative distance."""
    mine = [INPUTS[letter](*shape) for letter in letters]
    mine = [t.to(dtype).double().requires_grad_() if t.is_floating_point() else t for t in mine]
    theirs = [placed(t, dtype) for t in mine]
    want, got = results(plain, mine), results(call, theirs)
    grads = [torch.full_like(w, .75) if w.dim() == 0 else torch.randn_like(w).to(dtype).double() for w in want]
    worst = max(relative(g, w) for g, w in zip(got, want))  # before a gradient takes the place of a result
    torch.autograd.backward(want, grads)
    torch.autograd.backward(got, [g.cuda().to(r.dtype) for g, r in zip(grads, got)])
    pairs = [(t.grad, m.grad) for t, m in zip(theirs, mine) if t.grad is not None and m.grad is not None]
    return max([worst] + [relative(*pair) for pair in pairs])


def rms(x, w, eps=1e-6, offset=0.0):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) * (w + offset)


def layer(x, w, b):
    return F.layer_norm(x, x.shape[-1:], w, b, 1e-5)


def gated(act, **more):
    return lambda gate, up: act(gate, **more) * up


def rope(x, cos, sin):
    half = x.shape[-1] // 2
    return x * cos + torch.cat((-x[..., half:], x[..., :half]), -1) * sin


def rope_both(q, k, cos, sin):
    return rope(q.transpose(1, 2), cos, sin), rope(k.transpose(1, 2), cos, sin)


def shannon(x, y):
    middle = (x.exp() + y.exp()) / 2
    return (y.exp() * y + x.exp() * x - 2 * middle * middle.log()).sum() / (2 * x.shape[0])


def recurrence(q, k, v, g=None, beta=None):
    """q, k, v [batch][time][heads][dim]; g in logarithms, for each head or dim, beta for each head."""
    state, out = q.new_zeros(q.shape[0], q.shape[2], q.shape[3], v.shape[3]), []
    for i in range(q.shape[1]):
        if g is not None:
            gate = g[:, i].exp()
            state = state * (gate[..., None] if gate.dim() == 3 else gate[..., None, None])
        value = v[:, i]
        if beta is not None:
            value = (value - torch.einsum("bhk,bhkv->bhv", k[:, i], state)) * beta[:, i, :, None]
        state = state + k[:, i, :, :, None] * value[:, :, None, :]
        out.append(torch.einsum("bhk,bhkv->bhv", q[:, i], state) / math.sqrt(q.shape[3]))
    return torch.stack(out, 1)


def liger(_):
    ops = importlib.import_module("liger_kernel.ops")
    embed = importlib.import_module("liger_kernel.ops.experimental.embedding").LigerEmbeddingFunction
    norm, add = ops.LigerRMSNormFunction, ops.LigerFusedAddRMSNormFunction
    entropy, linear = ops.LigerCrossEntropyFunction, ops.LigerFusedLinearCrossEntropyFunction
    return [
        ("rms_norm", ROWS + [(32768, 64)], "xw", lambda x, w: norm.apply(x, w, 1e-6), rms),
        ("rms_norm gemma", ROWS, "xb", lambda x, w: norm.apply(x, w, 1e-6, 1.0, "gemma", False),
         lambda x, w: rms(x, w, offset=1.0)),
        ("layer_norm", ROWS, "xwb", lambda x, w, b: ops.LigerLayerNormFunction.apply(x, w, b, 1e-5), layer),
        ("group_norm", [(3, 8, 50), (2, 16, 256)], "3vv",
         lambda x, w, b: ops.LigerGroupNormFunction.apply(x, w, b, x.shape[1], 4, 1e-5),
         lambda x, w, b: F.group_norm(x, 4, w, b, 1e-5)),
        ("fused_add_rms_norm", ROWS, "xxw", lambda x, y, w: add.apply(x, y, w, 1e-6),
         lambda x, y, w: (rms(x + y, w), x + y)),
        ("swiglu", ROWS, "xx", ops.LigerSiLUMulFunction.apply, gated(F.silu)),
        ("geglu", ROWS, "xx", ops.LigerGELUMulFunction.apply, gated(F.gelu, approximate="tanh")),
        ("relu_squared", FEW, "x", ops.LigerReLUSquaredFunction.apply, lambda x: F.relu(x).square()),
        ("softmax", ROWS, "x", ops.LigerSoftmaxFunction.apply, lambda x: x.softmax(-1)),
        ("rope", HEADS, "qKcs", lambda q, k, cos, sin: ops.LigerRopeFunction.apply(
            q.transpose(1, 2), k.transpose(1, 2), cos[None], sin[None]), rope_both),
        ("dyt", FEW, "xabb", ops.LigerDyTFunction.apply, lambda x, a, w, b: torch.tanh(a * x) * w + b),
        ("cross_entropy", LOGITS, "xt", lambda x, t: entropy.apply(x, t, None)[0], F.cross_entropy),
        ("cross_entropy sum", FEW, "xt", lambda x, t: entropy.apply(x, t, None, -100, 0.0, 0.1, "sum")[0],
         lambda x, t: F.cross_entropy(x, t, reduction="sum", label_smoothing=0.1)),
        ("fused_linear_cross_entropy", LOGITS[:2], "hmt", lambda x, w, t: linear.apply(x, w, t)[0],
         lambda x, w, t: F.cross_entropy(x @ w.T, t)),
        ("kl_div", FEW, "lp", ops.LigerKLDivLossFunction.apply, lambda x, y: F.kl_div(x, y, reduction="batchmean")),
        ("jsd", FEW, "ll", ops.LigerJSDFunction.apply, shannon),
        ("tvd", FEW, "pp", ops.LigerTVDLossFunction.apply, lambda p, q: (p - q).abs().sum() / (2 * p.shape[0])),
        ("embedding", [(50, 96)], "xi", embed.apply, lambda w, i: w[i]),
    ]


def stub(name, path=None, **names):
    module = sys.modules.setdefault(name, types.ModuleType(name))
    module.__path__ = [path] if path else []
    vars(module).update(names)


def unsloth_modules(folder):
    """The kernels' modules alone: `import unsloth` patches transformers and asks for packages that are often missing.
    Stubs stand for both packages' __init__ and for what the modules import from unsloth_zoo."""
    version = importlib.import_module("packaging.version").Version
    stub("unsloth", os.path.join(folder, "unsloth"))
    stub("unsloth.kernels", os.path.join(folder, "unsloth", "kernels"))
    stub("unsloth.kernels.fp8", weight_dequant=None, fp8_linear=None)
    stub("unsloth_zoo")
    stub("unsloth_zoo.utils", Version=lambda text: version(str(text)))
    stub("unsloth_zoo.patching_utils", patch_layernorm=None)
    stub("unsloth_zoo.loss_utils", patch_loss_functions=None, post_patch_loss_function=None)
    names = "rms_layernorm layernorm rope_embedding swiglu geglu cross_entropy_loss".split()
    return [importlib.import_module("unsloth.kernels." + name) for name in names]


class Gated(torch.autograd.Function):
    """As unsloth's LoRA layers use the two kernels: the second puts the gradients into its arguments."""
    @staticmethod
    def forward(ctx, gate, up, forward, backward):
        ctx.save_for_backward(gate, up)
        ctx.back = backward
        return forward(gate[None], up[None])[0]

    @staticmethod
    def backward(ctx, dy):
        gate, up = (t.clone() for t in ctx.saved_tensors)
        _, d_up, d_gate = ctx.back(dy.clone(), gate, up)
        return d_gate, d_up, None, None


def unsloth(folder):
    norm, layers, turn, swiglu, geglu, loss = unsloth_modules(folder)

    def fused(forward, backward):
        return lambda gate, up: Gated.apply(gate, up, forward, backward)

    def turned(indices):
        def call(q, k, cos, sin):
            at = torch.arange(q.shape[1], device=q.device).repeat(q.shape[0], 1) if indices else None
            return turn.fast_rope_embedding((q * 1).transpose(1, 2), (k * 1).transpose(1, 2), cos, sin, at)
        return call

    def entropy(*more):
        return lambda x, t: loss.fast_cross_entropy_loss(x[None], t[None], *more)
    return [
        ("rms_layernorm", ROWS, "xw", lambda x, w: norm.Fast_RMS_Layernorm.apply(x, w, 1e-6, False), rms),
        ("rms_layernorm gemma", ROWS, "xb", lambda x, w: norm.Fast_RMS_Layernorm.apply(x, w, 1e-6, True),
         lambda x, w: rms(x, w, offset=1.0)),
        ("layernorm", ROWS, "xwb", lambda x, w, b: layers.Fast_Layernorm.apply(x, w, b, 1e-5), layer),
        ("rope", HEADS, "qKcs", turned(False), rope_both), ("rope indices", HEADS, "qKcs", turned(True), rope_both),
        ("swiglu", ROWS, "xx", fused(swiglu.swiglu_fg_kernel, swiglu.swiglu_DWf_DW_dfg_kernel), gated(F.silu)),
        ("geglu", ROWS, "xx", fused(geglu.geglu_exact_forward_kernel, geglu.geglu_exact_backward_kernel),
         gated(F.gelu)),
        ("geglu tanh", ROWS, "xx", fused(geglu.geglu_approx_forward_kernel, geglu.geglu_approx_backward_kernel),
         gated(F.gelu, approximate="tanh")),
        ("cross_entropy", LOGITS + [(4, 70000)], "xt", entropy(), F.cross_entropy),
        ("cross_entropy capped", FEW, "xt", entropy(30.0), lambda x, t: F.cross_entropy(30 * torch.tanh(x / 30), t)),
        ("cross_entropy scaled", FEW, "xt", entropy(0, 0.5), lambda x, t: F.cross_entropy(x / 2, t)),
    ]


def one_configuration():
    """FLA's kernels try up to 30 configurations each, which takes minutes to compile: the middle one is kept."""
    tuner = importlib.import_module("triton.runtime.autotuner").Autotuner
    initialise = tuner.__init__

    tuner.__init__ = lambda self, fn, names, configs, *rest, **named: initialise(
        self, fn, names, configs[len(configs) // 2:][:1], *rest, **named)


def fla(_):
    one_configuration()
    ops = importlib.import_module("fla.ops")
    norms, gate, loss, acts, l2, turn, convolution = (importlib.import_module("fla.modules." + name) for name in (
        "layernorm", "fused_norm_gate", "fused_cross_entropy", "activations", "l2norm", "rotary", "conv.causal_conv1d"))
    chunk, step, half = [(2, 128, 2, 64)], [(2, 37, 2, 64)], lambda t: t[:, :t.shape[1] // 2].contiguous()
    return [
        ("rms_norm", ROWS, "xw", lambda x, w: norms.rms_norm(x, w, None, eps=1e-6), rms),
        ("layer_norm", ROWS, "xwb", norms.layer_norm, layer),
        ("rms_norm residual", FEW, "xxw", lambda x, y, w: norms.rms_norm(x, w, None, y, 1e-6, True),
         lambda x, y, w: (rms(x + y, w), x + y)),
        ("rms_norm gated", FEW, "xxw", lambda x, g, w: gate.rms_norm_gated(x, g, w, None, eps=1e-6),
         lambda x, g, w: rms(x, w) * F.silu(g)),
        ("l2norm", ROWS, "x", l2.l2norm, lambda x: x * torch.rsqrt(x.square().sum(-1, keepdim=True) + 1e-6)),
        ("swiglu", ROWS, "xx", acts.swiglu, gated(F.silu)), ("swish", FEW, "x", acts.swish, F.silu),
        ("sigmoid", FEW, "x", acts.sigmoid, torch.sigmoid), ("logsigmoid", FEW, "x", acts.logsigmoid, F.logsigmoid),
        ("cross_entropy", LOGITS, "xt", lambda x, t: loss.FusedCrossEntropyLoss()(x, t), F.cross_entropy),
        ("rotary", HEADS, "qcs", lambda q, cos, sin: turn.rotary_embedding(q, half(cos), half(sin)),
         lambda q, cos, sin: rope(q, cos[:, None], sin[:, None])),
        ("short convolution", [(2, 64, 128), (1, 33, 96)], "3k",
         lambda x, w: convolution.causal_conv1d(x, w, activation="silu")[0],
         lambda x, w: F.silu(F.conv1d(F.pad(x.mT, (3, 0)), w[:, None], groups=w.shape[0])).mT),
        ("fused_recurrent_simple_gla", step, "4n4g", lambda *a: ops.fused_recurrent_simple_gla(*a)[0], recurrence),
        ("fused_recurrent_gla", step, "4n4G", lambda *a: ops.fused_recurrent_gla(*a)[0], recurrence),
        ("fused_recurrent_delta_rule", step, "4n4B", lambda *a: ops.fused_recurrent_delta_rule(*a)[0],
         lambda q, k, v, beta: recurrence(q, k, v, None, beta)),
        ("chunk_gla", chunk, "4n4G", lambda *a: ops.chunk_gla(*a)[0], recurrence),
        ("chunk_delta_rule", chunk, "4n4B", lambda *a: ops.chunk_delta_rule(*a)[0],
         lambda q, k, v, beta: recurrence(q, k, v, None, beta)),
        ("chunk_simple_gla", chunk, "4n4g", lambda *a: ops.chunk_simple_gla(*a)[0], recurrence),
        ("chunk_gated_delta_rule", chunk, "4n4gB", lambda *a: ops.chunk_gated_delta_rule(*a)[0], recurrence),
    ]


def fla_unguarded(folder):
    guarded = fla(folder)[-2:]
    importlib.import_module("fla.ops.common.chunk_o").TRITON_ABOVE_3_7_1 = True
    return guarded


def run(dtypes, name, shapes, letters, call, plain):
    worst, calls, right = 0.0, 0, True
    for dtype, shape in ((dtype, shape) for dtype in dtypes for shape in shapes):
        try:
            away = hold(DTYPES[dtype], shape, letters, call, plain)
        except Exception as error:
            text = (str(error).strip() or "-").splitlines()[0][:150]
            print(f"{name} {dtype} {shape}: {type(error).__name__}: {text}", flush=True)
            continue
        calls, worst = calls + 1, max(worst, away)
        if away > LOOSE[dtype]:
            print(f"{name} {dtype} {shape}: WRONG, by {away:.3g} of the norm", flush=True)
            right = False
    print(f"{name}: {calls} calls, by {worst:.2g} of the norm at most", flush=True)
    return right


def operations(library, folder):
    """The arguments of run() for each operation of the library."""
    sys.path.insert(0, os.path.join(folder, "src") if library == "liger" else folder)
    return {"liger": liger, "unsloth": unsloth, "fla": fla, "fla_unguarded": fla_unguarded}[library](folder)


def main():
    torch.manual_seed(29)
    right = [run(sys.argv[3:] or list(DTYPES), *operation) for operation in operations(*sys.argv[1:3])]
    sys.exit(0 if all(right) else 1)


if __name__ == "__main__":
    main()
