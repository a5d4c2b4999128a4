#!/bin/bash
# run_unit.sh PROGRAM ... - runs test programs that print TAP (cmocka's, or scripts) and adds up.
#
# All run in one pool, TEST_JOBS at a time (two for each core: many tests wait for a timer). A script
# that ends in `in_parts` (tests/parts.sh) is run as its parts, after the others. Each program's name is printed
# with its counts when it has ended; the output of one that fails follows. A program that crashes, runs over
# TEST_SECONDS (120) or ends before the tests that it announced counts as failed. The last line is
# "N passed, N failed"; the exit status is 1 when anything failed. TEST_TIMES=FILE: the seconds
# of each program and part go to the end of that file: elapsed, and of processors.
set -uo pipefail

# count OUTPUT STATUS: sets good, bad, skip, and why where it ended badly.
count() {
    local planned lost
    read -r good bad skip planned < <(awk '
        /^1\.\.[0-9]+/ { planned += substr($0, 4) }
        /^(not )?ok [0-9]+.*# SKIP/ { skip++; next }
        /^ok [0-9]+/ { good++ }
        /^not ok [0-9]+/ { bad++ }
        END { print good + 0, bad + 0, skip + 0, planned + 0 }' "$1")
    lost=$((planned - good - bad - skip))
    why=
    if [ $lost -gt 0 ]; then
        bad=$((bad + lost))
        why=", ended early with status $2"
    elif [ "$2" -ne 0 ] && [ "$bad" -eq 0 ]; then
        bad=1
        why=", ended with status $2"
    fi
    [ "$2" -eq 124 ] && why=", stopped after $seconds s"
}

# report PROGRAM OUTPUT STATUS: its line, and what it printed where a test failed.
report() {
    local name=${1##*/}
    [[ $name = test_* ]] || name=${1#tests/}
    count "$2" "$3"
    echo "$good $bad $skip" >>"$folder/counts"
    printf '%-28s %3d passed' "$name" "$good"
    [ "$bad" -gt 0 ] && printf ', %d failed%s' "$bad" "$why"
    [ "$skip" -gt 0 ] && printf ', %d skipped' "$skip"
    printf '\n'
    if [ "$bad" -gt 0 ]; then
        grep -v '^ok [0-9]' "$2" | sed 's/^/    /'
        echo "    again: $1"
    fi
}

# joined OUTPUT ...: of the parts of one program. A part that ended badly without a failed test counts as one.
joined() {
    local output status
    for output in "$@"; do
        read -r status <"$output.status"
        count "$output" "$status"
        cat "$output"
        [ $((good + bad + skip)) -eq 0 ] && why="${why:-, ran no test}"
        [ -n "$why" ] && printf 'not ok 1 - %s\n1..1\n' "part $(<"$output.name")$why"
    done | awk '/^1\.\.[0-9]+$/ { planned += substr($0, 4); next }
        { print }
        END { print "1.." planned }'
}

# one FOLDER NUMBER PROGRAM [PART]: the job of that number. Reports the program where this was the last of its parts.
one() {
    local output=$folder/$1 program=$2 status left
    shift 2
    local began=$SECONDS
    # Through a pipe: some tests limit the size of the files that they may write.
    CMOCKA_MESSAGE_OUTPUT=TAP timeout "$seconds" "$program" ${1:+--part "$1"} 2>&1 | cat >"$output"
    status=${PIPESTATUS[0]}
    exec 8>>"$folder/lock"
    flock 8
    if [ -n "${TEST_TIMES:-}" ]; then
        times >"$output.times" # in this shell: a subshell's processes are none yet
        printf '%4d %6.1f %s %s\n' $((SECONDS - began)) \
            "$(awk -F '[ms]' 'NR == 2 { print 60 * $1 + $2 + 60 * $3 + $4 }' "$output.times")" "$program" "${1:-}" >>"$TEST_TIMES"
    fi
    if [ -z "${1:-}" ]; then
        report "$program" "$output" "$status"
        return
    fi
    echo "$status" >"$output.status"
    echo "$1" >"$output.name"
    local parts=$folder/${program//\//_}
    echo "$output" >>"$parts.done"
    left=$(($(wc -l <"$parts.parts") - $(wc -l <"$parts.done")))
    [ $left -eq 0 ] || return 0
    local outputs
    mapfile -t outputs <"$parts.done"
    joined "${outputs[@]}" >"$parts"
    report "$program" "$parts" 0
}

seconds=${TEST_SECONDS:-120}
if [ "${1:-}" = --one ]; then
    folder=$2
    IFS=$'\t' read -r number program part <<<"$3"
    one "$number" "$program" "$part"
    exit
fi

# jobs_of PROGRAM ...: NUMBER, PROGRAM and part, with tabs between. Parts come last: they are short, so all end together.
jobs_of() {
    local program
    for program in "$@"; do
        if [[ $program = *.sh ]] && grep -q '^in_parts ' "$program"; then
            "$program" --list >"$folder/${program//\//_}.parts"
            sed "s|^|2\t$program\t|" "$folder/${program//\//_}.parts"
        else
            printf '1\t%s\t\n' "$program"
        fi
    done | sort -s -k 1,1n | cut -f 2- | awk '{ print NR "\t" $0 }'
}

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
: >"$folder/counts"
jobs_of "$@" >"$folder/jobs"
xargs -a "$folder/jobs" -d '\n' -r -P "${TEST_JOBS:-$((2 * $(nproc)))}" -I{} "$0" --one "$folder" {}
read -r passed failed skipped < <(awk '{ good += $1; bad += $2; skip += $3 }
    END { print good + 0, bad + 0, skip + 0 }' "$folder/counts")
ended=$(wc -l <"$folder/counts")
[ "$ended" -eq $# ] || { echo "$(($# - ended)) of $# programs were not run to their end" && failed=$((failed + 1)); }
[ "$skipped" -gt 0 ] && echo "$skipped skipped"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
