"""counters.py - what cuvet has counted so far in this process (cuvet_counters of cuvet.h)."""

import ctypes


class Counters(ctypes.Structure):
    """struct cuvet_counters of cuvet.h"""
    _fields_ = [("size", ctypes.c_size_t)] + [(name, ctypes.c_uint64) for name in (
        "seen", "registered", "match", "mismatch", "inconclusive", "unchecked", "under_way")] + [
        (name, ctypes.c_double) for name in ("effective_rate", "elapsed", "cost", "thread", "copy", "reference", "look",
                                             "hook")]


def counters():
    """All zeros without cuvet."""
    now = Counters(size=ctypes.sizeof(Counters))
    program = ctypes.CDLL(None)
    if hasattr(program, "cuvet_counters"):
        program.cuvet_counters(ctypes.byref(now))
    return now
