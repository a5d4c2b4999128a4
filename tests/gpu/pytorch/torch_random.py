"""torch_random.py - PyTorch's random numbers: each distribution in each dtype, of sizes below and above one turn of the grid, with gaps, in
several dims, with seeds of 64 bits; dropout; the same in a CUDA graph, which is replayed.

Prints the sum of each result. An operation that this PyTorch lacks prints its name and the error's type instead.
"""

import torch
from torch.nn import functional as F

from torch_operations import show
from torch_sums import wait_for_checks

FLOATS = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16, "f64": torch.float64}
WHOLE = {"i64": torch.int64, "i32": torch.int32, "i16": torch.int16, "i8": torch.int8, "u8": torch.uint8}
TURN = 3000017  # more than 4 numbers of each thread
SEEDS = (0, 17, 0x123456789ABCDEF, -5)

REAL = {
    "uniform": lambda y: y.uniform_(), "uniform -2 3": lambda y: y.uniform_(-2, 3), "uniform thin": lambda y: y.uniform_(1000, 1000.5),
    "normal": lambda y: y.normal_(), "normal 3 0.5": lambda y: y.normal_(3, 0.5), "log_normal": lambda y: y.log_normal_(0.1, 0.5),
    "exponential": lambda y: y.exponential_(), "exponential 2.5": lambda y: y.exponential_(2.5), "cauchy": lambda y: y.cauchy_(),
    "cauchy 1 0.1": lambda y: y.cauchy_(1, 0.1),
}
ANY = {
    "geometric": lambda y: y.geometric_(0.3), "bernoulli": lambda y: y.bernoulli_(0.3), "random": lambda y: y.random_(),
    "random 100": lambda y: y.random_(100), "random -5 90": lambda y: y.random_(-5, 90) if y.dtype != torch.uint8 else y.random_(5, 90),
}


def layouts(dtype):
    """A number, dense ones, every second element, columns of rows, three dims whose last is cut."""
    yield "number", torch.empty((), dtype=dtype, device="cuda")
    yield "1", torch.empty(1, dtype=dtype, device="cuda")
    yield "40003", torch.empty(40003, dtype=dtype, device="cuda")
    yield "turns", torch.empty(TURN, dtype=dtype, device="cuda")
    yield "gaps", torch.zeros(20011, dtype=dtype, device="cuda")[::2]
    yield "columns", torch.zeros(203, 99, dtype=dtype, device="cuda")[:, 10:83]
    yield "dims", torch.zeros(13, 17, 40, dtype=dtype, device="cuda")[:, 3:, 5:31]


def distributions(kinds, functions):
    for kind, dtype in kinds.items():
        for layout, y in layouts(dtype):
            for name, function in functions.items():
                show("%s %s %s" % (name, kind, layout), function, y)
                if layout in ("1", "40003"):
                    show("%s %s %s again" % (name, kind, layout), function, y)
            wait_for_checks()


def chances():
    for kind, dtype in dict(FLOATS, **WHOLE, bool=torch.bool).items():
        given = torch.rand(203, 99, device="cuda", dtype=torch.float64 if dtype == torch.float64 else torch.float32)
        y = torch.empty(203, 99, dtype=dtype, device="cuda")
        show("bernoulli each " + kind, y.bernoulli_, given)
        show("bernoulli columns " + kind, y.bernoulli_, given[0])
        show("bernoulli of one " + kind, y.bernoulli_, given[0, 0])
    show("bernoulli of x", torch.bernoulli, torch.rand(1234567, device="cuda"))
    show("bernoulli bool", torch.empty(40003, dtype=torch.bool, device="cuda").bernoulli_, 0.25)
    show("random bool", torch.empty(40003, dtype=torch.bool, device="cuda").random_)
    wait_for_checks()


def wide_integers():
    y = torch.empty(40003, dtype=torch.int64, device="cuda")
    show("random of 64 bits", lambda: y.random_(-2**63, None))
    show("random of 40 bits", lambda: y.random_(0, 2**40))
    show("random of 62 bits", lambda: y.random_(-2**62, 2**62))
    show("randint", lambda: torch.randint(-100, 1000, (300, 400), device="cuda"))
    show("randint f32", lambda: torch.randint(0, 1 << 30, (300, 400), device="cuda", dtype=torch.float32))
    show("randperm", lambda: torch.randperm(5000, device="cuda"))
    wait_for_checks()


def dropout():
    for kind, dtype in FLOATS.items():
        for count in (7, 4099, 40000, TURN):
            x = torch.randn(count, device="cuda").to(dtype)
            show("dropout %s %d" % (kind, count), F.dropout, x, 0.3)
            show("native_dropout %s %d" % (kind, count), lambda: torch.native_dropout(x, 0.1, True))
        wide = torch.randn(64, 2 * 512, device="cuda").to(dtype)
        show("dropout rows " + kind, F.dropout, wide[:, :512], 0.5)
        leaf = wide.detach().requires_grad_()
        show("dropout gradient " + kind, lambda: torch.autograd.grad(F.dropout(leaf, 0.2).sum(), leaf)[0])
        wait_for_checks()


def captured():
    """In a graph seed and offset lie in memory, and each replay has another offset."""
    y, z = torch.empty(40003, device="cuda"), torch.empty(1000, 301, device="cuda", dtype=torch.bfloat16)
    whole, x = torch.empty(5000, dtype=torch.int64, device="cuda"), torch.randn(100, 512, device="cuda")
    out = []

    def work():
        y.uniform_(-1, 1)
        z[:, ::2].normal_(1, 2)
        whole.random_(0, 1000)
        out[:] = [torch.randn(7777, device="cuda"), F.dropout(x, 0.25), torch.native_dropout(x, 0.5, True)[1]]

    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        work()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    for seed in SEEDS:
        torch.manual_seed(seed)
        for turn in range(20):
            graph.replay()
            for k, one in enumerate([y, z, whole] + out):
                show("replay %d %d %d" % (seed, turn, k), lambda: one)
            wait_for_checks()


def main():
    for seed in SEEDS:
        torch.manual_seed(seed)
        show("rand %d" % seed, lambda: torch.rand(333, 77, device="cuda"))
        show("randn %d" % seed, lambda: torch.randn(333, 77, device="cuda"))
    distributions(FLOATS, dict(REAL, **ANY))
    distributions(WHOLE, ANY)
    chances()
    wide_integers()
    dropout()
    captured()


if __name__ == "__main__":
    main()
