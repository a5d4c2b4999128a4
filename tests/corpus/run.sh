#!/bin/bash
# run.sh [--reduced] [KEY=VALUE ...] - runs the corpus under cuvet and prints its table.
#
# On the GPU of this machine, or on softgpu where there is none, or with SCENARIO_DRIVER=softgpu.
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
    sizes=(seeds=2 trials=1 soak=3 study=6 elements=4096 threads=2 ahead=12)
    [ -n "$sanitizer" ] && sizes+=(only=gelu) # a few are enough to sanitize the program
elif [ "$driver" = real ]; then
    sizes=(seeds=20 trials=5 soak=10000 study=30 elements=32768)
else
    sizes=(seeds=20 trials=5 soak=20 study=30 elements=16384)
fi

# Processes take turns on a GPU, streams run side by side: one process with a thread for each core, unless
# CORPUS_PARTS is set. So many checks need more than the usual memory and slots.
parts=${CORPUS_PARTS:-1}
room=()
# A check is counted a moment before its slot is free: some more slots than launches ahead.
bundles=0
[ -n "$reduced" ] && parts=1 room=(CUVET_QUEUE=16) bundles=1
if [ -z "$reduced" ]; then
    sizes+=("threads=$((($(nproc) + parts - 1) / parts))" progress=10)
    if [ "$driver" = real ]; then
        sizes+=(ahead=384 megabytes=1024)
        room=(CUVET_QUEUE=512 CUVET_MEMORY=2G CUDA_DEVICE_MAX_CONNECTIONS=32)
    fi
fi

# Part NUMBER of the kernels.
run_part() {
    local part=$1
    shift
    env "${usual[@]}" "${room[@]}" CUVET_BUNDLES=$bundles CUVET_QUOTA=2G CUVET_CONFIG="$corpus/registry.yaml" CUVET_REPORT="$work" \
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
    cat "$work"/records.* >"$work/records" && rm "$work"/records.*
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

# What replay does not show: rows that are read beyond their end, where the program's memory held something
# (add_f32_1, rmsnorm_f32_7); a result kept from the launch before (l2norm_f32_3).
elsewhere='add_f32_1|rmsnorm_f32_7|l2norm_f32_3'

# Each finding that left a bundle is reproduced, but for rows gigabytes apart: which kernels' findings have them
# depends on the threads' order, and whether the arrays have room depends on the machine.
replays() {
    local bundle count=0 got
    for bundle in "$work"/*/launch.json; do
        bundle=${bundle%/launch.json}
        [[ ${bundle##*/} =~ ^($elsewhere)- ]] && continue
        "$build/cuvet" replay --device interpreter "$bundle" >"$work/replayed" 2>&1
        got=$?
        [ $got -eq 1 ] && grep -q "^cuvet replay: the launch's arrays span [0-9]* MiB, and" "$work/replayed" &&
            grep -q '"bytes": *[0-9]\{10,\}' "$bundle/launch.json" && continue
        count=$((count + 1))
        [ $got -eq 3 ] && grep -q '^ *reproduced' "$work/replayed" && continue
        echo "status $got"
        cat "$work/replayed"
        return 1
    done
    [ $count -ge 170 ] && return
    echo "$count bundles"
    return 1
}

# complains PATTERN COMMAND ...: a report of the journals as COMMAND changes them must fail, with its sentence.
complains() {
    local pattern=$1
    shift
    "$@" "$work"/journal-*.jsonl >"$work/changed"
    ! "$corpus/corpus" report "$work/records" "$work/changed" >"$work/changed.table" &&
        grep -qE -- "$pattern" "$work/changed.table"
}

# A launch by its record, alone: a mutant's, which is caught again.
again() {
    local input
    input=$(awk -F'\t' '$1 == "gelu_bf16_1" && $3 == "kill" { gsub(/ /, ",", $6); print $6 }' "$work/records")
    work=$work/again
    mkdir "$work"
    run_corpus only=gelu_bf16_1 "input=$input" # and complains, for it was not the killing launch
    [ "$(awk -F'\t' '{ gsub(/ /, ",", $6); print $2, $6 }' "$work/records")" = "0 $input" ] &&
        grep -qE '^gelu_bf16_1 .* caught ' "$work/table"
}

# A soak that only its time can end: this one would take hours.
by_time() {
    work=$work/by_time
    mkdir "$work"
    run_corpus only=gelu_f16_0 trials=0 soak=100000000 seconds=1 &&
        grep -qE '^right kernels: 3, .* at least [1-9]' "$work/table"
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
        ok 'the input of such a finding is told' complains \
            "^    again, alone: .*'only=gelu_bf16_0 input=rows=.*,seed=[0-9]+'$" \
            sed '/"event":"totals".*"kernel":"gelu_bf16_0"/ {
                s/"mismatch":0/"mismatch":1/p
                s/.*/{"event":"finding","kernel":"gelu_bf16_0","launch":2}/
            }'
        ok 'launches that were not checked are told' complains 'gelu_bf16_0: .* 0 of them checked' \
            sed '/"event":"totals".*"kernel":"gelu_bf16_0"/s/"checked":[0-9]*/"checked":0/'
        [ -n "$sanitizer" ] || ok 'each finding is reproduced from its bundle' replays
        ok 'a launch is run again by its record' again
        ok 'a soak by time ends' by_time
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
