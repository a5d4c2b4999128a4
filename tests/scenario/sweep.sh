#!/bin/bash
# sweep.sh [WORD ...] - the Nth driver call that cuvet makes fails, for every N, in the scenarios whose
# `expect` says `sweep` and whose name holds a word; speaks TAP, one test for each scenario and error.
#
# With SWEEP_LONG=1, also those that say `sweep long`.
#
# After each run: the program's output and exit code are those of the program alone, it did not hang,
# the books balance, no right kernel is called wrong, nothing is left behind that a run without a
# failure does not leave, and where checks were lost cuvet said why, in few lines. SWEEP_ERRORS are the errors to
# give; without it each N gets one of them in turn, which is one run an N instead of one an N and error.
set -uo pipefail
. tests/tap.sh
. tests/scenario/lib.sh

kinds=(CUDA_ERROR_OUT_OF_MEMORY CUDA_ERROR_INVALID_VALUE CUDA_ERROR_UNKNOWN CUDA_ERROR_ILLEGAL_ADDRESS)
read -r -a errors <<<"${SWEEP_ERRORS:-each in turn}"
[ -z "${SWEEP_ERRORS:-}" ] && errors=(turns)
most=${SWEEP_MOST:-2000}

# run_failing WORK N ERROR
run_failing() {
    rm -rf "$1/failing.report" "$1"/softgpu-failing
    run_cuvet "$1" failing "SOFTGPU_FAIL=*:$2=$3" SOFTGPU_FAIL_FROM=libcuvet.so \
        "SOFTGPU_REPORT=$1/softgpu-failing"
}

# checked REPORT-FOLDER: launches judged, over all processes; `gpu` has a share of time of that name.
checked() {
    cat "$1"/journal-*.jsonl 2>/dev/null |
        sed -n '/"event":"end"/s/"gpu":{[^}]*}//; s/.*"event":"end".*"checked":\([0-9]*\).*/\1/p' | awk '{ sum += $1 } END { print sum + 0 }'
}

# leaks CLEAN FAILING: what the second report has more of.
leaks() {
    awk '/^leak / && NR == FNR { clean[$2] = $3; next }
        /^leak / && $3 > clean[$2] { print "left behind: " $3 " " $2 ", " clean[$2] + 0 " without a failure" }' \
        "$1" "$2"
}

judge() {
    local work=$1 journals=() lines
    compare "$work" failing
    for journal in "$work"/failing.report/journal-*.jsonl; do
        [ -e "$journal" ] && journals+=("$journal")
    done
    awk -v exact=0 -f "$here/judge.awk" "$folder/expect" "${journals[@]}"
    [ -e "$work/softgpu-failing" ] && leaks "$work/softgpu-clean" "$work/softgpu-failing"
    lines=$(diff "$work/bare.err" "$work/failing.err" | grep -c '^>')
    if [ "$lines" -gt 8 ]; then
        echo "$lines lines more on standard error:"
        diff "$work/bare.err" "$work/failing.err" | grep '^>' | head -20
    fi
    if [ "$(checked "$work/failing.report")" -lt "$(checked "$work/clean.report")" ] && [ "$lines" -eq 0 ]; then
        echo "checks were lost, and nothing was said: $(checked "$work/failing.report") checked"
    fi
}

# sweep SCENARIO ERROR: leaves WORK/complaints, and WORK/count, how many calls were made to fail.
sweep() {
    local work=$root/$1-$2 n error seen
    use "$1"
    mkdir -p "$work"
    run_bare "$work"
    run_cuvet "$work" clean "SOFTGPU_REPORT=$work/softgpu-clean"
    for ((n = 1; n <= most; n++)); do
        error=$2
        [ "$error" = turns ] && error=${kinds[n % ${#kinds[@]}]}
        run_failing "$work" "$n" "$error"
        judge "$work" >"$work/now" 2>&1
        if [ -s "$work/now" ]; then
            { echo "call $n gives $error:" && sed 's/^/  /' "$work/now"; } >>"$work/complaints"
            cp "$work/failing.sh" "$work/call-$n.sh"
            cp "$work/failing.err" "$work/call-$n.err"
            echo "  again: sh $work/call-$n.sh" >>"$work/complaints"
        fi
        [ -e "$work/softgpu-failing" ] || continue # it ended without a report
        seen=$(awk '$1 == "fault" { if ($4 > most) most = $4 } END { print most + 0 }' "$work/softgpu-failing")
        [ "$seen" -lt "$n" ] && break
    done
    echo "$n" >"$work/count"
}

verdict() {
    [ ! -s "$1/complaints" ] && [ -s "$1/count" ] && return
    head -60 "$1/complaints"
    return 1
}

chosen() {
    local name word error
    for name in tests/scenario/*/expect; do
        grep -qxE "sweep${SWEEP_LONG:+( long)?}" "$name" || continue
        name=$(basename "$(dirname "$name")")
        for word in "${@:-}"; do
            case $name in *"$word"*) for error in "${errors[@]}"; do echo "$name $error"; done && break ;; esac
        done
    done
}

if [ "${1:-}" = --one ]; then
    root=$2
    # shellcheck disable=SC2086 # two words
    sweep $3
    exit
fi
root=$(mktemp -d "${TMPDIR:-/tmp}/cuvet-sweep-XXXXXX")
mapfile -t pairs < <(chosen "$@")
printf '%s\n' "${pairs[@]}" | xargs -P "${SCENARIO_JOBS:-2}" -I{} "$0" --one "$root" {}
for pair in "${pairs[@]}"; do
    work=$root/${pair/ /-}
    ok "$pair: $(cat "$work/count" 2>/dev/null) runs" verdict "$work"
    [ -s "$work/complaints" ] || rm -rf "${work:?}"
done
rmdir "$root" 2>/dev/null
done_testing
