#!/bin/bash
# sweep.sh [WORD ...] - the Nth driver call that cuvet makes fails, for every N, in the scenarios whose
# `expect` has `sweep` and whose name holds a word; prints TAP, one test for each scenario and error.
#
# With SWEEP_LONG=1, also those with `sweep long`.
#
# After each run: the program's output and exit code are those of the program alone, it did not hang,
# the books balance, no right kernel is called wrong, nothing is left behind that a run without a
# failure does not leave, and where checks were lost cuvet printed why, in few lines. SWEEP_ERRORS are the errors to
# give; without it each N gets one of them in turn, which is one run an N instead of one an N and error.
set -uo pipefail
. tests/tap.sh
. tests/parts.sh
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
    cat "$1"/journal-*.jsonl 2>/dev/null | awk '
        /"event":"end"/ { sub(/"gpu":\{[^}]*\}/, ""); if (sub(/.*"checked":/, "")) sum += $0 }
        END { print sum + 0 }'
}

# leaks CLEAN FAILING SEEN: what the second report has more of; and the driver calls that it counted, in SEEN.
leaks() {
    awk -v seen="$3" '/^leak / && NR == FNR { clean[$2] = $3; next }
        /^leak / && $3 > clean[$2] { print "left behind: " $3 " " $2 ", " clean[$2] + 0 " without a failure" }
        $1 == "fault" && NR != FNR && $4 > most { most = $4 }
        END { print most + 0 >seen }' "$1" "$2"
}

judge() {
    local work=$1 journals=() lines
    compare "$work" failing
    for journal in "$work"/failing.report/journal-*.jsonl; do
        [ -e "$journal" ] && journals+=("$journal")
    done
    awk -v exact=0 -f "$here/judge.awk" "$folder/expect" "${journals[@]}"
    [ -e "$work/softgpu-failing" ] && leaks "$work/softgpu-clean" "$work/softgpu-failing" "$work/seen"
    lines=0
    cmp -s "$work/bare.err" "$work/failing.err" || lines=$(diff "$work/bare.err" "$work/failing.err" | grep -c '^>')
    if [ "$lines" -gt 8 ]; then
        echo "$lines lines more on standard error:"
        diff "$work/bare.err" "$work/failing.err" | grep '^>' | head -20
    fi
    if [ "$lines" -eq 0 ] && [ "$(checked "$work/failing.report")" -lt "$clean_checked" ]; then
        echo "checks were lost, and nothing was said: $(checked "$work/failing.report") checked"
    fi
}

# sweep SCENARIO ERROR WORK: leaves WORK/complaints, and WORK/count, how many calls were made to fail.
sweep() {
    local work=$3 n error seen clean_checked
    use "$1"
    run_bare "$work"
    run_cuvet "$work" clean "SOFTGPU_REPORT=$work/softgpu-clean"
    clean_checked=$(checked "$work/clean.report")
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
        seen=$(<"$work/seen")
        [ "$seen" -lt "$n" ] && break
    done
    echo "$n" >"$work/count"
}

verdict() {
    [ ! -s "$1/complaints" ] && [ -s "$1/count" ] && return
    head -60 "$1/complaints"
    return 1
}

swept() {
    grep -qxE "sweep${SWEEP_LONG:+( long)?}" "$1"
}

list() {
    local name error
    while read -r name; do
        for error in "${errors[@]}"; do echo "$name $error"; done
    done < <(chosen swept "$@")
}

part() {
    local work name=${1% *}
    work=$(mktemp -d "${TMPDIR:-/tmp}/cuvet-sweep-XXXXXX")
    sweep "$name" "${1#* }" "$work"
    ok "${1#*/}: $(cat "$work/count" 2>/dev/null) runs" verdict "$work"
    [ -s "$work/complaints" ] || rm -rf "$work"
}

in_parts "$@"
