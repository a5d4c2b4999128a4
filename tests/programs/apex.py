#!/usr/bin/env python3
"""apex.py FOLDER [--modules FOLDER] - the kernels of NVIDIA Apex, from an unmodified copy of its sources in FOLDER.

Builds the extensions that carry time with the flags of its setup.py, unless --modules names a folder with built ones. Calls
each operation over dtypes and sizes as in training, holds every result loosely against PyTorch and prints one line for each.
"""

import importlib.util
import os
import sys
import tempfile

import torch

f = torch.nn.functional
HALF = ["-U__CUDA_NO_HALF_OPERATORS__", "-U__CUDA_NO_HALF_CONVERSIONS__", "--expt-relaxed-constexpr", "--expt-extended-lambda"]
AMP = ["csrc/multi_tensor_%s.cu" % n for n in ("sgd_kernel", "scale_kernel", "axpby_kernel", "l2norm_kernel", "l2norm_kernel_mp",
                                               "l2norm_scale_kernel", "lamb_stage_1", "lamb_stage_2", "adam", "adagrad",
                                               "novograd", "lamb", "lamb_mp")]
MEGATRON = "csrc/megatron/"
EXTENSIONS = {
    "amp_C": (["csrc/amp_C_frontend.cpp", *AMP, "csrc/update_scale_hysteresis.cu"], ["-lineinfo", "--use_fast_math"]),
    "fused_layer_norm_cuda": (["csrc/layer_norm_cuda.cpp", "csrc/layer_norm_cuda_kernel.cu"],
                              ["-maxrregcount=50", "--use_fast_math"]),
    "mlp_cuda": (["csrc/mlp.cpp", "csrc/mlp_cuda.cu"], []),
    "xentropy_cuda": (["apex/contrib/csrc/xentropy/interface.cpp", "apex/contrib/csrc/xentropy/xentropy_kernel.cu"], []),
    **{n: ([MEGATRON + n[:-5] + ".cpp", MEGATRON + n + ".cu"], HALF)
       for n in ("scaled_masked_softmax_cuda", "scaled_softmax_cuda", "scaled_upper_triang_masked_softmax_cuda",
                 "generic_scaled_masked_softmax_cuda")},
    "fused_rotary_positional_embedding": ([MEGATRON + "fused_rotary_positional_embedding" + e for e in (".cpp", "_cuda.cu")],
                                          HALF)}
DTYPES = [torch.bfloat16, torch.float16, torch.float32]
CLOSE = {torch.float16: 8e-3, torch.bfloat16: 6e-2, torch.float32: 2e-4}
SIZES = [(2048, 4096), (300, 768), (37, 1000)]
COUNTS = [5, 1000, 65536, 300001, 4096 * 512]


def module(name, folder):
    if folder:
        spec = importlib.util.spec_from_file_location(name, os.path.join(folder, name + ".so"))
        built = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(built)
        return built
    from torch.utils import cpp_extension
    sources, flags = EXTENSIONS[name]
    return cpp_extension.load(name, [os.path.join(sys.argv[1], s) for s in sources], ["-O3", '-DXENTROPY_VER="0"'],
                              ["-O3", *flags], extra_include_paths=[os.path.join(sys.argv[1], "csrc")],
                              build_directory=tempfile.mkdtemp(prefix="cuvet_apex_"))


class Operation:
    all = []

    def __init__(self, module_name, name):
        self.module, self.name, self.calls, self.worst, self.wrong = module_name, name, 0, 0.0, 0
        self.call = getattr(modules[module_name], name)
        Operation.all.append(self)

    def __call__(self, *args):
        self.calls += 1
        return self.call(*args)

    def holds(self, got, expected, close=None):
        close = CLOSE[got.dtype] if close is None else close
        error = ((got.float() - expected.float()).abs() / (1 + expected.float().abs())).max().item()
        self.worst = max(self.worst, error)
        if not error <= close:
            self.wrong += 1
            print("%s: WRONG, off by %g, %s of %s" % (self.name, error, list(got.shape), got.dtype), flush=True)

    def report(self):
        print("%-62s %4d calls, off by at most %.2g" % (self.module + "." + self.name, self.calls, self.worst), flush=True)


def normal(*shape, dtype=torch.float32):
    return torch.randn(*shape, device="cuda").to(dtype)


def many(dtype):
    return [normal(n, dtype=dtype) for n in COUNTS]


def flag():
    return torch.zeros(1, device="cuda", dtype=torch.int32)


def number(value, dtype=torch.float32):
    return torch.full((1,), value, device="cuda", dtype=dtype)


def adam(op, run, dtype, scale=1.0, master=False, close=None):
    g, p, m = many(dtype), many(dtype), many(torch.float32)
    v, copies = [t.square() for t in many(torch.float32)], [t.float() for t in p]
    old = [[t.clone().float() for t in row] for row in (g, copies, m, v)]
    run([g, p, m, v] + ([copies] if master else []))
    for i in range(len(COUNTS)):
        grad = old[0][i] * scale
        first, second = old[2][i] * 0.9 + grad * 0.1, old[3][i] * 0.95 + grad.square() * 0.05
        step = first / (1 - 0.9 ** 3) / ((second / (1 - 0.95 ** 3)).sqrt() + 1e-8) + 0.1 * old[1][i]
        op.holds(p[i], old[1][i] - 0.01 * step)
        op.holds(m[i], first, close)


def lists():
    op = Operation("amp_C", "multi_tensor_adam")
    for dtype in DTYPES:
        adam(op, lambda rows: op(65536, flag(), rows, 0.01, 0.9, 0.95, 1e-8, 3, 1, 1, 0.1), dtype)
    op.report()
    # Without f32 copies the moments, arrays of f32, are rounded to the dtype of the parameters.
    for name, master in (("multi_tensor_adam_capturable", False), ("multi_tensor_adam_capturable_master", True)):
        op = Operation("amp_C", name)
        for dtype in DTYPES:
            adam(op, lambda rows: op(65536, flag(), rows, number(0.01), 0.9, 0.95, 1e-8, number(3, torch.int32), 1, 1, 0.1,
                                     number(0.25)), dtype, 0.25, master, None if master else CLOSE[dtype])
        op.report()
    op = Operation("amp_C", "multi_tensor_l2norm")
    for dtype in DTYPES:
        x = many(dtype)
        for each in (False, True):
            whole, parts = op(65536, flag(), [x], each)
            op.holds(whole, torch.cat([t.double() for t in x]).norm(), 1e-4)
            if each:
                op.holds(parts, torch.stack([t.double().norm() for t in x]), 1e-4)
    op.report()
    op = Operation("amp_C", "multi_tensor_scale")
    for dtype, other in ((d, o) for d in DTYPES for o in DTYPES):
        x, y = many(dtype), many(other)
        op(65536, flag(), [x, y], 0.37)
        op.holds(y[3], x[3].float() * 0.37)
    op.report()
    op = Operation("amp_C", "multi_tensor_axpby")
    for dtype in DTYPES[1:]:
        x, y, out = many(dtype), many(torch.float32), many(torch.float16)
        op(65536, flag(), [x, y, out], 0.37, -1.5, -1)
        op.holds(out[3], 0.37 * x[3].float() - 1.5 * y[3])
    op.report()
    op = Operation("amp_C", "multi_tensor_sgd")
    for (kind, copy), nesterov, first in ((k, n, i) for k in ((torch.float32, 0), (torch.float16, 0), (torch.float16, 1))
                                         for n in (False, True) for i in (False, True)):
        g, p = many(kind), many(torch.float32 if copy else kind)
        m, half = many(p[0].dtype), many(torch.float16)
        old = p[3].float().clone(), m[3].float().clone()
        op(65536, flag(), [g, p, m] + ([half] if copy else []), 0.01, 0.9, 0.0, 0.1, nesterov, first, False, 0.5)
        grad = g[3].float() * 0.5 + 0.01 * old[0]
        moment = grad if first else old[1] * 0.9 + grad
        op.holds(half[3] if copy else p[3], old[0] - 0.1 * (grad + 0.9 * moment if nesterov else moment))
    op.report()
    op = Operation("amp_C", "multi_tensor_lamb")
    for dtype in DTYPES[1:]:
        g, p, m, v = many(dtype), many(dtype), many(dtype), [t.square() for t in many(dtype)]
        old = [t[3].float().clone() for t in (g, p, m, v)]
        op(65536, flag(), [g, p, m, v], 0.01, 0.9, 0.95, 1e-6, 3, 1, 0.1, 1, 1, number(900.0), 100.0, False)
        grad = old[0] / 9
        first, second = old[2] * 0.9 + grad * 0.1, old[3] * 0.95 + grad.square() * 0.05
        step = first / (1 - 0.9 ** 3) / ((second / (1 - 0.95 ** 3)).sqrt() + 1e-6) + 0.1 * old[1]
        op.holds(m[3], first)
        op.holds(p[3], old[1] - 0.01 * old[1].norm() / step.norm() * step)
    op.report()


def norms():
    for name in ("", "rms_"):
        forward, mixed, backward = (Operation("fused_layer_norm_cuda", name + n) for n in
                                    ("forward_affine", "forward_affine_mixed_dtypes", "backward_affine"))
        for (dtype, weights), (rows, cols) in [(k, s) for k in ([(d, d) for d in DTYPES] + [(torch.float32, DTYPES[0])])
                                               for s in SIZES]:
            x, w, b = normal(rows, cols, dtype=dtype), normal(cols, dtype=weights), normal(cols, dtype=weights)
            X, W, B = (t.double().requires_grad_() for t in (x, w, b))
            affine = [w] if name else [w, b]
            Y = X * torch.rsqrt(X.square().mean(-1, keepdim=True) + 1e-5) * W if name else f.layer_norm(X, (cols,), W, B, 1e-5)
            op = forward if weights == dtype else mixed
            y, *sums = op(x, (cols,), *affine, 1e-5)
            op.holds(y, Y)
            dy = normal(rows, cols, dtype=weights)
            Y.backward(dy.double())
            dx, dw, *db = backward(dy, *sums, x, (cols,), *affine, 1e-5, False)
            backward.holds(dx, X.grad)
            backward.holds(dw, W.grad)
            if db:
                backward.holds(db[0], B.grad)
        for op in (forward, mixed, backward):
            op.report()


def softmaxes():
    for name in ("scaled_softmax", "scaled_masked_softmax", "scaled_upper_triang_masked_softmax", "generic_scaled_masked_softmax"):
        forward, backward = Operation(name + "_cuda", "forward"), Operation(name + "_cuda", "backward")
        shapes = ((2, 16, 512, 512), (4, 8, 128, 128)) + (((2, 3, 37, 100),) if "generic" in name else ())
        for dtype, (b, h, q, k) in [(d, s) for d in DTYPES[:2] for s in shapes]:
            x, dy = normal(b, h, q, k, dtype=dtype), normal(b, h, q, k, dtype=dtype)
            mask = torch.zeros(b, 1, q, k, device="cuda", dtype=torch.bool)
            if "triang" in name:
                mask = torch.ones(q, k, device="cuda", dtype=torch.bool).triu(1)
            elif name != "scaled_softmax":
                mask = torch.rand(b, 1, q, k, device="cuda") < 0.3
                mask[0, 0, 3] = True  # a row with nothing left
            shape = (b * h, q, k) if "triang" in name else (b, h, q, k)
            y = forward(x.view(shape), *([mask] if "scaled_masked" in name else []), 0.125)
            Y = torch.softmax((x.double() * 0.125).masked_fill(mask, -torch.inf), -1).nan_to_num(0)
            forward.holds(y.view_as(x), Y)
            kept = y.double().view_as(x)
            expected = kept * (dy.double() - (dy.double() * kept).sum(-1, keepdim=True)) * 0.125
            backward.holds(backward(dy.view(shape), y, 0.125).view_as(x), expected)
        forward.report()
        backward.report()


def rotations():
    names = ("forward", "backward", "forward_cached", "backward_cached")
    forward, backward, cached, cached_back = (Operation("fused_rotary_positional_embedding", n) for n in names)
    for dtype, (s, b, h, d, rotated) in [(t, z) for t in DTYPES for z in ((512, 2, 16, 128, 128), (100, 3, 5, 96, 64))]:
        angles = torch.outer(torch.arange(float(s)), 10000 ** -(torch.arange(0, rotated, 2) / rotated)).cuda()
        freqs = torch.cat([angles, angles], -1).view(s, 1, 1, rotated).contiguous()
        x, dy = normal(s, b, h, d, dtype=dtype), normal(s, b, h, d, dtype=dtype)
        X = x.double().requires_grad_()
        head = X[..., :rotated]
        half = torch.cat([-head[..., rotated // 2:], head[..., :rotated // 2]], -1)
        Y = torch.cat([head * freqs.double().cos() + half * freqs.double().sin(), X[..., rotated:]], -1)
        Y.backward(dy.double())
        for turned in (False, True):
            forward.holds(forward(x, freqs, turned), Y)
            backward.holds(backward(dy, freqs, turned), X.grad)
            for kind in {dtype, torch.float32}:
                tables = freqs.cos().to(kind), freqs.sin().to(kind)
                cached.holds(cached(x, *tables, turned), Y)
                cached_back.holds(cached_back(dy, *tables, turned), X.grad)
    for op in (forward, backward, cached, cached_back):
        op.report()


def losses():
    forward, backward = Operation("xentropy_cuda", "forward"), Operation("xentropy_cuda", "backward")
    kinds = [(torch.float32, False), (torch.float16, True), (torch.float16, False), (torch.bfloat16, False)]
    for (dtype, wide), (rows, classes), smoothing in [(k, s, p) for k in kinds for s in ((512, 32000), (300, 1003))
                                                      for p in (0.0, 0.1)]:
        x, target = normal(rows, classes, dtype=dtype), torch.randint(classes, (rows,), device="cuda")
        X = x.double().requires_grad_()
        Y = f.cross_entropy(X, target, reduction="none", label_smoothing=smoothing)
        loss, lse = forward(x, target, smoothing, wide)
        forward.holds(loss, Y, 1e-4)
        dloss = torch.rand(rows, device="cuda").to(torch.float32 if wide else dtype)
        Y.backward(dloss.double())
        backward.holds(backward(dloss, x, lse, target, smoothing), X.grad, 2e-2)
    forward.report()
    backward.report()


def layers():
    forward, backward = Operation("mlp_cuda", "forward"), Operation("mlp_cuda", "backward")
    for dtype, bias, activation in [(d, b, a) for d in DTYPES[1:] for b in (0, 1) for a in (0, 1, 2)]:
        sizes = [1024, 2048, 512]
        weights = [normal(o, i, dtype=dtype) / i ** 0.5 for i, o in zip(sizes, sizes[1:])]
        biases = [normal(o, dtype=dtype) for o in sizes[1:]] if bias else []
        inputs = [normal(512, sizes[0], dtype=dtype), *weights, *biases]
        copies = [t.float().requires_grad_() for t in inputs]
        Y = copies[0]
        for i in range(2):
            Y = f.linear(Y, copies[1 + i], copies[3 + i] if bias else None)
            Y = (lambda t: t, f.relu, torch.sigmoid)[activation](Y)
        outputs = forward(bias, activation, inputs)
        forward.holds(outputs[0], Y, 2e-2)
        dy = normal(512, sizes[-1], dtype=dtype)
        Y.backward(dy.float())
        dx = backward(bias, activation, dy, outputs, inputs)[0]
        if dtype == torch.float32:
            backward.holds(dx, copies[0].grad, 5e-2)
    forward.report()
    backward.report()


def main():
    global modules
    folder = sys.argv[3] if sys.argv[2:3] == ["--modules"] else None
    torch.manual_seed(1)
    torch.backends.cuda.matmul.allow_tf32 = False
    modules = {name: module(name, folder) for name in EXTENSIONS}
    for part in (lists, norms, softmaxes, rotations, losses, layers):
        part()
        torch.cuda.synchronize()
    sys.exit(any(op.wrong for op in Operation.all))


if __name__ == "__main__":
    main()
