#!/usr/bin/env python3
"""llmc.py fp32|bf16 FOLDER STEPS - llm.c's trainers, built by its own Makefile from an unmodified copy in FOLDER.

Writes a checkpoint with random weights and a file of random tokens beside the sources where there are none, trains
STEPS steps and prints one JSON line: the median time of a step in ms, as the trainer prints it, and its last loss.
"""

import json
import os
import re
import statistics
import subprocess
import sys

import numpy as np

WARM_UP = 5
BATCH, TOKENS = 4, 1024
VOCABULARY, PADDED, LAYERS, HEADS, WIDTH = 50257, 50304, 12, 12, 768


def write_checkpoint(path):
    """Version 3 of the fp32 checkpoint: 256 words of header, then 16 tensors in the trainer's order."""
    random = np.random.default_rng(0)
    c, layers = WIDTH, LAYERS
    # (numbers, deviation, mean) of each tensor
    tensors = [(PADDED * c, .02, 0), (TOKENS * c, .02, 0), (layers * c, .02, 1), (layers * c, .02, 0),
               (layers * 3 * c * c, .02, 0), (layers * 3 * c, .02, 0), (layers * c * c, .004, 0), (layers * c, .02, 0),
               (layers * c, .02, 1), (layers * c, .02, 0), (layers * 4 * c * c, .02, 0), (layers * 4 * c, .02, 0),
               (layers * 4 * c * c, .004, 0), (layers * c, .02, 0), (c, .02, 1), (c, .02, 0)]
    header = np.zeros(256, np.int32)
    header[:8] = 20240326, 3, TOKENS, VOCABULARY, LAYERS, HEADS, WIDTH, PADDED
    with open(path + ".new", "wb") as out:
        out.write(header.tobytes())
        for count, deviation, mean in tensors:
            out.write((random.standard_normal(count, np.float32) * np.float32(deviation) + np.float32(mean)).tobytes())
    os.rename(path + ".new", path)


def write_tokens(path, count):
    """Version 1 of the token file: frequencies fall as in text."""
    random = np.random.default_rng(1)
    tokens = np.minimum(random.zipf(1.2, count) - 1, VOCABULARY - 1).astype(np.uint16)
    header = np.zeros(256, np.int32)
    header[:3] = 20240520, 1, count
    with open(path + ".new", "wb") as out:
        out.write(header.tobytes() + tokens.tobytes())
    os.rename(path + ".new", path)


# CUDA 13 gave cudaMemAdvise's last parameter another type, which the sources do not have yet.
CUDA_13 = """
#include <cuda_runtime.h>
#if CUDART_VERSION >= 13000
static inline cudaError_t cudaMemAdvise(const void *memory, size_t bytes, cudaMemoryAdvise advice, int device)
{
    cudaMemLocation place = {};
    place.type = device == cudaCpuDeviceId ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice;
    place.id = device == cudaCpuDeviceId ? 0 : device;
    return cudaMemAdvise(memory, bytes, advice, place);
}
#endif
"""


def prepare(folder, target, steps):
    # Only the build of the trainer itself: what preloads this script does not belong to it.
    env = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
    arch = subprocess.run(["nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"], env=env, check=True,
                          stdout=subprocess.PIPE).stdout.decode().split()[0].replace(".", "")
    if not os.path.exists(os.path.join(folder, target)):  # its target is phony
        with open(os.path.join(folder, "cuda_13.h"), "w") as out:
            out.write(CUDA_13)
        subprocess.run(["make", target, "GPU_COMPUTE_CAPABILITY=" + arch, "NO_MULTI_GPU=1", "NO_USE_MPI=1",
                        "NVCC_INCLUDES=-include cuda_13.h"], cwd=folder, env=env, check=True, stdout=sys.stderr)
    if not os.path.exists(os.path.join(folder, "gpt2_124M.bin")):
        write_checkpoint(os.path.join(folder, "gpt2_124M.bin"))
    for name, batches in (("train_%d.bin" % steps, steps), ("val.bin", 2)):
        if not os.path.exists(os.path.join(folder, name)):
            write_tokens(os.path.join(folder, name), batches * BATCH * TOKENS + 1)


def main():
    kind, folder, steps = sys.argv[1], sys.argv[2], int(sys.argv[3]) + WARM_UP
    target = {"fp32": "train_gpt2fp32cu", "bf16": "train_gpt2cu"}[kind]
    prepare(folder, target, steps)
    if sys.argv[3] == "0":
        return
    argv = ["./" + target, "-i", "train_%d.bin" % steps, "-j", "val.bin", "-b", str(BATCH), "-t", str(TOKENS),
            "-v", "1000", "-m", "1", "-s", "1000", "-g", "4"]
    if kind == "bf16":
        argv += ["-e", "d12", "-d", str(BATCH * TOKENS), "-x", str(steps), "-h", "0"]
    done = subprocess.run(argv, cwd=folder, stdout=subprocess.PIPE, check=True)
    text = done.stdout.decode("utf-8", "replace")
    times = [float(t) for t in re.findall(r"^step.*?([0-9.]+) ms", text, re.M)][WARM_UP:]
    losses = re.findall(r"loss ([0-9.]+)", text)
    print(json.dumps({"step_ms": statistics.median(times), "mean_ms": statistics.mean(times), "result": float(losses[-1]),
                      "name": "llmc_" + kind}))


if __name__ == "__main__":
    main()
