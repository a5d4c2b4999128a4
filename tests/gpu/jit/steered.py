"""steered.py LIBRARY - a loop of PyTorch and Triton kernels that `cuvet ctl` stops, starts, samples and asks.

The loop runs on the main thread for as long as another thread gives orders, with the program `cuvet` beside
LIBRARY. Prints what does not hold, then "steered". Without cuvet in the process nobody gives orders.
"""

import json
import os
import subprocess
import sys
import threading
import time

import torch

from triton_kernels import rms_norm_fwd, softmax_fwd

ROWS, COLS, BLOCK = 64, 1000, 1024
PATIENCE = 15.0  # seconds for what has to happen


class Steerer:
    def __init__(self, tool):
        self.tool = tool
        self.complaints = []
        self.environment = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}

    def ctl(self, *words):
        ran = subprocess.run([self.tool, "ctl", str(os.getpid()), *words], env=self.environment,
                             capture_output=True, text=True, timeout=PATIENCE)
        if ran.returncode:
            self.complaints.append("cuvet ctl %s: status %d: %s" % (" ".join(words), ran.returncode, ran.stderr))
        return ran.stdout

    def status(self):
        return json.loads(self.ctl("status", "--json"))

    def expect(self, key, want):
        got = self.status()[key]
        if got != want:
            self.complaints.append("%s is %r, expected %r" % (key, got, want))

    def grows(self, key, when):
        before, end = self.status()[key], time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if self.status()[key] >= before + 10:
                return
        self.complaints.append("%s stays at %d %s" % (key, before, when))

    def rests(self, key, when):
        """While the loop goes on."""
        before = self.status()[key]
        self.grows("seen", when)
        now = self.status()[key]
        if now != before:
            self.complaints.append("%s goes from %d to %d %s" % (key, before, now, when))

    def steer(self):
        self.grows("checked", "at first")
        self.ctl("stop", "10000")
        self.expect("state", "stopped")
        self.rests("checked", "after stop")
        self.ctl("start")
        self.expect("state", "running")
        self.grows("checked", "after start")
        self.ctl("sample", "0")
        self.ctl("flush", "10000")
        self.rests("checked", "with sample 0")
        self.ctl("sample", "1")
        self.grows("checked", "with sample 1")
        if "rms_norm_fwd" not in self.ctl("top", "-n", "1"):
            self.complaints.append("top does not show rms_norm_fwd")


def guarded(steerer, done):
    try:
        steerer.steer()
    except (OSError, ValueError, KeyError, subprocess.SubprocessError) as error:
        steerer.complaints.append(repr(error))
    done.set()


def main():
    x = torch.randn(ROWS, COLS, device="cuda").to(torch.bfloat16)
    w = torch.ones(COLS, device="cuda", dtype=torch.bfloat16)
    y, z = torch.empty_like(x), torch.empty_like(x)

    def step():
        rms_norm_fwd[(ROWS,)](x, w, y, COLS, COLS, COLS, 1e-6, BLOCK=BLOCK)
        softmax_fwd[(ROWS,)](y, z, COLS, COLS, COLS, BLOCK=BLOCK)
        torch.cuda.synchronize()

    step()
    steerer = Steerer(os.path.join(os.path.dirname(sys.argv[1]), "cuvet"))
    if "libcuvet" in os.environ.get("LD_PRELOAD", ""):
        done = threading.Event()
        threading.Thread(target=guarded, args=(steerer, done), daemon=True).start()
        while not done.is_set():
            step()
    print("\n".join(steerer.complaints + ["steered"]))


if __name__ == "__main__":
    main()
