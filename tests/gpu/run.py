#!/usr/bin/env python3
"""run.py - cuvet inside real programs on a real GPU.

    python3 tests/gpu/run.py --lib build/release/libcuvet.so --cuvet build/release/cuvet

With --softgpu, the cases whose kernels Triton makes, on the stand-ins of tests/softgpu: PyTorch's operations on the CPU.

Each case runs a program bare and under cuvet. The standard output (checksums of output bits) and the
exit code must be the same; the journal must balance, name exactly the expected kernels, and have
checked what it should. The table of cases is in cases.py. Standard library only.
"""

import argparse
import concurrent.futures
import dataclasses
import glob
import json
import os
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True  # nothing is left in the tree
import cases  # noqa: E402
import fuzz_signatures  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
LIMIT_S = 90
LIMIT_SOFTGPU_S = 600
SKIPPED = 77
MEASURED = "measured: "


@dataclasses.dataclass
class Ran:
    """One finished process."""

    argv: list
    env: dict
    code: object  # exit code, -signal, or None for one that ran past its limit
    out: bytes
    err: str
    seconds: float

    def measured(self):
        """What the program measured: lines that are shown, and may differ from run to run."""
        lines = self.out.decode("utf-8", "replace").split("\n")
        return [line for line in lines if line.startswith(MEASURED)]

    def compared(self):
        """Standard output without those."""
        lines = self.out.split(b"\n")
        return b"\n".join(line for line in lines if not line.startswith(MEASURED.encode()))

    def command(self):
        """A line for a shell that runs it again."""
        words = ["%s=%s" % (k, shlex.quote(v)) for k, v in sorted(self.env.items())]
        return " ".join(["cd", shlex.quote(HERE), "&&", "env"] + words +
                        [shlex.quote(a) for a in self.argv])


def clean_environment():
    """Ours without cuvet, other tools, and what would write into the tree."""
    env = {k: v for k, v in os.environ.items()
           if not k.startswith("CUVET_") and k not in ("LD_PRELOAD", "CUDA_INJECTION64_PATH")}
    env["PYTHONDONTWRITEBYTECODE"] = "1"
    return env


def on_softgpu(argv, extra, folder):
    """The command and the variables of a run on the stand-ins in `folder`."""
    cpu = os.path.join(HERE, "../softgpu/runtime/torch_on_cpu.py")
    at = argv.index(sys.executable) + 1
    loaded = os.path.join(folder, "libcudart.so.13")
    # PyTorch has NVIDIA's CUPTI mapped, which does not work on the stand-in. References take long there.
    env = dict(extra, LD_LIBRARY_PATH=folder, SOFTGPU_MEMORY="16G", CUVET_CUPTI=os.path.join(folder, "libcupti.so.13"),
               CUVET_EXIT_WAIT=str(1000 * LIMIT_SOFTGPU_S),
               LD_PRELOAD=":".join(filter(None, (loaded, extra.get("LD_PRELOAD")))))
    return argv[:at] + [cpu] + argv[at:], env


def run_process(argv, extra, softgpu=None):
    """Runs argv in the tests' folder with extra variables; ends its whole group at the limit."""
    limit = LIMIT_SOFTGPU_S if softgpu else LIMIT_S
    if softgpu:
        argv, extra = on_softgpu(argv, extra, softgpu)
    env = dict(clean_environment(), **extra)
    start = time.time()
    process = subprocess.Popen(
        argv, env=env, cwd=HERE, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, start_new_session=True)
    code = None
    try:
        out, err = process.communicate(timeout=limit)
        code = process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
    return Ran(argv, extra, code, out, err.decode("utf-8", "replace"), time.time() - start)


class Journal:
    """The JSON lines that one run left behind: one file a process."""

    def __init__(self, folder):
        self.files = {}
        self.bad_lines = 0
        for path in sorted(glob.glob(os.path.join(folder, "journal-*.jsonl"))):
            self.files[path] = list(self._lines(path))

    def _lines(self, path):
        with open(path, errors="replace") as lines:
            for line in lines:
                try:
                    yield json.loads(line)
                except ValueError:
                    self.bad_lines += 1

    def events(self, name):
        return [e for lines in self.files.values() for e in lines if e.get("event") == name]

    def total(self, field):
        return sum(e.get(field, 0) for e in self.events("end"))

    def reasons(self):
        """Skip reasons of all processes, added up."""
        sums = {}
        for end in self.events("end"):
            for reason, count in end.get("reasons", {}).items():
                sums[reason] = sums.get(reason, 0) + count
        return sums

    def warnings(self):
        return [e.get("sentence", "") for e in self.events("warning")]

    def sentences(self):
        """What findings say of rules and contracts."""
        return [e[key].get("sentence", "") for e in self.events("finding") for key in ("state", "parity") if e.get(key)]

    def imbalance(self, slack):
        """Complaints about the ends of the files: each launch in exactly one bucket."""
        for path, lines in self.files.items():
            name = os.path.basename(path)
            for end in (e for e in lines if e.get("event") == "end"):
                buckets = sum(end[v] for v in ("match", "mismatch", "inconclusive"))
                skipped = sum(end["reasons"].values())
                if buckets != end["checked"] or skipped != end["unchecked"]:
                    yield "%s: buckets do not add up to checked and unchecked: %s" % (name, end)
                if not 0 <= end["seen"] - buckets - skipped <= slack:
                    yield "%s: %d launches seen, %d in buckets" % (name, end["seen"], buckets + skipped)
            if len({e.get("pid") for e in lines}) > 1:
                yield "%s: lines of several processes" % name


def is_kernel(key, event):
    """Whether a totals, finding or launch_error line is of the kernel that a case calls `key`:
    the exact symbol, or with ~ in front any part of symbol or label."""
    names = [event.get("kernel") or "", event.get("label") or ""]
    if key.startswith("~"):
        return any(key[1:] in name for name in names)
    return key in names


class Judge:
    """Holds one run against what its case expects."""

    def __init__(self, case, bare, ran, journal):
        self.case, self.bare, self.ran, self.journal = case, bare, ran, journal
        self.complaints = []

    def expect(self, holds, text, *values):
        if not holds:
            self.complaints.append(text % values if values else text)

    def verdict(self):
        self._same_program()
        self._journal()
        self._findings()
        self._kernels()
        self._words()
        return self.complaints

    def _same_program(self):
        case, bare, ran = self.case, self.bare, self.ran
        self.expect(bare.code is not None, "the bare program ran past %d s", LIMIT_S)
        self.expect(ran.code is not None, "ran past %d s", LIMIT_S)
        if case.races:
            self.expect(bare.code in case.races, "bare exit code %s, expected one of %s", bare.code, case.races)
            self.expect(ran.code in case.races, "exit code %s, expected one of %s", ran.code, case.races)
        else:
            self._same_code()
        self.expect(bare.compared() == ran.compared(), "standard output differs from the bare run's:%s",
                    first_difference(bare.compared(), ran.compared()))

    def _same_code(self):
        case, bare, ran = self.case, self.bare, self.ran
        if case.code is not None:
            self.expect(bare.code == case.code, "bare exit code %s, expected %s", bare.code, case.code)
        expected = bare.code if case.ran_code is None else case.ran_code
        self.expect(ran.code == expected, "exit code %s, expected %s", ran.code, expected)

    def _journal(self):
        case, journal = self.case, self.journal
        ends = len(journal.events("end"))
        if case.ends is not None:
            self.expect(ends == case.ends, "%d journals with an end, expected %d", ends, case.ends)
        self.expect(journal.bad_lines == 0, "%d journal lines are no JSON", journal.bad_lines)
        self.complaints += list(journal.imbalance(case.slack))
        checked = journal.total("checked")
        self.expect(checked >= case.at_least, "%d launches checked, expected %d", checked, case.at_least)

    def _findings(self):
        if self.case.findings is None:
            return
        wrong = [t for t in self.journal.events("totals") if t.get("mismatch")]
        wrong += self.journal.events("finding")
        for event in wrong:
            self.expect(any(is_kernel(key, event) for key in self.case.findings + self.case.may),
                        "finding for a correct kernel: %s", describe(event))
        for key in self.case.findings:
            self.expect(any(is_kernel(key, e) for e in self.journal.events("finding")),
                        "no finding for %s", key)

    def _kernels(self):
        totals = self.journal.events("totals")
        for key, least in self.case.checked.items():
            checked = sum(t["checked"] for t in totals if is_kernel(key, t))
            self.expect(checked >= least, "%s: %d launches checked, expected %d", key, checked, least)
        for key in self.case.launch_errors:
            self.expect(any(is_kernel(key, e) for e in self.journal.events("launch_error")),
                        "no launch_error for %s", key)
        reasons = self.journal.reasons()
        for reason, least in self.case.reasons.items():
            self.expect(reasons.get(reason, 0) >= least, "%d launches skipped as '%s', expected %d",
                        reasons.get(reason, 0), reason, least)

    def _words(self):
        words = "\n".join([self.ran.err] + self.journal.warnings() + self.journal.sentences())
        for pattern in self.case.says:
            self.expect(re.search(pattern, words), "nothing said like /%s/", pattern)
        lines = self.ran.err.count("\n")
        self.expect(lines <= self.case.most_lines, "%d lines on standard error", lines)


def first_difference(a, b):
    a, b = a.decode("utf-8", "replace").split("\n"), b.decode("utf-8", "replace").split("\n")
    for i in range(max(len(a), len(b))):
        left = a[i] if i < len(a) else "(nothing)"
        right = b[i] if i < len(b) else "(nothing)"
        if left != right:
            return "\n      line %d bare:  %s\n      line %d cuvet: %s" % (i + 1, left, i + 1, right)
    return ""


def describe(event):
    keep = ("kernel", "label", "launch", "device", "mismatch", "numbers", "worst", "arrays")
    return json.dumps({k: event[k] for k in keep if k in event})[:700]


class Runner:
    def __init__(self, args):
        self.args = args
        self.bare = {}  # (argv, environment) -> Ran: cases that share a program share its bare run
        self.lock = threading.Lock()

    def expand(self, text):
        args = self.args
        return (text.replace("{build}", args.build).replace("{here}", HERE)
                .replace("{config}", os.path.normpath(os.path.join(HERE, "../../config")))
                .replace("{gen}", os.path.join(os.path.dirname(args.lib), "gen"))
                .replace("{lib}", args.lib).replace("{cuvet}", args.cuvet).replace("{python}", sys.executable)
                .replace("{tmp}", os.path.join(args.build, "scratch")))

    def bare_run(self, case):
        argv = [self.expand(a) for a in case.bare or case.argv]
        key = tuple(argv)
        with self.lock:
            entry = self.bare.setdefault(key, {"lock": threading.Lock(), "ran": None})
        with entry["lock"]:
            if entry["ran"] is None:
                entry["ran"] = run_process(argv, {"TRITON_CACHE_DIR": self.expand("{build}/triton")},
                                           self.args.softgpu)
        return entry["ran"]

    def registry(self, case):
        """The path of the case's registry; text is written to a file first."""
        if case.registry_text is None:
            return self.expand(case.registry) if case.registry else None
        path = os.path.join(self.args.build, "scratch", case.name.replace("/", "-") + ".yaml")
        with open(path, "w") as out:
            out.write(case.registry_text)
        return path

    def cuvet_run(self, case, folder):
        argv = [self.expand(a) for a in case.argv]
        env = {"TRITON_CACHE_DIR": self.expand("{build}/triton"), "CUVET_SAMPLE": "1",
               "CUVET_BUDGET": "off"}
        registry = self.registry(case)
        if case.front_door is not None:
            argv = ([self.args.cuvet, "run", "-c", registry, "-o", folder] + list(case.front_door) +
                    ["--"] + argv)
        else:
            env.update({"LD_PRELOAD": self.args.lib, "CUVET_REPORT": folder})
            if registry is not None:
                env["CUVET_CONFIG"] = registry
        env.update({k: self.expand(v) for k, v in case.env.items()})
        return run_process(argv, env, self.args.softgpu)

    def run(self, case):
        """Returns (case, word, detail, numbers)."""
        folder = os.path.join(self.args.build, "reports", case.name.replace("/", "-"))
        shutil.rmtree(folder, ignore_errors=True)
        bare = self.bare_run(case)
        if bare.code == SKIPPED:
            return case, "skip", bare.out.decode("utf-8", "replace").strip(), {}
        if case.once:
            return self.by_its_own_word(case, bare)
        ran = self.cuvet_run(case, folder)
        journal = Journal(folder)
        complaints = Judge(case, bare, ran, journal).verdict()
        reasons = journal.reasons()
        numbers = {"seen": journal.total("seen"), "checked": journal.total("checked"),
                   "match": journal.total("match"), "mismatch": journal.total("mismatch"),
                   "inconclusive": journal.total("inconclusive"),
                   "dropped": reasons.get("arena full", 0) + reasons.get("queue full", 0),
                   "bare_s": bare.seconds, "cuvet_s": ran.seconds, "measured": ran.measured()}
        if not complaints:
            return case, "ok", case.shows, numbers
        return case, "FAIL", failure_text(complaints, bare, ran, journal), numbers

    @staticmethod
    def by_its_own_word(case, bare):
        """For a program that needs no cuvet around it: its exit code and what it says."""
        numbers = dict.fromkeys(COLUMNS, 0)
        numbers.update(bare_s=bare.seconds, cuvet_s=0, measured=bare.measured())
        if bare.code == case.code:
            return case, "ok", case.shows, numbers
        ended = "ran past %d s" % LIMIT_S if bare.code is None else "exit code %s" % bare.code
        said = bare.compared().decode("utf-8", "replace").strip().split("\n")
        lines = ["%s, expected exit code %s" % (ended, case.code), "run it again: " + bare.command()]
        return case, "FAIL", "\n    ".join(lines + said[:40] + bare.err.strip().split("\n")[-5:]), numbers


def failure_text(complaints, bare, ran, journal):
    lines = complaints[:12] + ["run it again: " + ran.command()]
    for warning in journal.warnings()[:12]:
        lines.append("journal: " + warning)
    if journal.reasons():
        lines.append("skipped: " + json.dumps(journal.reasons(), sort_keys=True))
    tail = ran.err.strip().split("\n")[-15:]
    lines += ["stderr: " + line for line in tail if line]
    if bare.code:
        lines += ["bare stderr: " + line for line in bare.err.strip().split("\n")[-5:] if line]
    return "\n    ".join(lines)


def all_cases(build):
    """The table, and a case for each file of wrong signatures."""
    found = list(cases.CASES)
    for path in fuzz_signatures.write_files(os.path.join(build, "fuzz")):
        number = re.search(r"(\d+)\.yaml$", path).group(1)
        found.append(cases.fuzz_case(number, path))
    return found


COLUMNS = ("seen", "checked", "match", "mismatch", "inconclusive", "dropped")


def print_table(results):
    print("\n%-34s %9s %8s %8s %8s %12s %8s %7s %7s" % (("case",) + COLUMNS + ("bare", "cuvet")))
    for case, word, _, numbers in results:
        if not numbers:
            continue
        row = tuple(numbers[c] for c in COLUMNS) + (numbers["bare_s"], numbers["cuvet_s"])
        print("%-34s %9d %8d %8d %8d %12d %8d %6.1fs %6.1fs" % ((case.name,) + row))


def build_programs(args):
    command = ["make", "-s", "-j8", "-f", os.path.join(HERE, "programs.mk"), "OUT=" + args.build]
    if os.environ.get("NVCC"):
        command.append("NVCC=" + os.environ["NVCC"])
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        sys.exit("the test programs do not build:\n" + done.stdout.decode("utf-8", "replace"))


def run_all(runner, chosen, jobs):
    """Runs the cases, those that want the machine alone after the others; prints as they end."""
    results = []

    def report(result):
        case, word, detail, numbers = result
        took = " (%.1f s)" % (numbers["bare_s"] + numbers["cuvet_s"]) if numbers else ""
        print("%-4s %s%s: %s" % (word, case.name, took, detail), flush=True)
        for line in numbers.get("measured", ()):
            print("    " + line, flush=True)
        results.append(result)

    crowd = [c for c in chosen if not c.alone]
    with concurrent.futures.ThreadPoolExecutor(max_workers=jobs) as pool:
        for future in concurrent.futures.as_completed([pool.submit(runner.run, c) for c in crowd]):
            report(future.result())
    for case in chosen:
        if case.alone:
            report(runner.run(case))
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--lib", default="build/release/libcuvet.so", help="libcuvet.so")
    parser.add_argument("--cuvet", default="build/release/cuvet", help="the program cuvet")
    parser.add_argument("--build", default="build/release/tests/gpu", help="where programs go")
    parser.add_argument("--only", action="append", default=[], help="cases whose name holds this")
    parser.add_argument("--list", action="store_true", help="name the cases and end")
    parser.add_argument("--no-make", action="store_true", help="the programs are built already")
    parser.add_argument("--softgpu", nargs="?", const="build/release/softgpu", metavar="FOLDER",
                        help="on the stand-ins in FOLDER, build/release/softgpu unless given")
    parser.add_argument("--jobs", type=int, default=4, help="cases at the same time")
    args = parser.parse_args()
    for name in ("lib", "cuvet", "build", "softgpu"):
        if getattr(args, name):
            setattr(args, name, os.path.abspath(getattr(args, name)))
    os.makedirs(os.path.join(args.build, "scratch"), exist_ok=True)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # some cases abort on purpose

    chosen = [c for c in all_cases(args.build)
              if (c.softgpu or not args.softgpu) and
              (not args.only or any(word in c.name for word in args.only))]
    if args.list:
        for case in chosen:
            print("%-34s %s" % (case.name, case.shows))
        return 0
    if not os.path.exists(args.lib):
        sys.exit("%s: no such library" % args.lib)
    if not args.no_make and not args.softgpu:
        build_programs(args)
    start = time.time()
    results = run_all(Runner(args), chosen, args.jobs)
    print_table(results)
    count = {word: sum(r[1] == word for r in results) for word in ("ok", "FAIL", "skip")}
    print("\n%.0f s" % (time.time() - start))
    print("%d passed, %d failed%s" % (count["ok"], count["FAIL"],
                                      ", %d skipped" % count["skip"] if count["skip"] else ""))
    return 1 if count["FAIL"] or not results else 0


if __name__ == "__main__":
    sys.exit(main())
