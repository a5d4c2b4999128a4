#!/usr/bin/env python3
"""transformer_engine.py [LIBRARY] - the kernels of Transformer Engine's common library, by its C interface.

LIBRARY is libtransformer_engine.so as its wheel brings it (pip install transformer-engine-cu13; the installed one unless
given). Calls each operation over dtypes and sizes as in training, holds every result loosely against PyTorch and prints
one line for each. NVRTC needs CUDA's headers: CUDA_HOME, or /usr/local/cuda.
"""

import ctypes
import glob
import os
import sys

import torch

f = torch.nn.functional
WHOLE, ROW_BLOCKS, TILES = 0, 2, 3  # scaling modes
CODES = {torch.uint8: 0, torch.int32: 2, torch.int64: 3, torch.float32: 4, torch.float16: 5, torch.bfloat16: 6,
         torch.float8_e4m3fn: 7, torch.float8_e5m2: 8}
DTYPES = [torch.bfloat16, torch.float16, torch.float32]
F8 = [torch.float8_e4m3fn, torch.float8_e5m2]
CLOSE = {torch.float16: 4e-3, torch.bfloat16: 3e-2, torch.float32: 1e-4, torch.float8_e4m3fn: 0.08, torch.float8_e5m2: 0.15}
# Whole tiles, and sizes for which there are other kernels.
SIZES = [(2048, 4096), (512, 1024), (96, 160), (37, 1000)]


class Shape(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t * 15), ("dims", ctypes.c_size_t)]


class Basic(ctypes.Structure):
    _fields_ = [("at", ctypes.c_void_p), ("dtype", ctypes.c_int), ("shape", Shape)]


def load(path):
    """What the library needs is part of PyTorch, which has loaded some of it."""
    folder = os.path.join(os.path.dirname(os.path.dirname(torch.__file__)), "nvidia")
    for name in ("cudart.so.13", "nvrtc.so.13", "cublas.so.13", "cublasLt.so.13", "nccl.so.2", "cudnn_graph.so.9",
                 "cudnn_ops.so.9", "cudnn_cnn.so.9", "cudnn_adv.so.9", "cudnn_heuristic.so.9", "cudnn_engines_precompiled.so.9",
                 "cudnn_engines_runtime_compiled.so.9", "cudnn.so.9"):
        for found in ["lib" + name, *glob.glob(os.path.join(folder, "*", "lib", "lib" + name))]:
            try:
                ctypes.CDLL(found, mode=ctypes.RTLD_GLOBAL)
                break
            except OSError:
                pass
    library = ctypes.CDLL(path)
    library.nvte_create_tensor.restype = ctypes.c_void_p
    library.nvte_create_quantization_config.restype = ctypes.c_void_p
    library.nvte_tensor_shape.restype = Shape
    return library


class Tensor:
    """A tensor of the library: `data` and what belongs to it, by the order of its parameters."""

    def __init__(self, data=None, turned=None, scale=None, amax=None, inverse=None, turned_inverse=None, mode=WHOLE):
        self.keep = [data, turned, scale, amax, inverse, turned_inverse]
        self.handle = ctypes.c_void_p(lib.nvte_create_tensor(mode))
        for which, t in enumerate(self.keep):
            if t is not None:
                shape = Shape((ctypes.c_size_t * 15)(*t.shape), t.dim())
                basic = Basic(t.data_ptr(), CODES[t.dtype], shape)
                lib.nvte_set_tensor_param_v2(self.handle, which, ctypes.byref(basic), ctypes.sizeof(basic))

    def __del__(self):
        lib.nvte_destroy_tensor(self.handle)


def argument(a):
    if isinstance(a, torch.Tensor):
        a = Tensor(a)
    if isinstance(a, Tensor):
        calls.append(a)
        return a.handle
    if a is None:
        return argument(Tensor())
    return ctypes.c_float(a) if isinstance(a, float) else ctypes.c_size_t(a) if isinstance(a, Size) else \
        a if isinstance(a, (ctypes.Array, ctypes.c_void_p)) else ctypes.c_int(a)


class Size(int):
    pass


class Operation:
    all = []

    def __init__(self, name):
        self.name, self.calls, self.worst, self.wrong = name, 0, 0.0, 0
        Operation.all.append(self)

    def __call__(self, *args):
        calls.clear()
        getattr(lib, "nvte_" + self.name)(*[argument(a) for a in args], ctypes.c_void_p(0))
        self.calls += 1

    def with_workspace(self, before, after=()):
        """The first call sets the size of the workspace."""
        space = Tensor()
        self(*before, space, *after)
        shape = lib.nvte_tensor_shape(space.handle)
        size = [max(shape.size[i], 1) for i in range(shape.dims)] or [1]
        kind = {code: dtype for dtype, code in CODES.items()}[lib.nvte_tensor_type(space.handle)]
        self(*before, empty(*size, dtype=kind), *after)

    def holds(self, got, expected, close=None):
        close = CLOSE[got.dtype] if close is None else close
        error = ((got.float() - expected.float()).abs() / (1 + expected.float().abs())).max().item()
        self.worst = max(self.worst, error)
        if not error <= close:
            self.wrong += 1
            print("%s: WRONG, off by %g, %s of %s" % (self.name, error, list(got.shape), got.dtype), flush=True)

    def report(self):
        print("%-48s %4d calls, off by at most %.2g" % (self.name, self.calls, self.worst), flush=True)


def normal(*shape, dtype=torch.float32):
    return torch.randn(*shape, device="cuda").to(dtype)


def empty(*shape, dtype=torch.float32):
    return torch.empty(*shape, device="cuda", dtype=dtype)


def number(value):
    return torch.full((1,), value, device="cuda")


def quantised(shape, dtype, scale, turned=False):
    """An array in f8 with one scale, its transpose beside it, and its parts."""
    rows, cols = shape
    q, t = empty(rows, cols, dtype=dtype), empty(cols, rows, dtype=dtype) if turned else None
    inverse = number(0.0)
    return Tensor(q, t, number(scale), number(0.0), inverse, inverse if turned else None), q, t


def norms():
    processors = torch.cuda.get_device_properties(0).multi_processor_count
    for name in ("layernorm", "rmsnorm"):
        forward, backward = Operation(name + "_fwd"), Operation(name + "_bwd")
        kinds = [(torch.bfloat16, s) for s in SIZES] + [(d, s) for d in DTYPES[1:] for s in SIZES[1::2]]
        for (dtype, (rows, cols)), centred in [(k, c) for k in kinds for c in (0, 1)]:
            x, w, b, dy = (normal(rows, cols, dtype=dtype), normal(cols, dtype=dtype), normal(cols, dtype=dtype),
                           normal(rows, cols, dtype=dtype))
            mean, rstd = empty(rows), empty(rows)
            weights = [w, b, 1e-5] if name == "layernorm" else [w, 1e-5]
            sums = [mean, rstd] if name == "layernorm" else [rstd]
            X, W, B = (t.double().requires_grad_() for t in (x, w, b))
            Y = f.layer_norm(X, (cols,), W + centred, B, 1e-5) if name == "layernorm" else \
                X * torch.rsqrt(X.square().mean(-1, keepdim=True) + 1e-5) * (W + centred)
            y = empty(rows, cols, dtype=dtype)
            forward.with_workspace([x, *weights, y, *sums], [processors, centred])
            forward.holds(y, Y)
            for kind in F8[:1] if dtype == torch.bfloat16 else []:
                into, q, _ = quantised((rows, cols), kind, 16.0)
                forward.with_workspace([x, *weights, into, *sums], [processors, centred])
                forward.holds(q.float() / 16, Y, CLOSE[kind])
            Y.backward(dy.double())
            dx, dw, db = empty(rows, cols, dtype=dtype), empty(cols, dtype=dtype), empty(cols, dtype=dtype)
            grads = [dx, dw, db] if name == "layernorm" else [dx, dw]
            backward.with_workspace([dy, x, *sums, w, *grads], [processors, centred])
            backward.holds(dx, X.grad)
            backward.holds(dw, W.grad)
        forward.report()
        backward.report()


def casts():
    cast, bias, turn, back = (Operation(n) for n in ("quantize", "quantize_dbias", "transpose", "dequantize"))
    for (dtype, kind), (rows, cols) in [(k, s) for k in [(d, F8[0]) for d in DTYPES] + [(DTYPES[0], F8[1])] for s in SIZES]:
        x = normal(rows, cols, dtype=dtype)
        into, q, _ = quantised((rows, cols), kind, 8.0)
        cast(x, into)
        cast.holds(q.float() / 8, x, CLOSE[kind])
        y = empty(rows, cols, dtype=dtype)
        back(Tensor(q, inverse=number(0.125)), y)
        back.holds(y, q.float() / 8)
        if rows % 16 == 0 and cols % 16 == 0:
            into, q, t = quantised((rows, cols), kind, 8.0, True)
            cast(x, into)
            cast.holds(q.float() / 8, x, CLOSE[kind])
            cast.holds(t.float(), q.float().t(), 0)
            sums = empty(cols, dtype=dtype)
            into, q, t = quantised((rows, cols), kind, 8.0, True)
            bias.with_workspace([x, into, sums])
            bias.holds(sums, x.double().sum(0))
            bias.holds(t.float(), q.float().t(), 0)
            turned = empty(cols, rows, dtype=kind)
            turn(Tensor(q, inverse=number(1.0)), Tensor(turned, inverse=number(1.0)))
            turn.holds(turned.float(), q.float().t(), 0)
    for op in (cast, bias, turn, back):
        op.report()
    op = Operation("compute_amax")
    for dtype, (rows, cols) in [(d, s) for d in DTYPES for s in SIZES]:
        x, most = normal(rows, cols, dtype=dtype), number(0.0)
        op(x, Tensor(empty(rows, cols, dtype=F8[0]), scale=number(1.0), amax=most, inverse=number(1.0)))
        op.holds(most, x.float().abs().max(), 0)
    op.report()


def blocks():
    """128 elements of a row or of a column have a scale, or 128 x 128."""
    op = Operation("quantize_v2")
    for dtype, kind, (rows, cols), mode, power in [(d, k, s, m, p) for d in DTYPES for k in F8[:1] for s in SIZES
                                                  for m in (ROW_BLOCKS, TILES) for p in (1, 0)]:
        if rows % 16 or cols % 16:
            continue
        config = ctypes.c_void_p(lib.nvte_create_quantization_config())
        for which, value in ((0, ctypes.c_bool(power)), (1, ctypes.c_float(0))):
            lib.nvte_set_quantization_config_attribute(config, which, ctypes.byref(value), ctypes.sizeof(value))
        x, q, t = normal(rows, cols, dtype=dtype), empty(rows, cols, dtype=kind), empty(cols, rows, dtype=kind)
        high, wide = -(-rows // 128), -(-cols // 128)
        aligned = [(n + 3) // 4 * 4 for n in (rows, cols, high, wide)]
        shapes = ((wide, aligned[0]), (high, aligned[1])) if mode == ROW_BLOCKS else ((high, aligned[3]), (wide, aligned[2]))
        scales = [torch.zeros(*s, device="cuda") for s in shapes]
        for keep, keep_turned in ((1, 1), (1, 0), (0, 1)):
            op(x, Tensor(q if keep else None, t if keep_turned else None, inverse=scales[0] if keep else None,
                         turned_inverse=scales[1] if keep_turned else None, mode=mode), config)
        if mode == ROW_BLOCKS:
            up, up_turned = scales[0].t()[:rows], scales[1].t()[:cols]
        else:
            up, up_turned = (s.repeat_interleave(128, 0) for s in scales)
        up, up_turned = (s.repeat_interleave(128, 1) for s in (up, up_turned))
        op.holds(q.float() * up[:rows, :cols], x, CLOSE[kind])
        op.holds(t.float() * up_turned[:cols, :rows], x.t(), CLOSE[kind])
        lib.nvte_destroy_quantization_config(config)
    op.report()


FUNCTIONS = {"gelu": lambda x: f.gelu(x, approximate="tanh"), "silu": f.silu, "relu": f.relu,
             "qgelu": lambda x: x * torch.sigmoid(1.702 * x), "srelu": lambda x: f.relu(x).square()}
GATED = {"geglu": "gelu", "swiglu": "silu", "reglu": "relu", "qgeglu": "qgelu", "sreglu": "srelu"}


def activations():
    for name in [*FUNCTIONS, *GATED]:
        forward, backward = Operation(name), Operation("d" + name)
        for dtype, (rows, cols) in [(d, s) for d in DTYPES for s in SIZES]:
            x, dy = normal(rows, cols * (2 if name in GATED else 1), dtype=dtype), normal(rows, cols, dtype=dtype)
            X = x.double().requires_grad_()
            Y = FUNCTIONS[GATED[name]](X[:, :cols]) * X[:, cols:] if name in GATED else FUNCTIONS[name](X)
            Y.backward(dy.double())
            y, dx = empty(rows, cols, dtype=dtype), torch.empty_like(x)
            forward(x, y)
            forward.holds(y, Y)
            backward(dy, x, dx)
            backward.holds(dx, X.grad)
            for kind in F8 if rows > 500 else []:
                into, q, _ = quantised((rows, cols), kind, 4.0)
                forward(x, into)
                forward.holds(q.float() / 4, Y, CLOSE[kind])
                into, q, _ = quantised(x.shape, kind, 4.0)
                backward(dy, x, into)
                backward.holds(q.float() / 4, X.grad, CLOSE[kind])
        forward.report()
        backward.report()


def rotations():
    forward, backward = Operation("fused_rope_forward"), Operation("fused_rope_backward")
    for dtype, (s, b, h, d, rotated), layout in [(t, z, l) for t in DTYPES for l in (0, 1)
                                                 for z in ((512, 2, 16, 128, 128), (100, 3, 5, 96, 64))]:
        angles = torch.outer(torch.arange(float(s)), 10000 ** -(torch.arange(0, rotated, 2) / rotated)).cuda()
        freqs = torch.cat([angles, angles], -1).view(s, 1, 1, rotated).contiguous()
        x = normal(*((s, b) if layout == 0 else (b, s)), h, d, dtype=dtype)
        strides = [x.stride(layout), x.stride(1 - layout), x.stride(2), x.stride(3)]
        X = x.double().requires_grad_()
        at = freqs.double().view(*((s, 1) if layout == 0 else (1, s)), 1, rotated)
        head = X[..., :rotated]
        half = torch.cat([-head[..., rotated // 2:], head[..., :rotated // 2]], -1)
        Y = torch.cat([head * at.cos() + half * at.sin(), X[..., rotated:]], -1)
        y, dy, dx = torch.empty_like(x), torch.randn_like(x), torch.empty_like(x)
        Y.backward(dy.double())
        forward(x, None, freqs, None, y, layout, 0, 1, 0, s, b, h, d, rotated, *strides)
        forward.holds(y, Y)
        backward(dy, None, freqs, None, dx, layout, 0, 1, 0, s, b, h, d, rotated, *strides)
        backward.holds(dx, X.grad)
    forward.report()
    backward.report()


def softmaxes():
    for name in ("scaled_softmax", "scaled_masked_softmax", "scaled_upper_triang_masked_softmax",
                 "scaled_aligned_causal_masked_softmax"):
        forward, backward = Operation(name + "_forward"), Operation(name + "_backward")
        for dtype, (b, h, q, k) in [(DTYPES[0], (2, 16, 512, 512)), (DTYPES[0], (2, 4, 64, 256)),
                                    (DTYPES[1], (4, 8, 128, 128))]:
            if "triang" in name and q != k:
                continue
            x, y = normal(b, h, q, k, dtype=dtype), empty(b, h, q, k, dtype=dtype)
            mask = torch.zeros(b, 1, q, k, device="cuda", dtype=torch.uint8)
            if name == "scaled_masked_softmax":
                mask = (torch.rand(b, 1, q, k, device="cuda") < 0.3).to(torch.uint8)
                mask[0, 0, 3] = 1  # a row with nothing left
            elif "scaled_softmax" not in name:
                mask = torch.ones(q, k, device="cuda").triu(k - q + 1).to(torch.uint8).expand(b, 1, q, k)
            shape = (b * h, q, k) if "triang" in name else (b, h, q, k)
            forward(x.view(shape), *([mask.contiguous()] if name == "scaled_masked_softmax" else []), y.view(shape), 0.125)
            X = x.double().requires_grad_()
            Y = torch.softmax((X * 0.125).masked_fill(mask == 1, -torch.inf), -1).nan_to_num(0)
            forward.holds(y, Y)
            dy, dx = normal(b, h, q, k, dtype=dtype), empty(b, h, q, k, dtype=dtype)
            backward(dy.view(shape), y.view(shape), dx.view(shape), 0.125)
            expected = y.double() * (dy.double() - (dy.double() * y.double()).sum(-1, keepdim=True)) * 0.125
            backward.holds(dx, expected)
        forward.report()
        backward.report()


def lists(tensors):
    """A list of lists of tensors as the library takes it."""
    kept = [[Tensor(t) for t in row] for row in tensors]
    rows = [(ctypes.c_void_p * len(row))(*[t.handle.value for t in row]) for row in kept]
    pointers = (ctypes.c_void_p * len(rows))(*[ctypes.addressof(row) for row in rows])
    alive.append((kept, rows))
    return [pointers, Size(len(tensors)), Size(len(tensors[0]))]


def optimisers():
    counts = [5, 1000, 65536, 300001, 4096 * 512]
    make = lambda dtype: [normal(n, dtype=dtype) for n in counts]
    flag = lambda: torch.zeros(1, device="cuda", dtype=torch.int32)
    op = Operation("multi_tensor_adam_cuda")
    for dtype, master in ((torch.float32, 0), (torch.bfloat16, 0), (torch.bfloat16, 1), (torch.float16, 1)):
        g, p, m, v = make(dtype), make(dtype), make(torch.float32), [t.square() for t in make(torch.float32)]
        copies = [t.float() for t in p]
        old = [t.clone() for t in (copies if master else p)], [t.clone() for t in m], [t.clone() for t in v]
        op(65536, flag(), *lists([g, p, m, v] + ([copies] if master else [])), 1e-2, 0.9, 0.95, 1e-8, 3, 1, 1, 0.1)
        for i, t in enumerate(p):
            first, second = old[1][i] * 0.9 + g[i].float() * 0.1, old[2][i] * 0.95 + g[i].float().square() * 0.05
            step = first / (1 - 0.9 ** 3) / ((second / (1 - 0.95 ** 3)).sqrt() + 1e-8) + 0.1 * old[0][i].float()
            op.holds(t, old[0][i].float() - 0.01 * step)
            op.holds(m[i], first)
    op.report()
    op = Operation("multi_tensor_l2norm_cuda")
    for dtype in DTYPES:
        x, whole = make(dtype), empty(1)
        op(65536, flag(), *lists([x]), torch.zeros(320, device="cuda"), None, whole, None, 0, 0)
        op.holds(whole, torch.cat([t.double() for t in x]).norm(), 1e-4)
    op.report()
    op = Operation("multi_tensor_scale_cuda")
    for dtype, other in ((d, o) for d in DTYPES for o in DTYPES):
        x, y = make(dtype), make(other)
        op(65536, flag(), *lists([x, y]), 0.37)
        op.holds(y[3], x[3].float() * 0.37)
    op.report()
    op = Operation("multi_tensor_sgd_cuda")
    for dtype, nesterov, first in ((d, n, i) for d in (torch.float32, torch.float16) for n in (0, 1) for i in (0, 1)):
        g, p, m = make(dtype), make(torch.float32 if dtype == torch.float32 else dtype), make(dtype)
        old = p[3].float().clone(), m[3].float().clone()
        op(65536, flag(), *lists([g, p, m]), 0.01, 0.9, 0.0, 0.1, nesterov, first, 0, 0.5)
        grad = g[3].float() * 0.5 + 0.01 * old[0]
        moment = grad if first else old[1] * 0.9 + grad
        op.holds(p[3], old[0] - 0.1 * (grad + 0.9 * moment if nesterov else moment))
    op.report()


def moves():
    op = Operation("permute")  # of some versions alone
    for dtype, (tokens, best, cols) in [(d, s) for d in DTYPES for s in ((4096, 2, 1024), (100, 8, 64)) if hasattr(lib, "nvte_permute")]:
        x, experts = normal(tokens, cols, dtype=dtype), torch.randint(8, (tokens * best,), device="cuda")
        order = torch.argsort(experts, stable=True).to(torch.int32)
        y, rows = empty(tokens * best, cols, dtype=dtype), empty(tokens * best, dtype=torch.int32)
        op(x, y, order, rows, None, None, None, tokens, best, cols, tokens * best)
        op.holds(y, x[order.long() // best], 0)
    op.report()
    op = Operation("prepare_flash_attn_fwd")
    for dtype in DTYPES[:2]:
        x, y = normal(512, 2, 16, 384, dtype=dtype), empty(3, 2, 512, 16, 128, dtype=dtype)
        op(x[..., :128], y)
        op.holds(y, x.unflatten(-1, (3, 128)).permute(3, 1, 0, 2, 4), 0)
    op.report()
    op = Operation("dropout_bwd")
    for dtype in DTYPES[:2]:
        dy, mask = normal(512, 1024, dtype=dtype), torch.randint(256, (512 * 1024 // 8,), device="cuda").to(torch.uint8)
        dx = torch.empty_like(dy)
        op(dy, mask, dx, 0.25)
        bits = (mask.view(-1, 1).int() >> torch.arange(8, device="cuda")) & 1
        op.holds(dx, dy.float() * bits.view(dy.shape) / 0.75)
    op.report()


def main():
    global lib, calls, alive
    calls, alive = [], []
    path = sys.argv[1] if sys.argv[1:] else None
    if not path:
        import importlib.util
        folder = os.path.dirname(importlib.util.find_spec("transformer_engine").origin)
        path = next(iter(glob.glob(os.path.join(folder, "**", "libtransformer_engine.so"), recursive=True)))
    torch.manual_seed(1)
    torch.cuda.init()
    torch.zeros(1, device="cuda")
    lib = load(path)
    for part in (norms, casts, blocks, activations, rotations, softmaxes, optimisers, moves):
        part()
        torch.cuda.synchronize()
    sys.exit(any(op.wrong for op in Operation.all))


if __name__ == "__main__":
    main()
