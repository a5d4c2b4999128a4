"""compiled_graphs.py compile|generate [loses] - programs that torch.compile keeps in CUDA graphs, 1,000 replays.

compile: torch.compile(mode="reduce-overhead") of a small network; generate: transformers' generate() with a static cache, whose
decode step transformers compiles. Their norms are a Triton kernel, which with `loses` leaves the last 16 elements of a row out of its sum.
Prints checksums of the outputs.
"""

import sys

import torch
import triton
import triton.language as tl

sys.path.append(sys.path[0] + "/../pytorch")
from torch_sums import bits_sum  # noqa: E402

COLS, LOST = 512, 16 if "loses" in sys.argv[2:] else 0
STEPS, TOKENS, CALLS = 1000, 250, 4


@triton.jit
def graph_norm(x, w, y, COLS: tl.constexpr, LOST: tl.constexpr):
    at = tl.arange(0, COLS)
    here = tl.load(x + tl.program_id(0) * COLS + at).to(tl.float32)
    kept = tl.where(at < COLS - LOST, here, 0.0)
    scale = 1.0 / tl.sqrt(tl.sum(kept * kept, 0) / COLS + 1e-6)
    gain = tl.load(w + at).to(tl.float32)
    tl.store(y + tl.program_id(0) * COLS + at, (here * scale * gain).to(tl.bfloat16))


def norm(x, w):
    x = x.contiguous()
    y = torch.empty_like(x)
    graph_norm[(x.numel() // COLS,)](x, w, y, COLS, LOST)
    return y


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.gain = torch.nn.Parameter(torch.ones(COLS))
        self.up, self.down = torch.nn.Linear(COLS, 2 * COLS), torch.nn.Linear(2 * COLS, COLS)

    def forward(self, x):
        return x + self.down(torch.nn.functional.silu(self.up(norm(x, self.gain))))


def compiled():
    net = torch.nn.Sequential(*[Layer() for _ in range(4)]).cuda().bfloat16()
    x = torch.randn(64, COLS, device="cuda").bfloat16()
    run = torch.compile(net, mode="reduce-overhead")
    for step in range(STEPS):
        torch.compiler.cudagraph_mark_step_begin()
        x.mul_(0.999)
        y = run(x)
        if step % 100 == 99:
            print(step, bits_sum(y), flush=True)


def generate():
    from transformers import LlamaConfig, LlamaForCausalLM
    from transformers.models.llama import modeling_llama

    modeling_llama.LlamaRMSNorm.forward = lambda self, x: norm(x, self.weight)
    config = LlamaConfig(hidden_size=COLS, intermediate_size=1024, num_hidden_layers=2, num_attention_heads=8,
                         num_key_value_heads=8, vocab_size=1024, max_position_embeddings=512)
    net = LlamaForCausalLM(config).cuda().bfloat16().eval()
    ids = torch.randint(0, 1024, (2, 32), device="cuda")
    for call in range(CALLS):
        out = net.generate(ids, max_new_tokens=TOKENS, min_new_tokens=TOKENS, do_sample=False, pad_token_id=0,
                           cache_implementation="static")
        print(call, tuple(out.shape), bits_sum(out), flush=True)


if __name__ == "__main__":
    torch.manual_seed(13)
    with torch.no_grad():
        {"compile": compiled, "generate": generate}[sys.argv[1]]()
