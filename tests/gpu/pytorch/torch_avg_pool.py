"""torch_avg_pool.py - average pooling with padding, channels last: a gradient that PyTorch 2.11 computes wrongly on a GPU.

The kernel leaves the padding out where it works out which windows have a pixel; nothing fails. Prints how far the gradient is from that of
contiguous images, which another kernel computes.
"""

import torch
from torch.nn import functional as F


def gradient(x, weights):
    x = x.detach().requires_grad_()
    (F.avg_pool2d(x, 3, 2, 1) * weights).sum().backward()
    return x.grad


def main():
    torch.manual_seed(3)
    x = torch.randn(2, 16, 28, 27, device="cuda")
    weights = torch.randn(2, 16, 14, 14, device="cuda")
    last = gradient(x.contiguous(memory_format=torch.channels_last), weights.contiguous(memory_format=torch.channels_last))
    print("off by %.3f" % (last - gradient(x, weights)).abs().max().item())


if __name__ == "__main__":
    main()
