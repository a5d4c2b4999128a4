"""torch_cudnn.py - convolutions, batch norm and attention as PyTorch asks cuDNN for them, checked as calls.

Prints a checksum of each result, for the comparison of the bare run with the one under cuvet.
"""

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from torch_sums import bits_sum, wait_for_checks

LAST = torch.channels_last


def show(name, *results):
    print(name, *(bits_sum(result.detach().contiguous()) for result in results))
    wait_for_checks()


def step(name, module, x):
    """Forward and backward of a module; prints the error where cuDNN has no algorithm."""
    try:
        y = module(x)
        y.backward(torch.randn_like(y))
    except RuntimeError as error:
        print(name, "does not run:", str(error).split("\n")[0])
        return
    show(name, y, x.grad, *(p.grad for p in module.parameters()))


def convolutions():
    shapes = {
        "3x3": dict(kernel_size=3, padding=1),
        "strided, dilated": dict(kernel_size=3, padding=2, stride=2, dilation=2),
        "1x1": dict(kernel_size=1),
        "groups": dict(kernel_size=(5, 3), padding=(2, 1), groups=4),
    }
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        for last in (False, True):
            for name, shape in shapes.items():
                x = torch.randn(8, 32, 30, 28, device="cuda").to(dtype)
                module = nn.Conv2d(32, 64, bias=False, **shape).cuda().to(dtype)
                if last:
                    x, module = x.to(memory_format=LAST), module.to(memory_format=LAST)
                step("conv %s %s %s" % (name, dtype, last), module, x.requires_grad_())
    x = torch.randn(4, 32, 100, device="cuda", dtype=torch.float16, requires_grad=True)
    step("conv1d", nn.Conv1d(32, 16, 5, padding=2).cuda().half(), x)
    x = torch.randn(4, 32, 15, 16, device="cuda", dtype=torch.bfloat16, requires_grad=True)
    step("transposed", nn.ConvTranspose2d(32, 16, 4, stride=2).cuda().bfloat16(), x)


def volumes():
    """3-d convolutions, forward and both gradients, by frames and by channels."""
    shapes = {"3x3x3": dict(kernel_size=3, padding=1), "strided": dict(kernel_size=(2, 3, 3), stride=(1, 2, 2), padding=1),
              "groups": dict(kernel_size=3, padding=1, groups=4)}
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        for last in (False, True):
            for name, shape in shapes.items():
                x = torch.randn(2, 16, 6, 14, 12, device="cuda").to(dtype)
                module = nn.Conv3d(16, 32, bias=False, **shape).cuda().to(dtype)
                if last:
                    x, module = (t.to(memory_format=torch.channels_last_3d) for t in (x, module))
                step("conv3d %s %s %s" % (name, dtype, last), module, x.requires_grad_())
    x = torch.randn(2, 16, 5, 6, 7, device="cuda", dtype=torch.float16, requires_grad=True)
    step("transposed 3d", nn.ConvTranspose3d(16, 8, 2, stride=2, bias=False).cuda().half(), x)


def fused():
    """Graphs of a convolution with what PyTorch fuses behind it."""
    for dtype in (torch.float32, torch.float16):
        x, w = torch.randn(8, 32, 30, 28, device="cuda").to(dtype), torch.randn(64, 32, 3, 3, device="cuda").to(dtype)
        x, w, bias = x.to(memory_format=LAST), w.to(memory_format=LAST), torch.randn(64, device="cuda").to(dtype)
        z = torch.randn(8, 64, 30, 28, device="cuda").to(dtype).to(memory_format=LAST)
        geometry = ((1, 1), (1, 1), (1, 1), 1)
        try:
            show("conv relu %s" % dtype, torch.cudnn_convolution_relu(x, w, bias, *geometry))
            show("conv add relu %s" % dtype, torch.cudnn_convolution_add_relu(x, w, z, 0.5, bias, *geometry))
        except RuntimeError as error:
            print("conv relu", dtype, "does not run:", str(error).split("\n")[0])


def norms():
    for dtype in (torch.float32, torch.float16):
        for last in (False, True):
            x = torch.randn(8, 32, 14, 14, device="cuda").to(dtype)
            x = x.to(memory_format=LAST) if last else x
            module = nn.BatchNorm2d(32).cuda()
            step("batch norm %s %s" % (dtype, last), module, x.requires_grad_())
            show("running", module.running_mean, module.running_var)
            with torch.no_grad():
                show("inference", module.eval()(x))


def attention():
    cases = {
        "full": dict(),
        "small gradients": dict(dim=32, size=2.0 ** -13),  # below f16's smallest normal number where they are rounded
        "causal": dict(is_causal=True),
        "causal, longer keys": dict(is_causal=True, keys=320),
        "grouped": dict(kv_heads=2, enable_gqa=True),
        "biased": dict(biased=True),
        "one query": dict(queries=1, backward=False),
        "no multiple of 64": dict(queries=100, keys=77),
        "dropout": dict(dropout_p=0.1),
    }
    for dtype in (torch.float16, torch.bfloat16):
        for name, case in cases.items():
            case = dict(case)
            queries, keys = case.pop("queries", 192), case.pop("keys", 192)
            dim, size = case.pop("dim", 64), case.pop("size", 1.0)
            kv_heads, biased, backward = case.pop("kv_heads", 8), case.pop("biased", False), case.pop("backward", True)
            q = torch.randn(2, queries, 8, dim, device="cuda", dtype=dtype).transpose(1, 2).requires_grad_(backward)
            k, v = (torch.randn(2, kv_heads, keys, dim, device="cuda", dtype=dtype).requires_grad_(backward)
                    for _ in range(2))
            if biased:
                case["attn_mask"] = torch.randn(2, 1, queries, keys, device="cuda", dtype=dtype)
            try:
                with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
                    y = F.scaled_dot_product_attention(q, k, v, **case)
            except RuntimeError as error:
                print("attention", name, "is not cuDNN's:", str(error).split("\n")[0])
                continue
            if backward:
                y.backward(torch.randn_like(y) * size)
            show("attention %s %s" % (name, dtype), y, *(t.grad for t in (q, k, v) if backward))


def ragged():
    """Sequences of several lengths, one behind the other; the call is named, not checked."""
    lengths = (100, 37, 64)
    q, k, v = (torch.nested.nested_tensor([torch.randn(n, 8, 64, device="cuda", dtype=torch.float16) for n in lengths],
                                          layout=torch.jagged).transpose(1, 2) for _ in range(3))
    try:
        with torch.no_grad(), sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            show("attention ragged", F.scaled_dot_product_attention(q, k, v).values())
    except RuntimeError as error:
        print("attention ragged is not cuDNN's:", str(error).split("\n")[0])


def main():
    print("PyTorch", torch.__version__, "cuDNN", torch.backends.cudnn.version())
    torch.manual_seed(41)
    torch.backends.cudnn.deterministic = True
    convolutions()
    volumes()
    fused()
    norms()
    attention()
    ragged()


if __name__ == "__main__":
    main()
