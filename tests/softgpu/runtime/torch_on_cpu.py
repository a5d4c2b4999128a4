#!/usr/bin/env python3
"""torch_on_cpu.py PROGRAM [ARGUMENTS ...] - runs a PyTorch program where PyTorch's own kernels cannot run.

An operation of PyTorch on CUDA tensors is computed on the CPU, between copies of the storages that it reads and writes.
Views and allocations are the device's own, and so are kernels that the program launches itself, by Triton, by
torch.compile or by operations of other libraries. Operations cannot be captured into CUDA graphs.
"""
import ctypes
import os
import runpy
import sys
import warnings

import torch
from torch.utils._pytree import tree_map

aten = torch.ops.aten
ON_DEVICE = {aten.empty.memory_format, aten.empty_strided.default, aten.set_.source_Storage,
             aten.set_.source_Storage_storage_offset, aten.record_stream.default, aten.resize_.default}
ALSO = ("aten::copy_", "aten::_local_scalar_dense")  # whose kernel for all devices launches by itself
runtime = ctypes.CDLL("libcudart.so.13")


def copy_bytes(to, source, count):
    """Between storages of any device, behind the work of the current stream."""
    if not count:
        return
    torch.cuda.current_stream().synchronize()
    by_address = 4
    error = runtime.cudaMemcpy(ctypes.c_void_p(to.data_ptr()), ctypes.c_void_p(source.data_ptr()),
                               ctypes.c_size_t(count), by_address)
    if error:
        raise RuntimeError(f"cudaMemcpy: {error}")


def is_cuda(value):
    if isinstance(value, torch.device):
        return value.type == "cuda"
    return isinstance(value, torch.Tensor) and value.device.type == "cuda"


def is_view(function):
    """Its results are views of its arguments, and it writes nothing."""
    results = function._schema.returns
    written = any(a.alias_info and a.alias_info.is_write for a in function._schema.arguments)
    return bool(results) and not written and all(r.alias_info is not None for r in results)


def over(storage, like):
    """A tensor of the shape, strides and dtype of `like` over another storage."""
    tensor = torch.empty(0, dtype=like.dtype, device=storage.device)
    return tensor.set_(storage, like.storage_offset(), like.size(), like.stride())


def as_bytes(storage):
    return torch.empty(0, dtype=torch.uint8).set_(storage, 0, (storage.nbytes(),), (1,))


class Call:
    """One operation on the CPU: copies of the storages of its arguments, one for all tensors in it."""

    def __init__(self):
        self.storages = {}  # address: storage on the device, copy, copy before the operation
        self.tensors = {}  # id of a tensor on the CPU: that on the device

    def to_cpu(self, value):
        if not is_cuda(value):
            return value
        if isinstance(value, torch.device):
            return torch.device("cpu")
        device = value.untyped_storage()
        key = device.data_ptr() or id(value)
        if key not in self.storages:
            host = torch.UntypedStorage(device.nbytes())
            copy_bytes(host, device, device.nbytes())
            self.storages[key] = device, host, host.clone()
        copy = over(self.storages[key][1], value)
        copy = copy.conj() if value.is_conj() else copy
        self.tensors[id(copy)] = copy, value
        return copy

    def write_back(self):
        for device, host, before in self.storages.values():
            if device.nbytes() != host.nbytes():
                device.resize_(host.nbytes())  # by an operation with out=
            elif torch.equal(as_bytes(host), as_bytes(before)):
                continue
            copy_bytes(device, host, host.nbytes())
        for copy, tensor in self.tensors.values():
            if copy.size() != tensor.size():
                tensor.set_(tensor.untyped_storage(), copy.storage_offset(), copy.size(), copy.stride())

    def to_device(self, value):
        if not isinstance(value, torch.Tensor):
            return value
        if id(value) in self.tensors:
            return self.tensors[id(value)][1]
        host = value.untyped_storage()
        device = torch.UntypedStorage(host.nbytes(), device="cuda")
        copy_bytes(device, host, host.nbytes())
        return over(device, value)


def on_cpu(function):
    def run(*args, **kwargs):
        call = Call()
        device = kwargs.get("device")
        to_device = torch.device(device).type == "cuda" if device is not None else True
        if function is aten.copy_.default:
            to_device = is_cuda(args[0])
        args, kwargs = tree_map(call.to_cpu, (args, kwargs))
        if device is not None:
            kwargs["device"] = torch.device("cpu")
        kwargs.pop("pin_memory", None)
        result = function(*args, **kwargs)
        call.write_back()
        return tree_map(call.to_device, result) if to_device else result
    return run


def install():
    """Puts these functions in the place of PyTorch's kernels for CUDA. Returns what keeps them there."""
    library = torch.library.Library("aten", "IMPL")
    for name in torch._C._dispatch_get_all_op_names():
        if name not in ALSO and (not name.startswith("aten::") or not
                                 torch._C._dispatch_has_kernel_for_dispatch_key(name, "CUDA")):
            continue
        operation, _, overload = name[len("aten::"):].partition(".")
        function = getattr(getattr(aten, operation), overload or "default")
        if function not in ON_DEVICE and not is_view(function):
            library.impl(function, on_cpu(function), "CUDA")
    return library


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # kernels that are registered twice
        library = install()
    sys.argv = sys.argv[1:]
    sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[0])))
    runpy.run_path(sys.argv[0], run_name="__main__")
    del library


if __name__ == "__main__":
    main()
