#!/usr/bin/env python3
"""bench.py - what cuvet costs, as ratios between processes of one run.

    python3 tests/bench/bench.py --lib build/release/libcuvet.so [--only PART]

README.md beside it says what each part measures and what its columns are. Standard library only; step,
decode, sync and rare need PyTorch and Triton.
"""

import argparse
import glob
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
LIMIT_S = 120
PARTS = ("start", "graph", "host", "storm", "callback", "hook", "copy", "outlier", "project", "refs", "step", "decode", "sync", "rates", "contracts",
         "rare", "gate", "interpreter")
LANES = 32
WANTED_PTX = 50e6  # thread instructions a second


def run(argv, extra):
    """The standard output of a process; ends the benchmark when it fails."""
    env = {k: v for k, v in os.environ.items()
           if not k.startswith("CUVET_") and k not in ("LD_PRELOAD", "LD_AUDIT", "CUDA_INJECTION64_PATH")}
    env.update(extra, PYTHONDONTWRITEBYTECODE="1")
    for name in ("LD_PRELOAD", "LD_AUDIT", "CUDA_INJECTION64_PATH"):
        # The loader and the driver go on without: all variants would be measured as "bare".
        if name in env and not os.path.exists(env[name]):
            sys.exit("bench: no %s, which %s names: `make bench` builds it" % (env[name], name))
    done = subprocess.run(argv, env=env, cwd=HERE, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=LIMIT_S)
    if done.returncode:
        tail = (done.stdout + done.stderr).decode("utf-8", "replace").strip().split("\n")[-20:]
        sys.exit("%s ended with %d\n%s" % (" ".join(argv)[:200], done.returncode, "\n".join(tail)))
    return done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")


def json_lines(text):
    return [json.loads(line) for line in text.split("\n") if line.startswith("{")]


class Variant:
    """A way to run a program: bare, under a subscriber that does nothing, under cuvet."""

    def __init__(self, name, **env):
        self.name, self.env = name, env

    def environment(self, args, folder):
        env = {"TRITON_CACHE_DIR": os.path.join(args.build, "triton")}
        if "EMPTY" in self.env:
            env["CUDA_INJECTION64_PATH"] = os.path.join(args.build, "empty_subscriber.so")
        elif any(name.startswith("CUVET_") for name in self.env):
            env.update(self.env, LD_PRELOAD=args.lib, CUVET_REPORT=folder)
            if self.env.get("CUVET_HOOK") == "entry":
                env["LD_AUDIT"] = os.path.join(os.path.dirname(args.lib), "libcuvet-audit.so")
        else:
            env.update(self.env)
        return env


def counters(folder):
    """Per kernel: launches, checked, dropped, of all journals in the folder."""
    sums = {}
    for path in glob.glob(os.path.join(folder, "journal-*.jsonl")):
        for line in open(path, errors="replace"):
            event = json.loads(line)
            if event.get("event") != "totals":
                continue
            row = sums.setdefault(event["kernel"], {"launches": 0, "checked": 0, "dropped": 0, "mismatch": 0})
            reasons = event["reasons"]
            row["launches"] += event["launches"]
            row["checked"] += event["checked"]
            row["mismatch"] += event["mismatch"]
            row["dropped"] += reasons.get("arena full", 0) + reasons.get("queue full", 0)
    return sums


def interleave(args, variants, rounds, argv):
    """variant -> (JSON objects of its processes, counters of all of them)."""
    results = {v.name: [] for v in variants}
    folders = {v.name: os.path.join(args.build, "reports", re.sub(r"\W+", "-", v.name)) for v in variants}
    for folder in folders.values():
        shutil.rmtree(folder, ignore_errors=True)
    for i in range(rounds):
        # Each round starts with another variant, so that none always has the same neighbour.
        for variant in variants[i % len(variants):] + variants[:i % len(variants)]:
            out, err = run(argv, variant.environment(args, folders[variant.name]))
            found = json_lines(out)
            if not found:
                sys.exit("no result from %s:\n%s%s" % (argv, out, err))
            if variant.env and ("no subscription" in err or " instead" in err):
                print("  (%s: %s)" % (variant.name, err.strip().split("\n")[0]))
            results[variant.name].append(found[-1])
    return results, {name: counters(folder) for name, folder in folders.items()}


def share(part, whole):
    return "%.1f%%" % (100.0 * part / whole) if whole else "-"


def difference(rows, others):
    """The mean difference of medians, process by process, and its standard error."""
    over = [r["median"] - other["median"] for r, other in zip(rows, others)]
    error = statistics.stdev(over) / len(over) ** 0.5 if len(over) > 1 else 0
    return "%.0f +- %.0f" % (statistics.mean(over), error)


def bench_host(args):
    config, other = os.path.join(HERE, "host_cost.yaml"), os.path.join(HERE, "host_cost_other.yaml")
    variants = [
        Variant("bare"),
        Variant("empty subscriber", EMPTY="1"),
        Variant("unregistered", CUVET_CONFIG=other),
        Variant("the same, entry", CUVET_HOOK="entry", CUVET_CONFIG=other),
        Variant("registered, p = 0", CUVET_CONFIG=config, CUVET_SAMPLE="0", CUVET_FIRST="0",
                CUVET_OUTLIER="off"),
        Variant("looked at, p = 0", CUVET_CONFIG=config, CUVET_SAMPLE="0", CUVET_FIRST="0", CUVET_BUDGET="off"),
        Variant("sampled, p = 0.01", CUVET_CONFIG=config, CUVET_SAMPLE="0.01", CUVET_FIRST="0", CUVET_BUDGET="off",
                CUVET_OUTLIER="off"),
        Variant("sampled, p = 1", CUVET_CONFIG=config, CUVET_SAMPLE="1", CUVET_BUDGET="off"),
    ]
    if args.variants:
        variants = variants[:2] + [v for v in variants[2:] if any(word in v.name for word in args.variants)]
    results, counts = interleave(args, variants, args.host_rounds,
                                 [os.path.join(args.build, "host_cost"), "200000", "200"])
    print("\nhost: ns for one launch, 200,000 launches in batches of 200, medians of %d processes; over empty: mean"
          % args.host_rounds)
    print("difference to the empty subscriber's process of the same round, and its standard error; over bare: the same to the")
    print("bare process; MiB: most memory resident, over the bare process")
    print("  %-20s %8s %17s %9s %9s %15s %15s %9s %8s %6s" % ("variant", "median", "spread (medians)", "to bare", "to empty",
                                                             "over empty", "over bare", "+ waits", "dropped", "MiB"))
    middle = {n: statistics.median(r["median"] for r in rows) for n, rows in results.items()}
    resident = {n: statistics.median(r["resident_mib"] for r in rows) for n, rows in results.items()}
    for name, rows in results.items():
        medians = [r["median"] for r in rows]
        waits = statistics.median(r["with_waits"] for r in rows)
        row = counts[name].get("bench_empty", {"checked": 0, "dropped": 0})
        over = [difference(rows, results[other_name]) for other_name in ("empty subscriber", "bare")]
        print("  %-20s %8.0f %8.0f-%-8.0f %8.2fx %8.2fx %15s %15s %9.0f %8s %6.1f" % (
            name, middle[name], min(medians), max(medians), middle[name] / middle["bare"],
            middle[name] / middle["empty subscriber"], over[0], over[1], waits,
            share(row["dropped"], row["checked"] + row["dropped"]), resident[name] - resident["bare"]))


def many_entries(args, entries):
    """A registry that names none of the kernels that programs here have."""
    path = os.path.join(args.build, "entries-%d.yaml" % entries)
    with open(path, "w") as out:
        out.write("version: 1\nkernels:\n")
        for i in range(entries):
            name = ("other_%d" % i, "other_%d_*" % i, "/other_%d<(?<T>.*)>/" % i)[i % 3]
            out.write("  - kernel: '%s'\n    signature: const f32 x[rows][n], f32 y[rows][n], i32 n\n"
                      "    let: {rows: grid.x}\n    reference: relu\n" % name)
    return path


def bench_start(args):
    """What a program pays before its first launch is done."""
    config, other = os.path.join(HERE, "graph_cost.yaml"), os.path.join(HERE, "host_cost_other.yaml")
    variants = [Variant("bare"), Variant("empty subscriber", EMPTY="1"),
                Variant("no entry matches", CUVET_CONFIG=other),
                Variant("2,000 entries, none", CUVET_CONFIG=many_entries(args, 2000)),
                Variant("an entry matches", CUVET_CONFIG=config)]
    results, _ = interleave(args, variants, args.host_rounds, [os.path.join(args.build, "start_cost")])
    print("\nstart: ms of cuInit, of the context with the program's module and arrays, of the first launch, of 19 more,")
    print("each waited for; MiB of the GPU and of the host over the bare process; medians of %d processes"
          % args.host_rounds)
    print("  %-20s %8s %8s %8s %8s %10s %10s" % ("variant", "cuInit", "context", "first", "rest", "GPU MiB", "host MiB"))
    bare = results["bare"]
    for name, rows in results.items():
        middle = {key: statistics.median(r[key] for r in rows) for key in rows[0]}
        print("  %-20s %8.1f %8.1f %8.2f %8.2f %10.1f %10.1f" % (
            name, middle["init_ms"], middle["context_ms"], middle["first_ms"], middle["rest_ms"],
            middle["used_mib"] - statistics.median(r["used_mib"] for r in bare),
            middle["resident_mib"] - statistics.median(r["resident_mib"] for r in bare)))


def bench_graph(args):
    """A graph of 64 tiny kernels, replayed: what being there costs it, and by what; of 130, checked."""
    config, other = os.path.join(HERE, "graph_cost.yaml"), os.path.join(HERE, "host_cost_other.yaml")
    none, matches = {"CUVET_CONFIG": other}, {"CUVET_CONFIG": config}
    rows = [  # what is varied, and the options of the program
        (Variant("bare"), ""), (Variant("bare, 290 MiB before"), "pad=290"),
        (Variant("bare, 20 launches"), "eager=20"),
        (Variant("empty subscriber", EMPTY="1"), ""),
        (Variant("no entry matches", **none), ""),
        (Variant("the same, entry points", CUVET_HOOK="entry", **none), ""),
        (Variant("none, outlier off", CUVET_OUTLIER="off", **none), ""),
        (Variant("none, p = 0", CUVET_SAMPLE="0", CUVET_FIRST="0", **none), ""),
        (Variant("none, set up at once", CUDA_MODULE_LOADING="EAGER", **none), ""),
        (Variant("bare, loaded at once", CUDA_MODULE_LOADING="EAGER"), ""),
        (Variant("matches, graph alone", **matches), ""),
        (Variant("matches, 20 launches", **matches), "eager=20"),
        (Variant("the same, arrays first", **matches), "eager=20 early=1"),
        (Variant("the same, outlier off", CUVET_OUTLIER="off", **matches), "eager=20"),
        (Variant("the same, 16 MiB", CUVET_MEMORY="16M", **matches), "eager=20"),
    ] + [(variant, "kernels=130 arrays=130") for variant in [
        Variant("130 kernels, bare"), Variant("130, empty subscriber", EMPTY="1"),
        Variant("130, no twins", CUVET_TWINS="0", **matches)] + [
        Variant("130, p = " + p, CUVET_SAMPLE=p, CUVET_FIRST="0", CUVET_OUTLIER="off", CUVET_BUDGET="off", **matches)
        for p in ("0", "0.01", "0.1", "1")] + [Variant("130, defaults", **matches)] + [
        Variant("130, entry, none", CUVET_HOOK="entry", **none)] + [
        Variant("130, entry, p = " + p, CUVET_HOOK="entry", CUVET_SAMPLE=p, CUVET_FIRST="0", CUVET_OUTLIER="off",
                CUVET_BUDGET="off", **matches) for p in ("0", "0.01", "0.1")] + [
        Variant("130, entry, defaults", CUVET_HOOK="entry", **matches)]
    ] + [
        (Variant("130 nodes set, bare"), "kernels=130 set=130"),
        (Variant("130 set, empty subscriber", EMPTY="1"), "kernels=130 set=130"),
        (Variant("130 set, p = 0", CUVET_SAMPLE="0", CUVET_FIRST="0", CUVET_OUTLIER="off", **matches), "kernels=130 set=130"),
        (Variant("130 set, p = 0.01", CUVET_SAMPLE="0.01", CUVET_FIRST="0", **matches), "kernels=130 set=130"),
        (Variant("130 set, entry, p = 0.01", CUVET_HOOK="entry", CUVET_SAMPLE="0.01", CUVET_FIRST="0", **matches),
         "kernels=130 set=130"),
    ]
    program = os.path.join(args.build, "graph_cost")
    found = {variant.name: [] for variant, _ in rows}
    for i in range(args.host_rounds):
        for variant, options in rows[i % len(rows):] + rows[:i % len(rows)]:
            results, _ = interleave(args, [variant], 1, [program] + options.split())
            found[variant.name] += results[variant.name]
    print("\ngraph: us for a replay of 64 kernels (or 130), medians of %d processes; low and high: of their medians; host: us for" %
          args.host_rounds)
    print("enqueueing one; MiB of the GPU that are gone beside the program's; where the first array lay, last process")
    print("  %-24s %8s %17s %8s %8s %8s %9s  %s" % ("variant", "replay", "low-high", "to bare", "to empty", "host", "GPU MiB",
                                                   "array"))
    for name, results in found.items():
        base, empty = ("130 nodes set, bare", "130 set, empty subscriber") if " set" in name and name.startswith("130") else \
            ("130 kernels, bare", "130, empty subscriber") if name.startswith("130") else ("bare", "empty subscriber")
        replay = [r["gpu_us"] for r in results]
        to = [statistics.median(replay) / statistics.median(r["gpu_us"] for r in found[other]) for other in (base, empty)]
        wrong = "" if {r["sum"] for r in results} == {r["sum"] for r in found[base]} else "  ANOTHER RESULT"
        print("  %-24s %8.1f %8.1f-%-8.1f %7.3fx %7.3fx %8.2f %9.1f  %s%s" % (
            name, statistics.median(replay), min(replay), max(replay), to[0], to[1],
            statistics.median(r["host_us"] for r in results), statistics.median(r["lost_mib"] for r in results),
            results[-1]["x"], wrong))


def bench_storm(args):
    """The defaults against a stopwatch: what they take of a storm of empty launches, and what cuvet says of it."""
    config = os.path.join(HERE, "host_cost.yaml")
    variants = [Variant("bare"), Variant("empty subscriber", EMPTY="1"),
                Variant("unregistered", CUVET_CONFIG=os.path.join(HERE, "host_cost_other.yaml")),
                Variant("the same, entry points", CUVET_HOOK="entry", CUVET_CONFIG=os.path.join(HERE, "host_cost_other.yaml")),
                Variant("the defaults", CUVET_CONFIG=config),
                Variant("defaults, entry points", CUVET_HOOK="entry", CUVET_CONFIG=config),
                Variant("no outlier gate", CUVET_CONFIG=config, CUVET_OUTLIER="off")]
    print("\nstorm: launches of a kernel that does nothing, in batches of 200, waits included, medians of %d processes;"
          % args.host_rounds)
    print("over empty: share of the time that an empty subscriber does not take; told: what cuvet says that it costs,")
    print("with its parts, which overlap; hook: what it says of the hook, apart from that; over bare: ns a launch")
    print("  %-8s %-23s %10s %9s %11s %9s %7s %7s %9s %7s %7s %7s" % ("threads", "variant", "ns", "to empty", "over empty", "over bare",
                                                                   "told", "hook", "(threads", "looks", "copies", "refs)"))
    for threads in (1, 8):
        launches = args.storm // threads
        results, _ = interleave(args, variants, args.host_rounds, [os.path.join(args.build, "host_cost"),
                                                                   str(launches), "200", str(threads)])
        middle = {n: statistics.median(r["seconds"] for r in rows) for n, rows in results.items()}
        empty = middle["empty subscriber"]
        for name, rows in results.items():
            parts = ["%.2f%%" % (100 * statistics.median(r[key] / r["seconds"] for r in rows))
                     for key in ("cost", "hook", "thread", "look", "copy", "reference")]
            one = 1e9 / (launches * threads)
            print("  %-8d %-23s %10.0f %8.3fx %10.2f%% %9.0f %7s %7s %9s %7s %7s %7s" % (
                (threads, name, middle[name] * one, middle[name] / empty, 100 * (1 - empty / middle[name]),
                 (middle[name] - middle["bare"]) * one) + tuple(parts)))


def bench_callback(args):
    """What cuvet's callback costs beyond an empty one, in one process that has both in turn."""
    config, other = os.path.join(HERE, "host_cost.yaml"), os.path.join(HERE, "host_cost_other.yaml")
    quiet = {"CUVET_SAMPLE": "0", "CUVET_FIRST": "0", "CUVET_OUTLIER": "off",
             "CUVET_CUPTI": os.path.join(args.build, "toggle_cupti.so")}
    rarely = dict(quiet, CUVET_SAMPLE="1e-6")
    variants = [Variant("unregistered", CUVET_CONFIG=other, **quiet),
                Variant("registered, p = 0", CUVET_CONFIG=config, **quiet),
                Variant("registered, p = 1e-6", CUVET_CONFIG=config, **rarely),
                Variant("passed, the defaults", CUVET_CONFIG=config, CUVET_CUPTI=quiet["CUVET_CUPTI"],
                        CUVET_BUDGET="0.01%")]
    program = [os.path.join(args.build, "host_cost"), "400000", "100"]
    results, _ = interleave(args, variants, args.host_rounds, program)
    entry = {"CUVET_HOOK": "entry"}
    wrapped = [Variant("entry: unregistered", CUVET_CONFIG=other, **entry),
               Variant("entry: passed, the defaults", CUVET_CONFIG=config, CUVET_BUDGET="0.01%", **entry)]
    results.update(interleave(args, wrapped, args.host_rounds, program + ["entry"])[0])
    print("\ncallback: ns that a launch takes more than under an empty subscriber, or through the wrapper of the entry")
    print("points than without it, in the same process: the median difference of neighbouring batches of 100, its")
    print("standard error, and the same of each of %d processes" % args.host_rounds)
    for name, rows in results.items():
        over = [r["over"] for r in rows]
        error = statistics.median(r["error"] for r in rows) / len(rows) ** 0.5
        print("  %-27s %6.0f +- %-4.1f of %.0f   (%s)" % (name, statistics.median(over), error, statistics.median(
            r["median"] for r in rows), ", ".join("%.0f" % o for o in over)))


def bench_hook(args):
    """What is in that callback, by itself: no launch, no GPU."""
    config, other = os.path.join(HERE, "host_cost.yaml"), os.path.join(HERE, "host_cost_other.yaml")
    always = {"LD_LIBRARY_PATH": args.softgpu, "CUVET_CUPTI": os.path.join(args.build, "hook_cupti.so")}
    quiet = dict(always, CUVET_FIRST="0", CUVET_OUTLIER="off")
    rows = [("unregistered", other, dict(quiet, CUVET_SAMPLE="0"), "1"),
            ("registered, p = 0", config, dict(quiet, CUVET_SAMPLE="0"), "1"),
            ("registered, p = 1e-6", config, dict(quiet, CUVET_SAMPLE="1e-6"), "1"),
            ("the same, 500 shapes", config, dict(quiet, CUVET_SAMPLE="1e-6"), "500"),
            ("registered, defaults", config, always, "1"),
            ("the same, 20 shapes", config, always, "20")]
    found = {name: [] for name, _, _, _ in rows}
    for _ in range(args.host_rounds):
        for name, yaml, settings, shapes in rows:
            variant = Variant(name, CUVET_CONFIG=yaml, **settings)
            out, err = run([os.path.join(args.build, "hook_cost"), "2000", shapes],
                           variant.environment(args, os.path.join(args.build, "reports", "hook")))
            if not json_lines(out):
                sys.exit("no result from hook_cost:\n%s%s" % (out, err))
            found[name].append({row["state"]: row for row in json_lines(out)})
    print("\nhook: ns of the callbacks at ENTER and EXIT of a launch beyond empty ones, on the stand-in driver; medians")
    print("of %d processes; caches as the call before left them, and after what a core's, or the chip's, do not hold"
          % args.host_rounds)
    print("  %-22s %20s %20s %20s" % ("", "warm", "core cold", "chip cold"))
    for name, processes in found.items():
        cells = ["%.0f + %.0f" % tuple(statistics.median(p[state][site] for p in processes)
                                       for site in ("enter_ns", "exit_ns")) for state in ("warm", "core", "chip")]
        print("  %-22s %20s %20s %20s" % ((name,) + tuple(cells)))
    out, _ = run([os.path.join(args.build, "..", "unit", "hook", "test_entry"), "--cost"], {})
    print("\n" + out.rstrip())


def bench_copy(args):
    out, _ = run([os.path.join(args.build, "copy_cost"), args.snapshot], {})
    print("\ncopy: the snapshot kernel against cuMemcpyDtoDAsync (rows at a pitch: cuMemcpy2DAsync)")
    print("  %-10s %-8s %10s %10s %8s %12s %6s" % ("bytes", "", "kernel us", "memcpy us", "ratio",
                                                  "kernel TB/s", "equal"))
    for row in json_lines(out):
        kb = row["bytes"] // 1024
        print("  %-10s %-8s %10.2f %10.2f %7.2fx %12.2f %6s" % (
            "%d KB" % kb if kb < 1024 else "%d MB" % (kb // 1024), "pitched" if row["pitched"] else "",
            row["kernel_us"], row["memcpy_us"], row["kernel_us"] / row["memcpy_us"],
            2 * row["bytes"] / row["kernel_us"] / 1e6, "yes" if row["equal"] else "NO"))


def bench_outlier(args):
    out, _ = run([os.path.join(args.build, "outlier_cost"), args.outlier], {})
    print("\noutlier: the gate's kernel on an ordinary launch against reading its sample once, us with the launch;")
    print("queued: launched before the GPU comes to them, so without the host's time for a launch;")
    print("least: reading, and one block hears of all others; late: launched when the kernel in front has ended; behind:")
    print("what it adds behind the reading; unsealed: of which the host learns nothing; phases of a single look: its")
    print("part read, the others' merged, judged, published, learnt")
    print("  %-6s %-9s %-8s %6s %6s %6s %13s %6s %6s %6s %8s %6s %8s %6s %6s   %5s %5s %5s %7s %5s %6s" % (
        "dtype", "input", "sample", "look", "read", "ratio", "queued: look", "read", "least", "least", "to least", "late",
        "unsealed", "behind", "empty", "part", "merge", "judge", "publish", "learn", "sealed"))
    for row in json_lines(out):
        print("  %-6s %-9s %-8s %6.2f %6.2f %5.2fx %13.2f %6.2f %6.2f %6.2f %7.2fx %6.2f %8.2f %6.2f %6.2f   %5.2f %5.2f %5.2f "
              "%7.2f %5.2f %6s" % (
                  row["dtype"], "%d KB" % (row["bytes"] // 1024), "%d KB" % (row["sampled"] // 1024), row["look_us"],
                  row["read_us"], row["look_us"] / row["read_us"], row["look_queued_us"], row["read_queued_us"],
                  row["least_queued_us"], row["least_us"], row["look_us"] / row["least_us"],
                  row["late_us"], row["unsealed_us"], row["behind_us"], row["empty_us"], *row["phase_us"],
                  "yes" if row["sealed"] else "NO"))
        if not row["early"]:
            print("         launched in turn: the kernel was not compiled for 9.0 or later")


def bench_project(args):
    out, _ = run([os.path.join(args.build, "project_cost"), args.snapshot], {})
    print("\nproject: a whole product projected, bf16 (of f8 with scales), against reading its three arrays once, us with the launches;")
    print("quiet: nothing is said of a right product, found: a cleared tile is, in its rows alone")
    print("  %-6s %-20s %8s %10s %8s %8s %8s %8s  %5s %5s" % (
        "layout", "m x n x k", "MB", "projected", "first", "second", "read", "ratio", "quiet", "found"))
    for row in json_lines(out):
        print("  %-6s %-20s %8.1f %10.1f %8.1f %8.1f %8.1f %7.2fx  %5s %5s" % (
            row["layout"], "%d x %d x %d" % (row["m"], row["n"], row["k"]), row["bytes"] / 1e6, row["project_us"],
            row["factors_us"], row["rows_us"], row["read_us"], row["project_us"] / row["read_us"],
            "yes" if row["quiet"] else "NO", "yes" if row["found"] else "NO"))


def reference_formals():
    """(name, formals) of every REFERENCE line in refs/."""
    for path in sorted(glob.glob(os.path.join(ROOT, "refs", "*", "*.cu"))):
        text = open(path).read()
        for match in re.finditer(r'^REFERENCE\((\w+),((?:\s*"[^"]*")+)\)', text, re.M):
            yield match.group(1), "".join(re.findall(r'"([^"]*)"', match.group(2)))


def bench_refs(args):
    words = [word for pair in reference_formals() for word in pair]
    out, _ = run([os.path.join(args.build, "ref_cost"), args.refs] + words, {})
    print("\nrefs: us for a whole check, bf16, 4096 columns, against reading all its arrays once")
    print("  %-14s %6s %-5s %8s %8s %8s %8s %s" % ("reference", "input", "cache", "read", "warp row",
                                                 "block row", "ratio", ""))
    rows = json_lines(out)
    for row in rows:
        if "batch" in row:
            continue
        best = min(row["warp_us"], row["block_us"])
        odd = "" if not row["violations"] + row["refused"] else "%d violations, %d refused" % (
            row["violations"], row["refused"])
        print("  %-14s %4dMB %-5s %8.1f %8.1f %8.1f %7.2fx %s" % (
            row["reference"], row["mb"], row["cache"], row["read_us"], row["warp_us"], row["block_us"],
            best / row["read_us"], odd))
    print("\nrefs: us for checks with an input of 1 MB each: one, as many as one launch takes apart and together")
    print("  %-14s %6s %-5s %8s %8s %9s %8s %s" % ("reference", "checks", "cache", "one", "apart", "together",
                                                  "ratio", ""))
    for row in rows:
        if "batch" not in row:
            continue
        odd = "" if row["checked"] and not row["odd"] else "%d checked, %d of them odd" % (row["checked"], row["odd"])
        print("  %-14s %6d %-5s %8.1f %8.1f %9.1f %7.2fx %s" % (
            row["reference"], row["batch"], row["cache"], row["one_us"], row["apart_us"], row["together_us"],
            row["together_us"] / row["apart_us"], odd))


def bench_steps(args, kinds):
    """Without a budget only the rmsnorms are checked, else the products, too."""
    config = os.path.join(HERE, "step.yaml")
    variants = [Variant("bare"), Variant("empty subscriber", EMPTY="1")]
    variants += [Variant("p = %s, subset %s" % (p, subset), CUVET_CONFIG=config, CUVET_SAMPLE=p,
                         CUVET_SUBSET=subset, CUVET_TABLES="off", CUVET_BUDGET="off", CUVET_OUTLIER="off")
                 for p in args.samples for subset in args.subsets]
    variants += [Variant("p = 0.5, " + b, CUVET_CONFIG=config, CUVET_SAMPLE="0.5", CUVET_BUDGET=b)
                 for b in args.budgets]
    variants += [Variant("the defaults", CUVET_CONFIG=config)]
    variants += [Variant("p = 0, all looked at", CUVET_CONFIG=config, CUVET_SAMPLE="0", CUVET_FIRST="0",
                         CUVET_TABLES="off", CUVET_BUDGET="off")]
    argv = [sys.executable, os.path.join(HERE, "step.py")] + kinds
    results, counts = interleave(args, variants, args.rounds, argv)
    titles = {"prefill": "step: 4096 tokens, ten steps between waits",
              "decode": "decode: 8 tokens, ten steps between waits",
              "device": "sync: 4096 tokens, torch.cuda.synchronize() after each step",
              "stream": "sync: 4096 tokens, stream.synchronize() after each step"}
    for kind in kinds:
        print("\n%s (us a step, medians of %d processes)" % (titles[kind], args.rounds))
        print("  %-24s %9s %19s %9s %9s %9s %9s %7s %7s" % ("variant", "median", "spread (medians)", "to bare",
                                                           "to empty", "checked", "dropped", "told", "hook"))
        middle = {n: statistics.median(r[kind]["median"] for r in rows) for n, rows in results.items()}
        for name, rows in results.items():
            medians = [r[kind]["median"] for r in rows]
            row = counts[name].get("step_rms_norm_" + kind, {"checked": 0, "dropped": 0, "launches": 0,
                                                             "mismatch": 0})
            told, hook = ("%.2f%%" % (100 * statistics.median(r[kind][key] for r in rows)) for key in ("cost", "hook"))
            print("  %-24s %9.1f %9.1f-%-9.1f %8.3fx %8.3fx %9s %9s %7s %7s%s" % (
                name, middle[name], min(medians), max(medians), middle[name] / middle["bare"],
                middle[name] / middle["empty subscriber"], share(row["checked"], row["launches"]),
                share(row["dropped"], row["checked"] + row["dropped"]), told, hook,
                "  %d MISMATCHES" % row["mismatch"] if row["mismatch"] else ""))


def bench_rates(args):
    """In one process, so that a difference of a thousandth shows: processes of one program differ by a hundredth."""
    rates = ["0"] + args.samples
    settings = {"CUVET_CONFIG": os.path.join(HERE, "step.yaml"), "CUVET_TABLES": "off", "CUVET_BUDGET": "off",
                "CUVET_OUTLIER": "off"}
    for kind, title in (("prefill", "4096 tokens"), ("decode", "8 tokens")):
        ratios = {rate: [] for rate in rates}
        times = {rate: [] for rate in rates}
        for number in range(args.rounds):
            folder = os.path.join(args.build, "reports", "rates-%s-%d" % (kind, number))
            shutil.rmtree(folder, ignore_errors=True)
            out, _ = run([sys.executable, os.path.join(HERE, "step.py"), "rates", kind] + rates,
                         Variant("rates", **settings).environment(args, folder))
            for row in json_lines(out):
                for rate in rates:
                    times[rate] += row[rate]
                    ratios[rate] += [one / none for one, none in zip(row[rate], row["0"])]
        print("\nrates: a step of %s at several sampling rates in one process (%d processes, medians of turns)" % (
            title, args.rounds))
        print("  %-8s %10s %9s %17s" % ("p", "us a step", "to p = 0", "middle half"))
        for rate in rates:
            low, middle, high = statistics.quantiles(ratios[rate], n=4)
            print("  %-8s %10.1f %8.3fx %8.3f-%-8.3f" % (rate, statistics.median(times[rate]), middle, low, high))


def bench_contracts(args):
    """Decode loops of tests/gpu, whose registry has a contract for every kernel between whose launches one can be. In one
    process, with checks off and on by turns: processes of one program differ by a third."""
    folder = os.path.join(HERE, "..", "gpu", "jit")
    settings = Variant("defaults", CUVET_CONFIG=os.path.join(folder, "decode.yaml"))
    print("\ncontracts: a step of a decode loop with all of its contracts, to itself with checks off (medians of turns)")
    print("  %-8s %-6s %9s %9s %17s %9s %9s" % ("cache", "mode", "off us", "to off", "middle half", "launches", "checked"))
    for cache in ("paged", "static", "rows", "tuned", "micro"):
        report = os.path.join(args.build, "reports", "contracts-" + cache)
        shutil.rmtree(report, ignore_errors=True)
        out, _ = run([sys.executable, os.path.join(folder, "decode.py"), "turns", "none", "2000", cache],
                     settings.environment(args, report))
        rows = counters(report).values()
        launches, checked, wrong = (sum(row[key] for row in rows) for key in ("launches", "checked", "mismatch"))
        for mode, times in json_lines(out)[0].items():
            low, middle, high = statistics.quantiles([on / off for on, off in zip(times["on"], times["off"])], n=4)
            print("  %-8s %-6s %9.1f %8.3fx %8.3f-%-8.3f %9d %9d%s" % (
                cache, mode, statistics.median(times["off"]), middle, low, high, launches, checked,
                "  FINDINGS" if wrong else ""))


def bench_interpreter(args):
    out, _ = run([os.path.join(args.build, "interpreter"), args.ptx], {})
    print("\ninterpreter: PTX of the rmsnorm reference on one thread, best of 5; a thread instruction is one of")
    print("a warp times its %d lanes, all of which are at work here but where verdicts are merged" % LANES)
    print("  %-24s %12s %15s %18s %19s" % ("kernel", "rows x cols", "warp instr.", "warp instr./s",
                                           "thread instr./s"))
    slow = []
    for row in json_lines(out):
        count, cpu, wall = row["warp_instructions"], row["cpu_s"], row["wall_s"]
        print("  %-24s %12s %15d %8.1f M of CPU %8.0f M of CPU, %.0f M of wall time" % (
            row["kernel"], "%dx%d" % (row["rows"], row["cols"]), count, count / cpu / 1e6,
            LANES * count / cpu / 1e6, LANES * count / wall / 1e6))
        if LANES * count / cpu < WANTED_PTX:
            slow.append(row["kernel"])
    print("  wanted: at least %.0f M thread instructions a second: %s" % (
        WANTED_PTX / 1e6, "missed by " + ", ".join(slow) if slow else "all of them"))


def findings(folder):
    """(launch, gate) of each finding in the folder's journals."""
    for path in glob.glob(os.path.join(folder, "journal-*.jsonl")):
        for line in open(path, errors="replace"):
            event = json.loads(line)
            if event.get("event") == "finding" and event["verdict"] == "mismatch":
                yield event["launch"], event["gate"]


def looked_at(folder):
    """Shares of launches that the outlier gate found ordinary, and that were checked."""
    launches = ordinary = checked = 0
    for path in glob.glob(os.path.join(folder, "journal-*.jsonl")):
        for line in open(path, errors="replace"):
            event = json.loads(line)
            if event.get("event") == "totals" and event["kernel"] == "step_rms_norm_rare":
                launches += event["launches"]
                ordinary += event["reasons"].get("ordinary", 0)
                checked += event["checked"]
    return share(ordinary, launches), share(checked, launches)


def run_rare(args, variant, number, occurrences):
    """One process: its line, the launches with findings and by which gate, the shares looked at and checked."""
    folder = os.path.join(args.build, "reports", "rare-%s-%d" % (re.sub(r"\W+", "-", variant.name), number))
    shutil.rmtree(folder, ignore_errors=True)
    out, _ = run([sys.executable, os.path.join(HERE, "rare.py"), str(occurrences)], variant.environment(args, folder))
    return variant, json_lines(out)[-1], sorted(findings(folder)), looked_at(folder)


def bench_rare(args):
    settings = {"CUVET_CONFIG": os.path.join(HERE, "step.yaml"), "CUVET_BUNDLES": "0"}
    bare, defaults = Variant("bare"), Variant("the defaults", **settings)
    alone = Variant("random sampling alone", CUVET_OUTLIER="off", **settings)
    # A GPU that has worked for a minute is slower than one that begins: bare before, between and behind.
    order = [(bare, 10), (defaults, 30), (alone, 50), (bare, 10), (defaults, 30), (alone, 50), (bare, 10)]
    results = [run_rare(args, variant, i, occurrences) for i, (variant, occurrences) in enumerate(order)]
    usual = statistics.median(row["step_us"] for variant, row, _, _ in results if not variant.env)
    print("\nrare: a step of 4096 tokens with a mutant that is wrong in 1 launch in 10,000, on unusual input;")
    print("to bare: the median of the bare processes")
    print("  %-22s %9s %8s %10s %8s %8s %6s %8s  %s" % (
        "variant", "us a step", "to bare", "looked at", "checked", "planted", "found", "passed", "by which gate"))
    for variant, row, all_found, shares in results:
        planted = row["planted"]
        found = [(launch, gate) for launch, gate in all_found if launch in planted]
        wrong = len(all_found) - len(found)
        passed = "%d" % planted.index(found[0][0]) if found else "all" if variant.env else "-"
        print("  %-22s %9.1f %7.3fx %10s %8s %8d %6d %8s  %s%s" % (
            (variant.name, row["step_us"], row["step_us"] / usual) + shares +
            (len(planted), len(found), passed, ", ".join(sorted({gate for _, gate in found})),
             "  %d FINDINGS ELSEWHERE" % wrong if wrong else "")))


def bench_gate(args):
    out, _ = run([os.path.join(args.build, "gate_cost")], {})
    rows = json_lines(out)
    print("\ngate: gate and outlier table, ns of the host a launch; the first and the last tenth of a run")
    print("  %10s %10s %8s %8s %14s %14s %16s" % ("signatures", "launches", "first", "last", "last to first",
                                                 "to 1 signature", "bytes allocated"))
    for row in rows:
        print("  %10d %10d %8.1f %8.1f %13.2fx %13.2fx %16d" % (
            row["signatures"], row["launches"], row["first_ns"], row["last_ns"], row["last_ns"] / row["first_ns"],
            row["last_ns"] / rows[0]["last_ns"], row["grown"]))


def build_programs(args):
    command = ["make", "-s", "-j4", "-f", os.path.join(HERE, "programs.mk"), "OUT=" + args.build]
    if os.environ.get("NVCC"):
        command.append("NVCC=" + os.environ["NVCC"])
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        sys.exit("the benchmarks do not build:\n" + done.stdout.decode("utf-8", "replace"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--lib", default="build/release/libcuvet.so")
    parser.add_argument("--snapshot", help="snapshot.fatbin (default: gen/ beside the library)")
    parser.add_argument("--outlier", help="outlier.fatbin (likewise)")
    parser.add_argument("--refs", help="refs.fatbin (likewise)")
    parser.add_argument("--ptx", help="refs.ptx (default: tests/softgpu/ptx/ beside the library)")
    parser.add_argument("--softgpu", help="the stand-in driver (default: softgpu/ beside the library)")
    parser.add_argument("--build", default="build/release/tests/bench", help="where programs go")
    parser.add_argument("--only", action="append", choices=PARTS, help="one part; may be given again")
    parser.add_argument("--rounds", type=int, default=4, help="processes of each variant of a step")
    parser.add_argument("--host-rounds", type=int, default=5, help="processes of each variant of host")
    parser.add_argument("--storm", type=int, default=1000000, help="launches of each process of storm")
    parser.add_argument("--variants", nargs="*", metavar="WORD", help="host: only variants whose name holds a WORD")
    parser.add_argument("--budgets", nargs="*", default=["1%", "5%"], metavar="SHARE")
    parser.add_argument("--samples", nargs="*", default=["0.01", "0.1", "0.5", "1"], metavar="P")
    parser.add_argument("--subsets", nargs="*", default=["off", "1M"], metavar="BYTES",
                        help="CUVET_SUBSET of those samples")
    parser.add_argument("--no-make", action="store_true", help="the programs are built already")
    args = parser.parse_args()
    args.lib, args.build = os.path.abspath(args.lib), os.path.abspath(args.build)
    gen = os.path.join(os.path.dirname(args.lib), "gen")
    args.snapshot = os.path.abspath(args.snapshot or os.path.join(gen, "snapshot.fatbin"))
    args.outlier = os.path.abspath(args.outlier or os.path.join(gen, "outlier.fatbin"))
    args.refs = os.path.abspath(args.refs or os.path.join(gen, "refs.fatbin"))
    args.ptx = os.path.abspath(args.ptx or os.path.join(os.path.dirname(args.lib), "tests/softgpu/ptx/refs.ptx"))
    args.softgpu = os.path.abspath(args.softgpu or os.path.join(os.path.dirname(args.lib), "softgpu"))
    os.makedirs(args.build, exist_ok=True)
    parts, start = args.only or PARTS, time.time()
    if not args.no_make and set(parts) - {"interpreter", "gate", "hook", "rare", "rates"}:
        build_programs(args)
    for part, bench in (("interpreter", bench_interpreter), ("gate", bench_gate), ("hook", bench_hook), ("start", bench_start),
                        ("graph", bench_graph), ("host", bench_host), ("storm", bench_storm),
                        ("callback", bench_callback), ("copy", bench_copy),
                        ("outlier", bench_outlier), ("project", bench_project),
                        ("refs", bench_refs)):
        if part in parts:
            bench(args)
            sys.stdout.flush()
    kinds = [kind for part, kind in (("step", "prefill"), ("decode", "decode"), ("sync", "device"),
                                     ("sync", "stream")) if part in parts]
    if kinds:
        bench_steps(args, kinds)
    for part, bench in (("rates", bench_rates), ("contracts", bench_contracts), ("rare", bench_rare)):
        if part in parts:
            bench(args)
            sys.stdout.flush()
    print("\n%.0f s" % (time.time() - start))
    return 0


if __name__ == "__main__":
    sys.exit(main())
