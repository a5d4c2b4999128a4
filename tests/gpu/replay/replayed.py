"""replayed.py PROGRAM KERNELS REGISTRY LIBRARY [graph] - findings of a program, replayed and probed on the GPU.

Runs PROGRAM (tests/scenario/replayed) under `cuvet run` and each of its bundles through `cuvet replay` and
`cuvet probe`. With "graph" its launches are nodes of a CUDA graph. Prints what does not hold, then "replayed". Lines "measured: " have times.
"""

import glob
import json
import os
import subprocess
import sys
import tempfile
import time

# What probes must find, and whether a replay must give the program's bytes.
EXPECTED = {"wrong": (["permute", "split"], True), "outside": (["outside", "permute"], True), "stale": (["writes"], None),
            "racing": (["steady"], False)}


def tool(cuvet, *words):
    """Exit status and the JSON objects of a verb."""
    begin = time.monotonic()
    done = subprocess.run([cuvet, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    objects = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return done.returncode, objects or [{}], done.stderr.strip(), time.monotonic() - begin


def look(cuvet, name, bundle, ptx):
    wrong = []
    finds, same = EXPECTED[name]
    code, (replay, *_), said, seconds = tool(cuvet, "replay", "--json", "--times", "20", bundle)
    print("measured: replay %s: %.2f s for 20 runs, exit %d, same %s, distinct %s, %s violations of %s" %
          (name, seconds, code, replay.get("same"), replay.get("distinct"), replay.get("violations"),
           replay.get("checked")))
    if code != 3 or replay.get("verdict") != "mismatch":
        wrong.append("replay %s: exit %d, %s %s" % (name, code, replay.get("verdict"), said))
    if same is not None and bool(replay.get("reproduced")) != same:
        wrong.append("replay %s: reproduced is %s" % (name, replay.get("reproduced")))
    code, (probe, *_), said, seconds = tool(cuvet, "probe", "--json", bundle)
    found = [check["check"] for check in probe.get("checks", []) if check["outcome"] == "finding"]
    print("measured: probe %s: %.2f s for %s runs, finds %s" % (name, seconds, probe.get("runs"), found))
    if found != finds:
        wrong.append("probe %s: found %s, expected %s %s" % (name, found, finds, said))
    code, (replay, *_), said, _ = tool(cuvet, "replay", "--json", "--against", ptx, "--kernel", "right", bundle)
    if code != 0 or replay.get("verdict") != "match":
        wrong.append("replay %s with the right kernel: exit %d %s" % (name, code, said))
    code, (replay, *_), said, _ = tool(cuvet, "replay", "--json", "--oracle", "cpu", "--stored", bundle)
    if code != 3:
        wrong.append("stored %s: exit %d %s" % (name, code, said))
    if name == "wrong":
        code, (replay, *_), said, seconds = tool(cuvet, "replay", "--json", "--sm", "3", bundle)
        print("measured: on one multiprocessor: %.2f s, exit %d, there %s, same %s" %
              (seconds, code, replay.get("there"), replay.get("same")))
        if code != 3 or not replay.get("there") or not replay.get("reproduced"):
            wrong.append("replay %s --sm 3: exit %d %s" % (name, code, said))
        code, (replay, *_), said, _ = tool(cuvet, "replay", "--json", "--device", "interpreter", "--against", ptx, bundle)
        print("measured: on the interpreter: %s" % replay.get("outputs", said))
        code, objects, said, seconds = tool(cuvet, "replay", "--json", "--minimize", bundle)
        print("measured: smallest, %.2f s: %s" % (seconds, objects[-1]))
    return wrong


def in_graph(bundle):
    with open(os.path.join(bundle, "launch.json"), encoding="utf-8") as text:
        return bool(json.load(text).get("graph"))


def main():
    program, kernels, registry, library = sys.argv[1:5]
    how = sys.argv[5:]
    cuvet = os.path.join(os.path.dirname(os.path.abspath(library)), "cuvet")
    ptx = os.path.splitext(kernels)[0] + ".ptx"
    ptx = ptx if os.path.exists(ptx) else kernels
    wrong = []
    for rows, cols in ((12, 100), (300, 1000)):
        with tempfile.TemporaryDirectory() as folder:
            env = dict(os.environ, CUVET_EXIT_WAIT="100000", CUVET_SUBSET="off", CUVET_HOOK="cupti")
            env.pop("LD_PRELOAD", None)
            done = subprocess.run([cuvet, "run", "-c", registry, "-o", folder, "--", program, kernels, str(rows),
                                   str(cols), *how], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  check=False)
            for name in EXPECTED:
                bundles = glob.glob(os.path.join(folder, name + "-*-[01]"))
                if len(bundles) != 1:
                    wrong.append("%dx%d: %d bundles of %s: %s" % (rows, cols, len(bundles), name, done.stdout[-300:]))
                    continue
                if how and not in_graph(bundles[0]):
                    wrong.append("%dx%d: the bundle of %s is not of a graph's node" % (rows, cols, name))
                wrong += ["%dx%d: %s" % (rows, cols, line) for line in look(cuvet, name, bundles[0], ptx)]
    for line in wrong:
        print(line)
    print("replayed" if not wrong else "not replayed")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
