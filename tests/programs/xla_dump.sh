#!/bin/sh
# xla_dump.sh FOLDER [STEPS] - what JAX and CuPy compile for the programs beside this script, as text.
#
# FOLDER/xla gets XLA's modules after optimisation, their thunks, buffers and PTX; FOLDER/cupy the sources of CuPy's kernels.
# A program that fails leaves the others' files. Needs a GPU and the package of each program.
set -u
here=$(cd "$(dirname "$0")" && pwd)
out=${1:?usage: xla_dump.sh FOLDER [STEPS]}
steps=${2:-2}
mkdir -p "$out/xla" "$out/cupy" || exit 2
rc=0
XLA_FLAGS="--xla_dump_to=$out/xla --xla_dump_hlo_as_text" python3 "$here/jax_models.py" "$steps" || rc=1
find "$out/xla" -type f ! -name '*gpu_after_optimizations.txt' ! -name '*buffer-assignment.txt' ! -name '*thunk_sequence.txt' \
    ! -name '*.ptx' -delete
CUPY_CACHE_DIR="$out/cupy" CUPY_CACHE_SAVE_CUDA_SOURCE=1 CUPY_CACHE_IN_MEMORY=0 python3 "$here/cupy_models.py" "$steps" || rc=1
find "$out/cupy" -type f ! -name '*.cu' -delete
du -sh "$out/xla" "$out/cupy"
exit $rc
