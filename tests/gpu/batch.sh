#!/bin/bash
# batch.sh - everything that needs a GPU, on a machine that is there for minutes and has no toolkit.
#
#   tests/gpu/batch.sh pack FILE                 here: builds the programs, packs what the phases run
#   tests/gpu/batch.sh run FILE LOGS PHASE ...   there, in a copy of the tree: unpacks, runs, prints a table
#
# PHASE is NAME or NAME=SECONDS, its limit; the names are those of `phases` below, and gpu:WORD for the cases of
# tests/gpu whose name holds WORD, bench:PART for one part of bench.py. LOGS/NAME.log has what a phase printed.
# The exit status is the number of phases that failed or ran past their limit.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
build=build/release
llmc=${LLMC:-} logs=

# NAME|SECONDS|COMMAND
phases() {
    cat <<TABLE
gpu|540|python3 tests/gpu/run.py --lib $build/libcuvet.so --cuvet $build/cuvet --build $build/tests/gpu --no-make
programs|300|python3 tests/programs/run.py --lib $build/libcuvet.so --empty $build/tests/bench/empty_subscriber.so ${llmc:+--llmc $llmc}
untried|300|python3 tests/programs/run.py --lib $build/libcuvet.so --empty $build/tests/bench/empty_subscriber.so --untried --variants bare every --rounds 1
corpus|300|tests/corpus/run.sh
triton|200|python3 tests/corpus/triton/run.py $build/libcuvet.so
scenario|300|env SCENARIO_DRIVER=real tests/scenario/run.sh
contract|120|env CONTRACT_DRIVER=real CONTRACT_RECORD=$logs/contract.record tests/softgpu/contract/check.sh
lift|480|env CUVET_BUILD=$build LIFT_DEVICE=gpu LIFT_IMAGE=$build/tests/corpus/corpus.cubin LIFT_JOBS=8 LIFT_TABLE=1 tests/lift/device.sh
TABLE
}

# line_of NAME: SECONDS|COMMAND
line_of() {
    case $1 in
    gpu:*) echo "200|$(phases | sed -n 's/^gpu|[0-9]*|//p') --only ${1#gpu:}" ;;
    bench:*) echo "200|python3 tests/bench/bench.py --lib $build/libcuvet.so --build $build/tests/bench --no-make --only ${1#bench:}" ;;
    *) phases | sed -n "s/^$1|//p" ;;
    esac
}

pack() {
    make -j2 all softgpu scenario-programs corpus-programs bench-programs || return
    make "$build"/tests/softgpu/contract/{contract,contract_kernels.fatbin,newest_kernels.fatbin,newest_copies.fatbin} || return
    make "$build"/tests/corpus/corpus.{ptx,cubin} || return
    make -f tests/gpu/programs.mk "OUT=$build/tests/gpu" programs || return
    make -f tests/bench/programs.mk "OUT=$build/tests/bench" || return
    # What earlier runs left behind stays here.
    tar --exclude='*.o' --exclude='*.d' --exclude=interpreter --exclude="$build"/tests/gpu/{reports,scratch,triton,fuzz} -czf "$1" "$build"/{cuvet,libcuvet.so,libcuvet-audit.so} "$build"/gen/*.fatbin \
        "$build"/tests/{gpu,bench,demo,corpus,scenario,softgpu/contract} && ls -l "$1"
}

# One phase: prints its row.
run_phase() {
    local name=${1%%=*} line limit start log
    line=$(line_of "$name")
    [ -n "$line" ] || { echo "batch: no phase '$name'; there are: $(phases | cut -d'|' -f1 | tr '\n' ' ')gpu:WORD bench:PART" >&2; return 2; }
    limit=${line%%|*}
    [[ $1 == *=* ]] && limit=${1#*=}
    log=$logs/${name//:/-}.log
    start=$SECONDS
    # shellcheck disable=SC2086 # the command's words hold no blanks
    timeout -k 5 "$limit" ${line#*|} >"$log" 2>&1
    local status=$?
    printf '%-24s %5d s   status %3d   %s\n' "$name" $((SECONDS - start)) $status "$(grep -E '[0-9]+ passed|failed' "$log" | tail -n 1)"
    return $status
}

case ${1:-} in
pack) pack "${2:?a file to pack into}" ;;
run)
    logs=${3:?a folder for the logs}
    mkdir -p "$logs" && tar -xzf "${2:?the packed file}" || exit 1
    failed=0
    for phase in "${@:4}"; do
        run_phase "$phase" || failed=$((failed + 1))
    done
    exit $failed
    ;;
*) sed -n '2,9s/^# \{0,1\}//p' "$0" && exit 2 ;;
esac
