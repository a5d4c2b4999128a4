"""static_model.py MODE PLANT STEPS - a small transformers model decodes with a static cache; it knows nothing of cuvet.

MODE eager or graph; PLANT none, or what goes wrong from a tenth of the steps on: stale (the place is not advanced any
more) or next (each key goes to the place behind, too). The cache is transformers' StaticCache, whose update is
a Triton kernel here. decode.yaml has the contracts. Skipped where transformers is not installed.
"""
import sys
try:
    import torch, triton
    import triton.language as tl
    from transformers import LlamaConfig, LlamaForCausalLM, StaticCache
except ImportError as missing:
    print(missing)
    sys.exit(77)

MODE, PLANT, STEPS = sys.argv[1], sys.argv[2], int(sys.argv[3])
HEADS, DIM, LAYERS, PLACES, ODD = 4, 64, 2, 256, STEPS // 10
torch.manual_seed(1)

@triton.jit(do_not_specialize=["tokens"])
def append_static(key, cache_position, cache, tokens, heads, places, dim, DIM: tl.constexpr, BUG: tl.constexpr):
    h = tl.program_id(0)
    d = tl.arange(0, DIM)
    at = cache + (h * places + tl.load(cache_position)) * dim + d
    value = tl.load(key + h * dim + d)
    tl.store(at, value)
    if BUG == 1:
        tl.store(at + dim, value)

config = LlamaConfig(hidden_size=HEADS * DIM, intermediate_size=512, num_hidden_layers=LAYERS, vocab_size=512,
                     num_attention_heads=HEADS, num_key_value_heads=HEADS, max_position_embeddings=PLACES,
                     attn_implementation="sdpa")
model = LlamaForCausalLM(config).to("cuda", torch.bfloat16).eval()
buffers = [[torch.zeros(1, HEADS, PLACES, DIM, device="cuda", dtype=torch.bfloat16) for _ in range(2)]
           for _ in range(LAYERS)]
token = torch.zeros(1, 1, device="cuda", dtype=torch.int64)
position = torch.zeros(1, device="cuda", dtype=torch.int64)

class Cache(StaticCache):
    """Its update is one kernel for the keys and one for the values of a layer."""

    def update(self, key, value, layer, cache_kwargs=None, **more):
        for part, buffer in zip((key, value), buffers[layer]):
            append_static[(HEADS,)](part.contiguous(), position, buffer, 1, HEADS, PLACES, DIM, DIM,
                                    int(PLANT == "next"))
        return tuple(buffers[layer])

    def get_seq_length(self, *words):
        return 0

def make_cache():
    try:
        return Cache(config=config, max_cache_len=PLACES)
    except TypeError:  # versions that want the batch as well
        return Cache(config=config, max_batch_size=1, max_cache_len=PLACES, device="cuda", dtype=torch.bfloat16)

cache = make_cache()
places = torch.arange(PLACES, device="cuda")
mask = torch.zeros(1, 1, 1, PLACES, device="cuda", dtype=torch.bfloat16)

@torch.no_grad()
def run():
    """One token; its logits choose the next one."""
    mask.copy_(torch.where(places <= position, 0.0, torch.finfo(torch.bfloat16).min)[None, None, None])
    out = model(input_ids=token, attention_mask=mask, position_ids=position[None], past_key_values=cache,
                cache_position=position, use_cache=True)
    token.copy_(out.logits[:, -1:].argmax(-1))

def send(step):
    token.add_(step).remainder_(512)  # so that each step has another key
    if not (PLANT == "stale" and step >= ODD):
        position.fill_(step % PLACES)

send(0)
side = torch.cuda.Stream()
torch.cuda.synchronize()
with torch.cuda.stream(side):
    run()
torch.cuda.synchronize()
graph = None
if MODE == "graph":
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
for step in range(1, STEPS):
    send(step)
    graph.replay() if graph else run()
torch.cuda.synchronize()
print("sum %.6f" % sum(float(b.float().abs().sum()) for pair in buffers for b in pair))
