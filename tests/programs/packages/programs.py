"""programs.py - programs of zoo.py that packages beside PyTorch make up, or that are no networks: each a function
that gives a step, and a step gives a number."""

import math

DEVICE = "cuda"


def tensors(torch, *shape):
    return torch.randn(*shape, device=DEVICE)


def integers(torch, most, *shape):
    return torch.randint(0, most, shape, device=DEVICE)


def trained(torch, module, loss, optimiser=None, dtype=None):
    """A step of training under autocast where a dtype is given."""
    module = module.to(DEVICE).train()
    optimiser = optimiser or torch.optim.AdamW(module.parameters(), lr=1e-3)

    def step():
        optimiser.zero_grad()
        with torch.autocast(DEVICE, dtype=dtype or torch.bfloat16, enabled=dtype is not None):
            value = loss(module)
        value.backward()
        optimiser.step()
        return float(value)
    return step


TEXT = dict(vocab_size=1000, hidden_size=256, num_hidden_layers=2, num_attention_heads=8, intermediate_size=640)


def language_model(kind, **more):
    from transformers import AutoConfig, AutoModelForCausalLM
    return AutoModelForCausalLM.from_config(AutoConfig.for_model(kind, **more)).to(DEVICE)


def written(**how):
    """Text by generate()."""
    def make(torch):
        model = language_model("llama", num_key_value_heads=2, **TEXT).to(torch.bfloat16).eval()

        def step():
            ids = integers(torch, 900, 4, 24) + 3
            out = model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=12, min_new_tokens=12, pad_token_id=0, **how)
            return float(out.float().mean())
        return step
    return make


def model_of(kind, cast=True, **more):
    """A language model of transformers, trained, in bf16 unless `cast` is false."""
    def make(torch):
        model = language_model(kind, **more)

        def loss(m):
            ids = integers(torch, 900, 2, 64) + 3
            return m(input_ids=ids, labels=ids).loss
        return trained(torch, model, loss, dtype=torch.bfloat16 if cast else None)
    return make


EXPERTS = dict(TEXT, num_key_value_heads=2, moe_intermediate_size=128, num_experts_per_tok=2)


def lora(torch):
    import peft
    model = language_model("llama", num_key_value_heads=2, **TEXT).to(torch.bfloat16)
    model = peft.get_peft_model(model, peft.LoraConfig(r=8, target_modules=["q_proj", "v_proj"], lora_dropout=0.1, use_dora=True))
    model.enable_input_require_grads()
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})

    def loss(m):
        ids = integers(torch, 900, 2, 96) + 3
        return m(input_ids=ids, labels=ids).loss
    return trained(torch, model, loss)


def pictures(name, side=64, last=False, dtype=None, **more):
    """A model of timm with an exponential average of its weights, mixed pictures and soft labels."""
    def make(torch):
        import timm
        import timm.loss
        import timm.optim
        import timm.utils
        model = timm.create_model(name, num_classes=10, **more).to(DEVICE)
        model = model.to(memory_format=torch.channels_last) if last else model
        average, soft = timm.utils.ModelEmaV3(model, decay=0.99), timm.loss.SoftTargetCrossEntropy()
        optimiser = timm.optim.create_optimizer_v2(model, opt="lamb", lr=1e-3, weight_decay=0.05)

        def loss(m):
            average.update(m)
            x, labels = tensors(torch, 8, 3, side, side), torch.nn.functional.one_hot(integers(torch, 10, 8), 10).float()
            share = float(torch.rand(()))
            x, labels = x * share + x.flip(0) * (1 - share), labels * share + labels.flip(0) * (1 - share)
            return soft(m(x.to(memory_format=torch.channels_last) if last else x), labels)
        return trained(torch, model, loss, optimiser, dtype)
    return make


def boxes(name):
    """Detection by torchvision: anchors, non-maximum suppression, aligned regions."""
    def make(torch):
        import torchvision
        model = torchvision.models.get_model(name, weights=None, weights_backbone=None, num_classes=5, min_size=128, max_size=160)

        def loss(m):
            images = [torch.rand(3, 120, 150, device=DEVICE) for _ in range(2)]
            low = torch.rand(2, 3, 2, device=DEVICE) * 60
            found = [dict(boxes=torch.cat([b, b + 20 + 40 * torch.rand(3, 2, device=DEVICE)], 1), labels=1 + integers(torch, 4, 3),
                          masks=(torch.rand(3, 120, 150, device=DEVICE) < 0.5).byte()) for b in low]
            value = sum(m(images, found).values())
            m.eval()
            with torch.no_grad():
                m(images)
            m.train()
            return value
        return trained(torch, model, loss, torch.optim.SGD(model.parameters(), lr=1e-4, momentum=0.9))
    return make


def scenes(torch):
    import torchvision
    model = torchvision.models.get_model("deeplabv3_mobilenet_v3_large", weights=None, weights_backbone=None, num_classes=7)
    return trained(torch, model, lambda m: torch.nn.functional.cross_entropy(
        m(tensors(torch, 4, 3, 96, 96))["out"], integers(torch, 7, 4, 96, 96), ignore_index=6), dtype=torch.bfloat16)


def detr(torch):
    from transformers import DetrConfig, DetrForObjectDetection, ResNetConfig
    model = DetrForObjectDetection(DetrConfig(
        use_timm_backbone=False, use_pretrained_backbone=False, backbone=None, backbone_config=ResNetConfig(
            embedding_size=16, hidden_sizes=[16, 32, 32, 64], depths=[1, 1, 1, 1], out_features=["stage4"]), d_model=64,
        encoder_layers=1, decoder_layers=1, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=128, decoder_ffn_dim=128,
        num_queries=20, num_labels=5))

    def loss(m):
        labels = [dict(class_labels=integers(torch, 5, 3), boxes=torch.rand(3, 4, device=DEVICE) * 0.4 + 0.2) for _ in range(2)]
        return m(pixel_values=tensors(torch, 2, 3, 96, 96), labels=labels).loss
    return trained(torch, model, loss)


def graphs(torch):
    import torch_geometric.nn as g
    nn = torch.nn
    layers = nn.ModuleList([g.GCNConv(32, 32), g.GATv2Conv(32, 8, heads=4, edge_dim=4), g.SAGEConv(32, 32, aggr="max"),
                            g.GINConv(nn.Linear(32, 32)), g.TransformerConv(32, 16, heads=2), g.PNAConv(
        32, 32, aggregators=["mean", "min", "std"], scalers=["identity", "amplification"], deg=torch.tensor([0, 10, 20, 30]))])
    module = nn.ModuleDict({"layers": layers, "norm": g.GraphNorm(32), "head": nn.Linear(64, 3)})
    batch = torch.arange(20, device=DEVICE).repeat_interleave(50)

    def loss(m):
        x, edges, kinds = tensors(torch, 1000, 32), integers(torch, 1000, 2, 6000), tensors(torch, 6000, 4)
        for layer in m["layers"]:
            x = torch.relu(layer(x, edges, kinds) if isinstance(layer, g.GATv2Conv) else layer(x, edges))
        x = m["norm"](x, batch)
        pooled = torch.cat([g.global_mean_pool(x, batch), g.global_max_pool(x, batch)], 1)
        return nn.functional.cross_entropy(m["head"](pooled), integers(torch, 3, 20))
    return trained(torch, module, loss)


def processes(torch):
    """A Gaussian process in f64, by Cholesky factors."""
    import gpytorch

    class Model(gpytorch.models.ExactGP):
        def __init__(self, x, y, likelihood):
            super().__init__(x, y, likelihood)
            self.mean_module = gpytorch.means.LinearMean(3)
            self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.MaternKernel(ard_num_dims=3)) + gpytorch.kernels.RBFKernel()

        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))
    x = torch.rand(300, 3, device=DEVICE, dtype=torch.float64)
    y = torch.sin(6 * x[:, 0]) + x[:, 1]
    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    module = Model(x, y, likelihood).double()
    fit = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, module)
    return trained(torch, module, lambda m: -fit(m(x), y))


def flow(torch):
    """An equation with a network for its right side, solved with steps of the solver's own."""
    import torchdiffeq
    nn = torch.nn

    class Field(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(2, 64), nn.Tanh(), nn.Linear(64, 2))

        def forward(self, t, y):
            return self.net(y ** 3) * torch.cos(t)
    times = torch.linspace(0, 1, 8, device=DEVICE)
    return trained(torch, Field(), lambda m: torchdiffeq.odeint_adjoint(m, tensors(torch, 64, 2), times, method="dopri5", rtol=1e-4).square().mean())


def rotations(torch):
    """Spherical harmonics and products of irreducible representations."""
    from e3nn import o3
    inner, edge = o3.Irreps("16x0e+8x1o+4x2e"), o3.Irreps.spherical_harmonics(2)
    product = o3.FullyConnectedTensorProduct(inner, edge, inner, shared_weights=False)
    module = torch.nn.ModuleDict({"product": product, "weights": torch.nn.Sequential(
        torch.nn.Linear(8, 32), torch.nn.SiLU(), torch.nn.Linear(32, product.weight_numel)), "out": o3.Linear(inner, "1x0e")})

    def loss(m):
        x, place = tensors(torch, 100, inner.dim), tensors(torch, 100, 3)
        near, far = integers(torch, 100, 2, 800)
        way = place[far] - place[near]
        around = o3.spherical_harmonics(edge, way, normalize=True, normalization="component")
        shells = torch.exp(-(way.norm(dim=1, keepdim=True) - torch.linspace(0, 3, 8, device=DEVICE)) ** 2)
        sent = m["product"](x[near], around, m["weights"](shells))
        return m["out"](torch.zeros_like(x).index_add_(0, far, sent)).square().mean()
    return trained(torch, module, loss)


def sound(torch):
    """A Conformer on the logarithm of mel spectra, under a loss of alignments."""
    import torchaudio
    nn, audio = torch.nn, torchaudio
    spectrum = audio.transforms.MelSpectrogram(16000, n_fft=400, n_mels=64).to(DEVICE)
    module = nn.ModuleDict({"body": audio.models.Conformer(64, 4, 128, 2, 15), "head": nn.Linear(64, 30)})

    def loss(m):
        x = torch.log(spectrum(tensors(torch, 4, 16000)) + 1e-6).mT
        x = (x - x.mean((1, 2), keepdim=True)) / (x.std((1, 2), keepdim=True) + 1e-5)
        long = torch.full((4,), x.shape[1], device=DEVICE)
        y, long = m["body"](x, long)
        return nn.functional.ctc_loss(m["head"](y).log_softmax(-1).transpose(0, 1), 1 + integers(torch, 29, 4, 12), long,
                                      torch.full((4,), 12, device=DEVICE))
    return trained(torch, module, loss)


def radiance(torch):
    """Rays through a field: coarse samples, then fine ones where the light comes from."""
    nn = torch.nn
    module = nn.Sequential(nn.Linear(39, 128), nn.ReLU(), nn.Linear(128, 128), nn.Softplus(), nn.Linear(128, 4))

    def seen(m, start, way, depth):
        points = (start[:, None] + way[:, None] * depth[..., None])[..., None] * 2.0 ** torch.arange(6, device=DEVICE)
        raw = m(torch.cat([points[..., 0], points.sin().flatten(2), points.cos().flatten(2)], -1))
        opaque = 1 - torch.exp(-torch.relu(raw[..., 3]) * torch.diff(depth, append=depth[:, -1:] + 0.1))
        weight = opaque * torch.cumprod(torch.cat([torch.ones_like(opaque[:, :1]), 1 - opaque + 1e-10], 1), 1)[:, :-1]
        return (weight[..., None] * raw[..., :3].sigmoid()).sum(1), weight

    def loss(m):
        start, way = tensors(torch, 256, 3), nn.functional.normalize(tensors(torch, 256, 3), dim=-1)
        depth = torch.linspace(0.1, 3, 32, device=DEVICE).expand(256, 32) + torch.rand(256, 32, device=DEVICE) * 0.05
        _, weight = seen(m, start, way, depth)
        part = torch.cumsum(weight.detach() + 1e-5, -1)
        part = part / part[:, -1:]
        place = torch.searchsorted(part.contiguous(), torch.rand(256, 16, device=DEVICE)).clamp(max=31)
        fine = torch.sort(torch.cat([depth, torch.gather(depth, 1, place) + 0.01], 1), -1).values
        colour, _ = seen(m, start, way, fine)
        return (colour - way.abs()).square().mean()
    return trained(torch, module, loss)


def policy(torch):
    """Proximal policy optimisation over drawn actions."""
    nn = torch.nn
    module = nn.ModuleDict({"body": nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh()), "act": nn.Linear(64, 4), "value": nn.Linear(64, 1)})

    def loss(m):
        seen = tensors(torch, 32, 64, 8)
        with torch.no_grad():
            h = m["body"](seen)
            drawn = torch.distributions.Categorical(logits=m["act"](h))
            action = drawn.sample()
            old, value, reward = drawn.log_prob(action), m["value"](h).squeeze(-1), (action == seen.argmax(-1) % 4).float()
            gain, last = torch.zeros_like(reward), 0.0
            for t in reversed(range(31)):
                last = reward[t] + 0.99 * value[t + 1] - value[t] + 0.94 * last
                gain[t] = last
            gain, wanted = (gain - gain.mean()) / (gain.std() + 1e-8), gain + value
        pick = torch.randperm(32 * 64, device=DEVICE)[:512]
        h = m["body"](seen.flatten(0, 1)[pick])
        now = torch.distributions.Categorical(logits=m["act"](h))
        ratio = (now.log_prob(action.flatten()[pick]) - old.flatten()[pick]).exp()
        gain = gain.flatten()[pick]
        return (-torch.min(ratio * gain, ratio.clamp(0.8, 1.2) * gain).mean() - 0.01 * now.entropy().mean() +
                0.5 * (m["value"](h).squeeze(-1) - wanted.flatten()[pick]).square().mean())
    return trained(torch, module, loss)


def waves(torch):
    """A wave equation in f64: differences in space, and a spectral step."""
    u = torch.exp(-((torch.arange(256, device=DEVICE, dtype=torch.float64) - 128) / 20) ** 2)
    state = {"u": u[:, None] * u[None], "before": u[:, None] * u[None]}
    k = torch.fft.fftfreq(256, device=DEVICE, dtype=torch.float64) * 2 * math.pi

    def step():
        u, before = state["u"], state["before"]
        around = u.roll(1, 0) + u.roll(-1, 0) + u.roll(1, 1) + u.roll(-1, 1) - 4 * u
        after = 2 * u - before + 0.2 * around
        after[0], after[-1], after[:, 0], after[:, -1] = 0, 0, 0, 0
        smooth = torch.fft.ifft2(torch.fft.fft2(after) * torch.exp(-1e-3 * (k[:, None] ** 2 + k[None] ** 2))).real
        state.update(u=smooth, before=u)
        return float((smooth ** 2).sum() + torch.einsum("ij,ij->", after, smooth))
    return step


def bodies(torch):
    """Gravity among 2,000 bodies, and their histogram."""
    state = {"x": tensors(torch, 2000, 3), "v": tensors(torch, 2000, 3) * 0.1}

    def step():
        way = state["x"][None] - state["x"][:, None]
        pull = way * (way.square().sum(-1) + 1e-2).pow(-1.5)[..., None]
        state["v"] += 1e-4 * pull.sum(1)
        state["x"] += 1e-2 * state["v"]
        far = state["x"].norm(dim=1)
        counted = torch.histc(far, 50) + torch.bincount((far * 10).long().clamp(max=49), minlength=50)
        return float(counted.max() + torch.quantile(far, 0.9) + far.unique().numel())
    return step


def clusters(torch):
    """k-means, nearest neighbours, principal components."""
    x = tensors(torch, 4000, 32)
    state = {"centres": x[:20].clone()}

    def step():
        near = torch.cdist(x, state["centres"]).argmin(1)
        total = torch.zeros(20, 32, device=DEVICE).index_add_(0, near, x)
        state["centres"] = total / torch.bincount(near, minlength=20).clamp(min=1)[:, None]
        nearest = torch.topk(torch.cdist(x[:500], x), 10, largest=False)
        centred = x - x.mean(0)
        values, vectors = torch.linalg.eigh(centred.T @ centred / 4000)
        return float(nearest.values.mean() + (centred @ vectors[:, -3:]).std() + values[-1] + torch.linalg.solve(
            centred.T @ centred + torch.eye(32, device=DEVICE), centred.T[:, :5]).sum())
    return step


def penalty(torch):
    """A critic under a penalty on its gradient: derivatives of derivatives, and one for each sample."""
    nn = torch.nn
    module = nn.Sequential(nn.Conv2d(3, 32, 3, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(32, 32, 3, 2, 1), nn.Softplus(), nn.Flatten(), nn.Linear(32 * 64, 1))

    def loss(m):
        real, fake = tensors(torch, 16, 3, 32, 32), torch.rand(16, 3, 32, 32, device=DEVICE)
        share = torch.rand(16, 1, 1, 1, device=DEVICE)
        between = (share * real + (1 - share) * fake).requires_grad_()
        slope, = torch.autograd.grad(m(between).sum(), between, create_graph=True)
        each = torch.func.vmap(torch.func.grad(lambda x: m(x[None]).sum()))(real)
        return m(fake).mean() - m(real).mean() + 10 * (slope.flatten(1).norm(dim=1) - 1).square().mean() + 1e-3 * each.square().mean()
    return trained(torch, module, loss)


def metrics(torch):
    import torchmetrics.classification as c
    measures = [c.MulticlassAccuracy(10), c.MulticlassAUROC(10), c.MulticlassConfusionMatrix(10), c.MulticlassF1Score(10), c.MulticlassCalibrationError(10)]
    measures = [m.to(DEVICE) for m in measures]

    def step():
        scores, wanted = tensors(torch, 2000, 10).softmax(-1), integers(torch, 10, 2000)
        return float(sum(m(scores, wanted).float().mean() for m in measures))
    return step


def sentences(torch):
    """Embeddings of sentences under a contrastive loss, and the nearest of them."""
    from transformers import AutoConfig, AutoModel
    model = AutoModel.from_config(AutoConfig.for_model("mpnet", **TEXT))

    def loss(m):
        def embedded(ids):
            mask = (torch.arange(48, device=DEVICE)[None] < 10 + integers(torch, 38, 16, 1)).long()
            hidden = m(input_ids=ids, attention_mask=mask).last_hidden_state
            return torch.nn.functional.normalize((hidden * mask[..., None]).sum(1) / mask.sum(1, keepdim=True), dim=-1)
        ids = integers(torch, 900, 16, 48) + 3
        scores = 20 * embedded(ids) @ embedded(ids.roll(1, 1)).T
        torch.topk(scores, 5)
        return torch.nn.functional.cross_entropy(scores, torch.arange(16, device=DEVICE))
    return trained(torch, model, loss, dtype=torch.float16)


def forecasts(torch):
    from transformers import PatchTSTConfig, PatchTSTForPrediction
    model = PatchTSTForPrediction(PatchTSTConfig(num_input_channels=4, context_length=96, prediction_length=24, patch_length=8, patch_stride=8,
                                                 d_model=64, num_hidden_layers=2, num_attention_heads=4, ffn_dim=128, loss="nll", distribution_output="student_t"))
    return trained(torch, model, lambda m: m(past_values=tensors(torch, 8, 96, 4), future_values=tensors(torch, 8, 24, 4)).loss)


def looks(torch):
    """A picture's parts and a text in one model."""
    from transformers import Qwen2VLConfig, Qwen2VLForConditionalGeneration
    model = Qwen2VLForConditionalGeneration(Qwen2VLConfig(
        text_config=dict(TEXT, num_key_value_heads=2, rope_scaling={"type": "mrope", "mrope_section": [4, 6, 6]}), vision_config=dict(
            depth=2, embed_dim=64, hidden_size=256, num_heads=4, mlp_ratio=2), image_token_id=5, vision_start_token_id=6, vision_end_token_id=7))

    def loss(m):
        ids = integers(torch, 900, 1, 40) + 10
        ids[:, 3], ids[:, 4:20], ids[:, 20] = 6, 5, 7
        return m(input_ids=ids, labels=ids, pixel_values=tensors(torch, 64, 1176), image_grid_thw=torch.tensor([[1, 8, 8]], device=DEVICE),
                 mm_token_type_ids=(ids == 5).int()).loss
    return trained(torch, model, loss, dtype=torch.bfloat16)


def flexible(torch):
    """Attention with a mask and a bias of the program's own, compiled."""
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention
    attend = torch.compile(flex_attention)
    mask = create_block_mask(lambda b, h, q, k: (q >= k) & (q - k < 200), None, None, 512, 512, device=DEVICE)

    def step():
        q, k, v = (tensors(torch, 2, 4, 512, 64).bfloat16().requires_grad_() for _ in range(3))
        out = attend(q, k, v, score_mod=lambda s, b, h, i, j: s + (j - i) * 0.01 * (h + 1), block_mask=mask)
        out.square().mean().backward()
        return float(q.grad.float().norm() + k.grad.float().norm() + v.grad.float().norm())
    return step


def sparse(torch):
    """Products with sparse matrices, and batches of short ones in nested tensors."""
    rows, columns = integers(torch, 2000, 2, 30000)
    values = torch.rand(30000, device=DEVICE).requires_grad_()

    def step():
        matrix = torch.sparse_coo_tensor(torch.stack([rows, columns]), values, (2000, 2000)).coalesce()
        y = torch.sparse.mm(matrix, tensors(torch, 2000, 64))
        y = matrix.detach().to_sparse_csr() @ y.detach() + y
        y.square().mean().backward()
        parts = torch.nested.nested_tensor([tensors(torch, n, 64) for n in (5, 30, 17)], layout=torch.jagged)
        return float(values.grad.norm() + (parts @ tensors(torch, 64, 32)).values().sum())
    return step


def eight_bits(torch):
    """Products of numbers in e4m3 and in i8 with scales of rows."""
    weight = tensors(torch, 512, 256)

    def step():
        x = tensors(torch, 128, 256)
        a, b = (t.abs().amax(1, keepdim=True) / 448 for t in (x, weight))
        f8 = torch._scaled_mm((x / a).to(torch.float8_e4m3fn), (weight / b).to(torch.float8_e4m3fn).T, a, b.T, out_dtype=torch.bfloat16)
        c, d = (t.abs().amax(1, keepdim=True) / 127 for t in (x, weight))
        i8 = torch._int_mm((x / c).round().to(torch.int8), (weight / d).round().to(torch.int8).T) * c * d.T
        return float(f8.float().norm() + i8.norm())
    return step


PACKAGES = {
    "sampled": written(do_sample=True, top_k=50, top_p=0.9, temperature=0.8, repetition_penalty=1.1),
    "beams": written(num_beams=4, no_repeat_ngram_size=3, length_penalty=0.8, do_sample=False),
    "contrast": written(do_sample=True, min_p=0.05, typical_p=0.9, use_cache=False),
    "deepseek": model_of("deepseek_v3", **dict(EXPERTS, n_routed_experts=8, n_group=2, topk_group=1, q_lora_rank=64, kv_lora_rank=32, qk_rope_head_dim=16,
                                               qk_nope_head_dim=32, v_head_dim=32, first_k_dense_replace=1, num_key_value_heads=8)),
    "qwen3_moe": model_of("qwen3_moe", **dict(EXPERTS, num_experts=8, head_dim=32, norm_topk_prob=True, output_router_logits=True)),
    "gpt_oss": model_of("gpt_oss", **dict(TEXT, num_key_value_heads=2, head_dim=32, num_local_experts=4, num_experts_per_tok=2)),
    "gemma3": model_of("gemma3_text", **dict(TEXT, num_key_value_heads=2, head_dim=32, sliding_window=32)),
    "mamba2": model_of("mamba2", vocab_size=1000, hidden_size=128, num_hidden_layers=2, state_size=32, num_heads=8, head_dim=32, n_groups=2, chunk_size=32),
    "rwkv": model_of("rwkv", cast=False, vocab_size=1000, hidden_size=128, num_hidden_layers=2, context_length=64),
    "granite": model_of("granite", **dict(TEXT, num_key_value_heads=2, logits_scaling=8.0, residual_multiplier=0.22)),
    "lora": lora,
    "maxvit": pictures("maxvit_rmlp_pico_rw_256", img_size=128, side=128),
    "nfnet": pictures("nf_regnet_b0", last=True),
    "mixer": pictures("mixer_s32_224", img_size=64),
    "eva": pictures("eva02_tiny_patch14_224", img_size=56, side=56),
    "edge": pictures("edgenext_xx_small", last=True, side=96),
    "levit": pictures("levit_128s", img_size=224, side=224),
    "fasterrcnn": boxes("fasterrcnn_mobilenet_v3_large_fpn"),
    "maskrcnn": boxes("maskrcnn_resnet50_fpn"),
    "retinanet": boxes("retinanet_resnet50_fpn"),
    "scenes": scenes, "detr": detr, "graphs": graphs, "processes": processes, "flow": flow, "rotations": rotations, "sound": sound,
    "radiance": radiance, "policy": policy, "waves": waves, "bodies": bodies, "clusters": clusters, "penalty": penalty,
    "metrics": metrics, "sentences": sentences, "forecasts": forecasts, "looks": looks, "flexible": flexible, "sparse": sparse,
    "eight_bits": eight_bits,
}
