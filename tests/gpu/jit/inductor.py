"""inductor.py LIBRARY [MUTANT] - torch.compile's kernels against the graph fragments of the files that Inductor writes.

Compiles a small program into a cache of its own, makes a registry of that with `cuvet inductor`, and runs the program
again under it. With MUTANT, `rsqrt` or `erf`, Inductor's code for this operation is wrong by a thousandth, while the fragment is
right: kernels with the operation must be named, and no others. Prints what does not hold, then "inductor".
Lines "measured: " have the counts.
"""

import glob
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROUNDS = 3


def plant(mutant):
    """The code that Inductor writes for an operation, times 0.999."""
    from torch._inductor.codegen.triton import TritonOverrides

    right = getattr(TritonOverrides, mutant)
    setattr(TritonOverrides, mutant, staticmethod(lambda x: "(%s * 0.999)" % right(x)))


def program(mutant):
    """A child: functions and a training step, compiled."""
    import torch
    from torch.nn import functional as F

    sys.path.append(sys.path[0] + "/../pytorch")
    from torch_sums import bits_sum, wait_for_checks

    if mutant:
        plant(mutant)
    torch.manual_seed(3)
    x = torch.randn(64, 512, device="cuda")
    gain, bias = torch.randn(512, device="cuda"), torch.randn(512, device="cuda")
    mask = torch.rand(64, 512, device="cuda") < 0.9

    def norms(x):
        low = x.to(torch.bfloat16)
        scaled = low * torch.rsqrt(low.float().square().mean(-1, keepdim=True) + 1e-6).to(torch.bfloat16)
        return scaled * gain.to(torch.bfloat16), F.layer_norm(x, (512,), gain, bias)

    def pointwise(x):
        return F.gelu(x + bias), F.silu(x) * gain, torch.where(mask, x, -1.0).clamp(-0.5, 2).t().contiguous()

    def softmax(x):
        return torch.softmax(x.masked_fill(~mask, -1e9) * 0.125, -1), F.log_softmax(x.to(torch.float16), -1)

    def moved(x):
        return torch.cat([x[:, 256:] + 1, x[:, :256] * 2], 1).view(64, 8, 64).transpose(1, 2).contiguous(), F.pad(x, (3, 5)) + 1

    model = torch.nn.Sequential(torch.nn.LayerNorm(512), torch.nn.Linear(512, 1024), torch.nn.GELU(),
                                torch.nn.Linear(1024, 512)).cuda()
    step = torch.compile(lambda x: (model(x) - x).square().mean())
    functions = [torch.compile(f) for f in (norms, pointwise, softmax, moved)]
    for _ in range(ROUNDS):
        with torch.no_grad():
            for f in functions:
                print(*(bits_sum(y) for y in f(x)))
        loss = step(x)
        loss.backward()
        print(float(loss), bits_sum(model[1].weight.grad))
        model.zero_grad()
        wait_for_checks()


def run(argv, folder):
    env = {k: v for k, v in os.environ.items() if k not in ("LD_PRELOAD", "LD_AUDIT") and not k.startswith("CUVET_")}
    env.update(TORCHINDUCTOR_CACHE_DIR=os.path.join(folder, "cache"), CUVET_SAMPLE="1", CUVET_BUDGET="off",
               CUVET_EXIT_WAIT="100000")
    done = subprocess.run(argv, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        print("%s: exit %d: %s" % (" ".join(argv[-4:]), done.returncode, done.stderr[-2000:]))
        sys.exit(1)
    return done.stdout


def events(folder):
    for path in glob.glob(os.path.join(folder, "journal-*.jsonl")):
        with open(path, errors="replace") as lines:
            yield from (json.loads(line) for line in lines if line.endswith("}\n"))


def judge(registry, report, mutant):
    """Complaints about a run's journal."""
    with open(registry) as text:
        text = text.read()
    named = re.findall(r"^  - kernel: (\S+)", text, re.M)
    for line in re.findall(r"^  # .* has no entry: .*", text, re.M):
        print("measured:", line.strip(" #"))
    checked, findings, precision = {}, set(), set()
    for event in events(report):
        if event.get("event") == "totals" and event.get("kernel") in named:
            checked[event["kernel"]] = checked.get(event["kernel"], 0) + event.get("checked", 0)
        if event.get("event") == "finding":
            (findings if event.get("kernel") in named else precision).add(event.get("kernel"))
    print("measured: %d kernels with an entry, %d of them checked, %d checks; findings: %s" %
          (len(named), sum(1 for n in checked.values() if n), sum(checked.values()), sorted(findings | precision)))
    expected = {name for name in named if mutant and mutant in name}
    if mutant == "rsqrt":
        expected |= {name for name in named if "layer_norm" in name}
    if mutant == "erf":
        expected |= {name for name in named if "gelu" in name}
    if len(named) < 5 or not sum(checked.values()):
        yield "%d entries, %d checks" % (len(named), sum(checked.values()))
    if bool(findings) != bool(mutant) or not findings <= expected:
        yield "findings in %s, expected some of %s" % (sorted(findings), sorted(expected))


def main():
    if sys.argv[1] == "program":
        program(sys.argv[2] if len(sys.argv) > 2 else "")
        return 0
    library, mutant = sys.argv[1], sys.argv[2:3]
    cuvet = os.path.join(os.path.dirname(os.path.abspath(library)), "cuvet")
    child = [sys.executable, os.path.join(HERE, "inductor.py"), "program"] + mutant
    with tempfile.TemporaryDirectory() as folder:
        registry, report = os.path.join(folder, "inductor.yaml"), os.path.join(folder, "report")
        bare = run(child, folder)
        print("measured:", run([cuvet, "inductor", "-o", registry, os.path.join(folder, "cache")], folder).strip())
        same = run([cuvet, "run", "-c", registry, "-o", report, "--"] + child, folder) == bare
        wrong = ([] if same else ["other results under cuvet"]) + list(judge(registry, report, "".join(mutant)))
    for complaint in wrong:
        print(complaint)
    print("inductor" if not wrong else "not inductor")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
