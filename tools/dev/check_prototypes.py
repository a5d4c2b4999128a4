#!/usr/bin/env python3
"""check_prototypes.py CUDA_INCLUDE - holds the wrappers of library functions against the libraries' own headers.

A wrapper hands its arguments on, so each must be of the same kind, in the same order, as the library declares it: an address, 32 or
64 bits, float or double. Prints one line for each that is not. Ends with 77 where no header of a library is found.
"""
import os
import re
import subprocess
import sys

SOURCES = ["cublas.c", "cublaslt.c", "cudnn_backend.c", "cudnn_classic.c"]
HEADERS = {"cublas_v2.h": "cublas", "cublasLt.h": "cublasLt", "cudnn.h": "cudnn"}
WIDE = {"int64_t", "size_t", "long", "uint64_t"}


def preprocessed(text, folders, language="c"):
    args = ["cc", "-E", "-P", "-x", language, "-"] + [f"-I{f}" for f in folders]
    done = subprocess.run(args, input=text, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return done.stdout if done.returncode == 0 else ""


def kind(parameter, addresses):
    words = re.findall(r"\w+", parameter)
    if "*" in parameter or "[" in parameter or addresses & set(words):
        return "address"
    for name in ("float", "double"):
        if name in words:
            return name
    return "64 bits" if WIDE & set(words) else "32 bits"


def prototypes(text):
    """{name: [kind of each parameter]}, of declarations and of pointers that typedefs name."""
    addresses = {m.group(1) for m in re.finditer(r"typedef[^;{}]*\*\s*(\w+)\s*;", text)}
    found = {}
    for m in re.finditer(r"(?<!return )\b(cu(?:blas|dnn)\w+)\s*\(([^(){};]*)\)\s*;", text):
        parameters = [p for p in m.group(2).split(",") if p.strip() not in ("", "void")]
        found[m.group(1)] = [kind(p, addresses) for p in parameters]
    return found


def main():
    include = sys.argv[1]
    theirs = {}
    for header in HEADERS:
        theirs.update(prototypes(preprocessed(f"#include <{header}>\n", [include], "c++")))
    ours = {}
    for source in SOURCES:
        with open(os.path.join("shim/hook/calls", source)) as file:
            ours.update(prototypes(preprocessed(file.read(), ["shim", ".", include])))
    if not theirs:
        return 77
    exported = set()
    with open("shim/hook/calls/functions.def") as file:
        exported = set(re.findall(r"^(?:BLAS|LT|DNN)_FUNCTION\((\w+)\)", file.read(), re.M))
    wrong = 0
    for name in sorted(exported):
        if name not in ours:
            print(f"shim/hook/calls: no prototype of {name} was found")
            wrong += 1
        elif name in theirs and ours[name] != theirs[name]:
            print(f"shim/hook/calls: {name} takes ({', '.join(ours[name])}), the library ({', '.join(theirs[name])})")
            wrong += 1
    print(f"{len(exported & set(theirs))} of {len(exported)} wrappers are declared by headers that were found", file=sys.stderr)
    return 1 if wrong else 0


sys.exit(main())
