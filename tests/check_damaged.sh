#!/bin/bash
# check_damaged.sh - every verb on damaged input of every kind (tests/damaged/damage.py).
#
# DAMAGE_SEEDS (2): how many files are cut off, and how many have bits flipped, for each command. Arguments: words of the
# rows that run. Takes CUVET_BUILD from the Makefile.
set -uo pipefail

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
good=$scratch/good softgpu=$PWD/$CUVET_BUILD/softgpu scenario=$CUVET_BUILD/tests/scenario
steps=$scenario/steps/program fatbin=$scenario/common/kernels.fatbin
unknown=$scenario/unknown
if ! [ -x "$steps" ] || ! [ -e "$softgpu/libcuda.so.1" ]; then
    echo '1..0 # SKIP make softgpu scenario-programs'
    exit 0
fi

# A run with a finding leaves a journal, a trace and a bundle; another program leaves a record.
mkdir -p "$good/hlo" "$good/record" "$good/triton/KEY"
env LD_LIBRARY_PATH="$softgpu" CUVET_SAMPLE=1 CUVET_BUDGET=off CUVET_SUMMARY=0 CUVET_EXIT_WAIT=20000 CUVET_TRACE=1 CUVET_DIGEST=1 \
    LD_PRELOAD="$PWD/$CUVET_BUILD/libcuvet.so" CUVET_REPORT="$scratch/run" CUVET_CONFIG=tests/scenario/common/registry.yaml \
    "$steps" "$fatbin" wrong >"$scratch/said" 2>&1
env LD_LIBRARY_PATH="$softgpu" "$CUVET_BUILD/cuvet" discover --tries 0 -o "$scratch/draft.yaml" --keep "$scratch/record" -- \
    "$unknown/program" "$unknown/kernels.fatbin" >>"$scratch/said" 2>&1

# One good input of each kind.
cp "$scratch"/run/journal-*.jsonl "$good/journal.jsonl" &&
    cp "$good/journal.jsonl" "$good/other.jsonl" &&
    cp "$good/journal.jsonl" "$good/slots.jsonl" &&
    cp "$scratch"/run/trace-*.jsonl "$good/trace.jsonl" &&
    cp -r "$scratch"/run/norm_wrong-* "$good/bundle" &&
    cp -r "$good/bundle" "$good/other" &&
    cp -r tests/golden/bundle-2-variables "$good/values" &&
    sed -n '/^$/,$p' tests/fuzz/corpus/diff/two >"$good/caches.jsonl" &&
    sed -i '1d' "$good/caches.jsonl" &&
    cp "$good/caches.jsonl" "$good/twice.jsonl" &&
    cp "$good/bundle/module.ptx" "$good/kernels.ptx" &&
    cp "$fatbin" "$good/kernels.fatbin" &&
    cp "$CUVET_BUILD/tests/plugin/told.so" "$good/plugin.so" &&
    cp "$scratch"/record/discover-*.jsonl "$good/record/discover-x.jsonl" &&
    cp "$scratch"/record/discover-*.jsonl.bytes "$good/record/discover-x.jsonl.bytes" &&
    cp tests/scenario/xla_fusions/hlo/module_0001*_after_optimizations.txt "$good/hlo/step_after_optimizations.txt" &&
    cp tests/scenario/xla_fusions/hlo/module_0001*-buffer-assignment.txt "$good/hlo/step_after_optimizations-buffer-assignment.txt" &&
    cp tests/scenario/inductor_fused/generated/ab/cabstep.py "$good/step.py" &&
    cp tests/scenario/common/registry.yaml "$good/registry.yaml" &&
    cp config/tolerances.yaml "$good/tolerances.yaml" &&
    printf '.section .nv_fatbin,"a"\n.incbin "%s"\n' "$good/kernels.fatbin" | ${CC:-cc} -shared -nostdlib -x assembler -o "$good/kernels.so" - &&
    cat >"$good/fuzz.yaml" <<'END'
version: 1
kernels:
  - kernel: norm_right
    signature: const f32 x[rows][cols], const f32 w[cols], f32 y[rows][cols], i32 cols, f32 eps
    let: {rows: grid.x}
    reference: rmsnorm
    fuzz: {rows: 1..4, cols: 1..100, eps: 1e-5, block: 64, grid: rows}
END
[ -e "$good/fuzz.yaml" ] &&
    sed 's/block: 64/block: "32 * triton.num_warps"/' "$good/fuzz.yaml" >"$good/triton.yaml" &&
    cp "$good/kernels.ptx" "$good/triton/KEY/norm_right.ptx" &&
    echo '{"name": "norm_right", "num_warps": 2, "num_ctas": 1, "shared": 0}' >"$good/triton/KEY/norm_right.json"
# A case of `cuvet fuzz` is a bundle with all bytes around its arrays.
"$CUVET_BUILD/cuvet" fuzz -c "$good/fuzz.yaml" --device interpreter --cases 1 --keep -o "$scratch/kept" "$good/kernels.ptx" >>"$scratch/said" 2>&1
cp -r "$scratch"/kept/norm_right-* "$good/drawn"
[ -e "$good/triton/KEY/norm_right.json" ] && [ -e "$good/drawn/surroundings.bin" ] || { echo '1..1'; echo 'not ok 1 - good inputs'; sed 's/^/# /' "$scratch/said"; exit 1; }

python3 tests/damaged/damage.py "$CUVET_BUILD/cuvet" "$good" "${DAMAGE_SEEDS:-2}" "$@"
