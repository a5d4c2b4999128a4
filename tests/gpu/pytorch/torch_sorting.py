"""torch_sorting.py - torch.topk and torch.sort in several dtypes, shapes and orders, with equal elements and NaN, and the
gradient of an embedding of many indices.

Prints the sum of each result.
"""

import torch
from torch.nn import functional as F

from torch_operations import DTYPES, show

WHOLE = {"i64": torch.int64, "i32": torch.int32, "i16": torch.int16, "u8": torch.uint8}


def drawn(shape, dtype):
    """Numbers of which many are equal, and, of floats, some NaN and Inf in the first row."""
    x = torch.randn(shape, device="cuda") * 20
    if not dtype.is_floating_point:
        return x.abs().to(dtype)
    x = (x * 4).round() / 4
    row = x.view(-1)
    row[1], row[3], row[4], row[6] = float("nan"), float("inf"), -float("inf"), float("nan")
    return x.to(dtype)


def selected(name, dtype):
    for shape, best, dim in (((64, 1000), 5, 1), ((256, 128), 8, 1), ((8, 50000), 50, 1), ((200, 3000), 1500, 1), ((100000,), 70, 0),
                             ((32, 16, 40), 3, 1), ((40, 300), 4, 0)):
        x = drawn(shape, dtype)
        for largest in (True, False):
            for ordered in (True, False):
                show("topk %s %s" % (name, (shape, best, dim, largest, ordered)),
                     lambda: x.topk(best, dim=dim, largest=largest, sorted=ordered)[0].sort(dim=dim)[0])


def ordered(name, dtype):
    for shape, dim in (((256, 8), 1), ((256, 32), 1), ((100, 128), 1), ((64, 1000), 1), ((20, 3000), 1), ((8, 4000), 1), ((2000,), 0),
                       ((24, 16, 40), 1), ((300, 70), 0)):
        x = drawn(shape, dtype)
        for descending in (False, True):
            show("sort %s %s" % (name, (shape, dim, descending)), lambda: x.sort(dim=dim, descending=descending)[0])
    show("argsort " + name, lambda: x.gather(0, x.argsort(dim=0)))


def embedded(name, dtype):
    for entries, cols, count, padding in ((1000, 96, 5000, None), (50, 40, 4000, 7), (5000, 1056, 3500, None), (3, 33, 6000, None)):
        table = torch.randn(entries, cols, device="cuda").to(dtype).requires_grad_()
        ids = torch.randint(0, entries, (count,), device="cuda")
        F.embedding(ids, table, padding_idx=padding).backward(torch.randn(count, cols, device="cuda").to(dtype))
        show("embedding %s %s" % (name, (entries, cols, count, padding)), lambda: table.grad.float().abs().sum() > 0)


def main():
    torch.manual_seed(8)
    for name, dtype in (DTYPES | WHOLE).items():
        selected(name, dtype)
        ordered(name, dtype)
    for name, dtype in DTYPES.items():
        embedded(name, dtype)


if __name__ == "__main__":
    main()
