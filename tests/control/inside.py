"""Checks every launch of one stretch of work, and stops at its end when something was wrong."""
import atexit
import ctypes
import sys
import time


class Finding(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("kernel", ctypes.c_char_p),
                ("label", ctypes.c_char_p), ("reference", ctypes.c_char_p),
                ("launch", ctypes.c_uint64), ("elements", ctypes.c_uint64),
                ("violations", ctypes.c_uint64), ("worst", ctypes.c_double),
                ("bundle", ctypes.c_char_p)]


Callback = ctypes.CFUNCTYPE(None, ctypes.POINTER(Finding), ctypes.c_void_p)
cuvet = ctypes.CDLL(None)  # what was preloaded is among the process's own names
wrong = []


@Callback
def on_mismatch(finding, _user):
    f = finding.contents
    wrong.append((f.label.decode(), f.launch, f.worst))


if not hasattr(cuvet, "cuvet_start"):
    sys.exit("not under cuvet")
cuvet.cuvet_set_sample.argtypes = [ctypes.c_double]
cuvet.cuvet_get_sample.restype = ctypes.c_double
usual = cuvet.cuvet_get_sample()
cuvet.cuvet_on_mismatch(on_mismatch, None)
# No callback may come once the interpreter is being taken down.
atexit.register(cuvet.cuvet_on_mismatch, Callback(), None)

cuvet.cuvet_set_sample(1.0)
time.sleep(0.5)  # ... the work ...
cuvet.cuvet_flush(5000)
cuvet.cuvet_set_sample(usual)
for label, launch, worst in wrong[:3]:
    print(f"{label}: launch {launch} is wrong, {worst:.3g} times its bound")
sys.exit(1 if wrong else 0)
