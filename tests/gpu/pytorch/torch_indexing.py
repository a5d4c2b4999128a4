"""torch_indexing.py - PyTorch's own kernels that move elements by index, sort or count them, in several dtypes.

Prints the sum of each result and of each gradient. An operation that this PyTorch lacks prints its name and the error's type instead.
"""

import torch

from torch_operations import show

KINDS = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16, "i64": torch.int64, "u8": torch.uint8}


def gradient(name, function, x):
    """Of small whole numbers, whose sums are exact in any order."""
    a = x.detach().requires_grad_()
    y = function(a)
    y.backward(torch.randint(-2, 3, y.shape, device="cuda").to(y.dtype))
    show(name, lambda: a.grad)


def draw(*shape):
    return torch.randint(-100, 100, shape, device="cuda")


def places(most, *shape):
    return torch.randint(0, most, shape, device="cuda")


def distinct(most, *shape):
    """Along the last dim, each place once."""
    return torch.rand(*shape[:-1], most, device="cuda").argsort(-1)[..., :shape[-1]]


def read(name, dtype):
    x = draw(40, 50, 60).to(dtype)
    i, j, k = places(40, 70), places(50, 70), places(60, 70)
    show("x[i, j] " + name, lambda: x[i, j])
    show("x[:, i, j] " + name, lambda: x[:, j, k])
    show("x[i, :, j] " + name, lambda: x[i, :, k])
    show("x[i, j, k] " + name, lambda: x[i, j, k])
    show("x[i[:, None], j] " + name, lambda: x[i[:, None], j])
    show("x[r, i] of rows " + name, lambda: x[torch.arange(40, device="cuda"), places(50, 40) - 50])
    for dim in range(3):
        show("index_select %d %s" % (dim, name), lambda: x.index_select(dim, (i, j, k)[dim]))
        show("gather %d %s" % (dim, name), lambda: x.gather(dim, (places(40, 9, 50, 60), places(50, 40, 9, 60), places(60, 40, 50, 9))[dim]))
    show("take " + name, lambda: x.take(places(40 * 50 * 60, 333)))
    show("masked_select " + name, lambda: x[x > 3])
    show("nonzero " + name, lambda: (x > 90).nonzero())


def written(name, dtype):
    x = draw(40, 50, 60).to(dtype)
    rows, two = draw(20, 50, 60).to(dtype), draw(20, 60).to(dtype)
    i, j = distinct(40, 20), distinct(50, 20)
    for dim in range(3):
        index = distinct((40, 50, 60)[dim], 20)
        part = draw(*[20 if d == dim else s for d, s in enumerate(x.shape)]).to(dtype)
        show("index_copy %d %s" % (dim, name), lambda: x.clone().index_copy_(dim, index, part))
        show("index_fill %d %s" % (dim, name), lambda: x.clone().index_fill_(dim, index, 3))
        show("index_add %d %s" % (dim, name), lambda: x.clone().index_add_(dim, index, part))
        many = distinct(x.shape[dim], *[s for d, s in enumerate(x.shape) if d != dim], 20).movedim(-1, dim)
        show("scatter %d %s" % (dim, name), lambda: x.clone().scatter_(dim, many, part))
        show("scatter value %d %s" % (dim, name), lambda: x.clone().scatter_(dim, many, 7))
        show("scatter_add %d %s" % (dim, name), lambda: x.clone().scatter_add_(dim, many, part))
    show("x[i] = " + name, lambda: x.clone().index_put_((i,), rows))
    show("x[i, j] = " + name, lambda: x.clone().index_put_((i, j), two))
    show("x[:, j] = 0 " + name, lambda: x.clone().index_fill_(1, j, 0))
    show("x[mask] = 0 " + name, lambda: x.clone().masked_fill_(x > 5, 0))
    show("masked_scatter " + name, lambda: x.clone().masked_scatter_(x > 5, draw(40 * 50 * 60).to(dtype)))
    show("put " + name, lambda: x.clone().put_(distinct(40 * 50 * 60, 200), draw(200).to(dtype)))


def added(name, dtype):
    x = torch.randn(40, 64, device="cuda").to(dtype)
    ids, few = places(40, 300), places(40, 8, 300)
    gradient("x[ids] " + name, lambda a: a[ids], x)
    gradient("index_select " + name, lambda a: a.index_select(0, ids), x)
    gradient("gather " + name, lambda a: a.gather(1, few.t()[:40] % 40), x)
    gradient("x[i, j] " + name, lambda a: a[ids, ids % 60], x)
    gradient("embedding_bag " + name, lambda a: torch.nn.functional.embedding_bag(few.t().contiguous(), a, mode="mean"), x)
    gradient("embedding_bag sum " + name, lambda a: torch.nn.functional.embedding_bag(few.t().contiguous(), a, mode="sum"), x)
    show("index_put accumulate " + name, lambda: torch.zeros_like(x).index_put_((ids,), x.repeat(8, 1)[:300], accumulate=True))
    show("bincount", torch.bincount, ids)
    show("histc", torch.histc, x.float(), 20)


def ordered(name, dtype):
    for rows, cols in ((50, 30), (50, 1000), (3, 5000), (2, 200000)):
        x = draw(rows, cols).to(dtype) if name in ("i64", "u8") else torch.randn(rows, cols, device="cuda").to(dtype)
        show("sort %d %s" % (cols, name), lambda: x.sort(-1).values)
        show("sort descending %d %s" % (cols, name), lambda: x.sort(-1, descending=True).values)
        show("sort stable %d %s" % (cols, name), lambda: x.sort(stable=True, dim=-1))
        show("sort columns %d %s" % (cols, name), lambda: x.sort(0).values)
        show("topk %d %s" % (cols, name), lambda: x.topk(8, -1).values)
        show("topk of columns %d %s" % (cols, name), lambda: x.t().topk(2, -1).values)
        show("kthvalue %d %s" % (cols, name), lambda: x.kthvalue(3, -1).values)
        show("median %d %s" % (cols, name), lambda: x.median(-1).values)
        show("cummax %d %s" % (cols, name), lambda: x.cummax(-1).values)
        show("cumprod %d %s" % (cols, name), lambda: x.cumprod(-1))
    show("unique " + name, lambda: x.unique())
    show("searchsorted " + name, lambda: torch.searchsorted(x[0].sort().values, x[1]))


def moved(name, dtype):
    x = draw(40, 50, 60).to(dtype)
    show("flip " + name, lambda: x.flip(1))
    show("flip two " + name, lambda: x.flip(0, 2))
    show("roll " + name, lambda: x.roll(7, 1))
    show("tril " + name, lambda: x.tril())
    show("triu " + name, lambda: x[0].triu(3))
    show("repeat " + name, lambda: x.repeat(2, 1, 3))
    show("repeat_interleave " + name, lambda: x.repeat_interleave(3, 1))
    show("repeat_interleave of many " + name, lambda: x.repeat_interleave(places(5, 50), 1))
    show("diag " + name, lambda: x[0].diagonal().clone())
    show("diag_embed " + name, lambda: x[0].diag_embed())
    show("eye " + name, lambda: torch.eye(50, device="cuda", dtype=dtype))
    show("linspace " + name, lambda: torch.linspace(0, 60, 61, device="cuda", dtype=dtype))
    show("one_hot", lambda: torch.nn.functional.one_hot(places(40, 70), 40))
    show("meshgrid " + name, lambda: torch.cartesian_prod(x[0, 0], x[0, 1]))
    show("unfold " + name, lambda: x.unfold(1, 7, 3).contiguous())


def main():
    torch.manual_seed(11)
    for name, dtype in KINDS.items():
        read(name, dtype)
        written(name, dtype)
        ordered(name, dtype)
        moved(name, dtype)
        if dtype.is_floating_point:
            added(name, dtype)


if __name__ == "__main__":
    main()
