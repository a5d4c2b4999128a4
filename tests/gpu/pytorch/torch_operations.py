"""torch_operations.py - PyTorch's pointwise operations, reductions, rows, images and lists, in several dtypes and layouts.

Prints the sum of each result. An operation that this PyTorch lacks prints its name and the error's type instead.
"""

import math

import torch
from torch.nn import functional as F

from torch_sums import bits_sum

DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}
COUNT = 40003


def show(name, function, *arguments):
    try:
        y = function(*arguments)
    except (RuntimeError, NotImplementedError) as error:
        print(name, type(error).__name__)
        return
    for one in y if isinstance(y, (tuple, list)) else (y,):
        print(name, bits_sum(one))


def gradient(name, function, *arguments):
    arguments = [a.detach().requires_grad_(a.is_floating_point()) for a in arguments]
    y = function(*arguments)
    y.backward(torch.randn_like(y))
    for a in arguments:
        if a.grad is not None:
            print(name, bits_sum(a.grad))


BINARY = {"add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div, "maximum": torch.maximum,
          "minimum": torch.minimum, "eq": torch.eq, "ne": torch.ne, "lt": torch.lt, "ge": torch.ge, "fmod": torch.fmod,
          "remainder": torch.remainder, "floor_divide": torch.floor_divide, "atan2": torch.atan2, "fmax": torch.fmax,
          "logical_and": torch.logical_and, "xlogy": torch.xlogy}
UNARY = ("neg reciprocal rsqrt sqrt exp exp2 expm1 log log2 log1p sin cos tanh sigmoid erf floor ceil trunc round sign abs "
         "logical_not square tan sinh cosh asin atan frac log10 nan_to_num").split()
ACTIVATIONS = {"relu": F.relu, "gelu": F.gelu, "gelu_tanh": lambda a: F.gelu(a, approximate="tanh"), "silu": F.silu,
               "tanh": torch.tanh, "sigmoid": torch.sigmoid, "mish": F.mish, "elu": F.elu, "leaky_relu": F.leaky_relu,
               "hardtanh": F.hardtanh, "hardswish": F.hardswish, "hardsigmoid": F.hardsigmoid, "softplus": F.softplus,
               "logsigmoid": F.logsigmoid, "clamp": lambda a: a.clamp(-0.5, 0.7), "clamp_min": lambda a: a.clamp_min(0.1)}


def pointwise(name, dtype):
    x = torch.randn(COUNT, device="cuda").to(dtype)
    z = torch.randn(COUNT, device="cuda").to(dtype) + 3
    positive = z.abs() * 0.2 + 0.05
    w, v = torch.randn(200, 203, device="cuda").to(dtype), torch.randn(203, device="cuda").to(dtype)
    mask, third = x > 0, torch.tensor(10 / 3, device="cuda", dtype=torch.float64)
    for op, function in BINARY.items():
        show("%s %s" % (op, name), function, x, z)
        show("%s broadcast %s" % (op, name), function, w, v)
        show("%s slices %s" % (op, name), function, w[:, 10:90], w[:, 100:180])
        show("%s transposed %s" % (op, name), function, w[:, :200], w[:, :200].t())
        if op not in ("maximum", "minimum", "fmax", "atan2", "logical_and"):
            show("%s scalar %s" % (op, name), function, z, 2.5)
            show("%s other %s" % (op, name), function, x, z.to(torch.float32 if dtype != torch.float32 else torch.bfloat16))
            show("%s one other %s" % (op, name), function, x, third)  # becomes a `dtype` as it is loaded
            show("%s one other transposed %s" % (op, name), function, w.t(), third)
    show("to integers " + name, lambda: torch.log(x.float().relu()).to(torch.int64))  # some are -inf
    show("to integers and back " + name, lambda: (x * 100).to(torch.int64).to(dtype))
    show("add alpha " + name, lambda: torch.add(x, z, alpha=0.7))
    show("scalar sub " + name, lambda: 1 - x)
    show("scalar div " + name, lambda: 1 / z)
    for exponent in (2, 3, -2):
        show("pow %d %s" % (exponent, name), torch.pow, z, exponent)
    for op in UNARY:
        show("%s %s" % (op, name), getattr(torch, op), positive)
        show("%s slices %s" % (op, name), getattr(torch, op), w[:, 10:90].abs() + 0.1)
    for op, function in ACTIVATIONS.items():
        show("%s %s" % (op, name), function, x)
        gradient("%s backward %s" % (op, name), function, x)
    for op in (torch.bitwise_and, torch.bitwise_or, torch.bitwise_xor):
        show("%s %s" % (op.__name__, name), op, mask, True)
    show("where " + name, torch.where, mask, x, z)
    show("fill " + name, lambda: torch.full((COUNT,), 3.0, device="cuda", dtype=dtype))
    for other in list(DTYPES.values()) + [torch.int64, torch.int32, torch.bool, torch.float64, torch.uint8, torch.int8]:
        show("cast %s %s" % (name, other), lambda: z.to(other))
        show("cast transposed %s %s" % (name, other), lambda: w.t().to(other))
    show("from f64 " + name, lambda: torch.randn(20 * COUNT, device="cuda", dtype=torch.float64).to(dtype))
    wide = torch.cat([x * 10.0 ** (i - 4) for i in range(9)] + [x.new_tensor([math.inf, -math.inf, math.nan, 0, 448, 464, 465, 61440])])
    for other in (torch.float8_e4m3fn, torch.float8_e5m2):
        show("cast %s %s" % (name, other), lambda: wide.to(other).view(torch.uint8))
        show("cast transposed %s %s" % (name, other), lambda: w.t().to(other).view(torch.uint8))
        show("cast back %s %s" % (name, other), lambda: wide.to(other).to(dtype))
    show("contiguous " + name, lambda: w.t().contiguous())
    show("channels last " + name, lambda: w.view(5, 8, 5, 203).contiguous(memory_format=torch.channels_last))
    for loss in (F.mse_loss, F.smooth_l1_loss, F.huber_loss):
        show("%s %s" % (loss.__name__, name), loss, x, z)
        gradient("%s backward %s" % (loss.__name__, name), loss, x, z)
    show("lerp " + name, torch.lerp, x, z, 0.3)
    show("addcmul " + name, lambda: torch.addcmul(x, z, z, value=0.3))
    show("addcdiv broadcast " + name, lambda: torch.addcdiv(w, v, positive[:203], value=0.3))
    show("masked_fill " + name, lambda: x.masked_fill(mask, -1e4))
    show("masked_fill broadcast " + name, lambda: w.masked_fill(v > 0, float("-inf")))
    gradient("dropout " + name, lambda a: F.dropout(a, 0.3), x)
    show("cat " + name, torch.cat, (w, w[:, :64], w[:, 100:]), 1)
    show("stack " + name, torch.stack, (w.t(), w.t().contiguous()), -1)


def reductions(name, dtype):
    w = torch.randn(300, 1000, device="cuda").to(dtype)
    planes = torch.randn(4, 8, 16, 17, device="cuda").to(dtype)
    for op in ("sum", "mean", "amax", "amin"):
        function = getattr(torch, op)
        for dims in ((1,), (0,), (0, 1)):
            show("%s %s %s" % (op, dims, name), function, w, dims)
        for dims in ((0, 2, 3), (1,), (1, 3)):
            show("%s %s %s" % (op, dims, name), function, planes, dims)
    for dims in ((1,), (0,), (0, 1)):
        show("norm %s %s" % (dims, name), lambda: torch.linalg.vector_norm(w, dim=dims))
    show("sum to f32 " + name, lambda: w.sum(-1, dtype=torch.float32))
    for dims in ((1,), (0,), (0, 1)):
        show("var_mean %s %s" % (dims, name), torch.var_mean, w, dims)
        show("std %s %s" % (dims, name), torch.std, w, dims)
    for op in ("argmax", "argmin", "max", "min", "cumsum"):
        show("%s %s" % (op, name), getattr(torch, op), w, 1)
        show("%s columns %s" % (op, name), getattr(torch, op), planes, 1)
    show("any " + name, lambda: (w > 3).any(0))
    show("all " + name, lambda: (w > 3).all())


def rows(name, dtype):
    for cols in (64, 1000, 5000):
        x = torch.randn(50, cols, device="cuda").to(dtype)
        for op in ("softmax", "log_softmax"):
            show("%s %d %s" % (op, cols, name), getattr(F, op), x, -1)
            gradient("%s backward %d %s" % (op, cols, name), lambda a: getattr(F, op)(a, -1), x)
    for cols in (768, 1023):
        x, w, b = (torch.randn(*shape, device="cuda").to(dtype) for shape in ((300, cols), (cols,), (cols,)))
        gradient("layer_norm backward %d %s" % (cols, name), lambda a, g, h: F.layer_norm(a, (cols,), g, h), x, w, b)
    logits, target = torch.randn(200, 3000, device="cuda").to(dtype), torch.randint(0, 3000, (200,), device="cuda")
    gradient("cross_entropy " + name, lambda a: F.cross_entropy(a, target), logits)
    show("embedding " + name, F.embedding, target % 200, logits[:, :256].contiguous())
    gradient("embedding backward " + name, lambda a: F.embedding(target % 200, a), logits[:, :256].contiguous())
    x, w = torch.randn(300, 1024, device="cuda").to(dtype), torch.randn(1024, device="cuda").to(dtype)
    for op in (F.elu, F.softplus, F.hardswish, F.hardsigmoid, F.mish, F.logsigmoid, lambda a: F.elu(a, inplace=True)):
        gradient("activation " + name, lambda a: op(a * 1), x)
    gradient("prelu " + name, F.prelu, x, w[:1].abs())
    for op in (F.smooth_l1_loss, F.huber_loss):
        for reduction in ("mean", "none"):
            gradient("%s, %s %s" % (op.__name__, reduction, name), lambda a: op(a, w.expand(300, 1024), reduction=reduction), x)
    if dtype == torch.float32:
        gradient("bce " + name, lambda a: F.binary_cross_entropy(a, (w > 0).float().expand(300, 1024)), torch.sigmoid(x))
    gradient("rms_norm backward " + name, lambda a, g: F.rms_norm(a, (1024,), g, 1e-6), x, w)


def images(name, dtype):
    torch.backends.cudnn.enabled = False
    w, b = (torch.randn(16, device="cuda") for _ in range(2))
    for layout in (torch.contiguous_format, torch.channels_last):
        x = torch.randn(4, 16, 28, 28, device="cuda").to(dtype).contiguous(memory_format=layout)
        for training in (True, False):
            gradient("batch_norm %s %s" % (training, name), lambda a, g, h: F.batch_norm(
                a, torch.zeros_like(w), torch.ones_like(w), g, h, training=training), x, w, b)
        small, scale = torch.randn(8, 16, 3, 3, device="cuda").to(dtype).contiguous(memory_format=layout), torch.ones(16, device="cuda")
        gradient("batch_norm small " + name, lambda a, g: F.batch_norm(a, None, None, g, training=True), small, scale)
        gradient("max_pool2d " + name, lambda a: F.max_pool2d(a, 3, 2, 1), x)
    for size, options in ((3, {"padding": 1}), (5, {"stride": 2, "padding": 2}), (7, {"dilation": 2, "padding": 3}), (4, {"padding": 1})):
        for each in (1, 2):
            x, kernel = torch.randn(3, 16, 29, 27, device="cuda").to(dtype), torch.randn(16 * each, 1, size, size, device="cuda").to(dtype)
            gradient("depthwise %d %d %s" % (size, each, name), lambda a, w: F.conv2d(a, w, groups=16, **options), x, kernel)
    x, w, b = (torch.randn(*shape, device="cuda").to(dtype) for shape in ((4, 32, 12, 10), (32,), (32,)))
    gradient("group_norm " + name, lambda a, g, h: F.group_norm(a, 8, g, h), x, w, b)
    torch.backends.cudnn.enabled = True


def lists(name, dtype):
    a = [torch.randn(n, device="cuda").to(dtype) + 2 for n in (100, 70000, 33, 200003)]
    b = [torch.randn_like(t) + 3 for t in a]
    for op in ("add", "sub", "mul", "div"):
        show("foreach %s %s" % (op, name), getattr(torch, "_foreach_" + op), a, b)
        show("foreach %s scalar %s" % (op, name), getattr(torch, "_foreach_" + op), a, 1.5)
        getattr(torch, "_foreach_%s_" % op)(a, b)
        getattr(torch, "_foreach_%s_" % op)(a, 1.5)
    torch._foreach_addcmul_(a, b, b, 0.1)
    torch._foreach_addcdiv_(a, b, b, 0.1)
    torch._foreach_lerp_(a, b, 0.3)
    for scale in (1.0, 0.37) if dtype != torch.bfloat16 else ():
        torch._amp_foreach_non_finite_check_and_unscale_(b, torch.zeros(1, device="cuda"), torch.full((1,), scale, device="cuda"))
    show("foreach %s" % name, lambda: a)
    show("foreach sqrt %s" % name, torch._foreach_sqrt, [t.abs() for t in b])
    show("foreach norm %s" % name, torch._foreach_norm, b)
    for kind, options in ((torch.optim.AdamW, {}), (torch.optim.Adam, {"amsgrad": True}), (torch.optim.SGD, {"momentum": 0.9})):
        parameters = [torch.nn.Parameter(t.clone()) for t in b]
        optimiser = kind(parameters, lr=1e-2, weight_decay=0.1, fused=True, **options)
        for _ in range(3):
            for p in parameters:
                p.grad = torch.randn_like(p)
            optimiser.step()
        show("%s %s" % (kind.__name__, name), lambda: parameters)


def whole(name, a, i):
    """Whole numbers, alone and beside others; sums beyond a byte wrap."""
    for op in ("add", "sub", "mul", "eq", "lt", "maximum", "bitwise_and"):
        show("%s %s" % (op, name), getattr(torch, op), a, a.flip(0))
        show("%s %s, i64" % (op, name), getattr(torch, op), a, i)
        show("%s %s, scalar" % (op, name), getattr(torch, op), a, torch.full_like(a, 3))
    for label, dtype in DTYPES.items():
        x = torch.randn(COUNT, device="cuda").to(dtype)
        for op in ("add", "mul", "div", "gt"):
            show("%s %s, %s" % (op, label, name), getattr(torch, op), x, a)
            show("%s %s, i64" % (op, label), getattr(torch, op), x, i)
        show("to %s, %s" % (label, name), a.to, dtype)
        show("where %s, %s" % (label, name), lambda: torch.where(a > 50, x, a))
        show("mask %s, %s" % (label, name), lambda: x * (a > 50))


def large():
    """Integers that wrap around or are beyond 2^53, and numbers that no integer holds."""
    for dtype, step, prime in ((torch.int32, 123457, 1103515245), (torch.int64, 977, 6364136223846793005)):
        top = 1700000000000000000 if dtype == torch.int64 else 2000000000
        a = torch.arange(COUNT, device="cuda", dtype=dtype) * step + top
        b = torch.arange(COUNT, device="cuda", dtype=dtype) * (step - 1) + top
        for op in ("add", "sub", "mul", "eq", "lt", "maximum", "remainder", "floor_divide"):
            show("%s large %s" % (op, dtype), getattr(torch, op), a, b)
        show("hash %s" % dtype, lambda: (a * prime + 12345) % 1000003)
        show("square %s" % dtype, lambda: a * a)
        for other in (torch.int32, torch.int16, torch.uint8, torch.int64, torch.float32):
            show("%s to %s" % (dtype, other), a.to, other)
    for name, dtype in DTYPES.items():
        x = torch.randn(COUNT, device="cuda") * (1e10 if dtype != torch.float16 else 3e4)
        x[:4] = torch.tensor([float("inf"), -float("inf"), float("nan"), 0.5])
        for other in (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool):
            show("%s to %s" % (name, other), x.to(dtype).to, other)


def main():
    torch.manual_seed(5)
    large()
    for name, dtype in DTYPES.items():
        pointwise(name, dtype)
        reductions(name, dtype)
        rows(name, dtype)
        images(name, dtype)
        lists(name, dtype)
    i = torch.randint(0, 100, (COUNT,), device="cuda")
    for dtype in (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float64, torch.float32, torch.float16,
                  torch.bfloat16):
        show("arange %s" % dtype, lambda: torch.arange(3, 103, 2, device="cuda", dtype=dtype))
        show("arange %s" % dtype, lambda: torch.arange(5, -90, -1.5 if dtype.is_floating_point else -1, device="cuda", dtype=dtype)
             if dtype != torch.uint8 else torch.arange(200, device="cuda", dtype=dtype))
    picks = torch.randint(0, 50, (70,), device="cuda")
    for dtype in (torch.uint8, torch.bfloat16, torch.float32, torch.int64):
        table = torch.randint(0, 200, (6, 50, 70), device="cuda").to(dtype)
        show("gather %s" % dtype, torch.gather, table, 1, picks.expand(6, 9, 70))
        show("gather last %s" % dtype, torch.gather, table, 2, picks.expand(6, 50, 70).contiguous())
        show("index %s" % dtype, lambda: table[:, picks - 25])
        show("index transposed %s" % dtype, lambda: table.transpose(0, 2)[picks % 7])
        show("index of one dim %s" % dtype, lambda: table[0, :, 0][picks])
    show("abs i64", torch.abs, i - 50)
    show("arange, many", lambda: torch.arange(0, 3000000, device="cuda"))
    show("add i64", torch.add, i, i)
    show("mul i64", torch.mul, i, i)
    show("eq i64", torch.eq, i, 7)
    show("truncated div i64", lambda: torch.div(i - 50, 7, rounding_mode="trunc"))
    show("maximum i64", torch.maximum, i, i.flip(0))
    show("minimum i64", torch.minimum, i, i.flip(0))
    edges, messages = torch.randint(0, 300, (5000,), device="cuda"), torch.randint(-1, 2, (5000, 48), device="cuda").float()
    for name, dtype in DTYPES.items():
        show("index_add " + name, lambda: torch.zeros(300, 48, device="cuda", dtype=dtype).index_add_(0, edges, messages.to(dtype), alpha=0.5))
        torch.zeros(300, 48, device="cuda", dtype=dtype).index_add_(0, edges, torch.randn_like(messages).to(dtype))  # in any order
    for kind in (torch.uint8, torch.int8, torch.int16, torch.int32):
        whole(str(kind), i.to(kind), i)


if __name__ == "__main__":
    main()
