"""torch_sums.py - a checksum of a tensor's bits, for the Python test programs."""

import ctypes
import hashlib


def bits_sum(tensor):
    """The first 16 hex digits of SHA-256 over the tensor's bytes, row major."""
    import torch

    raw = tensor.detach().contiguous().reshape(-1).view(torch.uint8).cpu().numpy().tobytes()
    return hashlib.sha256(raw).hexdigest()[:16]


def wait_for_checks():
    """For all launches so far, and under cuvet for the checks of them too, so that none lacks room."""
    import torch

    torch.cuda.synchronize()
    flush = getattr(ctypes.CDLL(None), "cuvet_flush", None)
    if flush:
        flush(10000)
