"""damage.py - every verb of `cuvet` on damaged input; TAP.

    damage.py CUVET GOOD SEEDS [WORD ...]    GOOD: a folder of good inputs, as tests/check_damaged.sh makes it

Each row of CASES is a command on a copy of GOOD, which must end with one of the row's statuses. Then one of its files is
damaged in each of the ways of DAMAGES: the command must end by itself within LIMIT_S, with status 2 and one line on
standard error that names the file or its folder. Where what is left may be a good input, too, the row's statuses are
right as well. WORD: rows whose name holds one.
"""
import collections
import concurrent.futures
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

LIMIT_S = 20
CUVET, GOOD, SEEDS = os.path.abspath(sys.argv[1]), sys.argv[2], int(sys.argv[3])

# MANY: a line for each mistake, as those of a registry. ABSENT: the command may do without the file.
MANY, ABSENT = "many", "absent"
Case = collections.namedtuple("Case", "name file command good marks")
REPLAY = "--device interpreter"
CASES = [Case(*row) for row in (
    ("check", "registry.yaml", "check registry.yaml", {0}, MANY),
    ("check --tolerances", "tolerances.yaml", "check --tolerances tolerances.yaml registry.yaml", {0}, MANY),
    ("compile", "registry.yaml", "compile --arch 90 registry.yaml", {0}, MANY),
    ("run", "registry.yaml", "run -c registry.yaml -- true", {0}, MANY),
    ("fuzz: registry", "fuzz.yaml", "fuzz -c fuzz.yaml --cases 2 %s kernels.ptx" % REPLAY, {0, 3}, MANY),
    ("fuzz: PTX", "kernels.ptx", "fuzz -c fuzz.yaml --cases 2 %s kernels.ptx" % REPLAY, {0, 3}, ""),
    ("fuzz: fatbin", "kernels.fatbin", "fuzz -c fuzz.yaml --cases 2 %s kernels.fatbin" % REPLAY, {0, 3}, ""),
    ("fuzz: ELF", "kernels.so", "fuzz -c fuzz.yaml --cases 2 %s kernels.so" % REPLAY, {0, 3}, ""),
    ("fuzz: Triton's metadata", "triton/KEY/norm_right.json",
     "fuzz -c triton.yaml -k norm_right --cases 2 %s triton" % REPLAY, {0, 3}, ""),
    ("discover: record", "record/discover-x.jsonl", "discover --tries 0 -o out.yaml --from record", {0}, ""),
    ("discover: bytes", "record/discover-x.jsonl.bytes", "discover --tries 9 %s -o out.yaml --from record" % REPLAY, {0}, ABSENT),
    ("discover --probe: record", "record/discover-x.jsonl", "discover --probe --seconds 1 --tries 0 %s -o out.yaml --from record" % REPLAY, {0}, ""),
    ("discover --probe: bytes", "record/discover-x.jsonl.bytes", "discover --probe --seconds 1 --tries 0 %s -o out.yaml --from record" % REPLAY, {0}, ABSENT),
    ("xla: module", "hlo/step_after_optimizations.txt", "xla -o out.yaml hlo", {0}, ""),
    ("xla: buffers", "hlo/step_after_optimizations-buffer-assignment.txt", "xla -o out.yaml hlo", {0}, ABSENT),
    ("inductor", "step.py", "inductor -o out.yaml step.py", {0}, ""),
    ("plugin", "plugin.so", "plugin plugin.so", {0, 1}, ""),
    ("replay: launch.json", "bundle/launch.json", "replay %s bundle" % REPLAY, {0, 3}, ""),
    ("replay: tensors", "bundle/tensors.safetensors", "replay %s bundle" % REPLAY, {0, 3}, ""),
    ("replay: image", "bundle/module.ptx", "replay %s bundle" % REPLAY, {0, 3}, ""),
    ("replay: variables", "values/variables.bin", "replay %s values" % REPLAY, {0, 3}, ""),
    ("replay: surroundings", "drawn/surroundings.bin", "replay %s drawn" % REPLAY, {0, 3}, ""),
    ("replay --stored", "bundle/tensors.safetensors", "replay --stored %s bundle" % REPLAY, {0, 3}, ""),
    ("replay --minimize", "bundle/launch.json", "replay --minimize %s bundle" % REPLAY, {0, 3}, ""),
    ("replay --against", "kernels.fatbin", "replay --against kernels.fatbin %s bundle" % REPLAY, {0, 3}, ""),
    ("replay --against: ELF", "kernels.so", "replay --against kernels.so %s bundle" % REPLAY, {0, 3}, ""),
    ("probe: launch.json", "bundle/launch.json", "probe %s bundle" % REPLAY, {0, 3}, ""),
    ("probe: tensors", "bundle/tensors.safetensors", "probe %s bundle" % REPLAY, {0, 3}, ""),
    ("probe --parity", "other/launch.json", "probe --parity other %s bundle" % REPLAY, {0, 3}, ""),
    ("probe --image", "kernels.ptx", "probe --image kernels.ptx %s bundle" % REPLAY, {0, 3}, ""),
    ("lift: launch.json", "bundle/launch.json", "lift bundle", {0, 3}, ""),
    ("lift: tensors", "bundle/tensors.safetensors", "lift bundle", {0, 3}, ""),
    ("lift: image", "bundle/module.ptx", "lift bundle", {0, 3}, ""),
    ("lift --device", "bundle/module.ptx", "lift %s bundle" % REPLAY, {0, 3}, ""),
    ("lift --exact", "other/launch.json", "lift --exact bundle other", {0, 3}, ""),
    ("lift --image", "kernels.fatbin", "lift --image kernels.fatbin bundle", {0, 3}, ""),
    ("lift --check", "kernels.fatbin", "lift --check kernels.fatbin", {0}, ""),
    ("report", "journal.jsonl", "report journal.jsonl", {0, 3}, ""),
    ("trace", "trace.jsonl", "trace -f chrome trace.jsonl", {0}, ""),
    ("diff: first", "journal.jsonl", "diff journal.jsonl other.jsonl", {0, 3}, ""),
    ("diff: second", "other.jsonl", "diff journal.jsonl other.jsonl", {0, 3}, ""),
    ("diff --align", "other.jsonl", "diff --align journal.jsonl other.jsonl", {0, 3}, ""),
    ("diff --slots", "other.jsonl", "diff --slots slots.jsonl other.jsonl", {2}, ""),
    ("diff --slots: caches", "caches.jsonl", "diff --slots caches.jsonl twice.jsonl", {0, 3}, ""),
    ("lint: PTX", "kernels.ptx", "lint kernels.ptx", {0, 3}, ""),
    ("lint: fatbin", "kernels.fatbin", "lint kernels.fatbin", {0, 3}, ""),
    ("lint: ELF", "kernels.so", "lint kernels.so", {0, 3}, ""),
    ("lint: registry", "registry.yaml", "lint -c registry.yaml kernels.ptx", {0, 3}, MANY),
)]


def write(path, data):
    with open(path, "wb") as out:
        out.write(data)


def flipped(data, seed):
    draw = random.Random(seed)
    changed = bytearray(data)
    for _ in range(draw.choice((1, 1, 8, 64)) if changed else 0):
        changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
    return bytes(changed)


def cut(data, seed):
    return data[:random.Random(seed).randrange(len(data))] if data else data


# What is done to the file at `path` with `data` in it; True: what is left may be good.
DAMAGES = {
    "empty": lambda path, data, seed: write(path, b""),
    "random": lambda path, data, seed: write(path, random.Random(seed).randbytes(4096)),
    "cut": lambda path, data, seed: write(path, cut(data, seed)) or True,
    "bits": lambda path, data, seed: write(path, flipped(data, seed)) or True,
    "folder": lambda path, data, seed: (os.unlink(path), os.mkdir(path)) and None,
    "FIFO": lambda path, data, seed: (os.unlink(path), os.mkfifo(path)) and None,
    "missing": lambda path, data, seed: os.unlink(path),
    "unreadable": lambda path, data, seed: os.chmod(path, 0),
}
SEEDED = ("cut", "bits", "random")


def ends(case, folder):
    """Status, lines of standard error, or what is wrong."""
    environment = {"PATH": os.environ["PATH"], "CUVET_NVRTC": "/nowhere", "CUVET_CACHE": folder + "/cache", "HOME": folder}
    try:
        done = subprocess.run([CUVET] + case.command.split(), cwd=folder, env=environment, timeout=LIMIT_S, check=False,
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    except subprocess.TimeoutExpired:
        return None, "longer than %d s" % LIMIT_S
    return done.returncode, done.stderr.decode("utf-8", "replace")


def judge(case, status, said, may_be_good):
    """What is wrong, or None."""
    if status is None:
        return said
    if status in case.good and (may_be_good or case.marks == ABSENT):
        return None
    if status != 2:
        return "status %d" % status
    folder, name = os.path.split(case.file)
    lines = said.splitlines()
    if not (case.marks == MANY and may_be_good) and not any(name in line or (folder and re.search(r"\b%s\b" % folder, line)) for line in lines):
        return "no line names the file"
    return None if len(lines) == 1 or case.marks == MANY else "%d lines" % len(lines)


def run(case, damage, seed):
    with tempfile.TemporaryDirectory() as scratch:
        folder = scratch + "/in"
        shutil.copytree(GOOD, folder)
        path = os.path.join(folder, case.file)
        may_be_good = None
        if damage:
            with open(path, "rb") as file:
                data = file.read()
            may_be_good = DAMAGES[damage](path, data, seed)
        status, said = ends(case, folder)
        if damage:
            wrong = judge(case, status, said, may_be_good)
        else:
            wrong = None if status in case.good else "status %s" % status
        return wrong and "%s %s: %s\n%s" % (damage or "good", seed, wrong, said)


def jobs_of():
    for case in CASES:
        if len(sys.argv) > 4 and not any(word in case.name for word in sys.argv[4:]):
            continue
        runs = [(None, 0)]
        for damage in DAMAGES:
            if damage == "unreadable" and os.geteuid() == 0:
                continue
            runs += [(damage, seed) for seed in range(SEEDS if damage in SEEDED else 1)]
        yield case, runs


with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("TEST_JOBS") or os.cpu_count())) as pool:
    started = [(case, [pool.submit(run, case, *which) for which in runs]) for case, runs in jobs_of()]
    bad = 0
    for number, (case, results) in enumerate(started, 1):
        trouble = [result.result() for result in results if result.result()]
        bad += bool(trouble)
        print("%sok %d - %s: %d runs" % ("not " if trouble else "", number, case.name, len(results)), flush=True)
        for text in trouble[:6]:
            print("\n".join("# " + line[:400] for line in text.splitlines()[:8]))
print("1..%d" % len(started))
sys.exit(bad > 0)
