"""torch_mutants.py FOLDER - kernels of PyTorch's templates over wrong functors (torch_mutants.cu), which is compiled into the folder.

Of each family a kernel by PyTorch's own symbol: an elementwise one, a reduction, one over a list of tensors, one of random numbers.
"""

import fcntl
import os
import subprocess
import sys

import torch
from torch.utils import cpp_extension

from torch_sums import bits_sum, wait_for_checks

HERE = os.path.dirname(os.path.abspath(__file__))


def build(folder):
    path = os.path.join(folder, "torch_mutants.so")
    with open(path + ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(path):
            flags = [word for include in cpp_extension.include_paths() for word in ("-isystem", include)]
            libraries = os.path.join(os.path.dirname(torch.__file__), "lib")
            env = {k: v for k, v in os.environ.items() if k not in ("LD_PRELOAD", "LD_AUDIT")}
            subprocess.run(["nvcc", "-O1", "-std=c++17", "-arch=sm_%d%d" % torch.cuda.get_device_capability(), "--extended-lambda",
                            "--expt-relaxed-constexpr", "-w", "-cudart", "shared", "-shared", "-Xcompiler", "-fPIC,-fvisibility=hidden",
                            "-Xlinker", "-Bsymbolic"] + flags + ["-L" + libraries, "-ltorch", "-ltorch_cpu", "-ltorch_cuda", "-lc10",
                           "-lc10_cuda", "-o", path + ".new", os.path.join(HERE, "torch_mutants.cu")], check=True, env=env)
            os.rename(path + ".new", path)
    return path


def main():
    torch.ops.load_library(build(sys.argv[1]))
    torch.manual_seed(17)
    a, b = torch.randn(40004, device="cuda"), torch.randn(40004, device="cuda")
    rows = torch.randn(64, 4096, device="cuda")
    tensors = [torch.rand(n, device="cuda") + 1 for n in (100, 70000, 33)]
    for _ in range(3):
        print("right", bits_sum(torch.mul(a, b)), bits_sum(rows.amax(1)), *(bits_sum(t) for t in torch._foreach_neg(tensors)))
        print("add", bits_sum(torch.ops.mutants.add(a, b, 0.7)))
        print("sum", bits_sum(torch.ops.mutants.sum(rows)))
        print("uniform", bits_sum(torch.empty(40004, device="cuda").uniform_()))
        print("normal", bits_sum(torch.ops.mutants.normal(a)))
        print("roots", *(bits_sum(t) for t in torch.ops.mutants.roots(tensors)))
        wait_for_checks()
    return 0


if __name__ == "__main__":
    sys.exit(main())
