"""hooks.py CUVET BUILD [libraries] - both back ends see the same launches, and a profiler keeps its events beside one of them.

Runs each program under `cuvet run` with CUVET_HOOK=cupti and entry: output and exit code must be the bare program's, and
the journals' launches seen the same, some of them checked, without a finding. Then PyTorch under torch.profiler, bare and at the entry
points: the profiler must count the same launches of each kernel that is not cuvet's. A program whose package is not
installed, or that needs a second GPU, is left out, and said so. With `libraries` the programs are those of cuDNN and NCCL.
"""

import glob
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
LIMIT_S = 100
LEFT_OUT = 77


def run(argv, extra):
    env = {k: v for k, v in os.environ.items() if not k.startswith("CUVET_") and k not in ("LD_PRELOAD", "LD_AUDIT")}
    env.update(extra, PYTHONDONTWRITEBYTECODE="1", XLA_PYTHON_CLIENT_PREALLOCATE="false")
    done = subprocess.run(argv, env=env, cwd=HERE, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=LIMIT_S)
    return done.returncode, done.stdout.decode(), done.stderr.decode("utf-8", "replace")


def under(cuvet, hook, argv, registry):
    """Output and exit code under cuvet, and what its journals count; `hook` is said where another took over."""
    with tempfile.TemporaryDirectory() as folder:
        settings = {"CUVET_HOOK": hook, "CUVET_SUMMARY": "0", "CUVET_BUDGET": "off", "CUVET_SAMPLE": "1",
                    "CUVET_OUTLIER": "off", "CUVET_EXIT_WAIT": "20000"}
        code, out, err = run([cuvet, "run", "--no-tables", "-c", registry, "-o", folder, "--"] + argv, settings)
        counts = {"seen": 0, "checked": 0, "mismatch": 0}
        for path in glob.glob(os.path.join(folder, "journal-*.jsonl")):
            for line in open(path, errors="replace"):
                event = json.loads(line)
                if event.get("event") == "end":
                    counts = {name: counts[name] + event[name] for name in counts}
                elif event.get("event") == "warning" and " instead" in event.get("sentence", ""):
                    print("  %s: %s" % (hook, event["sentence"]))
                    counts["fallback"] = counts.get("fallback", 0) + 1
    return code, out, err, counts


def same_counts(cuvet, name, argv, registry):
    code, out, err = run(argv, {})
    if code == LEFT_OUT or (code and "No module named" in err):
        print("%s: left out: %s" % (name, (out + err).strip().split("\n")[-1]))
        return True
    good, rows = code == 0, {}
    if code:
        print("%s: ended with %d alone\n%s" % (name, code, err[-500:]))
    for hook in ("cupti", "entry"):
        got, text, words, rows[hook] = under(cuvet, hook, argv, registry)
        if got != code or text != out:
            print("%s, %s: ended with %d, output %s\n%s" % (name, hook, got, "the same" if text == out else "differs",
                                                          words[-500:]))
            good = False
    good = good and rows["cupti"]["seen"] == rows["entry"]["seen"] > 0 and not any(
        row["mismatch"] or "fallback" in row for row in rows.values())
    print("%s: cupti %s, entry %s%s" % (name, rows["cupti"], rows["entry"], "" if good else ": WRONG"))
    return good


def kernels_of(text):
    """What the profiler counted, without cuvet's own."""
    lines = [line for line in text.split("\n") if line.startswith("kernels ")]
    counts = json.loads(lines[-1][len("kernels "):]) if lines else {}
    return {name: count for name, count in counts.items() if "cuvet" not in name and not name.startswith("Mem")}


def profiler_keeps_its_events(cuvet, argv, registry):
    code, out, err = run(argv, {})
    if code:
        print("profiler: left out: %s" % err.strip().split("\n")[-1])
        return True
    _, text, words, _ = under(cuvet, "entry", argv, registry)
    bare, ran = kernels_of(out), kernels_of(text)
    good = bool(bare) and bare == ran
    print("profiler: %d launches of %d kernels alone, %d of %d beside cuvet%s" % (
        sum(bare.values()), len(bare), sum(ran.values()), len(ran), "" if good else ": WRONG"))
    for name in sorted(set(bare) | set(ran)):
        if bare.get(name) != ran.get(name):
            print("  %s: %s, %s" % (name[:100], bare.get(name), ran.get(name)))
    if not good:
        print(words[-500:])
    return good


def main():
    cuvet, build = (os.path.abspath(path) for path in sys.argv[1:3])
    registry, python = os.path.join(HERE, "hooks.yaml"), sys.executable
    scripts = [(name, [python, os.path.join(HERE, "hooks_%s.py" % name)]) for name in ("torch", "jax", "cupy")]
    programs = [("static_cudart", [os.path.join(build, "simple")], os.path.join(HERE, "../programs/simple.yaml"))]
    programs += [(name, argv, registry) for name, argv in scripts]
    if sys.argv[3:] == ["libraries"]:
        programs = [(name, [python, os.path.join(HERE, script)], registry)
                    for name, script in (("cudnn", "../pytorch/torch_cudnn.py"), ("nccl", "hooks_nccl.py"))]
    results = [same_counts(cuvet, *program) for program in programs]
    if sys.argv[3:] != ["libraries"]:
        results.append(profiler_keeps_its_events(cuvet, scripts[0][1] + ["profile"], registry))
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
