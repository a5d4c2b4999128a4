"""torch_sums.py - a checksum of a tensor's bits, for the Python test programs."""

import hashlib


def bits_sum(tensor):
    """The first 16 hex digits of SHA-256 over the tensor's bytes, row major."""
    import torch

    raw = tensor.detach().contiguous().view(torch.uint8).cpu().numpy().tobytes()
    return hashlib.sha256(raw).hexdigest()[:16]
