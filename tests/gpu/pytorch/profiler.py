"""profiler.py - torch.profiler around a few operations: the same tensors, no crash, whoever comes first."""

import torch
from torch.profiler import ProfilerActivity, profile

from torch_sums import bits_sum


def work(seed):
    torch.manual_seed(seed)
    a = torch.randn(256, 512, device="cuda", dtype=torch.bfloat16)
    b = torch.randn(512, 256, device="cuda", dtype=torch.bfloat16)
    w = torch.ones(256, device="cuda", dtype=torch.bfloat16)
    y = torch.nn.functional.layer_norm(a @ b, (256,), w)
    return torch.softmax(y.float(), dim=-1)


def main():
    print("before", bits_sum(work(1)))
    for round in range(2):
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
            y = work(2 + round)
            torch.cuda.synchronize()
        profiler.key_averages()  # must not raise, whatever it holds
        print("inside", bits_sum(y))
    print("after", bits_sum(work(4)))


if __name__ == "__main__":
    main()
