#!/usr/bin/env python3
"""torch_on_cpu.py PROGRAM [ARGUMENTS ...] - runs a PyTorch program where PyTorch's own kernels cannot run.

An operation of PyTorch on CUDA tensors is computed on the CPU, between copies of the storages that it reads and writes.
Views, allocations and copies of bytes are the device's own, and so are kernels that the program launches itself or by
operations of other libraries.
"""
import os
import runpy
import sys

import torch
from torch._tensor_str import _str as text_of
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

aten = torch.ops.aten
ON_DEVICE = {aten.empty.memory_format, aten.empty_strided.default, aten.set_.source_Storage,
             aten.set_.source_Storage_storage_offset, aten.record_stream.default, aten.resize_.default,
             aten._local_scalar_dense.default}


def is_cuda(value):
    if isinstance(value, torch.device):
        return value.type == "cuda"
    return isinstance(value, torch.Tensor) and value.device.type == "cuda"


def is_view(function):
    """Its results are views of its arguments, and it writes nothing."""
    results = function._schema.returns
    written = any(a.alias_info and a.alias_info.is_write for a in function._schema.arguments)
    return bool(results) and not written and all(r.alias_info is not None for r in results)


def bytes_of(tensor):
    """The tensor's storage, as bytes."""
    storage = tensor.untyped_storage()
    flat = torch.empty(0, dtype=torch.uint8, device=tensor.device)
    return flat.set_(storage, 0, (storage.nbytes(),), (1,))


class Call:
    """One operation on the CPU: copies of the storages of its arguments, one for all tensors in it."""

    def __init__(self):
        self.storages = {}  # address: device bytes, copy, copy before the operation
        self.tensors = {}  # id of a tensor on the CPU: that on the device

    def to_cpu(self, value):
        if not is_cuda(value):
            return value
        if isinstance(value, torch.device):
            return torch.device("cpu")
        storage = value.untyped_storage()
        if not storage.nbytes():
            copy = torch.empty_strided(value.size(), value.stride(), dtype=value.dtype)
        else:
            if storage.data_ptr() not in self.storages:
                device = bytes_of(value)
                host = device.cpu()
                self.storages[storage.data_ptr()] = device, host, host.clone()
            host = self.storages[storage.data_ptr()][1]
            copy = torch.empty(0, dtype=value.dtype)
            copy.set_(host.untyped_storage(), value.storage_offset(), value.size(), value.stride())
        copy = copy.conj() if value.is_conj() else copy
        self.tensors[id(copy)] = copy, value
        return copy

    def write_back(self):
        for device, host, before in self.storages.values():
            if not torch.equal(host, before):
                device.copy_(host)

    def to_device(self, value):
        if not isinstance(value, torch.Tensor):
            return value
        if id(value) in self.tensors:
            return self.tensors[id(value)][1]
        copy = torch.empty(0, dtype=value.dtype, device="cuda")
        storage = torch.UntypedStorage(value.untyped_storage().nbytes(), device="cuda")
        copy.set_(storage, value.storage_offset(), value.size(), value.stride())
        if storage.nbytes():
            bytes_of(copy).copy_(bytes_of(value))
        return copy


class OnCpu(TorchDispatchMode):
    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        device = kwargs.get("device")
        leaves = tree_leaves((args, {k: v for k, v in kwargs.items() if k != "device"}))
        makes = device is not None and torch.device(device).type == "cuda"
        runs = function.namespace != "aten" or function in ON_DEVICE or is_view(function)
        if runs or not makes and not any(map(is_cuda, leaves)):
            return function(*args, **kwargs)
        call = Call()
        to_device = makes if device is not None else True
        if function is aten.copy_.default and not is_cuda(args[0]):
            to_device = False
        args, kwargs = tree_map(call.to_cpu, (args, kwargs))
        if device is not None:
            kwargs["device"] = torch.device("cpu")
        kwargs.pop("pin_memory", None)
        result = function(*args, **kwargs)
        call.write_back()
        return tree_map(call.to_device, result) if to_device else result


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    # Texts of tensors are made where no mode is in force.
    torch.Tensor.__repr__ = lambda self, tensor_contents=None: text_of(
        self.detach().cpu(), tensor_contents=tensor_contents)
    sys.argv = sys.argv[1:]
    sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[0])))
    with OnCpu():
        runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
