"""fuzz_signatures.py - a thousand wrong descriptions of the kernels of fuzz_target.

    python3 fuzz_signatures.py FOLDER [--seed N] [--files N]

Writes FOLDER/fuzz_NN.yaml, one entry for each of the hundred kernels in every file. Each entry starts
from the true signature and is bent in one to three ways: sizes that are absurd or overflow, swapped
and missing arguments, pointers read as integers and integers as pointers, strides that leave the
allocation, dtypes of the same and of another size, roles turned round, numbers for addresses, another
reference.
"""

import argparse
import copy
import json
import os
import random

# (reference, let, bind, parameters), by last digit % 5. A parameter is (role, dtype, name, dims) for
# an array, (None, dtype, name, None) for a scalar.
FAMILIES = [
    ("rmsnorm", None, None, [
        ("const", "f32", "x", ["rows", "cols"]), ("const", "f32", "w", ["cols"]),
        ("", "f32", "y", ["rows", "cols"]), (None, "i32", "rows", None), (None, "i32", "cols", None),
        (None, "f32", "eps", None)]),
    ("rmsnorm", {"rows": "grid.x"}, None, [
        ("const", "f32", "x", ["rows:xs", "cols"]), ("const", "f32", "w", ["cols"]),
        ("", "f32", "y", ["rows:ys", "cols"]), (None, "i64", "xs", None), (None, "i64", "ys", None),
        (None, "i32", "cols", None), (None, "f32", "eps", None)]),
    ("swiglu", {"rows": "1"}, None, [
        ("const", "bf16", "gate", ["rows", "n"]), ("const", "bf16", "up", ["rows", "n"]),
        ("", "bf16", "y", ["rows", "n"]), (None, "i64", "n", None)]),
    ("residual_add", {"rows": "1"}, {"residual": "y"}, [
        ("inout", "f32", "y", ["rows", "n"]), ("const", "f32", "x", ["rows", "n"]),
        (None, "i32", "n", None)]),
    ("softmax", None, None, [
        ("const", "f16", "x", ["rows", "cols"]), ("", "f16", "y", ["rows", "cols"]),
        (None, "i32", "rows", None), (None, "i32", "cols", None), (None, "u32", "flags", None)]),
]

SIZES = ["-1", "0", "1", "2147483647", "2147483648", "4294967296", "4611686018427387904",
         "9223372036854775807", "{0} + 1", "{0} * 2", "{0} - 100000", "{0} / 0", "{0} % 0",
         "{0} * {0} * {0} * {0} * {0} * {0} * {0} * {0}", "{0} * 4611686018427387904", "{0} * 1000",
         "grid.x * grid.y * block.x * 1000000", "max({0}, 2147483648)", "min({0}, -1)",
         "ceil_div({0}, 0)", "0 - {0}", "grid.x", "block.x"]
STRIDES = ["0", "1", "-1", "-4096", "7", "1048576", "2147483648", "1152921504606846976",
           "9223372036854775807", "4 bytes", "3 bytes", "-16 bytes", "2147483648 bytes"]
SAME_SIZE = {"f32": ["i32", "u32", "bf16x2", "f16x2"], "bf16": ["f16", "i16", "u16"],
             "f16": ["bf16", "i16", "u16"], "i32": ["u32", "f32"], "u32": ["i32", "f32"],
             "i64": ["u64", "f64"]}
OTHER_SIZE = ["f64", "f32", "bf16", "f8e4m3", "u8", "bool", "i64", "i16", "f32x4"]
REFERENCES = ["add", "mul", "scale", "relu", "gelu", "silu", "swiglu", "rmsnorm", "layernorm", "softmax",
              "log_softmax", "row_sum", "row_max", "row_mean"]


class Bend:
    """The ways to make an entry wrong. Each takes a random source and the entry and changes it."""

    def _array(self, rng, entry):
        return rng.choice([p for p in entry["params"] if p[3]] or [None])

    def size(self, rng, entry):
        array = self._array(rng, entry)
        if array:
            at = rng.randrange(len(array[3]))
            name = array[3][at].split(":")[0]
            array[3][at] = rng.choice(SIZES).format(name)

    def let(self, rng, entry):
        entry["let"] = {"rows": rng.choice(SIZES).format("grid.x")}

    def stride(self, rng, entry):
        array = self._array(rng, entry)
        if array:
            at = rng.randrange(len(array[3]))
            array[3][at] = array[3][at].split(":")[0] + ":" + rng.choice(STRIDES)

    def swap(self, rng, entry):
        a, b = rng.randrange(len(entry["params"])), rng.randrange(len(entry["params"]))
        entry["params"][a], entry["params"][b] = entry["params"][b], entry["params"][a]

    def swap_names(self, rng, entry):
        """Two arguments take each other's place; whole integers or whole arrays, so it stays legal."""
        arrays = [p for p in entry["params"] if p[3]]
        integers = [p for p in entry["params"] if not p[3] and p[1][0] in "iu"]
        both = rng.choice([group for group in (arrays, integers) if len(group) > 1] or [None])
        if both:
            a, b = rng.sample(both, 2)
            if a[3]:
                a[3], b[3] = b[3], a[3]
            else:
                a[2], b[2] = b[2], a[2]

    def array_type(self, rng, entry):
        array = self._array(rng, entry)
        if array:
            array[1] = rng.choice(SAME_SIZE.get(array[1], []) + OTHER_SIZE)

    def same_size(self, rng, entry):
        param = rng.choice(entry["params"])
        param[1] = rng.choice(SAME_SIZE.get(param[1], ["i32"]))

    def other_size(self, rng, entry):
        rng.choice(entry["params"])[1] = rng.choice(OTHER_SIZE)

    def role(self, rng, entry):
        array = self._array(rng, entry)
        if array:
            array[0] = rng.choice(["const", "", "inout", "acc", "ws"])

    def pointer_as_integer(self, rng, entry):
        array = self._array(rng, entry)
        if array:
            array[0], array[1], array[3] = None, rng.choice(["i64", "u64", "f64"]), None

    def integer_as_pointer(self, rng, entry):
        scalars = [p for p in entry["params"] if not p[3]]
        if scalars:
            scalar = rng.choice(scalars)
            scalar[0], scalar[1], scalar[3] = rng.choice(["const", "inout"]), "f32", ["16"]

    def drop(self, rng, entry):
        if len(entry["params"]) > 1:
            entry["params"].pop(rng.randrange(len(entry["params"])))

    def more(self, rng, entry):
        entry["params"].insert(rng.randrange(len(entry["params"]) + 1), [None, "i32", "more", None])

    def dims(self, rng, entry):
        array = self._array(rng, entry)
        if array:
            array[3] += ["3"] * rng.randrange(1, 3)

    def rename(self, rng, entry):
        rng.choice(entry["params"])[2] = rng.choice(["x", "y", "w", "rows", "cols", "n", "_"])

    def reference(self, rng, entry):
        entry["reference"] = rng.choice(REFERENCES)

    def listed(self, rng, entry):
        """Numbers are taken for addresses of arrays."""
        array = self._array(rng, entry)
        if array:
            array[3][0] = "&" + array[3][0].split(":")[0]
            if rng.random() < 0.5:
                array[3].append("4")

    def bind(self, rng, entry):
        entry["bind"] = {rng.choice(["x", "y", "w", "eps", "alpha", "a", "b"]):
                         rng.choice(["x", "y", "w", "cols", "rows", -1, 0, 1e300])}


# Most registries are refused when they are read; these get as far as a launch, and are
# the more useful ones.
LIVE = ["size"] * 4 + ["stride"] * 4 + ["swap_names"] * 2 + ["array_type"] * 2 + ["dims"] + ["listed"] * 2
BENDS = [name for name in vars(Bend) if not name.startswith("_")]


def signature(params):
    out = []
    for role, dtype, name, dims in params:
        text = (role + " " if role else "") + dtype + " " + name
        out.append(text + "".join("[%s]" % dim for dim in dims or []))
    return ", ".join(out)


def entry_text(number, rng):
    reference, let, bind, params = copy.deepcopy(FAMILIES[number % 5])
    entry = {"reference": reference, "let": let, "bind": bind, "params": [list(p) for p in params]}
    for _ in range(rng.randrange(1, 4)):
        getattr(Bend(), rng.choice(LIVE if rng.random() < 0.85 else BENDS))(rng, entry)
    lines = ["  - kernel: fuzz_%02d" % number,
             "    signature: " + json.dumps(signature(entry["params"])),
             "    reference: " + entry["reference"]]
    for key in ("let", "bind"):
        if entry[key]:
            lines.append("    %s: %s" % (key, json.dumps(entry[key])))
    return "\n".join(lines)


def write_files(folder, seed=1, files=10):
    """Writes the files and returns their paths."""
    rng = random.Random(seed)
    paths = []
    os.makedirs(folder, exist_ok=True)
    for i in range(files):
        path = os.path.join(folder, "fuzz_%02d.yaml" % i)
        entries = [entry_text(number, rng) for number in range(100)]
        with open(path, "w") as out:
            out.write("version: 1\nkernels:\n" + "\n".join(entries) + "\n")
        paths.append(path)
    return paths


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--files", type=int, default=10)
    args = parser.parse_args()
    print("\n".join(write_files(args.folder, args.seed, args.files)))


if __name__ == "__main__":
    main()
