"""torch_more.py - PyTorch's own kernels of further operations: several indices, masks, recurrent cells, scans, ranks, bags, losses of
images, padding, volumes, sampled images; in several dtypes, sizes and layouts.

Prints the sum of each result that has the same bits in each run. An operation that this PyTorch lacks prints its name and the
error's type instead.
"""

import torch
from torch.nn import functional as F

from torch_operations import DTYPES, show

KINDS = dict(DTYPES, i64=torch.int64, i32=torch.int32, u8=torch.uint8)


def draw(shape, dtype, most=50):
    if dtype.is_floating_point:
        return torch.randn(*shape, device="cuda").to(dtype)
    return torch.randint(0, most, shape, device="cuda").to(dtype)


def places(most, *shape):
    return torch.randint(0, most, shape, device="cuda")


def gradient(name, function, *inputs):
    """Atomics may add up in any order: no bits are printed."""
    inputs = [x.detach().requires_grad_() for x in inputs]
    try:
        y = function(*inputs)
        y.backward(torch.randn_like(y))
    except (RuntimeError, NotImplementedError) as error:
        print(name, type(error).__name__)
        return
    print(name, [tuple(x.grad.shape) for x in inputs])


def layouts(shape, dtype):
    """Dense, transposed, and every second column of twice as many."""
    yield "", draw(shape, dtype)
    yield " transposed", draw((*shape[:-2], shape[-1], shape[-2]), dtype).transpose(-1, -2)
    yield " slices", draw((*shape[:-1], 2 * shape[-1]), dtype)[..., ::2]


def indexed(name, dtype):
    for layout, x in layouts((40, 57, 33), dtype):
        i, j, k = places(40, 70), places(57, 70) - 20, places(33, 70)
        show("x[i, j] " + name + layout, lambda: x[i, j])
        show("x[:, j, k] " + name + layout, lambda: x[:, j, k])
        show("x[i, :, k] " + name + layout, lambda: x[i, :, k])
        show("x[i, j, k] " + name + layout, lambda: x[i, j, k])
        show("x[:, j] " + name + layout, lambda: x[:, j])
        show("x[i[:, None], k] " + name + layout, lambda: x[i[:, None], k])
        own = torch.randperm(40, device="cuda")[:20]
        show("x[i, j] = " + name + layout, lambda: x.clone().index_put_((own, j[:20]), draw((20, 33), dtype)))
        show("x[i, j, k] = " + name + layout, lambda: x.clone().index_put_((own, j[:20], k[:20]), draw((20,), dtype)))
        show("x[i] = " + name + layout, lambda: x.clone().index_put_((own,), draw((20, 57, 33), dtype)))
        show("take " + name + layout, lambda: x.take(places(x.numel(), 333) - 100))
        show("put " + name + layout, lambda: x.clone().put_(torch.randperm(x.numel(), device="cuda")[:200], draw((200,), dtype)))
        for dims in ((0,), (1,), (2,), (0, 2), (0, 1, 2)):
            show("flip %s %s%s" % (dims, name, layout), lambda: x.flip(dims))
        mask = torch.rand(x.shape, device="cuda") > 0.4
        show("masked_scatter " + name + layout, lambda: x.masked_scatter(mask, draw((x.numel(),), dtype)))
        for diagonal in (0, 1, -3):
            show("tril %d %s%s" % (diagonal, name, layout), lambda: x.tril(diagonal))
            show("triu %d %s%s" % (diagonal, name, layout), lambda: x[0].triu(diagonal))
            show("triu_ %d %s%s" % (diagonal, name, layout), lambda: x[None].clone().triu_(diagonal))
    logits, ids = draw((300, 1000), dtype), places(1000, 300)
    show("x[arange, ids] " + name, lambda: logits[torch.arange(300, device="cuda"), ids])


def scanned(name, dtype):
    for shape, dim in (((64, 300), 1), ((64, 300), 0), ((7, 33, 20), 1), ((3, 1030), 1), ((5, 16, 9), -1)):
        x = draw(shape, dtype, 3)
        for op in ("cumsum", "cumprod", "logcumsumexp"):
            show("%s %s %s" % (op, (shape, dim), name), lambda: getattr(x * 0.3 if op == "cumprod" else x, op)(dim))
        for op in ("cummax", "cummin"):
            show("%s %s %s" % (op, (shape, dim), name), lambda: getattr(x, op)(dim).values)


def ranked(name, dtype):
    for shape, dim in (((64, 1000), 1), ((64, 37), 0), ((9, 40, 33), 1), ((3, 5000), 1)):
        x = draw(shape, dtype)
        if dtype.is_floating_point:
            x = (x * 4).round() / 4
            x.view(-1)[3] = float("nan")
        show("kthvalue %s %s" % ((shape, dim), name), lambda: x.kthvalue(5, dim).values)
        show("median %s %s" % ((shape, dim), name), lambda: x.median(dim).values)
        show("nanmedian %s %s" % ((shape, dim), name), lambda: x.nanmedian(dim).values)
        if not x.is_floating_point() or dim == 1:
            x = x.nan_to_num() if x.is_floating_point() else x
            show("mode %s %s" % ((shape, dim), name), lambda: torch.tensor(x.mode(dim).values.shape))
        edges = x.nan_to_num().sort(-1).values if x.is_floating_point() else x.sort(-1).values
        show("searchsorted %s %s" % ((shape, dim), name), lambda: torch.searchsorted(edges, x.nan_to_num() if x.is_floating_point() else x))
        show("bucketize %s %s" % ((shape, dim), name), lambda: torch.bucketize(x, edges.reshape(-1, edges.shape[-1])[0], right=True, out_int32=True))
    long = draw((2, 60000), dtype)
    show("sort of long rows " + name, lambda: long.sort(-1).values)
    show("any " + name, lambda: [(draw((40, 300), dtype, 2) * (torch.rand(40, 300, device="cuda") > 0.99).to(dtype)).any(d) for d in (0, 1)])
    show("all " + name, lambda: [draw((40, 7), dtype, 9).all(d) for d in (0, 1)])


def counted():
    for n, bins in ((1000, 7), (40000, 50), (40000, 300), (40000, 3000)):
        ids = places(bins, n)
        show("bincount %s" % ((n, bins),), lambda: ids.bincount())
        show("bincount i32 %s" % ((n, bins),), lambda: ids.to(torch.int32).bincount(minlength=bins))
        for dtype in (torch.float32, torch.float64):
            x = torch.randn(n, device="cuda", dtype=dtype)
            show("histc %s %s" % ((n, bins), dtype), lambda: x.histc(bins) >= 0)
            show("histc of a range %s %s" % ((n, bins), dtype), lambda: x.histc(bins, -1, 2) >= 0)
    x = torch.randn(40, 300, device="cuda")
    show("repeat_interleave", lambda: x.repeat_interleave(places(5, 40), 0))
    show("repeat_interleave of one", lambda: torch.repeat_interleave(places(9, 700)))


def sums(name, dtype):
    x = draw((40, 300), dtype)
    x.view(-1)[::7] = float("nan")
    for dim in (0, 1, (0, 1)):
        show("nansum %s %s" % (dim, name), lambda: x.nansum(dim))
        for power in (3, 2.5, 0.5):
            show("norm %s %s %s" % (power, dim, name), lambda: x.nan_to_num().norm(power, dim))
    for first, last, count in ((-2, 2, 20), (0, 1, 8), (3.5, -7, 1001)):
        show("linspace %s %s" % ((first, last, count), name), lambda: torch.linspace(first, last, count, device="cuda", dtype=dtype))
    for shape in ((64, 64), (33, 200), (16, 8, 3)):
        gradient("weight_norm %s %s" % (shape, name), lambda v, g: torch._weight_norm(v, g, 0), draw(shape, dtype),
                 draw((shape[0],) + (1,) * (len(shape) - 1), dtype))


def recurrent(name, dtype):
    for rows, inputs, width in ((8, 64, 128), (33, 17, 50), (1, 5, 3)):
        for bias in (True, False):
            lstm = torch.nn.LSTMCell(inputs, width, bias=bias, device="cuda", dtype=dtype)
            gru = torch.nn.GRUCell(inputs, width, bias=bias, device="cuda", dtype=dtype)
            state = draw((rows, width), dtype)
            case = "%s %s %s" % ((rows, inputs, width), bias, name)
            gradient("lstm cell " + case, lambda x, h, c: torch.cat(lstm(x, (h, c))), draw((rows, inputs), dtype), state, state)
            gradient("lstm cell, y alone " + case, lambda x, h, c: lstm(x, (h, c))[0], draw((rows, inputs), dtype), state, state)
            gradient("gru cell " + case, lambda x, h: gru(x, h), draw((rows, inputs), dtype), state)
            wide = draw((rows, 2 * width), dtype)[:, :width]
            show("lstm cell of slices " + case, lambda: lstm(draw((rows, inputs), dtype), (wide, wide))[0].isfinite())
            show("gru cell of slices " + case, lambda: gru(draw((rows, inputs), dtype), wide).isfinite())


def bags(name, dtype):
    for entries, cols, count, step in ((1000, 64, 400, 10), (50, 33, 3000, 7), (20, 7, 11, 3)):
        ids, starts = places(entries, count), torch.arange(0, count, step, device="cuda")
        for mode in ("sum", "mean", "max"):
            case = "%s %s %s" % (mode, (entries, cols, count, step), name)
            gradient("embedding_bag " + case, lambda table: F.embedding_bag(ids, table, starts, mode=mode), draw((entries, cols), dtype))
            show("embedding_bag of transposed " + case, lambda: F.embedding_bag(ids, draw((cols, entries), dtype).t(), starts, mode=mode).isfinite())
        weights = draw((count,), dtype)
        gradient("embedding_bag weighted " + name, lambda table: F.embedding_bag(ids, table, starts, mode="sum", per_sample_weights=weights),
                 draw((entries, cols), dtype))


def images(name, dtype):
    for shape in ((4, 8, 30, 30), (1, 3, 7, 9), (2, 19, 64, 41)):
        x, target = draw(shape, dtype), places(shape[1], shape[0], *shape[2:])
        target[0, 0, :3] = -100
        weight = torch.rand(shape[1], device="cuda").to(dtype) + 0.5
        for reduction in ("mean", "sum"):
            for w in (None, weight):
                gradient("cross_entropy of images %s %s %s" % (reduction, shape, name),
                         lambda a: F.cross_entropy(a, target, weight=w, reduction=reduction), x)
        for window, pad, step, gap in ((3, 1, 1, 1), (2, 0, 2, 1), ((3, 2), (2, 1), (2, 1), (1, 2))):
            gradient("unfold %s %s %s" % (window, shape, name), lambda a: F.unfold(a, window, gap, pad, step), x)
        for mode in ("reflect", "replicate"):
            gradient("pad %s %s %s" % (mode, shape, name), lambda a: F.pad(a, (2, 3, 1, 2), mode=mode), x)
            gradient("pad rows %s %s %s" % (mode, shape, name), lambda a: F.pad(a, (2, 3), mode=mode), x[0])
            gradient("pad volumes %s %s %s" % (mode, shape, name), lambda a: F.pad(a, (1, 2, 3, 0, 1, 1), mode=mode), draw((2, *shape[1:2], 5, 6, 7), dtype))
        gradient("pad by less %s %s" % (shape, name), lambda a: F.pad(a, (-2, 3, 1, -2), mode="reflect"), x)
        show("pad of transposed %s %s" % (shape, name), lambda: F.pad(x.transpose(2, 3), (2, 1, 1, 3), mode="replicate"))
        show("max_unpool2d %s %s" % (shape, name), lambda: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2, output_size=shape[2:]))
        for corners in (False, True):
            for outside in ("zeros", "border"):
                for mode in ("bilinear", "nearest"):
                    grid = (torch.rand(shape[0], 11, 13, 2, device="cuda") * 2.6 - 1.3).to(dtype)
                    show("grid_sample %s %s %s %s %s" % (mode, outside, corners, shape, name),
                         lambda: F.grid_sample(x, grid, mode, outside, corners))


def volumes(name, dtype):
    for shape in ((2, 4, 8, 8, 8), (1, 3, 5, 9, 7), (3, 2, 4, 20, 35)):
        x = draw(shape, dtype)
        for window, step, pad in ((2, 2, 0), (3, 2, 1), (3, 1, 1), ((2, 3, 2), (1, 2, 2), (0, 1, 1))):
            case = "%s %s %s" % (window, shape, name)
            gradient("max_pool3d " + case, lambda a: F.max_pool3d(a, window, step, pad), x)
            gradient("avg_pool3d " + case, lambda a: F.avg_pool3d(a, window, step, pad), x)
            gradient("avg_pool3d without padding " + case, lambda a: F.avg_pool3d(a, window, step, pad, count_include_pad=False), x)
        gradient("max_pool3d dilated %s %s" % (shape, name), lambda a: F.max_pool3d(a, 2, 1, 0, 2), x)
        gradient("avg_pool3d divided %s %s" % (shape, name), lambda a: F.avg_pool3d(a, 3, 2, 1, ceil_mode=True, divisor_override=5), x)


def main():
    torch.manual_seed(13)
    torch.backends.cudnn.enabled = False
    for name, dtype in KINDS.items():
        indexed(name, dtype)
        scanned(name, dtype)
        ranked(name, dtype)
    counted()
    for name, dtype in DTYPES.items():
        for part in (sums, recurrent, bags, images, volumes):
            part(name, dtype)


if __name__ == "__main__":
    main()
