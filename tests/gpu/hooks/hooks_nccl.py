"""hooks_nccl.py - NCCL between two GPUs of one process; ends with 77 where there is one."""

import sys

import torch

if torch.cuda.device_count() < 2:
    print("left out: one GPU")
    sys.exit(77)
tensors = [torch.full((1 << 16,), i + 1.0, device="cuda:%d" % i) for i in range(2)]
for _ in range(10):
    torch.cuda.nccl.all_reduce(tensors)
    for tensor in tensors:
        tensor.mul_(0.5)
for i in range(2):
    torch.cuda.synchronize(i)
print([float(tensor.sum()) for tensor in tensors])
