#!/usr/bin/env python3
"""discovered.py - what `cuvet discover` writes for programs without an entry, against registries that people wrote.

    python3 tests/programs/discovered.py [--set cpp|triton] [--cuvet FILE] [--only WORD] [--keep FOLDER]

For each program: lines of entries that are in force, and all lines of entries; kernels whose written registry names a
reference of the catalogue; those for which discover chose the same, and those where it names it beside its choice. Kernels
that are wrong on purpose are left out. Fails where fewer than 80 % of all lines need no edit, or discover chose the right
reference for fewer than half of the kernels.
"cpp" are the demo and programs of tests/scenario (`make demo scenario-programs`), which run on softgpu, too: set
LD_LIBRARY_PATH to build/release/softgpu. A kernel of "mutants" is a process of its own. "triton" are programs of tests/gpu and need a GPU with PyTorch and Triton.
"""

import argparse
import fnmatch
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LINES, RIGHT = 0.80, 0.50

# Name, words behind the program, the registry that a person wrote for it.
MUTANTS = ("bf16_accumulator", "kept_precision", "masked_row", "missing_eps", "off_by_one", "one_pass", "swapped_operands",
           "tail_mask", "transposed", "wrong_stride")
CPP = [
    ("unknown", [], None),
    ("demo", [], "tests/demo/demo.yaml"),
    ("training", ["accumulate", "all_reduce", "adamw"], "tests/scenario/training/registry.yaml"),
    ("llmc", ["128"], "config/kernels/llmc.yaml"),
] + [("mutants", [name, "right"], "tests/scenario/mutants/registry.yaml") for name in MUTANTS]
TRITON = [
    ("triton_kernels", ["bf16"], "tests/gpu/jit/triton_bf16.yaml"),
    ("triton_kernels", ["f32"], "tests/gpu/jit/triton_f32.yaml"),
    ("triton_tutorials", [], "tests/gpu/jit/triton_tutorials.yaml"),
    ("triton_attention", [], "tests/gpu/jit/triton_attention.yaml"),
]
# Kernels that are wrong on purpose: no reference is right.
WRONG = ("demo_softmax_tail", "*_wrong", "*forgetful_rms_kernel*", "rms_norm_bf16_acc", "rms_norm_wrong_eps", "softmax_tail_zero",
         "swiglu_wrong_alpha", "att_unscaled", "att_blurred", "att_narrow")
# Of the program without a registry (tests/scenario/unknown/kernels.cu).
UNKNOWN = {"*fused_rms_kernel*": "rmsnorm", "*gated_activation*": "swiglu", "*probabilities*": "softmax", "tiled_product": "matmul",
           "accumulate_into": "add", "rows_total": "row_sum", "multiply_all": "scale", "normalise_rows": "layernorm",
           "padded_silu": "silu", "heads_apart": "permute", "rmsnorm_and_count": "rmsnorm"}


def command(kind, build, name, words):
    if kind == "cpp":
        demo = name == "demo"
        folder = os.path.join(build, "tests", *(["demo"] if demo else ["scenario", name]))
        return [os.path.join(folder, "demo" if demo else "program"), os.path.join(folder, "kernels.fatbin")] + words
    return [sys.executable, os.path.join(ROOT, "tests", "gpu", "jit", name + ".py")] + words


def entries(text, mark):
    """Kernel patterns and references of a registry; `mark` begins the lines that count."""
    found, kernel = [], None
    for line in text.splitlines():
        match = re.match(mark + r"  - kernel: (.*)", line)
        if match:
            kernel = match.group(1).strip().strip("\"'")
        match = re.match(mark + r"    reference: (\w+)\s*$", line)
        if match and kernel:
            found.append((kernel, match.group(1)))
            kernel = None
    return found


def fits(pattern, name):
    if pattern.startswith("/"):
        return re.search(pattern.strip("/").replace("(?<", "(?P<"), name) is not None
    return fnmatch.fnmatchcase(name, pattern)


def truth(registry, drafted):
    """Kernel: references that people wrote for it. One whose entries differ from size to size may have several."""
    if registry:
        with open(os.path.join(ROOT, registry)) as text:
            written = entries(text.read(), "")
    else:
        written = list(UNKNOWN.items())
    return {name: {reference for pattern, reference in written if fits(pattern, name)}
            for name in drafted}


def others(text, name):
    """What discover names beside its choice."""
    block = text[:text.find('- kernel: "%s"' % name)].rsplit("\n\n", 1)[-1]
    match = re.search(r"so do? (.*)|so does (.*)", block)
    return set(re.findall(r"\w+", match.group(0))) if match else set()


def drafted_lines(text):
    """By kernel: lines of its entries that are in force, and all lines of its entries."""
    found = {}
    for block in text.split("\n\n")[1:]:
        kernel = re.search(r'^#?  - kernel: "(.*)"', block, re.M)
        lines = [line for line in block.splitlines() if line.strip() not in ("", "[]") and not line.startswith("  #")]
        if kernel and not any(fits(pattern, kernel.group(1)) for pattern in WRONG):
            in_force, whole = found.get(kernel.group(1), (0, 0))
            found[kernel.group(1)] = (in_force + sum(not line.startswith("#") for line in lines), whole + len(lines))
    return found


def measure(args, kind, name, words, registry, folder):
    draft = os.path.join(folder, "%s_%s.yaml" % (name, "_".join(words)))
    device = ["--device", "interpreter"] if kind == "cpp" and "softgpu" in os.environ.get("LD_LIBRARY_PATH", "") else []
    tables = ["--no-tables"] if kind == "cpp" else []  # they have the kernels of llm.c, and PyTorch's
    done = subprocess.run([args.cuvet, "discover", "--tries", args.tries, "--seconds", args.seconds, "-o", draft] + tables + device +
                          ["--"] + command(kind, args.build, name, words), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                          check=False)
    if done.returncode or "lines need no edit" not in done.stderr:
        raise SystemExit("%s: exit %d: %s" % (name, done.returncode, done.stderr[-1000:]))
    with open(draft) as text:
        text = text.read()
    chosen, drafted = dict(entries(text, "")), drafted_lines(text)
    known = {kernel: right for kernel, right in truth(registry, drafted).items() if right}
    right = [kernel for kernel in known if chosen.get(kernel) in known[kernel]]
    named = [kernel for kernel in known if kernel not in right and known[kernel] & others(text, kernel)]
    for kernel in sorted(set(known) - set(right)):
        print("    %s: %s, written %s" % (kernel, chosen.get(kernel, "none"), " or ".join(sorted(known[kernel]))))
    return sum(in_force for in_force, _ in drafted.values()), sum(whole for _, whole in drafted.values()), len(drafted), len(known), len(right), len(named)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--set", choices=("cpp", "triton"), default="cpp", help="the programs")
    parser.add_argument("--build", default="build/release", help="where programs are built")
    parser.add_argument("--cuvet", default="build/release/cuvet", help="the program cuvet")
    parser.add_argument("--only", default="", help="programs whose name holds this")
    parser.add_argument("--tries", default="400", help="of cuvet discover")
    parser.add_argument("--seconds", default="20", help="of cuvet discover")
    parser.add_argument("--keep", help="a folder for the drafts")
    args = parser.parse_args()
    total, row = [0] * 6, "%-40s %6s %6s %8s %6s %6s %6s"
    with tempfile.TemporaryDirectory() as folder:
        for name, words, registry in CPP if args.set == "cpp" else TRITON:
            if args.only in name:
                counts = measure(args, args.set, name, words, registry, args.keep or folder)
                print(row % ((" ".join([name] + words),) + counts))
                total = [a + b for a, b in zip(total, counts)]
    print(row % ("", "fine", "lines", "kernels", "known", "right", "named"))
    print(row % (("all",) + tuple(total)))
    held = total[0] >= LINES * total[1] and total[4] >= RIGHT * total[3] and total[3] > 0
    print("%.1f %% of the lines need no edit, %.1f %% of the known kernels have the right reference" %
          (100.0 * total[0] / max(total[1], 1), 100.0 * total[4] / max(total[3], 1)))
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
