#!/bin/bash
# run_unit.sh PROGRAM ... - runs test programs that speak TAP (cmocka's, or scripts) and adds up.
#
# Each program's name is printed with its counts; the output of one that fails follows. A program
# that crashes, runs over TEST_SECONDS (120) or ends before the tests that it announced counts as
# failed. Programs of tests/unit run side by side, TEST_JOBS (2) at a time; scripts use the cores themselves.
# The last line is "N passed, N failed"; the exit status is 1 when anything failed.
set -uo pipefail

# run PROGRAM FILE: its output in FILE, its status in FILE.status.
run() {
    # Through a pipe: some tests limit the size of the files that they may write.
    CMOCKA_MESSAGE_OUTPUT=TAP timeout "${TEST_SECONDS:-120}" "$1" 2>&1 | cat >"$2"
    echo "${PIPESTATUS[0]}" >"$2.status"
}
if [ "${1:-}" = --one ]; then
    run "$3" "$2/$(tr / _ <<<"$3")"
    exit
fi

passed=0 failed=0 skipped=0
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
printf '%s\n' "$@" | grep /tests/unit/ | xargs -r -P "${TEST_JOBS:-2}" -I{} "$0" --one "$folder" {}

for program in "$@"; do
    output=$folder/$(tr / _ <<<"$program")
    [ -e "$output.status" ] || run "$program" "$output"
    status=$(<"$output.status")
    read -r good bad skip planned < <(awk '
        /^1\.\.[0-9]+/ { planned += substr($0, 4) }
        /^(not )?ok [0-9]+.*# SKIP/ { skip++; next }
        /^ok [0-9]+/ { good++ }
        /^not ok [0-9]+/ { bad++ }
        END { print good + 0, bad + 0, skip + 0, planned + 0 }' "$output")
    lost=$((planned - good - bad - skip))
    why=
    if [ $lost -gt 0 ]; then
        bad=$((bad + lost))
        why=", ended early with status $status"
    elif [ $status -ne 0 ] && [ "$bad" -eq 0 ]; then
        bad=1
        why=", ended with status $status"
    fi
    [ $status -eq 124 ] && why=", stopped after ${TEST_SECONDS:-120} s"
    printf '%-28s %3d passed' "$(basename "$program")" "$good"
    [ "$bad" -gt 0 ] && printf ', %d failed%s' "$bad" "$why"
    [ "$skip" -gt 0 ] && printf ', %d skipped' "$skip"
    printf '\n'
    if [ "$bad" -gt 0 ]; then
        grep -v '^ok [0-9]' "$output" | sed 's/^/    /'
        echo "    again: $program"
    fi
    passed=$((passed + good)) failed=$((failed + bad)) skipped=$((skipped + skip))
done

[ $skipped -gt 0 ] && echo "$skipped skipped"
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
