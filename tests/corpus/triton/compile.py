#!/usr/bin/env python3
"""compile.py FOLDER SCRIPT [ARGUMENT...] - runs a Python script and writes the PTX of the Triton kernels that it launches.

No GPU is needed: kernels are compiled for sm_90 and never run, so results are whatever memory holds. The script makes its
tensors on the device that Triton's driver names, which is the CPU here.
"""

import hashlib
import os
import runpy
import sys
import types

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler.compiler import CompiledKernel
from triton.runtime import driver

SM, WARP, PROCESSORS, SHARED_BYTES, REGISTERS = 90, 32, 132, 232448, 65536


def nothing(*args, **kwargs):
    """A launch, a wait, an event."""


class Driver:
    """What Triton's runtime needs of a driver; there is no device behind it."""

    def __init__(self):
        self.utils = types.SimpleNamespace(get_device_properties=self.properties, unload_module=nothing)
        self.launcher_cls = lambda *args, **kwargs: nothing

    @staticmethod
    def properties(device):
        return {"max_shared_mem": SHARED_BYTES, "max_num_regs": REGISTERS, "multiprocessor_count": PROCESSORS,
                "warpSize": WARP}

    def get_current_target(self):
        return GPUTarget("cuda", SM, WARP)

    def get_active_torch_device(self):
        return torch.device("cpu")

    def get_current_device(self):
        return 0

    def get_current_stream(self, device=None):
        return 0

    def get_device_interface(self):
        return types.SimpleNamespace(synchronize=nothing, current_device=lambda: 0)

    def get_benchmarker(self):
        return lambda launch, **kwargs: (launch(), [1.0, 1.0, 1.0])[1]

    def is_active(self):
        return True

    set_current_device = clear_cache = nothing

    def get_empty_cache_for_benchmark(self):
        return torch.empty(1)


def write_ptx(folder):
    """Stands in for the loading of a compiled kernel."""

    def load(kernel):
        text = kernel.asm["ptx"]
        name = "%s.%s.ptx" % (kernel.metadata.name[:80], hashlib.sha256(text.encode()).hexdigest()[:8])
        with open(os.path.join(folder, name), "w") as out:
            out.write(text)
        kernel.module = kernel.function = 1
        kernel.n_regs, kernel.n_spills, kernel.n_max_threads = 64, 0, 1024
        kernel._run = nothing

    return load


def main():
    folder, script = sys.argv[1], sys.argv[2]
    os.makedirs(folder, exist_ok=True)
    driver.set_active(Driver())
    CompiledKernel._init_handles = write_ptx(folder)
    torch.cuda.is_available = lambda: True
    torch.cuda.get_device_capability = lambda *args: (SM // 10, SM % 10)
    torch.cuda.synchronize = nothing
    triton.testing.perf_report = lambda *args: lambda function: types.SimpleNamespace(run=nothing)
    torch.testing.assert_close = nothing
    torch.allclose = lambda *args, **kwargs: True
    sys.argv = sys.argv[2:]
    runpy.run_path(script, run_name="__main__")


if __name__ == "__main__":
    main()
