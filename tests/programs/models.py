#!/usr/bin/env python3
"""models.py STEPS NAME ... - PyTorch programs as their users write them, with random weights and data.

One after the other runs STEPS steps (after warm-up) and prints a JSON line: its name, the median time of a step in ms,
measured by this program's own clock with a synchronisation behind each step, and a checksum of its result. Knows nothing
of cuvet.
"""

import json
import statistics
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F

WARM_UP = 10


class Block(nn.Module):
    """A transformer layer of GPT-2's shape."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, tokens, width = x.shape
        q, k, v = (part.view(batch, tokens, self.heads, -1).transpose(1, 2)
                   for part in self.qkv(self.norm1(x)).split(width, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(batch, tokens, width))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class GPT(nn.Module):
    def __init__(self, vocabulary=50304, tokens=512, width=768, layers=6, heads=12):
        super().__init__()
        self.words, self.places = nn.Embedding(vocabulary, width), nn.Embedding(tokens, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)

    def forward(self, ids, targets):
        x = self.words(ids) + self.places(torch.arange(ids.shape[1], device=ids.device))
        for block in self.blocks:
            x = block(x)
        return F.cross_entropy(self.head(self.norm(x)).flatten(0, 1), targets.flatten())


def training(model, loss_of, fused=True):
    """A step of mixed-precision training with AdamW and clipped gradients."""
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=fused)

    def step():
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = loss_of(model)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        return loss.detach()

    return step


def gpt():
    model = GPT().cuda()
    ids = torch.randint(0, 50257, (8, 513), device="cuda")
    return training(model, lambda m: m(ids[:, :-1], ids[:, 1:]))


def llama_model():
    from transformers import LlamaConfig, LlamaForCausalLM
    return LlamaForCausalLM(LlamaConfig(
        hidden_size=1024, intermediate_size=2816, num_hidden_layers=8, num_attention_heads=16,
        num_key_value_heads=4, vocab_size=32000, max_position_embeddings=1024)).cuda()


def llama():
    model = llama_model()
    ids = torch.randint(0, 32000, (4, 512), device="cuda")
    return training(model, lambda m: m(input_ids=ids, labels=ids).loss, fused=False)


def generate():
    model = llama_model().to(torch.bfloat16).eval()
    ids = torch.randint(0, 32000, (1, 64), device="cuda")

    def step():
        with torch.no_grad():
            out = model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=16, min_new_tokens=16,
                                 do_sample=False, pad_token_id=0)
        return out.sum()

    return step


def bert():
    from transformers import BertConfig, BertModel
    model = BertModel(BertConfig()).cuda().half().eval()
    ids = torch.randint(0, 30000, (8, 128), device="cuda")

    def step():
        with torch.no_grad():
            return model(input_ids=ids).last_hidden_state.float().abs().mean()

    return step


def vit():
    from transformers import ViTConfig, ViTModel
    model = ViTModel(ViTConfig()).cuda().half().eval()
    pixels = torch.randn(32, 3, 224, 224, device="cuda", dtype=torch.float16)

    def step():
        with torch.no_grad():
            return model(pixel_values=pixels).last_hidden_state.float().abs().mean()

    return step


def resnet():
    import torchvision
    model = torchvision.models.resnet50().cuda().to(memory_format=torch.channels_last)
    images = torch.randn(32, 3, 224, 224, device="cuda").to(memory_format=torch.channels_last)
    labels = torch.randint(0, 1000, (32,), device="cuda")
    return training(model, lambda m: F.cross_entropy(m(images), labels))


def measure(make, steps):
    torch.manual_seed(0)
    step = make()
    times, result = [], None
    for i in range(WARM_UP + steps):
        begin = time.perf_counter()
        result = step()
        torch.cuda.synchronize()
        if i >= WARM_UP:
            times.append(time.perf_counter() - begin)
    return {"step_ms": statistics.median(times) * 1e3, "mean_ms": statistics.mean(times) * 1e3, "result": float(result)}


def main():
    programs = {"gpt": gpt, "llama": llama, "generate": generate, "bert": bert, "vit": vit, "resnet": resnet}
    for name in sys.argv[2:]:
        print(json.dumps(dict(measure(programs[name], int(sys.argv[1])), name=name)), flush=True)


if __name__ == "__main__":
    main()
