#!/bin/bash
# run.sh [--reduced] [KEY=VALUE ...] - runs the corpus under cuvet and prints its table.
#
# On the GPU of this machine, or on softgpu where there is none, or where SCENARIO_DRIVER=softgpu says so.
# Keys are those of `corpus run` (main.c). --reduced is what `make test` has the time for: softgpu, few
# launches, small arrays, and TAP for an answer. The folder of a run that fails is kept.
set -uo pipefail
. tests/tap.sh
build_folder=${CUVET_BUILD:-build/release}
reduced=
[ "${1:-}" = --reduced ] && reduced=1 && shift
if [ -z "$reduced" ] && [ -z "${SCENARIO_DRIVER:-}" ] && "$build_folder/tests/demo/has_gpu"; then
    SCENARIO_DRIVER=real
fi
. tests/scenario/lib.sh
corpus=$build/tests/corpus

if [ -n "$reduced" ]; then
    sizes=(seeds=2 trials=1 soak=3 study=6 elements=4096)
    [ -n "$sanitizer" ] && sizes+=(only=gelu) # a few are enough to sanitize the program
elif [ "$driver" = real ]; then
    sizes=(seeds=20 trials=5 soak=10000 study=30 elements=32768)
else
    sizes=(seeds=20 trials=5 soak=20 study=30 elements=16384)
fi

# What right outputs are is computed on the CPU, one core a process: on a GPU several share the kernels.
parts=1
[ "$driver" = real ] && [ -z "$reduced" ] && parts=$(nproc)

# Part NUMBER of the kernels.
run_part() {
    local part=$1
    shift
    env "${usual[@]}" CUVET_BUNDLES=0 CUVET_CONFIG="$corpus/registry.yaml" CUVET_REPORT="$work" \
        SOFTGPU_MEMORY=64G LD_PRELOAD="${sanitizer:+$sanitizer:}$library" \
        "$corpus/corpus" run "$corpus/corpus.fatbin" "$work/records.$part" "${sizes[@]}" \
        "part=$part" "parts=$parts" "$@" 2>"$work/words.$part"
}

# Leaves WORK/table; fails where an expectation does not hold.
run_corpus() {
    local journals pids=() part pid status=0
    for ((part = 0; part < parts; part++)); do
        run_part "$part" "$@" &
        pids+=($!)
    done
    for pid in "${pids[@]}"; do
        wait "$pid" || status=1
    done
    cat "$work"/words.*
    [ "$status" -eq 0 ] || return 1
    cat "$work"/records.* >"$work/records"
    journals=("$work"/journal-*.jsonl)
    "$corpus/corpus" report "$work/records" "${journals[@]}" >"$work/table"
}

# What a failed test shows: the complaints and the totals.
tell() {
    run_corpus "$@" && return
    sed -n '/^UNEXPECTED/,$p' "$work/table"
    echo "the run is in $work"
    return 1
}

# complains PATTERN COMMAND ...: a report of the journals as COMMAND changes them must fail, and say so.
complains() {
    local pattern=$1
    shift
    "$@" "$work"/journal-*.jsonl >"$work/changed"
    ! "$corpus/corpus" report "$work/records" "$work/changed" >"$work/changed.table" &&
        grep -qE -- "$pattern" "$work/changed.table"
}

work=$(mktemp -d "${TMPDIR:-/tmp}/cuvet-corpus-XXXXXX")
if [ -n "$reduced" ]; then
    ok 'wrong kernels are caught, right ones are quiet' tell "$@"
    # shellcheck disable=SC2154 # tap.sh has it
    if [ "$tap_failed" -eq 0 ]; then
        ok 'a mutant that is not found is told' complains 'gelu_bf16_1: not caught' \
            grep -vE '"event":"finding".*"kernel":"gelu_bf16_1"'
        ok 'a right kernel with a finding is told' complains 'gelu_bf16_0: a finding' \
            sed '/"event":"totals".*"kernel":"gelu_bf16_0"/s/"mismatch":0/"mismatch":1/'
        ok 'launches that were not checked are told' complains 'gelu_bf16_0: .* 0 of them checked' \
            sed '/"event":"totals".*"kernel":"gelu_bf16_0"/s/"checked":[0-9]*/"checked":0/'
        [ "$tap_failed" -eq 0 ] && rm -rf "$work"
    fi
    done_testing
    exit
fi
[ "$driver" = real ] && echo 'corpus: on the GPU of this machine' || echo 'corpus: on softgpu'
run_corpus "$@"
status=$?
[ -e "$work/table" ] && cat "$work/table"
if [ $status -eq 0 ] && [ -z "${CORPUS_KEEP:-}" ]; then rm -rf "$work"; else echo "the run is in $work"; fi
exit $status
