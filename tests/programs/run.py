#!/usr/bin/env python3
"""run.py - ordinary programs bare, under an empty CUPTI subscriber and under cuvet with every shipped table.

    python3 tests/programs/run.py --lib build/release/libcuvet.so --llmc FOLDER [--only NAME] [--rounds N]

Each program prints the time of its steps by its own clock; a figure is the median over interleaved processes. Fails when
a program fails, its journal has a finding, or, with --budget, a ratio to the empty subscriber exceeds it. README.md beside
it names the columns. Needs PyTorch, transformers, torchvision and, for the first two programs, a copy of llm.c.
"""

import argparse
import glob
import json
import os
import shutil
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
LIMIT_S = 180

MODELS = ("gpt", "llama", "generate", "bert", "vit", "resnet")
# A process of each, and its steps; "models" is all of MODELS in one process.
PROGRAMS = {"llmc_fp32": 30, "llmc_bf16": 40, "models": 40}


def variants(args):
    cuvet = {"LD_PRELOAD": args.lib}
    if args.untried:
        cuvet["CUVET_CONFIG"] = ":".join(sorted(glob.glob(os.path.join(ROOT, "config", "untried", "*.yaml"))))
    every = dict(cuvet, CUVET_SAMPLE="1", CUVET_BUDGET="off", CUVET_SUBSET="off", CUVET_MEMORY="1G")
    none = dict(cuvet, CUVET_SAMPLE="0", CUVET_FIRST="0", CUVET_OUTLIER="off")
    return {"bare": {}, "empty": {"CUDA_INJECTION64_PATH": args.empty}, "none": none, "default": cuvet, "every": every}


def command(name, args):
    steps = args.steps or PROGRAMS.get(name, PROGRAMS["models"])
    if name.startswith("llmc_"):
        return [sys.executable, os.path.join(HERE, "llmc.py"), name[len("llmc_"):], args.llmc, str(steps)]
    names = MODELS if name == "models" else name.split("+")
    return [sys.executable, os.path.join(HERE, "models.py"), str(steps)] + list(names)


class Run:
    """One process: its result, its wall time, and what the journals of its folder add up to."""

    def __init__(self, argv, extra, folder):
        env = {k: v for k, v in os.environ.items() if not k.startswith("CUVET_")}
        env.update(extra, PYTHONDONTWRITEBYTECODE="1", HF_HUB_OFFLINE="1")
        if "LD_PRELOAD" in extra:
            shutil.rmtree(folder, ignore_errors=True)
            env["CUVET_REPORT"] = folder
        begin = time.time()
        done = subprocess.run(argv, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=LIMIT_S)
        self.wall = time.time() - begin
        self.code, self.err = done.returncode, done.stderr.decode("utf-8", "replace")
        lines = [line for line in done.stdout.decode("utf-8", "replace").split("\n") if line.startswith("{")]
        self.numbers = {row["name"]: row for row in map(json.loads, lines)}
        self.events = []
        for path in glob.glob(os.path.join(folder, "journal-*.jsonl")) if "LD_PRELOAD" in extra else []:
            with open(path, errors="replace") as journal:
                self.events += [json.loads(line) for line in journal if line.startswith("{")]

    def all(self, kind):
        return [e for e in self.events if e.get("event") == kind]

    def total(self, field):
        return sum(e.get(field) or 0 for e in self.all("end"))

    def cost(self):
        """Share of the program's time that cuvet's own account has, in per cent."""
        costs = [e["cost"] for e in self.all("end")]
        seconds = sum(c["elapsed"] for c in costs)
        spent = sum(c[part] for c in costs for part in ("threads", "copies", "references", "looks"))
        return 100 * spent / seconds if seconds else 0

    def shares(self):
        """The summary's lines on time in registered kernels, and on the largest kernels without an entry."""
        lines = [line.strip()[:150] for line in self.err.split("\n")]
        time_on = [line for line in lines if line.startswith("Time on the GPU")]
        without = [i for i, line in enumerate(lines) if "without an entry, of all" in line]
        return time_on + (lines[without[0]:lines.index("", without[0])] if without and "" in lines[without[0]:] else [])


def measure(name, args, report):
    """variant -> processes; each round begins with another variant."""
    kinds = {k: v for k, v in variants(args).items() if k in args.variants}
    runs = {k: [] for k in kinds}
    order = list(kinds)
    if name.startswith("llmc_"):
        subprocess.run(command(name, args)[:-1] + ["0"], check=True, stdout=sys.stderr)
    for i in range(args.rounds):
        for kind in order[i % len(order):] + order[:i % len(order)]:
            if kind == "every" and i:
                continue
            runs[kind].append(Run(command(name, args), kinds[kind], os.path.join(report, name + "-" + kind)))
    return runs


def complaints(name, runs, args):
    found = []
    for kind, processes in runs.items():
        for run in processes:
            if run.code or not run.numbers:
                found.append("%s, %s: ended with %s\n%s" % (name, kind, run.code, run.err[-1500:]))
            for e in run.all("finding")[:3]:
                found.append("%s, %s: finding: %s" % (name, kind, json.dumps(e)[:500]))
            for e in run.all("totals"):
                if e["mismatch"]:
                    found.append("%s, %s: %d of %d checked mismatch: %s" % (name, kind, e["mismatch"], e["checked"],
                                                                            e["kernel"][:150]))
    return found


def middle(runs, kind, name):
    times = [r.numbers[name]["step_ms"] for r in runs.get(kind, []) if name in r.numbers]
    return statistics.median(times) if times else float("nan")


def ratio(runs, name, kind, to):
    return "%7.3fx" % (middle(runs, kind, name) / middle(runs, to, name))


def rows(process, runs):
    """A line for each program of the process, then what each variant's last process counted."""
    for name in sorted({n for v in runs.values() for r in v for n in r.numbers}):
        yield " ".join(["%-10s %9.3f" % (name, middle(runs, "bare", name)), ratio(runs, name, "empty", "bare")] +
                       [ratio(runs, name, kind, "empty") for kind in ("none", "default", "every")])
    for kind in ("default", "every"):
        if not runs.get(kind):
            continue
        run = runs[kind][-1]
        seen = run.total("seen") or 1
        unregistered = sum((e.get("reasons") or {}).get("unregistered", 0) for e in run.all("end"))
        yield "    %s, %s: account %.1f %%, %d launches checked, %d mismatch, %d inconclusive; %.1f %% of %d have an entry" % (
            process, kind, run.cost(), run.total("checked"), run.total("mismatch"), run.total("inconclusive"),
            100 - 100 * unregistered / seen, seen)
        for line in run.shares():
            yield "    " + line


def inconclusive(runs):
    for kind, processes in runs.items():
        for e in processes[-1].all("totals") if processes else []:
            reasons = {k: v for k, v in (e.get("reasons") or {}).items()
                       if k not in ("unregistered", "not sampled", "budget", "ordinary")}
            if e.get("inconclusive") or reasons:
                yield "    %s: %s: checked %d, inconclusive %d, %s" % (kind, (e.get("label") or e["kernel"])[:80], e["checked"],
                                                                       e["inconclusive"], json.dumps(reasons))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lib", required=True, type=os.path.abspath)
    parser.add_argument("--empty", type=os.path.abspath, help="empty_subscriber.so of tests/bench")
    parser.add_argument("--llmc", type=os.path.abspath, help="a copy of llm.c; without it its trainers are left out")
    parser.add_argument("--untried", action="store_true", help="with the tables of config/untried, too")
    parser.add_argument("--only", action="append")
    parser.add_argument("--variants", nargs="+", default=["bare", "empty", "none", "default", "every"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, help="of each program, instead of its own number")
    parser.add_argument("--budget", type=float, help="largest ratio of the defaults to the empty subscriber, such as 1.05")
    args = parser.parse_args()
    args.empty = args.empty or os.path.join(os.path.dirname(args.lib), "tests", "bench", "empty_subscriber.so")
    for path in (args.lib, args.empty):
        if not os.path.exists(path):
            sys.exit("run.py: no %s: make all, make -f tests/bench/programs.mk" % path)
    report, bad = os.path.join(os.path.dirname(args.lib), "tests", "programs"), []
    print("%-10s %9s %8s %8s %8s %8s" % ("program", "step ms", "empty", "none", "default", "every"))
    for name in args.only or PROGRAMS:
        if name.startswith("llmc_") and not args.llmc:
            print("%-10s left out: no --llmc FOLDER" % name)
            continue
        try:
            runs = measure(name, args, report)
        except (subprocess.SubprocessError, OSError) as failure:
            bad.append("%s: %s" % (name, failure))
            continue
        bad += complaints(name, runs, args)
        print("\n".join(rows(name, runs)))
        for line in inconclusive(runs):
            print(line)
        bad += ["%s: over the budget" % n for n in {n for v in runs.values() for r in v for n in r.numbers}
                if args.budget and middle(runs, "default", n) / middle(runs, "empty", n) > args.budget]
        sys.stdout.flush()
    print("\n".join(bad))
    print("%d complaints" % len(bad))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
