"""torch_images.py - PyTorch's own kernels on images: norms by group, pooling, resizing, in several dtypes and both layouts.

Prints the sum of each result and of each gradient. An operation that this PyTorch lacks prints its name and the error's type instead.
"""

import torch
from torch.nn import functional as F

from torch_operations import DTYPES, gradient, show

def atomics(name, function, x):
    """A gradient that atomics add up, in any order: no bits are printed."""
    a = x.detach().requires_grad_()
    y = function(a)
    y.backward(torch.randn_like(y))
    print(name, tuple(a.grad.shape))


LAYOUTS = {"": torch.contiguous_format, " channels last": torch.channels_last}


def norms(name, dtype):
    for groups, size in ((8, (12, 10)), (1, (7, 5)), (32, (33, 17))):
        x, w, b = (torch.randn(*shape, device="cuda").to(dtype) for shape in ((4, 32, *size), (32,), (32,)))
        gradient("group_norm %d %s" % (groups, name), lambda a, g, h: F.group_norm(a, groups, g, h), x, w, b)
        gradient("group_norm bare %d %s" % (groups, name), lambda a: F.group_norm(a, groups), x)
    gradient("group_norm one pixel " + name, lambda a, g, h: F.group_norm(a, 4, g, h), x[:, :, 0, 0].contiguous(), w, b)
    gradient("instance_norm " + name, lambda a, g, h: F.instance_norm(a, None, None, g, h), x, w, b)


def pooling(name, x):
    last = x.is_contiguous(memory_format=torch.channels_last)
    for window, step, edge in ((2, 2, 0), (3, 2, 1), (3, 1, 1), (5, 3, 2)):
        gradient("max_pool2d %d %s" % (window, name), lambda a: F.max_pool2d(a, window, step, edge), x)
        edge = 0 if last else edge  # with padding its gradient is wrong: torch_avg_pool.py
        gradient("avg_pool2d %d %s" % (window, name), lambda a: F.avg_pool2d(a, window, step, edge), x)
        show("avg_pool2d forward %d %s" % (window, name), lambda: F.avg_pool2d(x, window, step, window // 2))
    gradient("avg_pool2d bare %s" % name, lambda a: F.avg_pool2d(a, 3, 2, 0 if last else 1, count_include_pad=False), x)
    gradient("avg_pool2d divided %s" % name, lambda a: F.avg_pool2d(a, 3, 2, 0 if last else 1, ceil_mode=True, divisor_override=5), x)
    gradient("max_pool2d ceil %s" % name, lambda a: F.max_pool2d(a, 3, 2, 1, 1, ceil_mode=True), x)
    gradient("max_pool2d dilated %s" % name, lambda a: F.max_pool2d(a, 3, 2, 1, 2), x)
    for size in ((1, 1), (7, 7), (5, 9), (40, 31)):
        atomics("adaptive_avg_pool2d %s %s" % (size, name), lambda a: F.adaptive_avg_pool2d(a, size), x)
        atomics("adaptive_max_pool2d %s %s" % (size, name), lambda a: F.adaptive_max_pool2d(a, size), x)


def resizing(name, x):
    for size in ((56, 54), (31, 90), (14, 11)):
        gradient("nearest %s %s" % (size, name), lambda a: F.interpolate(a, size), x)
        for mode in ("bilinear", "bicubic"):
            for corners in (False, True):
                atomics("%s %s %s %s" % (mode, size, corners, name), lambda a: F.interpolate(a, size, mode=mode, align_corners=corners), x)
    gradient("nearest x2 " + name, lambda a: F.interpolate(a, scale_factor=2), x)
    atomics("bilinear x2 " + name, lambda a: F.interpolate(a, scale_factor=2, mode="bilinear"), x)
    atomics("bilinear antialias " + name, lambda a: F.interpolate(a, (14, 11), mode="bilinear", antialias=True), x)
    gradient("nearest 1d " + name, lambda a: F.interpolate(a, scale_factor=2), x[:, 0].contiguous())
    atomics("linear 1d " + name, lambda a: F.interpolate(a, scale_factor=2, mode="linear"), x[:, 0].contiguous())


def shapes(name, x):
    atomics("reflection_pad " + name, lambda a: F.pad(a, (2, 1, 3, 2), mode="reflect"), x)
    atomics("replication_pad " + name, lambda a: F.pad(a, (2, 1, 3, 2), mode="replicate"), x)
    gradient("pad " + name, lambda a: F.pad(a, (2, 1, 3, 2)), x)
    gradient("pixel_shuffle " + name, lambda a: F.pixel_shuffle(a, 2), x)
    atomics("unfold " + name, lambda a: F.unfold(a, 3, padding=1), x)
    show("flip " + name, lambda: x.flip(-1))
    show("roll " + name, lambda: x.roll((2, -3), (2, 3)))
    show("grid_sample " + name, lambda: F.grid_sample(x, torch.rand(x.shape[0], 9, 11, 2, device="cuda").to(x.dtype) * 2 - 1, align_corners=False))


def main():
    torch.manual_seed(7)
    torch.backends.cudnn.enabled = False
    for name, dtype in DTYPES.items():
        norms(name, dtype)
        for layout, form in LAYOUTS.items():
            x = torch.randn(3, 16, 28, 27, device="cuda").to(dtype).contiguous(memory_format=form)
            pooling(name + layout, x)
            resizing(name + layout, x)
            shapes(name + layout, x)


if __name__ == "__main__":
    main()
