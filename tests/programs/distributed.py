"""distributed.py - training on several GPUs: torchrun --nproc-per-node 2 distributed.py ddp|fsdp|tensor [STEPS [FAULT]].

A small GPT in bf16 with a fused AdamW: `ddp` has a replica on each rank, whose gradients are averaged; `fsdp` has its
parameters in parts; `tensor` has the feed-forward layers cut into columns and rows. Each rank prints a hash of its
parameters behind the last step. With a FAULT, a step's number, the last rank's gradients of `ddp` are scaled by 1 + 2^-6
in that step, behind the all-reduce: no single launch is wrong.
"""

import hashlib
import os
import sys

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

WIDTH, HEADS, LAYERS, WORDS, TIME, BATCH = 512, 8, 4, 8000, 256, 8


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.after = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        q, k, v = (t.unflatten(-1, (HEADS, -1)).transpose(1, 2) for t in self.qkv(self.norm(x)).chunk(3, -1))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.after(x))))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(TIME, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WORDS, bias=False)

    def forward(self, ids):
        x = self.words(ids) + self.places(torch.arange(ids.shape[1], device=ids.device))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def shared(kind, model):
    """The model, spread over the ranks."""
    if kind == "ddp":
        return nn.parallel.DistributedDataParallel(model)
    mesh = dist.device_mesh.init_device_mesh("cuda", (dist.get_world_size(),))
    if kind == "fsdp":
        from torch.distributed.fsdp import fully_shard

        for block in model.blocks:
            fully_shard(block, mesh=mesh)
        return fully_shard(model, mesh=mesh)
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    for block in model.blocks:
        parallelize_module(block, mesh, {"up": ColwiseParallel(), "down": RowwiseParallel()})
    return model


def digest(model):
    hashed = hashlib.sha256()
    for parameter in model.parameters():
        own = parameter.to_local() if hasattr(parameter, "to_local") else parameter
        hashed.update(own.detach().float().cpu().numpy().tobytes())
    return hashed.hexdigest()[:16]


def main():
    kind, steps, fault = (sys.argv[1:] + ["20", "-1"][len(sys.argv) - 2 :])[:3]
    rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", device_id=torch.device("cuda", rank))
    torch.manual_seed(1)
    model = Model().to("cuda", torch.bfloat16)
    spread = shared(kind, model)
    how = {"foreach": False} if kind == "tensor" else {"fused": True}  # lists hold DTensors alone or none
    optimiser = torch.optim.AdamW(spread.parameters(), lr=1e-3, **how)
    data = torch.Generator().manual_seed(2 if kind == "tensor" else 100 + rank)
    for step in range(int(steps)):
        ids = torch.randint(0, WORDS, (BATCH, TIME + 1), generator=data).cuda()
        loss = F.cross_entropy(spread(ids[:, :-1]).float().flatten(0, 1), ids[:, 1:].flatten())
        loss.backward()
        if step == int(fault) and rank == dist.get_world_size() - 1:
            for parameter in spread.parameters():
                parameter.grad.mul_(1 + 2**-6)
        optimiser.step()
        optimiser.zero_grad()
    torch.cuda.synchronize()
    dist.barrier()
    print("rank %d: loss %.6f, parameters %s" % (rank, loss.item(), digest(model)), flush=True)
    dist.destroy_process_group()


main()
