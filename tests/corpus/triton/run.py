#!/usr/bin/env python3
"""run.py LIBCUVET - study.py under cuvet in f32 and f16: what was caught and what was quiet.

Needs a GPU, PyTorch and Triton; without the two it says so and ends with 77. Its last lines are the
totals; it ends with 1 unless all wrong kernels are caught, all right ones are clean, and all launches
were checked. Standard library only.
"""

import glob
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


def run(library, dtype, folder):
    """The totals of each kernel."""
    registry = os.path.join(folder, "study.yaml")
    with open(os.path.join(HERE, "study.yaml")) as source, open(registry, "w") as target:
        target.write(source.read().replace("TYPE", dtype))
    env = {k: v for k, v in os.environ.items() if not k.startswith("CUVET_")}
    env.update(CUVET_CONFIG=registry, CUVET_REPORT=folder, CUVET_SAMPLE="1", CUVET_BUDGET="off",
               CUVET_SUMMARY="0", CUVET_EXIT_WAIT="60000", CUVET_BUNDLES="1",
               LD_PRELOAD=os.path.abspath(library))
    subprocess.run([sys.executable, os.path.join(HERE, "study.py"), dtype], env=env, check=True)
    totals = {}
    for path in glob.glob(os.path.join(folder, "journal-*.jsonl")):
        with open(path) as lines:
            for line in map(json.loads, lines):
                if line["event"] == "totals":
                    totals[line["kernel"]] = line
                elif line["event"] == "warning":
                    print(line["sentence"])
    return totals


def main():
    try:
        import torch  # noqa: F401
        import triton  # noqa: F401
    except ImportError as missing:
        print("not run: %s" % missing)
        return 77
    caught, clean, bad = {}, {}, False
    for dtype in ("f32", "f16"):
        with tempfile.TemporaryDirectory() as folder:
            totals = run(sys.argv[1], dtype, folder)
        for name, line in sorted(totals.items()):
            print("%-28s %s  launches %3d  checked %3d  mismatch %3d  inconclusive %3d" % (
                name, dtype, line["launches"], line["checked"], line["mismatch"], line["inconclusive"]))
            bad |= line["checked"] != line["launches"]
            if name.endswith("_1"):
                caught[name] = caught.get(name, True) and line["mismatch"] > 0
            else:
                clean[name] = clean.get(name, True) and line["mismatch"] == 0
    print("study in Triton: %d of 10 wrong kernels caught, %d of 16 right ones clean" % (
        sum(caught.values()), sum(clean.values())))
    return int(bad or sum(caught.values()) != 10 or sum(clean.values()) != 16)


if __name__ == "__main__":
    sys.exit(main())
