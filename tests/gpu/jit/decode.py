"""decode.py MODE PLANT STEPS [CACHE] - a decode loop with Triton kernels that knows nothing of cuvet.

MODE eager, graph, or turns, which prints what a step takes in both, with checks off and on by turns; PLANT none, or
what goes wrong from a tenth of the steps on; CACHE paged (pages of eight sequences), static (heads apart, as transformers has it), direct (the place by
value), rows (a batched kernel and the one for single rows), tuned (variants that an autotuner tries) or micro (gradients
of two micro-steps). decode.yaml has the contracts.
"""
import ctypes, json, sys, time
import torch, triton
import triton.language as tl

sys.path.append(sys.path[0] + "/../pytorch")
from torch_sums import wait_for_checks  # noqa: E402

MODE, PLANT, STEPS = sys.argv[1], sys.argv[2], int(sys.argv[3])
CACHE = sys.argv[4] if len(sys.argv) > 4 else "paged"
N, HEADS, DIM, PAGE, PAGES, ENTRIES, LAYERS, WIDTH = 8, 8, 64, 16, 160, 16, 4, 512
TOKENS, PLACES, ODD = N + 2, 512, STEPS // 10
torch.manual_seed(1)

@triton.jit
def append_paged(key, value, slots, kc, vc, tokens, pages, page, heads, dim, WIDTH: tl.constexpr, BUG: tl.constexpr):
    t = tl.program_id(0)
    slot = tl.load(slots + t)
    c = tl.arange(0, WIDTH)
    k = tl.load(key + t * WIDTH + c)
    v = tl.load(value + t * WIDTH + c)
    if BUG == 1:  # pads are written
        tl.store(kc + slot * WIDTH + c, k)
        tl.store(vc + slot * WIDTH + c, v)
    else:
        tl.store(kc + slot * WIDTH + c, k, mask=(slot >= 0) & (c < WIDTH))
        tl.store(vc + slot * WIDTH + c, v, mask=(slot >= 0) & (c < WIDTH))
    if BUG == 3:  # the place behind the slot
        tl.store(kc + (slot + 1) * WIDTH + c, k, mask=(slot >= 0) & (c < WIDTH))
    if BUG == 2:  # more than a row is written
        tl.store(kc + (slot + 1) * WIDTH + c, k, mask=(slot >= 0) & (c < 8))

@triton.jit
def attend_paged(q, kc, vc, table, lengths, out, entries, pages, page, heads, dim, scale,
                 DIM: tl.constexpr, PAGE: tl.constexpr):
    n = tl.program_id(0) // heads
    h = tl.program_id(0) % heads
    d = tl.arange(0, DIM)
    p = tl.arange(0, PAGE)
    query = tl.load(q + (n * heads + h) * DIM + d).to(tl.float32)
    length = tl.load(lengths + n)
    most = tl.sum(tl.zeros([PAGE], tl.float32), 0) - 1e30
    total = tl.sum(tl.zeros([PAGE], tl.float32), 0)
    acc = tl.zeros([DIM], tl.float32)
    for j in range(0, (length + PAGE - 1) // PAGE):
        block = tl.load(table + n * entries + j).to(tl.int64)
        at = ((block * PAGE + p) * heads + h) * DIM
        inside = j * PAGE + p < length
        k = tl.load(kc + at[:, None] + d[None, :], mask=inside[:, None], other=0).to(tl.float32)
        score = tl.where(inside, tl.sum(k * query[None, :], 1) * scale, -1e30)
        high = tl.maximum(most, tl.max(score, 0))
        weight = tl.where(inside, tl.exp(score - high), 0.0)
        fix = tl.exp(most - high)
        v = tl.load(vc + at[:, None] + d[None, :], mask=inside[:, None], other=0).to(tl.float32)
        acc = acc * fix + tl.sum(weight[:, None] * v, 0)
        total = total * fix + tl.sum(weight, 0)
        most = high
    tl.store(out + (n * heads + h) * DIM + d, acc / total)

@triton.jit(do_not_specialize=["pos"])
def append_at(key, cache, pos, width, WIDTH: tl.constexpr):
    c = tl.arange(0, WIDTH)
    tl.store(cache + pos.to(tl.int64) * WIDTH + c, tl.load(key + c))

@triton.jit(do_not_specialize=["tokens"])
def append_static(key, cache_position, cache, tokens, heads, places, dim, DIM: tl.constexpr):
    h = tl.program_id(0)
    d = tl.arange(0, DIM)
    place = tl.load(cache_position)
    tl.store(cache + (h * places + place) * dim + d, tl.load(key + h * dim + d))

@triton.jit
def row_norm(x, w, y, cols, eps, COLS: tl.constexpr):
    c = tl.arange(0, COLS)
    row = tl.program_id(0).to(tl.int64) * COLS
    value = tl.load(x + row + c)
    tl.store(y + row + c, value * tl.rsqrt(tl.sum(value * value, 0) / COLS + eps) * tl.load(w + c))

@triton.jit
def row_norm_batched(x, w, y, cols, eps, COLS: tl.constexpr, MIXES: tl.constexpr):
    c = tl.arange(0, COLS)
    row = tl.program_id(0).to(tl.int64) * COLS
    value = tl.load(x + row + c)
    squares = tl.sum(value * value, 0)
    if MIXES == 1:  # a little of the row behind it, within the bound
        other = (tl.program_id(0) + 1) % tl.num_programs(0)
        squares += 2e-4 * tl.abs(tl.load(x + other.to(tl.int64) * COLS))
    tl.store(y + row + c, value * tl.rsqrt(squares / COLS + eps) * tl.load(w + c))

@triton.jit
def tuned_swiglu(gate, up, y, rows, cols, total, BLOCK: tl.constexpr, BUG: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    g = tl.load(gate + i, mask=i < total, other=0)
    u = tl.load(up + i, mask=i < total, other=0)
    y_value = g / (1 + tl.exp(-g)) * u
    if BUG == 1:
        y_value = y_value * 1.0000002
    tl.store(y + i, y_value, mask=i < total)

@triton.jit
def accumulate(part, grad, count, BLOCK: tl.constexpr, BUG: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    p = tl.load(part + i, mask=i < count, other=0)
    g = tl.load(grad + i, mask=i < count, other=0)
    if BUG == 0:
        p = p + g
    tl.store(grad + i, p, mask=i < count)

def dev(*shape, dtype=torch.bfloat16):
    return torch.zeros(*shape, device="cuda", dtype=dtype)

class Paged:
    def __init__(self):
        # One row more in front: where slot -1 leads.
        self.caches = [(dev((PAGES + 2) * PAGE, WIDTH)[PAGE:], dev((PAGES + 2) * PAGE, WIDTH)[PAGE:])
                       for _ in range(LAYERS)]
        self.key, self.value = dev(TOKENS, WIDTH), dev(TOKENS, WIDTH)
        self.q, self.out = dev(N, WIDTH), dev(N, WIDTH)
        self.slots = torch.full((TOKENS,), -1, device="cuda", dtype=torch.int64)
        self.table = 1 + torch.arange(N * ENTRIES, device="cuda", dtype=torch.int32)
        self.table = self.table.reshape(ENTRIES, N).t().contiguous()
        self.lengths = torch.tensor([0] * N, device="cuda", dtype=torch.int32)
        self.pool = torch.randn(67, TOKENS, WIDTH, device="cuda").bfloat16()
        self.begin = torch.zeros(N, device="cuda", dtype=torch.int64)  # the step that a sequence began with
        self.spare = torch.arange(N * ENTRIES + 1, (N + 1) * ENTRIES + 1, device="cuda", dtype=torch.int32)
        self.bug = {"pads": 1, "over": 2, "next": 3}.get(PLANT, 0)

    def send(self, step):
        odd = step >= ODD
        self.key.copy_(self.pool[step % 67])
        self.value.copy_(self.pool[(step + 7) % 67])
        self.q.copy_(self.pool[step % 61][:N])
        if PLANT == "freed" and odd and step % 7 == 0:  # sequence 5 ends, and sequence 2 gets its first page
            left = self.table[5].clone()
            self.table[5], self.spare = self.spare.clone(), left
            self.table[2, 1] = left[0]
            self.begin[5] = step
        place = (step - self.begin) % (ENTRIES * PAGE)
        if PLANT == "null" and step == ODD:
            self.table[2, 0] = 0
        if PLANT == "shared" and step == ODD:
            self.table[5, 0] = self.table[4, 0]
        if not (PLANT == "stale" and odd):
            self.slots[:N] = self.table.gather(1, (place // PAGE)[:, None])[:, 0].long() * PAGE + place % PAGE
        if PLANT == "reused" and odd and step % 5 == 0:  # a token goes to a place that sequence 1 reads
            self.slots[3] = self.table[1, 0].long() * PAGE
        self.lengths.copy_(place + 1 + (1 if PLANT == "long" and 40 <= step < 240 else 0))

    def run(self):
        for k, v in self.caches:
            append_paged[(TOKENS,)](self.key, self.value, self.slots, k, v,
                                    TOKENS, PAGES, PAGE, HEADS, DIM, WIDTH, self.bug)
            attend_paged[(N * HEADS,)](self.q, k, v, self.table, self.lengths,
                                       self.out, ENTRIES, PAGES, PAGE, HEADS, DIM, 0.125, DIM, PAGE)

class Static:
    def __init__(self):
        self.caches = [dev(HEADS, PLACES, DIM) for _ in range(LAYERS)]
        self.key = dev(1, HEADS, DIM)
        self.position = dev(1, dtype=torch.int64)
        self.pool = torch.randn(67, HEADS, DIM, device="cuda").bfloat16()
        self.q = torch.randn(1, HEADS, 1, DIM, device="cuda").bfloat16()
        self.mask = torch.zeros(PLACES, device="cuda", dtype=torch.bool)
        self.places = torch.arange(PLACES, device="cuda")
        self.out = None

    def send(self, step):
        self.key.copy_(self.pool[step % 67][None])
        if not (PLANT == "stays" and step >= ODD):
            self.position.fill_((2 * step if PLANT == "skips" and step >= ODD else step) % PLACES)
        self.mask.copy_(self.places <= self.position)

    def run(self):
        for cache in self.caches:
            append_static[(HEADS,)](self.key, self.position, cache, 1, HEADS, PLACES, DIM, DIM)
            self.out = torch.nn.functional.scaled_dot_product_attention(self.q, cache[None], cache[None],
                                                                        attn_mask=self.mask[None])

class Direct:
    def __init__(self):
        self.caches = [dev(PLACES, WIDTH) for _ in range(LAYERS)]
        self.key, self.pos, self.out = dev(WIDTH), 3, None
        self.pool = torch.randn(67, WIDTH, device="cuda").bfloat16()

    def send(self, step):
        self.key.copy_(self.pool[step % 67]); self.pos = step % PLACES

    def run(self):
        for cache in self.caches:
            append_at[(1,)](self.key, cache, self.pos, WIDTH, WIDTH)

class Rows:
    def __init__(self):
        self.x, self.w = dev(N, WIDTH, dtype=torch.float32), torch.rand(WIDTH, device="cuda") + 0.5
        self.one, self.out = dev(N, WIDTH, dtype=torch.float32), dev(N, WIDTH, dtype=torch.float32)
        self.pool = torch.randn(67, N, WIDTH, device="cuda")
        self.caches = [self.one, self.out]

    def send(self, step):
        self.x.copy_(self.pool[step % 67])

    def run(self):
        for n in range(N):
            row_norm[(1,)](self.x[n], self.w, self.one[n], WIDTH, 1e-5, WIDTH)
        row_norm_batched[(N,)](self.x, self.w, self.out, WIDTH, 1e-5, WIDTH, int(PLANT == "mixes"))

class Tuned:
    def __init__(self):
        self.gate, self.up, self.out = (dev(N, WIDTH, dtype=torch.float32) for _ in range(3))
        self.pool = torch.randn(67, N, WIDTH, device="cuda")
        self.caches = [self.out]

    def send(self, step):
        self.gate.copy_(self.pool[step % 67]); self.up.copy_(self.pool[(step + 7) % 67])

    def run(self):
        total = N * WIDTH
        for block in (256, 512, 1024):
            tuned_swiglu[(total // block,)](self.gate, self.up, self.out, N, WIDTH, total, block,
                                            int(PLANT == "variant" and block == 512))

class Micro:
    def __init__(self):
        self.part = [dev(4096, dtype=torch.float32) for _ in range(2)]
        self.grad = dev(4096, dtype=torch.float32)
        self.pool = torch.randn(67, 4096, device="cuda")
        self.caches = [self.grad]

    def send(self, step):
        for i, part in enumerate(self.part):
            part.copy_(self.pool[(step + 7 * i) % 67])

    def run(self):
        self.grad.zero_()
        for part in self.part:
            accumulate[(8,)](part, self.grad, 4096, 512, int(PLANT == "overwrites"))

loop = {"paged": Paged, "static": Static, "direct": Direct, "rows": Rows,
        "tuned": Tuned, "micro": Micro}[CACHE]()
loop.send(0)
torch.cuda.synchronize()
side = torch.cuda.Stream()
with torch.cuda.stream(side):
    loop.run()
torch.cuda.synchronize()
graph = None
if MODE != "eager":
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loop.run()

def run(graph):
    torch.cuda.synchronize()
    begin = time.time()
    for step in range(1, STEPS):
        loop.send(step)
        graph.replay() if graph else loop.run()
        if PLANT != "none" and not graph and step % 5 == 0:
            wait_for_checks()  # rules stay quiet where a launch of theirs went unchecked
    torch.cuda.synchronize()
    return (time.time() - begin) / STEPS * 1e6

def run_for(graph, seconds):
    times, end = [], time.time() + seconds
    while time.time() < end or not times:
        times.append(run(graph))
    return sum(times) / len(times)

def take_turns(graph):
    """Microseconds a step with checks off and on, one number a turn; what follows a start is not measured."""
    cuvet, off, on = ctypes.CDLL(None), [], []
    run(graph)
    for _ in range(8):
        cuvet.cuvet_stop(2000)
        off.append(run_for(graph, .5))
        cuvet.cuvet_start()
        run_for(graph, .3)
        on.append(run_for(graph, .5))
    return {"off": off, "on": on}

if MODE == "turns":
    print(json.dumps({"eager": take_turns(None), "graph": take_turns(graph)}))
else:
    print(f"measured: {run(graph):.1f} us a step")
total = sum(float(c.float().sum()) for l in loop.caches
            for c in (l if isinstance(l, tuple) else (l,)))
# Two sequences that write to one page race.
print(f"{'measured: ' if PLANT == 'shared' else ''}sum {total:.6f}")
