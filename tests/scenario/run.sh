#!/bin/bash
# run.sh [WORD ...] - runs the scenarios whose name holds a word, or all; prints TAP.
#
# Each is run bare and under cuvet: output and exit code must agree, the books must balance, and the
# verdicts must be those of its `expect`. The folder of one that fails is kept, with the commands that
# repeat it. README.md shows how to write one; CUVET_BUILD, VARIANT and SCENARIO_DRIVER=real as in lib.sh.
set -uo pipefail
. tests/tap.sh
. tests/parts.sh
. tests/scenario/lib.sh

# What cuvet printed beside the program's own output: nothing, or what the scenario expects.
judge_words() {
    local work=$1 pattern lines most
    if [ -n "${said[says]-}" ]; then
        cat "$work"/cuvet.report/journal-*.jsonl 2>/dev/null |
            sed -n 's/.*"event":"warning".*"sentence":"\(.*\)"}/\1/p' >"$work/warnings"
        while IFS= read -r pattern; do
            grep -qE -- "$pattern" "$work/cuvet.err" "$work/warnings" || echo "nothing said like /$pattern/"
        done < <(each says)
    fi
    most=${said[lines]-$([ -z "${said[says]-}" ] && echo 0 || echo 8)}
    cmp -s "$work/bare.err" "$work/cuvet.err" && return
    lines=$(diff "$work/bare.err" "$work/cuvet.err" | grep -c '^>')
    if [ "$lines" -gt "$most" ]; then
        echo "$lines lines more on standard error:"
        diff "$work/bare.err" "$work/cuvet.err" | grep '^>' | head -30
    fi
}

# What cuvet called on threads that the program called from, by the stand-in's log: `THREAD NAME RESULT
# FILE` a line. The log must show a call that matches on another thread: else it would prove nothing.
judge_calls() {
    local work=$1 pattern
    pattern=${said[never]-}
    [ -n "$pattern" ] || return 0
    awk -v pattern="^($pattern)" -v program="$program" -v library="$library" '
        NF < 4 { next }
        $4 == program { own[$1] = 1 }
        $4 == library { thread[++calls] = $1; name[calls] = $2 }
        END {
            for (i = 1; i <= calls; i++) {
                if (name[i] !~ pattern) launches += thread[i] in own && name[i] ~ /^cuLaunchKernel/
                else if (thread[i] in own) wrong[name[i]]++
                else elsewhere++
            }
            for (call in wrong) printf "%s, %d times, on a thread of the program\n", call, wrong[call]
            if (!elsewhere) print "the log of calls shows none like /" pattern "/ on any thread"
            if (!launches) print "the log of calls shows no launch of cuvet on a thread of the program"
        }' "$work/calls"
}

# How many kernels cuvet launched on threads of its own, by the same log.
judge_own_launches() {
    local work=$1 op most
    read -r op most <<<"${said[own_launches]-}"
    [ -n "$op" ] || return 0
    awk -v op="$op" -v most="$most" -v program="$program" -v library="$library" '
        NF < 4 { next }
        $4 == program { own[$1] = 1 }
        $4 == library && $2 ~ /^cuLaunchKernel/ { launches[$1]++ }
        END {
            for (thread in launches) if (!(thread in own)) sum += launches[thread]
            good = op == "=" ? sum == most : op == "<=" ? sum + 0 > 0 && sum <= most : 0
            if (!good) printf "%d launches of cuvet on threads of its own, expected %s %d\n", sum, op, most
        }' "$work/calls"
}

# How many driver calls of cuvet's match each pattern, by the same log.
judge_count() {
    local work=$1 op most pattern
    while read -r op most pattern; do
        awk -v op="$op" -v most="$most" -v pattern="^($pattern)" -v library="$library" '
            NF == 4 && $4 == library && $2 ~ pattern { sum++ }
            END {
                good = op == "=" ? sum == most : op == ">=" ? sum + 0 >= most : 0
                if (!good) printf "%d calls of cuvet like /%s/, expected %s %d\n", sum, pattern, op, most
            }' "$work/calls"
    done < <(each calls)
}

judge() {
    local work=$1 journals=()
    compare "$work" cuvet
    for journal in "$work"/cuvet.report/journal-*.jsonl; do
        [ -e "$journal" ] && journals+=("$journal")
    done
    awk -v exact=1 -f "$here/judge.awk" "$folder/expect" "${journals[@]}"
    judge_words "$work"
    judge_calls "$work"
    judge_own_launches "$work"
    judge_count "$work"
}

# What a run at the entry points cannot show: softgpu takes a wrapped call for one of cuvet's own.
by_file='^(never|calls|own_launches) |SOFTGPU_FAIL_FROM|CUVET_CUPTI|CUDA_INJECTION64_PATH|CUVET_HOOK|SOFTGPU_COPIES'

# one SCENARIO WORK: leaves WORK/complaints, empty where all is well, or WORK/skipped.
one() {
    local work=$2 calls=
    use "$1"
    local needs=" ${said[needs]-} "
    needs=${needs//$'\n'/ }
    if [[ $needs = *" softgpu "* ]] && [ "$driver" = real ]; then
        echo 'softgpu only' >"$work/skipped"
        return
    fi
    if [[ $needs = *" nvrtc "* ]] && "$build/cuvet" check "$registry" 2>&1 | grep 'not compiled' \
        >"$work/skipped"; then
        return
    fi
    if [ "${#hook[@]}" -gt 0 ] && { [ "$of" = subscriber ] || grep -qE "$by_file" "$folder/expect"; }; then
        echo "CUPTI's, or tells calls apart by the file that they come from" >"$work/skipped"
        return
    fi
    : >"$work/skipped"
    run_bare "$work"
    [ -n "${said[never]-}${said[own_launches]-}${said[calls]-}" ] && calls=SOFTGPU_CALLS=$work/calls
    run_cuvet "$work" cuvet ${calls:+"$calls"}
    judge "$work" >"$work/complaints" 2>&1
}

# verdict WORK: for tap.sh's ok.
verdict() {
    [ ! -s "$1/complaints" ] && [ -e "$1/complaints" ] && return
    cat "$1/complaints"
    echo "alone: sh $1/bare.sh"
    echo "under cuvet: sh $1/cuvet.sh"
    tail -5 "$1/cuvet.err"
    return 1
}

# A reason of skip.h is no use to people before a program has met it.
reasons_met() {
    local reason all=()
    mapfile -t all < <(sed -n 's/^ *SKIP([A-Z_]*, "\([^"]*\)".*/\1/p' shim/value/skip.h)
    [ ${#all[@]} -gt 0 ] || { echo 'shim/value/skip.h: no line SKIP(NAME, "text", ...) found'; return 1; }
    for reason in "${all[@]}"; do
        grep -qE "^reason $reason (=|>=) [1-9]" tests/scenario/*/*/expect || echo "$reason"
    done | sed 's/.*/shim\/value\/skip.h: no scenario has a line `reason & = N` in its expect, N over 0/' | {
        ! grep .
    }
}

list() { chosen true "$@"; }

part() {
    local work name=${1#*/}
    work=$(mktemp -d "${TMPDIR:-/tmp}/cuvet-scenario-XXXXXX")
    one "$1" "$work"
    if [ -s "$work/skipped" ]; then
        skip "$name: ${said[about]-}" "$(<"$work/skipped")"
    elif ! ok "$name: ${said[about]-}" verdict "$work" || [ -s "$work/complaints" ]; then
        return
    fi
    rm -rf "$work"
}

closing() {
    ok 'every reason to leave a launch unchecked has a scenario' reasons_met
}

in_parts "$@"
