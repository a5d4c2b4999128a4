#!/usr/bin/env python3
"""zoo.py - architectures that no table was written for, each launch checked: how much of them has an entry, and what is found.

    python3 tests/programs/zoo.py --cuvet build/release/cuvet [--reports FOLDER] [--jobs N] [--steps N] [--compile]
        [NAME ...]

Each NAME is an architecture of transformers or torch with random weights and data, small, and is trained (bf16 autocast, weights in
bf16, f16 with a scaled loss, or f32 with tf32) or run under inference, as its row says; or it is a program of packages/programs.py
("own"). Without a NAME all of them run, with `architectures` or `packages` those of one file. They run as processes of their own under
`cuvet run` with the shipped tables. Prints a row for each: launches, the shares of launches and of GPU time with an entry,
verdicts, and the largest kernels without one. With --compile the models go through torch.compile, whose kernels are held against
their own PTX. Fails where a program ends otherwise than without cuvet, or has a finding.
"""

import argparse
import concurrent.futures
import json
import glob
import os
import re
import subprocess
import sys

from packages.programs import PACKAGES

HERE = os.path.abspath(__file__)
SEED = 5


def config(kind, **more):
    from transformers import AutoConfig
    return AutoConfig.for_model(kind, **more)


def tokens(torch, rows, columns, vocabulary=1000):
    return torch.randint(3, vocabulary, (rows, columns), device="cuda")


TEXT = dict(vocab_size=1000, hidden_size=256, num_hidden_layers=2, num_attention_heads=8, intermediate_size=640)
GPT = dict(vocab_size=1000, n_embd=256, n_layer=2, n_head=8, n_positions=256)


def causal(kind, **more):
    def make(torch):
        from transformers import AutoModelForCausalLM
        return AutoModelForCausalLM.from_config(config(kind, **more)), lambda: dict(
            zip(("input_ids", "labels"), [tokens(torch, 4, 128)] * 2))
    return make


def masked(kind, **more):
    def make(torch):
        from transformers import AutoModelForMaskedLM
        mask = (torch.arange(128, device="cuda")[None] < torch.tensor([128, 100, 64, 17], device="cuda")[:, None]).long()
        return AutoModelForMaskedLM.from_config(config(kind, **more)), lambda: dict(
            zip(("input_ids", "labels"), [tokens(torch, 4, 128)] * 2), attention_mask=mask)
    return make


def translated(kind, **more):
    def make(torch):
        from transformers import AutoModelForSeq2SeqLM
        return AutoModelForSeq2SeqLM.from_config(config(kind, **more)), lambda: dict(
            input_ids=tokens(torch, 4, 96), labels=tokens(torch, 4, 64))
    return make


def image(kind, **more):
    def make(torch):
        from transformers import AutoModelForImageClassification as model
        side = more.get("image_size", 64)
        return model.from_config(config(kind, num_labels=10, **more)), lambda: dict(
            pixel_values=torch.randn(8, 3, side, side, device="cuda"), labels=torch.randint(0, 10, (8,), device="cuda"))
    return make


def whisper(torch):
    from transformers import WhisperConfig, WhisperForConditionalGeneration
    model = WhisperForConditionalGeneration(WhisperConfig(
        vocab_size=1000, d_model=128, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
        encoder_ffn_dim=256, decoder_ffn_dim=256, max_source_positions=150, max_target_positions=64, pad_token_id=0,
        bos_token_id=1, eos_token_id=2, decoder_start_token_id=1, suppress_tokens=None, begin_suppress_tokens=None))
    return model, lambda: dict(input_features=torch.randn(2, 80, 300, device="cuda"), labels=tokens(torch, 2, 32))


def speech(torch):
    from transformers import AutoModelForCTC
    model = AutoModelForCTC.from_config(config("wav2vec2", vocab_size=32, hidden_size=128, num_hidden_layers=2, num_attention_heads=4,
                                               intermediate_size=256, conv_dim=[64] * 7, mask_time_prob=0.0))
    return model, lambda: dict(input_values=torch.randn(2, 16000, device="cuda"), labels=torch.randint(3, 32, (2, 12), device="cuda"))


def pairs(torch):
    from transformers import CLIPConfig, CLIPModel
    part = dict(hidden_size=128, intermediate_size=256, num_hidden_layers=2, num_attention_heads=4)
    model = CLIPModel(CLIPConfig(text_config=dict(part, vocab_size=1000, max_position_embeddings=64, eos_token_id=2, bos_token_id=1),
                                 vision_config=dict(part, image_size=64, patch_size=16), projection_dim=64))
    return model, lambda: dict(input_ids=tokens(torch, 8, 32), pixel_values=torch.randn(8, 3, 64, 64, device="cuda"), return_loss=True)


def plain(build):
    """A module of torch: `build` gives it and a function that gives a loss."""
    def make(torch):
        module, loss = build(torch)

        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = module

            def forward(self):
                return {"loss": loss(self.inner)}

        return Model(), dict
    return make


def lstm(torch):
    nn = torch.nn
    module = nn.ModuleDict({"words": nn.Embedding(1000, 256), "layers": nn.LSTM(256, 256, 2, batch_first=True), "head": nn.Linear(256, 1000)})

    def loss(m):
        ids = tokens(torch, 8, 64)
        return nn.functional.cross_entropy(m["head"](m["layers"](m["words"](ids))[0]).flatten(0, 1).float(), ids.flatten())
    return module, loss


def unet(torch):
    nn = torch.nn

    def block(i, o):
        return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.GroupNorm(8, o), nn.SiLU(), nn.Conv2d(o, o, 3, padding=1), nn.GroupNorm(8, o), nn.SiLU())
    module = nn.ModuleDict({"a": block(3, 32), "b": block(32, 64), "c": block(64, 32), "up": nn.ConvTranspose2d(64, 32, 2, 2),
                            "out": nn.Conv2d(64, 3, 1)})

    def loss(m):
        x = torch.randn(4, 3, 64, 64, device="cuda")
        high = m["a"](x)
        low = m["b"](nn.functional.avg_pool2d(high, 2))
        y = torch.cat([m["up"](low), m["c"](nn.functional.interpolate(low, scale_factor=2, mode="bilinear"))], 1)
        return nn.functional.mse_loss(m["out"](y).float(), x)
    return module, loss


def gan(torch):
    nn = torch.nn
    module = nn.Sequential(nn.ConvTranspose2d(64, 128, 4), nn.BatchNorm2d(128), nn.ReLU(), nn.ConvTranspose2d(128, 64, 4, 2, 1),
                           nn.BatchNorm2d(64), nn.ReLU(), nn.ConvTranspose2d(64, 3, 4, 2, 1), nn.Tanh(), nn.Conv2d(3, 64, 4, 2, 1),
                           nn.LeakyReLU(0.2), nn.Dropout(0.1), nn.Flatten(), nn.Linear(64 * 64, 1))

    def loss(m):
        logits = m(torch.randn(16, 64, 1, 1, device="cuda")).float()
        return nn.functional.binary_cross_entropy_with_logits(logits, torch.ones_like(logits))
    return module, loss


def graph(torch):
    """Messages over the edges of a random graph."""
    nn = torch.nn
    module = nn.ModuleList([nn.Linear(128, 128), nn.Linear(128, 128), nn.Linear(128, 7)])
    source, target = torch.randint(0, 3000, (2, 20000), device="cuda")
    x, wanted = torch.randn(3000, 128, device="cuda"), torch.randint(0, 7, (3000,), device="cuda")

    def loss(m):
        h = x
        for layer in m:
            h = layer(torch.zeros_like(h).index_add_(0, target, h.index_select(0, source)))
            h = nn.functional.normalize(nn.functional.elu(h) if layer is not m[-1] else h, dim=-1)
        return nn.functional.nll_loss(nn.functional.log_softmax(h.float(), -1), wanted)
    return module, loss


def ranking(torch):
    nn = torch.nn
    module = nn.ModuleDict({"bags": nn.EmbeddingBag(5000, 64, mode="mean"), "users": nn.Embedding(2000, 64),
                            "deep": nn.Sequential(nn.Linear(128, 256), nn.PReLU(), nn.BatchNorm1d(256), nn.Linear(256, 1))})

    def loss(m):
        bags = m["bags"](torch.randint(0, 5000, (512, 20), device="cuda"))
        both = torch.cat([bags, m["users"](torch.randint(0, 2000, (512,), device="cuda"))], -1)
        logits = m["deep"](both).squeeze(-1).float()
        return nn.functional.binary_cross_entropy_with_logits(logits, (torch.rand(512, device="cuda") < 0.3).float())
    return module, loss


def vision(name, last=False, side=96):
    def make(torch):
        import torchvision
        model = torchvision.models.get_model(name, weights=None, num_classes=10)
        order = torch.channels_last if last else torch.contiguous_format

        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = model.to(memory_format=order)

            def forward(self, pixels, labels):
                return {"loss": torch.nn.functional.cross_entropy(self.inner(pixels).float(), labels)}

        return Model(), lambda: dict(pixels=torch.randn(8, 3, side, side, device="cuda").to(memory_format=order),
                                     labels=torch.randint(0, 10, (8,), device="cuda"))
    return make


def transformer(torch):
    nn = torch.nn
    module = nn.ModuleDict({"words": nn.Embedding(1000, 128), "both": nn.Transformer(128, 4, 2, 2, 256, batch_first=True, norm_first=True),
                            "head": nn.Linear(128, 1000)})

    def loss(m):
        ids, mask = tokens(torch, 8, 48), nn.Transformer.generate_square_subsequent_mask(48, device="cuda")
        padding = torch.arange(48, device="cuda")[None] >= torch.randint(20, 48, (8, 1), device="cuda")
        y = m["head"](m["both"](m["words"](ids), m["words"](ids), tgt_mask=mask, tgt_is_causal=True, src_key_padding_mask=padding))
        return nn.functional.cross_entropy(y.flatten(0, 1).float(), ids.flatten(), label_smoothing=0.1)
    return module, loss


def volume(torch):
    """An autoencoder of volumes, with a KL term."""
    nn = torch.nn
    module = nn.ModuleDict({"down": nn.Sequential(nn.Conv3d(1, 16, 3, 2, 1), nn.InstanceNorm3d(16), nn.GELU(), nn.Conv3d(16, 16, 3, 2, 1)),
                            "up": nn.Sequential(nn.ConvTranspose3d(8, 16, 4, 2, 1), nn.Mish(), nn.ConvTranspose3d(16, 1, 4, 2, 1), nn.Sigmoid())})

    def loss(m):
        x = torch.rand(4, 1, 16, 20, 24, device="cuda")
        mean, deviation = m["down"](x).float().chunk(2, 1)
        y = m["up"](mean + torch.randn_like(mean) * (0.5 * deviation).exp()).float()
        return nn.functional.binary_cross_entropy(y, x) - 0.005 * (1 + deviation - mean.square() - deviation.exp()).mean()
    return module, loss


def losses(torch):
    """Two layers under one loss after another."""
    F, nn = torch.nn.functional, torch.nn
    module = nn.Sequential(nn.Linear(64, 128), nn.Hardswish(), nn.LayerNorm(128), nn.Dropout1d(0.2), nn.Linear(128, 64), nn.Softsign())

    def loss(m):
        x, y = m(torch.randn(200, 64, device="cuda")).float(), torch.randn(200, 64, device="cuda")
        labels, sign = torch.randint(0, 64, (200,), device="cuda"), torch.randint(0, 2, (200,), device="cuda") * 2 - 1
        return (F.mse_loss(x, y) + F.l1_loss(x, y) + F.smooth_l1_loss(x, y) + F.huber_loss(x, y) + F.kl_div(x.log_softmax(-1), y.softmax(-1)) +
                F.nll_loss(x.log_softmax(-1), labels) + F.multi_margin_loss(x, labels) + F.cosine_embedding_loss(x, y, sign) +
                F.triplet_margin_loss(x, y, y.flip(0)) + F.hinge_embedding_loss(x, sign[:, None].expand_as(x)) + F.soft_margin_loss(x, sign[:, None]) +
                F.poisson_nll_loss(x, y.abs()) + F.gaussian_nll_loss(x, y, y.square() + 0.1) + F.cross_entropy(x, y.softmax(-1)) +
                x.cumsum(0).square().mean() + x.sort(-1).values[:, :3].sum() + x.topk(5, -1).values.mean() + x.std(0).sum() + x.norm(dim=-1).mean() +
                torch.logsumexp(x, -1).mean() + torch.cdist(x, y).mean() + x.median(-1).values.mean() + x.prod(-1).mean())
    return module, loss


def steps_of(name, **more):
    """A small network whose optimiser is one of torch's."""
    def build(torch):
        nn = torch.nn
        module = nn.Sequential(nn.Linear(64, 256), nn.SELU(), nn.BatchNorm1d(256), nn.Linear(256, 10)).cuda()
        inner = getattr(torch.optim, name)(module.parameters(), lr=1e-2, **more)

        def loss(m):
            x, labels = torch.randn(128, 64, device="cuda"), torch.randint(0, 10, (128,), device="cuda")

            def closure():
                inner.zero_grad()
                value = nn.functional.cross_entropy(m(x), labels)
                value.backward()
                return value
            inner.step(closure)
            return nn.functional.cross_entropy(m(x), labels)
        return module, loss
    return plain(build)


# Name: how, what. bf16, f16 and f32 are training, pure is training of weights in bf16; infer is half-precision inference.
ZOO = {
    "gpt2": ("bf16", causal("gpt2", **GPT)),
    "gpt_neox": ("f16", causal("gpt_neox", max_position_embeddings=256, **TEXT)),
    "gptj": ("bf16", causal("gptj", rotary_dim=16, **GPT)),
    "opt": ("f16", causal("opt", vocab_size=1000, hidden_size=256, num_hidden_layers=2, num_attention_heads=8, ffn_dim=640,
                          word_embed_proj_dim=256, max_position_embeddings=256)),
    "bloom": ("bf16", causal("bloom", vocab_size=1000, hidden_size=256, n_layer=2, n_head=8)),
    "falcon": ("bf16", causal("falcon", vocab_size=1000, hidden_size=256, num_hidden_layers=2, num_attention_heads=8)),
    "mistral": ("bf16", causal("mistral", num_key_value_heads=2, sliding_window=64, **TEXT)),
    "mixtral": ("bf16", causal("mixtral", num_key_value_heads=2, num_local_experts=4, **TEXT)),
    "qwen2": ("infer", causal("qwen2", num_key_value_heads=2, **TEXT)),
    "qwen3": ("bf16", causal("qwen3", num_key_value_heads=2, head_dim=64, **TEXT)),
    "gemma2": ("bf16", causal("gemma2", num_key_value_heads=2, head_dim=32, **TEXT)),
    "phi": ("f16", causal("phi", **TEXT)),
    "olmo": ("f32", causal("olmo", **TEXT)),
    "mamba": ("bf16", causal("mamba", vocab_size=1000, hidden_size=128, num_hidden_layers=2, state_size=16)),
    "llama": ("pure", causal("llama", num_key_value_heads=2, **TEXT)),
    "gemma": ("pure", causal("gemma", num_key_value_heads=2, head_dim=32, **TEXT)),
    "gpt_bigcode": ("pure", causal("gpt_bigcode", **GPT)),
    "bert": ("f16", masked("bert", **TEXT)),
    "deberta": ("bf16", masked("deberta-v2", relative_attention=True, pos_att_type="p2c|c2p", **TEXT)),
    "electra": ("infer", masked("electra", embedding_size=128, **TEXT)),
    "modernbert": ("bf16", masked("modernbert", pad_token_id=0, **TEXT)),
    "t5": ("bf16", translated("t5", vocab_size=1000, d_model=256, d_ff=512, d_kv=32, num_layers=2, num_heads=8, decoder_start_token_id=0)),
    "bart": ("f16", translated("bart", vocab_size=1000, d_model=256, encoder_layers=2, decoder_layers=2, encoder_attention_heads=8,
                               decoder_attention_heads=8, encoder_ffn_dim=512, decoder_ffn_dim=512, max_position_embeddings=256)),
    "swin": ("bf16", image("swin", image_size=64, patch_size=4, embed_dim=48, depths=[2, 2], num_heads=[3, 6], window_size=4)),
    "convnext": ("bf16", image("convnext", image_size=64, hidden_sizes=[32, 64, 128, 256], depths=[1, 1, 2, 1])),
    "deit": ("infer", image("deit", architectures=["DeiTForImageClassification"], image_size=64, patch_size=8, hidden_size=192, num_hidden_layers=2, num_attention_heads=3,
                            intermediate_size=384)),
    "segformer": ("bf16", image("segformer", image_size=64, hidden_sizes=[32, 64, 128, 160], depths=[1, 1, 1, 1])),
    "mobilenet": ("f32", image("mobilenet_v2", image_size=96)),
    "efficientnet": ("bf16", image("efficientnet", image_size=96, width_coefficient=0.5, depth_coefficient=0.3, hidden_dim=640)),
    "whisper": ("bf16", whisper),
    "wav2vec2": ("f32", speech),
    "clip": ("bf16", pairs),
    "lstm": ("f32", plain(lstm)),
    "unet": ("bf16", plain(unet)),
    "gan": ("f32", plain(gan)),
    "graph": ("f32", plain(graph)),
    "ranking": ("bf16", plain(ranking)),
    "resnet": ("pure", vision("resnet18")),
    "vgg": ("bf16", vision("vgg11_bn")),
    "densenet": ("f16", vision("densenet121", last=True)),
    "shufflenet": ("f32", vision("shufflenet_v2_x1_0")),
    "regnet": ("bf16", vision("regnet_y_400mf", last=True)),
    "squeezenet": ("f32", vision("squeezenet1_1", last=True)),
    "transformer": ("f16", plain(transformer)),
    "volume": ("f32", plain(volume)),
    "losses": ("f32", plain(losses)),
    "sgd": ("f32", steps_of("SGD", momentum=0.9, nesterov=True)),
    "rmsprop": ("f32", steps_of("RMSprop", momentum=0.5, centered=True)),
    "adagrad": ("f32", steps_of("Adagrad")),
    "nadam": ("f32", steps_of("NAdam")),
    "radam": ("f32", steps_of("RAdam")),
    "adamax": ("f32", steps_of("Adamax")),
    "rprop": ("f32", steps_of("Rprop")),
    "lbfgs": ("f32", steps_of("LBFGS")),
}
ARCHITECTURES = list(ZOO)
ZOO.update({name: ("own", make) for name, make in PACKAGES.items()})


def work(name, steps, compiled):
    import torch
    kind, make = ZOO[name]
    torch.manual_seed(SEED)
    if kind == "own":
        step = make(torch)
        for _ in range(steps):
            value = step()
        print("result", value)
        return
    torch.backends.cuda.matmul.allow_tf32 = kind == "f32"
    model, inputs = make(torch)
    model = model.cuda()
    if compiled:
        model.compile()
    if kind == "infer":
        model = model.to(torch.bfloat16 if name == "qwen2" else torch.float16).eval()
        with torch.inference_mode():
            for _ in range(steps):
                given = {k: v.to(model.dtype) if v.is_floating_point() else v for k, v in inputs().items()}
                result = model(**given)
        print("result", float(result["loss"]))
        return
    if kind == "pure":
        model = model.to(torch.bfloat16)
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-4)
    scaler = torch.amp.GradScaler("cuda", enabled=kind == "f16")
    for _ in range(steps):
        dtype = torch.float16 if kind == "f16" else torch.bfloat16
        given = inputs()
        if kind == "pure":
            given = {k: v.bfloat16() if v.is_floating_point() else v for k, v in given.items()}
        with torch.autocast("cuda", dtype=dtype, enabled=kind in ("bf16", "f16")):
            loss = model(**given)["loss"]
        scaler.scale(loss).backward()
        scaler.unscale_(optimiser)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimiser)
        scaler.update()
        optimiser.zero_grad()
        torch.cuda.synchronize()
    print("result", float(loss.detach()))


def end_line(folder):
    """The last line of each journal, added up."""
    total = {}
    for path in glob.glob(os.path.join(folder, "*.jsonl")):
        for line in open(path):
            event = json.loads(line)
            if event["event"] == "end":
                for key in ("seen", "checked", "match", "mismatch", "inconclusive"):
                    total[key] = total.get(key, 0) + event[key]
                for key in ("all", "registered"):
                    total[key] = total.get(key, 0) + event.get("gpu", {}).get(key, 0)
                total["unregistered"] = total.get("unregistered", 0) + event["reasons"].get("unregistered", 0)
    return total


def run(name, args):
    folder = os.path.join(args.reports, name)
    env = {k: v for k, v in os.environ.items() if not k.startswith("CUVET_")}
    env.update(CUVET_SAMPLE="1", CUVET_BUDGET="off", CUVET_LIFT="1" if args.compile or ZOO[name][0] == "own" else "0", HF_HUB_OFFLINE="1", PYTHONDONTWRITEBYTECODE="1")
    worker = [sys.executable, HERE, "--worker", "--steps", str(args.steps)] + ["--compile"] * args.compile + [name]
    done = subprocess.run([args.cuvet, "run", "--unregistered", "20", "-o", folder, "--", *worker], env=env, stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=args.seconds)
    with open(os.path.join(args.reports, name + ".log"), "w") as log:
        log.write(done.stdout)
    return done.returncode, done.stdout, end_line(folder)


def row(name, status, text, end):
    if status or not end or "result" not in text:
        reason = [line for line in text.splitlines() if re.match(r"\w*Error|\w+\.\w*(Error|Exception)", line)]
        print("%-14s ended with %s: %s" % (name, status, reason[-1][:140] if reason else "its log has more"), flush=True)
        return False
    section = text.partition("Most time on the GPU without an entry")[2].split("\n\n")[0].splitlines()[1:]
    largest = ", ".join(" ".join(line.split())[:70] for line in section[:2] if line.strip())
    print("%-14s %-5s %8d %8.1f %8.1f %8d %9d %12d   %s" % (
        name, ZOO[name][0], end["seen"], 100 - 100 * end["unregistered"] / max(1, end["seen"]),
        100 * end["registered"] / max(end["all"], 1e-9), end["checked"], end["mismatch"], end["inconclusive"], largest), flush=True)
    return not end["mismatch"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cuvet", default="build/release/cuvet")
    parser.add_argument("--reports", default="build/release/zoo")
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=200)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    if args.worker:
        sys.path.remove(os.path.dirname(HERE))  # files here have names of packages
        work(args.names[0], args.steps, args.compile)
        return
    sets = {"architectures": ARCHITECTURES, "packages": list(PACKAGES)}
    names = [name for given in args.names or sets for name in sets.get(given, [given])]
    os.makedirs(args.reports, exist_ok=True)
    print("%-14s %-5s %8s %8s %8s %8s %9s %12s   %s" % (
        "program", "how", "launches", "% entry", "% time", "checked", "mismatch", "inconclusive", "most time without an entry"))
    bad = []
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        started = [(name, pool.submit(run, name, args)) for name in names]
        for name, future in started:
            try:
                good = row(name, *future.result())
            except subprocess.TimeoutExpired:
                print("%-14s did not end in %.0f s" % (name, args.seconds), flush=True)
                good = False
            bad += [] if good else [name]
    sys.exit("zoo.py: %s, see %s" % (", ".join(bad), args.reports) if bad else 0)


if __name__ == "__main__":
    main()
