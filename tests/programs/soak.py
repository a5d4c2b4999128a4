#!/usr/bin/env python3
"""soak.py - programs of this folder with each launch checked, until so many launches of each are checked.

    python3 tests/programs/soak.py --cuvet build/release/cuvet [--checked N] [--seconds N] [--reports FOLDER] NAME ...

NAME is a program of models.py or graphed.py (as `graphed:block`), `cupy` or `jax`; all of them where none is given. Or it is a library
of triton_libraries.py and its folder (`fla:FOLDER`), whose operations run in turn, or a program in a file (`file:PATH`), from its
beginning each time. They run side by side, each a process under `cuvet run` with CUVET_SAMPLE=1 and no budget; that of JAX with a
registry of its own dump. Of a library that is named N times each process has an N-th of the operations. Prints a row for each. Fails where one ends badly, has a mismatch,
or comes to its seconds with fewer launches checked. Needs a GPU and the programs' libraries.
"""

import argparse
import itertools
import json
import os
import runpy
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
NAMES = ["gpt", "llama", "generate", "bert", "vit", "resnet", "graphed:block", "graphed:compile", "graphed:generate", "cupy", "jax"]
VERDICTS = ("match", "mismatch", "inconclusive")
EXIT_S = 60  # for the checks that are under way at the end


class Ended(BaseException):
    """Ends a program in a file where it is."""


def library_step(library, folder, share, shares):
    """One operation in one dtype, of every `shares`-th from `share` on. Those that cannot run are left out."""
    import torch
    import triton_libraries
    torch.manual_seed(share)
    torch.set_num_threads(1)
    pairs = list(itertools.product(triton_libraries.DTYPES.values(), triton_libraries.operations(library, folder)))[share::shares]

    def step():
        dtype, (name, shapes, letters, call, _) = pair = pairs.pop(0)
        try:
            for shape in shapes:
                triton_libraries.alone(dtype, shape, letters, call)
            pairs.append(pair)
        except (RuntimeError, AssertionError, ValueError, NotImplementedError) as error:
            print("%s %s: %s" % (name, dtype, str(error)[:200]))

    return step


def file_step(path):
    sys.path.remove(HERE)  # files here have names of packages
    sys.path.insert(0, os.path.dirname(path))

    def step():
        sys.argv = [path]
        runpy.run_path(path, run_name="__main__")

    return step


def make(name, share, shares):
    """The program's step; random numbers are those of its own file."""
    kind, _, path = name.partition(":")
    if kind == "file":
        return file_step(path)
    if path and kind != "graphed":
        return library_step(kind, path, share, shares)
    if name == "cupy":
        import cupy_models
        return cupy_models.program()
    if name == "jax":
        import jax_models
        return jax_models.program()
    import torch
    torch.manual_seed(0)
    if not name.startswith("graphed:"):
        import models
        return getattr(models, name)()
    import graphed
    step, _ = graphed.PROGRAMS[name.split(":")[1]]([])

    @torch.inference_mode()
    def waited():
        step()
        torch.cuda.synchronize()  # the host stays with the checks

    return waited


def worker(name, wanted, seconds, share, shares):
    sys.path.insert(0, os.path.join(HERE, "..", "bench"))
    from counters import counters
    result = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the program prints goes to the log
    end, steps = time.monotonic() + seconds, 0

    def enough():
        now = counters()
        return sum(getattr(now, v) for v in VERDICTS) >= wanted or time.monotonic() >= end

    def tick(*_):
        if enough():
            raise Ended

    step = make(name, share, shares)
    if name.startswith("file:"):
        signal.signal(signal.SIGALRM, tick)
        signal.setitimer(signal.ITIMER_REAL, 1, 1)
    try:
        while steps == 0 or not enough():
            step()
            steps += 1
    except Ended:
        pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    now = counters()
    print(json.dumps(dict({v: getattr(now, v) for v in VERDICTS}, steps=steps, seen=now.seen, registered=now.registered)), file=result,
          flush=True)


def registry(args):
    """Of XLA's fusions in the program of JAX, by `cuvet xla`. Its compilation cache keeps them for the next process."""
    dump, path = os.path.join(args.reports, "dump"), os.path.join(args.reports, "jax.yaml")
    os.environ.update(JAX_COMPILATION_CACHE_DIR=os.path.join(args.reports, "compiled"), JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS="0",
                      JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES="-1")
    env = dict(os.environ, XLA_FLAGS="--xla_dump_to=%s --xla_dump_hlo_as_text" % dump)
    subprocess.run([sys.executable, os.path.join(HERE, "jax_models.py"), "2"], env=env, check=True, stdout=subprocess.DEVNULL)
    subprocess.run([args.cuvet, "xla", "-o", path, dump], check=True, stdout=sys.stderr)
    return path


def start(place, name, args):
    folder = os.path.join(args.reports, "%d-%s" % (place, shown(name)))
    tables = ["-c", registry(args)] if name == "jax" else []
    env = {k: v for k, v in os.environ.items() if not k.startswith("CUVET_")}
    env.update(CUVET_SAMPLE="1", CUVET_BUDGET="off", CUVET_SUMMARY="0", PYTHONDONTWRITEBYTECODE="1", HF_HUB_OFFLINE="1")
    log = open(folder + ".log", "w")
    return subprocess.Popen([args.cuvet, "run", *tables, "-o", folder, "--", sys.executable,
                             __file__, "--worker", "--checked", str(args.checked), "--seconds", str(args.seconds), "--share",
                             str(args.names[:place].count(name)), "--shares", str(args.names.count(name)), name], env=env,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True)


def shown(name):
    """A program in a file by its file's name, a library without its folder."""
    kind, _, path = name.partition(":")
    return os.path.basename(path) if kind == "file" else kind if "/" in path else name.replace(":", "-")


def row(name, process, args):
    """Prints it; returns whether the program is as it should be."""
    try:
        out, _ = process.communicate(timeout=args.seconds + EXIT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        out, _ = process.communicate()
    lines = [line for line in out.split("\n") if line.startswith("{")]
    if process.returncode or not lines:
        print("%-18s ended with %s" % (shown(name), process.returncode))
        return False
    found = json.loads(lines[-1])
    checked = sum(found[v] for v in VERDICTS)
    good = not found["mismatch"] and checked >= args.checked
    print("%-18s %8d %9d %9d %9d %9d %12d   %s" % (shown(name), found["steps"], found["seen"], checked, found["match"], found["mismatch"],
                                               found["inconclusive"], "ok" if good else "FAILED"), flush=True)
    return good


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cuvet", default="build/release/cuvet")
    parser.add_argument("--checked", type=int, default=100000)
    parser.add_argument("--seconds", type=float, default=400)
    parser.add_argument("--reports", default="build/release/soak")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--share", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--shares", type=int, help=argparse.SUPPRESS)
    parser.add_argument("names", nargs="*", default=[])
    args = parser.parse_args()
    if args.worker:
        worker(args.names[0], args.checked, args.seconds, args.share, args.shares)
        return
    os.makedirs(args.reports, exist_ok=True)
    args.names = args.names or NAMES
    processes = [(name, start(place, name, args)) for place, name in enumerate(args.names)]
    print("%-18s %8s %9s %9s %9s %9s %12s" % ("program", "steps", "launches", "checked", "match", "mismatch", "inconclusive"))
    bad = [name for name, process in processes if not row(name, process, args)]
    sys.exit("soak.py: %s, see %s" % (", ".join(bad), args.reports) if bad else 0)


if __name__ == "__main__":
    main()
