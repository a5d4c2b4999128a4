"""traced.py LIBRARY CONFIG - two ranks of a PyTorch program on one GPU under a trace, and the tools on what they left.

Prints what does not hold, then "traced". Rank 1 has an entry that takes weight for bias, so it has findings. The
launches that digests are made of are the same in two runs. Lines "measured: " have the price of a launch.
"""

import json
import os
import subprocess
import sys
import tempfile

LAYERS, STEPS = 4, 20
SWAPPED = r"""
version: 1
kernels:
  - kernel: /vectorized_layer_norm_kernel<(?<T>[\w:]+), (?<A>[\w:]+)(, false)?>/
    signature: >
      i32 cols, A eps, const T X[rows][cols], const T gamma?[cols], const T beta?[cols],
      A mean[rows], A rstd[rows], T Y[rows][cols]
    let: {rows: grid.x}
    reference: layernorm
    bind: {x: X, w: beta, b: gamma, y: Y}
"""


def model(seed):
    """A child: eager steps in NVTX ranges, then the same as a graph."""
    import torch
    torch.manual_seed(seed)
    norms = [torch.nn.LayerNorm(1024).cuda() for _ in range(LAYERS)]
    for norm in norms:
        torch.nn.init.normal_(norm.weight)
        torch.nn.init.normal_(norm.bias)
    x = torch.randn(512, 1024, device="cuda")

    def step(x):
        for i, norm in enumerate(norms):
            with torch.cuda.nvtx.range("layer%d" % i):
                with torch.cuda.nvtx.range("norm"):
                    x = norm(x)
                x = torch.softmax(x, -1) * 30
        return x

    with torch.no_grad():
        for _ in range(STEPS):
            step(x)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            step(x)
        graph.replay()
        torch.cuda.synchronize()


def storm():
    """A child: the price of a tiny launch, on the host."""
    import time
    import torch
    x = torch.zeros(32, device="cuda")
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(20000):
            x.add_(1)
        torch.cuda.synchronize()
        best = min(best, time.perf_counter() - start)
    print("%.0f ns" % (best / 20000 * 1e9))


class Job:
    def __init__(self, library, config, folder):
        self.library, self.folder = os.path.abspath(library), folder
        self.tool = os.path.join(os.path.dirname(self.library), "cuvet")
        self.registry = os.path.join(config, "kernels/pytorch.yaml")
        self.complaints = []

    def start(self, words, report, **variables):
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("CUVET_", "LD_PRELOAD"))}
        under = {} if report is None else {
            "LD_PRELOAD": self.library, "CUVET_REPORT": os.path.join(self.folder, report), "CUVET_SAMPLE": "1",
            "CUVET_BUDGET": "off", "CUVET_SUMMARY": "0", "CUVET_BUNDLES": "1", "CUVET_CONFIG": self.registry}
        return subprocess.Popen([sys.executable, __file__, "--child", *words], env={**clean, **under, **variables},
                                stdout=subprocess.PIPE, text=True)

    def json(self, *words):
        ran = subprocess.run([self.tool, *words], capture_output=True, text=True, timeout=60)
        try:
            return ran.returncode, json.loads(ran.stdout)
        except ValueError:
            self.complaints.append("%s: %s" % (" ".join(words), ran.stderr))
            return ran.returncode, {}

    def expect(self, holds, what):
        if not holds:
            self.complaints.append(what)

    def ranks(self):
        swapped = os.path.join(self.folder, "swapped.yaml")
        with open(swapped, "w") as out:
            out.write(SWAPPED)
        report = os.path.join(self.folder, "ranks")
        ranks = [self.start(["model", str(rank)], "ranks", RANK=str(rank), WORLD_SIZE="2", CUVET_TRACE="1",
                            CUVET_CONFIG=registry) for rank, registry in enumerate((self.registry, swapped))]
        self.expect([rank.wait() for rank in ranks] == [0, 0], "a rank failed")
        code, found = self.json("report", "--json", report)
        self.expect(code == 3 and found["totals"]["processes"] == 2, "report: %s" % found.get("totals"))
        self.expect({f["rank"] for f in found.get("findings", [])} == {1}, "report: findings of rank 1 alone")
        self.expect(all(f["bundle_found"] for f in found.get("findings", [])[:1]), "report: a bundle")
        _, rows = self.json("trace", "--json", "--by", "range", report)
        names = {row["name"] for row in rows.get("rows", [])}
        self.expect({"layer0/norm", "layer3"} <= names, "trace: ranges %s" % sorted(names)[:8])
        _, rows = self.json("trace", "--json", report)
        self.expect(rows.get("dropped") == 0 and rows.get("unended") == 0, "trace: %s dropped" % rows.get("dropped"))
        self.expect(any(row["captured"] for row in rows.get("rows", [])), "trace: captured launches")
        self.expect(any(row["graphs"] for row in rows.get("rows", [])), "trace: graph launches")
        _, events = self.json("trace", "-f", "chrome", report)
        self.expect(len(events.get("traceEvents", [])) == rows.get("launches", 0) + 2, "trace: events for Perfetto")

    def runs(self):
        for run in ("one", "two"):
            self.expect(self.start(["model", "0"], run, CUVET_DIGEST="1").wait() == 0, "a run with digests failed")
        code, found = self.json("diff", "--json", os.path.join(self.folder, "one"), os.path.join(self.folder, "two"))
        self.expect(code == 0 and found.get("equal", 0) > LAYERS, "diff: %s" % found)

    def price(self):
        for name, report, variables in (("bare", None, {}), ("checked, none registered", "p1", {}),
                                        ("traced alone", "p2", {"CUVET_MODE": "trace"}),
                                        ("traced and checked", "p3", {"CUVET_TRACE": "1"})):
            print("measured: a launch, %s: %s" % (name, self.start(["storm"], report, **variables).communicate()[0].strip()))


def main():
    if sys.argv[1] == "--child":
        model(int(sys.argv[3])) if sys.argv[2] == "model" else storm()
        return
    with tempfile.TemporaryDirectory() as folder:
        job = Job(sys.argv[1], sys.argv[2], folder)
        job.ranks()
        job.runs()
        job.price()
    for complaint in job.complaints:
        print(complaint)
    print("traced")
    sys.exit(bool(job.complaints))


if __name__ == "__main__":
    main()
