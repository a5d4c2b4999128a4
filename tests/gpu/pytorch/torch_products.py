"""torch_products.py - matrix products as PyTorch programs make them, in all dtypes, checked as calls of cuBLAS.

Prints a checksum of each result, for the comparison of the bare run with the one under cuvet.
"""

import torch
from torch.nn import functional as F

from torch_sums import bits_sum, wait_for_checks

matmul = torch.backends.cuda.matmul
DTYPES = (torch.float32, torch.float16, torch.bfloat16, torch.float64)


def draw(*shape, dtype):
    return torch.randn(*shape, device="cuda", dtype=torch.float32).to(dtype).requires_grad_()


def show(name, *results):
    print(name, *(bits_sum(result.detach().contiguous()) for result in results))
    wait_for_checks()


def products(kind, dtype):
    """Forward and backward, so that all transpositions come up."""
    a, b, bias = draw(384, 512, dtype=dtype), draw(512, 256, dtype=dtype), draw(256, dtype=dtype)
    x, w = draw(8, 48, 512, dtype=dtype), draw(256, 512, dtype=dtype)
    p, q, old = draw(6, 64, 96, dtype=dtype), draw(6, 96, 80, dtype=dtype), draw(6, 64, 80, dtype=dtype)
    cases = {
        "mm": lambda: a @ b,
        "addmm": lambda: torch.addmm(bias, a, b),
        "addmm of a matrix": lambda: torch.addmm(draw(384, 256, dtype=dtype), a, b, alpha=0.5, beta=2),
        "linear": lambda: F.linear(x, w, bias),
        "gelu of linear": lambda: F.gelu(F.linear(x, w, bias), approximate="tanh"),
        "fused gelu": lambda: torch._addmm_activation(bias.detach(), a.detach(), b.detach(), use_gelu=True),
        "fused relu": lambda: torch._addmm_activation(bias.detach(), a.detach(), b.detach(), use_gelu=False),
        "bmm": lambda: torch.bmm(p, q),
        "baddbmm": lambda: torch.baddbmm(old, p, q, alpha=0.25, beta=0.5),
        "mv": lambda: a @ b[:, 0],
        "odd": lambda: a[:77, 3:] @ b[3:, :51],
    }
    for name, case in cases.items():
        for leaf in (a, b, bias, x, w, p, q, old):
            leaf.grad = None
        result = case()
        gradients = []
        if result.requires_grad:
            result.float().square().mean().backward()
            gradients = [leaf.grad for leaf in (a, b, bias, x, w, p, q, old) if leaf.grad is not None]
        show("%s %s" % (kind, name), result, *gradients)


def products_f8():
    one = torch.ones((), device="cuda")
    for fast in (False, True):
        for out in (torch.bfloat16, torch.float32):
            x = torch.randn(256, 512, device="cuda").to(torch.float8_e4m3fn)
            w = torch.randn(128, 512, device="cuda").to(torch.float8_e4m3fn)
            y = torch._scaled_mm(x, w.t(), scale_a=one * 0.5, scale_b=one * 2, out_dtype=out, use_fast_accum=fast)
            show("f8 %s %s" % (out, fast), y)


def products_f8_scales():
    """A scale for each row and column; for 128 elements of x and 128 x 128 of w, and the other way round."""
    rows, cols, terms = 256, 384, 512
    x = torch.randn(rows, terms, device="cuda").to(torch.float8_e4m3fn)
    w = torch.randn(cols, terms, device="cuda").to(torch.float8_e4m3fn)

    def scales(high, wide, by_columns):
        drawn = torch.rand(*((wide, high) if by_columns else (high, wide)), device="cuda") + 0.5
        return drawn.t() if by_columns else drawn

    cases = {
        "rows": (scales(rows, 1, False), scales(1, cols, False)),
        "vectors and blocks": (scales(rows, terms // 128, True), scales(cols // 128, terms // 128, False).t()),
        "blocks and vectors": (scales(rows // 128, terms // 128, False), scales(cols, terms // 128, True).t()),
        "vectors": (scales(rows, terms // 128, True), scales(cols, terms // 128, True).t()),
    }
    for name, (scale_a, scale_b) in cases.items():
        try:
            y = torch._scaled_mm(x, w.t(), scale_a=scale_a, scale_b=scale_b, out_dtype=torch.bfloat16)
        except (RuntimeError, ValueError) as error:
            print("f8 scales of", name, "do not run:", str(error).split("\n")[0])
            continue
        show("f8 scales of %s" % name, y)


def main():
    print("PyTorch", torch.__version__)
    torch.manual_seed(31)
    for reduced in (True, False):
        matmul.allow_bf16_reduced_precision_reduction = matmul.allow_fp16_reduced_precision_reduction = reduced
        for dtype in DTYPES:
            products("%s %s" % (dtype, reduced), dtype)
    matmul.allow_tf32 = True
    products("tf32", torch.float32)
    products_f8()
    products_f8_scales()


if __name__ == "__main__":
    main()
