#!/usr/bin/env python3
"""ggml.py FOLDER [OP...] - ggml's own test of its CUDA kernels, each launch checked with the table of llama.cpp's kernels.

    python3 tests/programs/ggml.py FOLDER [--cuvet build/release/cuvet] [--reports FOLDER] [--built FOLDER] [--jobs N] [OP ...]

FOLDER is an unmodified copy of ggml (or of llama.cpp, which has it), where test-backend-ops is built; --built names a folder that has
it already. Each OP is an operation as `test-backend-ops --list-ops` names them; without any, all that it tests. Prints a row for each
kind of kernel with an entry, then the largest kernels without one. Fails where the test fails, or a launch does not match.
"""

import argparse
import collections
import glob
import json
import os
import re
import subprocess
import sys

SETTINGS = ["-DGGML_CUDA=ON", "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CUDA_ARCHITECTURES=native", "-DGGML_BUILD_TESTS=ON"]


def build(folder, jobs):
    built = os.path.join(folder, "build")
    subprocess.run(["cmake", "-S", folder, "-B", built, *SETTINGS], check=True)
    subprocess.run(["cmake", "--build", built, "--target", "test-backend-ops", "-j", str(jobs)], check=True)
    return os.path.join(built, "bin")


def run(args, built):
    env = {k: v for k, v in os.environ.items() if not k.startswith("CUVET_")}
    env.update(CUVET_SAMPLE="1", CUVET_BUDGET="off", CUVET_LIFT="0")
    test = [os.path.join(built, "test-backend-ops"), "test", "-b", "CUDA0", "-j", str(args.jobs)]
    test += ["-o", ",".join(args.ops)] if args.ops else []
    done = subprocess.run([args.cuvet, "run", "--unregistered", "40", "-o", args.reports, "--", *test], env=env, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    with open(os.path.join(args.reports, "log"), "w") as log:
        log.write(done.stdout)
    return done.returncode, done.stdout


def kinds(folder):
    """Counts by name without template arguments: launches, checked, matches, mismatches, inconclusive; and reasons."""
    counts, reasons = collections.defaultdict(collections.Counter), collections.defaultdict(collections.Counter)
    for path in glob.glob(os.path.join(folder, "*.jsonl")):
        for event in map(json.loads, open(path)):
            if event["event"] == "totals":
                name = re.split(r"[<(]", event.get("label") or event["kernel"])[0]
                for key in ("launches", "checked", "match", "mismatch", "inconclusive"):
                    counts[name][key] += event.get(key) or 0
                reasons[name].update(event.get("reasons") or {})
    return counts, reasons


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cuvet", default="build/release/cuvet")
    parser.add_argument("--reports", default="build/release/ggml")
    parser.add_argument("--built")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("folder")
    parser.add_argument("ops", nargs="*")
    args = parser.parse_intermixed_args()
    os.makedirs(args.reports, exist_ok=True)
    for old in glob.glob(os.path.join(args.reports, "*.jsonl")):
        os.unlink(old)
    status, text = run(args, args.built or build(args.folder, args.jobs))
    counts, reasons = kinds(args.reports)
    print("%-32s %9s %9s %9s %9s %12s   %s" % ("kernel", "launches", "checked", "match", "mismatch", "inconclusive", "unchecked"))
    for name, row in sorted(counts.items(), key=lambda item: -item[1]["launches"]):
        why = ", ".join("%s %d" % pair for pair in reasons[name].most_common(3) if pair[1])
        print("%-32s %9d %9d %9d %9d %12d   %s" % (name[:32], row["launches"], row["checked"], row["match"], row["mismatch"],
                                                  row["inconclusive"], why))
    print("\n".join(line for line in text.partition("Most time on the GPU without an entry")[2].split("\n\n")[0].splitlines()[1:16]))
    total = sum(counts.values(), collections.Counter())
    print("%d launches of %d kinds of kernel checked: %d match, %d mismatch, %d inconclusive; the test ended with %d" % (
        total["checked"], len(counts), total["match"], total["mismatch"], total["inconclusive"], status))
    sys.exit(1 if status or total["mismatch"] or not total["checked"] else 0)


if __name__ == "__main__":
    main()
