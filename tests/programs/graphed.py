#!/usr/bin/env python3
"""graphed.py block|compile|generate - a program that lives in CUDA graphs: prints hashes of its outputs and the time of a step.

block: a captured graph of six transformer blocks; compile: torch.compile(mode="reduce-overhead") of them; generate:
transformers' generate() with a static cache. The time is the best of four rounds, in ms.
"""

import hashlib
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(5)
torch.backends.cuda.matmul.allow_tf32 = False


class Block(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.heads = heads
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv, self.out = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.up, self.down = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(self.n1(x)).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, d))
        return x + self.down(F.gelu(self.up(self.n2(x)), approximate="tanh"))


def digest(*tensors):
    torch.cuda.synchronize()
    h = hashlib.sha1()
    for t in tensors:
        h.update(t.detach().contiguous().view(torch.uint8).cpu().numpy().tobytes())
    return h.hexdigest()[:12]


def model(layers=6, d=1024, heads=16):
    return nn.Sequential(*[Block(d, heads) for _ in range(layers)]).cuda().bfloat16().eval()


def measure(step, n, rounds=4):
    best = 1e9
    for _ in range(rounds):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(n):
            step()
        torch.cuda.synchronize()
        best = min(best, (time.perf_counter() - start) / n * 1e3)
    return best


def block(hashes):
    net, x = model(), torch.randn(4, 512, 1024, device="cuda").bfloat16()
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            net(x)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = net(x)
    for i in range(30):
        x.mul_(0.999)
        graph.replay()
        if i % 10 == 9:
            hashes.append(digest(y))
    return graph.replay, 50


def compiled(hashes):
    net, x = model(), torch.randn(4, 512, 1024, device="cuda").bfloat16()
    run = torch.compile(net, mode="reduce-overhead")

    def step():
        torch.compiler.cudagraph_mark_step_begin()
        return run(x)

    for i in range(12):
        y = step()
        if i % 4 == 3:
            hashes.append(digest(y))
    return step, 50


def generate(hashes):
    from transformers import LlamaConfig, LlamaForCausalLM
    config = LlamaConfig(hidden_size=512, intermediate_size=1536, num_hidden_layers=4, num_attention_heads=8,
                         num_key_value_heads=8, vocab_size=2048, max_position_embeddings=512)
    net = LlamaForCausalLM(config).cuda().bfloat16().eval()
    ids = torch.randint(0, 2048, (2, 32), device="cuda")

    def step():
        return net.generate(ids, max_new_tokens=48, min_new_tokens=48, do_sample=False, pad_token_id=0,
                            cache_implementation="static")

    for _ in range(3):
        hashes.append(digest(step()))
    return step, 2


# Each returns a step, and how many of them are timed together.
PROGRAMS = {"block": block, "compile": compiled, "generate": generate}


@torch.inference_mode()
def main():
    hashes = []
    step, n = PROGRAMS[sys.argv[1]](hashes)
    ms = measure(step, n)
    print(sys.argv[1], ",".join(h[:8] for h in hashes), "%.4f ms" % ms)


if __name__ == "__main__":
    main()
