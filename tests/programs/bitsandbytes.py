"""bitsandbytes.py FOLDER - operations of bitsandbytes, each held against torch.

FOLDER is a copy of bitsandbytes with its library built beside its Python files: compile csrc/*.cu and csrc/*.cpp with
`nvcc -DBUILD_CUDA=1` and link them as bitsandbytes/libbitsandbytes_cuda130.so, or as the CUDA version of torch has it.

    cuvet run -- python3 tests/programs/bitsandbytes.py FOLDER
"""

import sys

import torch

DTYPES = (torch.float32, torch.float16, torch.bfloat16)


# What an operation may be off by, relative to the norm: codes of 8 and 4 bits lose digits, products of them only rounding.
LIMITS = {"8 bits": 0.03, "4 bits, nf4": 0.15, "4 bits, fp4": 0.2, "product, nf4": 0.02, "product, fp4": 0.02, "vector, nf4": 0.02,
          "vector, fp4": 0.02, "8 bits by row": 0.03}


class Worst:
    """The largest error of each operation, relative to the norm of what is right."""

    def __init__(self):
        self.of, self.wrong = {}, 0

    def note(self, name, got, right):
        error = ((got.double() - right.double()).norm() / right.double().norm().clamp_min(1e-9)).item()
        calls, most = self.of.get(name, (0, 0.0))
        self.of[name] = (calls + 1, max(most, error))

    def show(self):
        for name, (calls, most) in self.of.items():
            wrong = not most <= LIMITS[name]
            self.wrong += wrong
            print("%s: %d calls, by %.2g of the norm at most%s" % (name, calls, most, ", WRONG" if wrong else ""))


def eight_bits(bnb, worst):
    for dtype in DTYPES:
        for count, block in ((4096, 4096), (1000, 64), (70001, 256), (5, 128), (300000, 2048)):
            x = torch.randn(count, device="cuda").to(dtype)
            q, state = bnb.functional.quantize_blockwise(x, blocksize=block)
            worst.note("8 bits", bnb.functional.dequantize_blockwise(q, state), x)


def four_bits(bnb, worst):
    for dtype in DTYPES:
        for kind in ("nf4", "fp4"):
            for shape, block in (((64, 256), 64), ((77, 130), 128), ((1, 999), 64), ((300, 4096), 256)):
                for nested in (False, True):
                    x = torch.randn(shape, device="cuda").to(dtype)
                    q, state = bnb.functional.quantize_4bit(x, blocksize=block, compress_statistics=nested, quant_type=kind)
                    worst.note("4 bits, " + kind, bnb.functional.dequantize_4bit(q, state), x)


def products(bnb, worst):
    for dtype in DTYPES:
        for kind in ("nf4", "fp4"):
            for rows in (1, 2, 3, 5, 8, 16, 70):
                for k, n, nested, bias in ((256, 320, False, True), (1024, 96, True, False), (512, 16384, True, True)):
                    layer = bnb.nn.Linear4bit(k, n, bias=bias, compute_dtype=dtype, compress_statistics=nested, quant_type=kind)
                    layer = layer.to("cuda").to(dtype) if bias else layer.to("cuda")
                    x = torch.randn(rows, k, device="cuda").to(dtype)
                    w = bnb.functional.dequantize_4bit(layer.weight.data, layer.weight.quant_state).double()
                    right = x.double() @ w.t() + (layer.bias.double() if bias else 0)
                    with torch.no_grad():
                        worst.note("product, " + kind, layer(x), right)
                    if rows == 1:
                        y = bnb.functional.gemv_4bit(x, layer.weight.data.t(), state=layer.weight.quant_state)
                        worst.note("vector, " + kind, y, x.double() @ w.t())


def bytes_of_int8(bnb, worst):
    for rows, k, n in ((16, 256, 320), (100, 1024, 96)):
        x, w = torch.randn(rows, k, device="cuda").half(), torch.randn(n, k, device="cuda").half()
        qx, sx, _ = bnb.functional.int8_vectorwise_quant(x)
        qw, sw, _ = bnb.functional.int8_vectorwise_quant(w)
        out = bnb.functional.int8_linear_matmul(qx, qw)
        bias = torch.randn(n, device="cuda").half()
        worst.note("8 bits by row", bnb.functional.int8_mm_dequant(out, sx, sw, bias=bias), x.double() @ w.double().t() + bias)


def optimisers(bnb, worst):
    for kind in (bnb.optim.Adam8bit, bnb.optim.AdamW, bnb.optim.Lion8bit):
        p = torch.nn.Parameter(torch.randn(5000, device="cuda"))
        optimiser = kind([p], lr=1e-3)
        for _ in range(3):
            p.grad = torch.randn_like(p)
            optimiser.step()


def main():
    torch.manual_seed(4)
    sys.path.insert(0, sys.argv[1])
    import bitsandbytes as bnb
    worst = Worst()
    for part in (eight_bits, four_bits, products, bytes_of_int8, optimisers):
        try:
            part(bnb, worst)
            torch.cuda.synchronize()
        except (RuntimeError, AttributeError, TypeError, NotImplementedError) as error:
            print("%s: %s: %s" % (part.__name__, type(error).__name__, str(error)[:200]))
            worst.wrong += 1
    worst.show()
    return worst.wrong > 0


if __name__ == "__main__":
    sys.exit(main())
