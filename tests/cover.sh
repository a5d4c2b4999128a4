#!/bin/bash
# cover.sh TEST ... - runs the tests and the scenarios of a build with VARIANT=cover, then prints what they
# executed: tools/dev/cover-report. `make cover` runs it; it takes CUVET_BUILD from the Makefile.
#
# The tests' own words are in $CUVET_BUILD/cover/tests.log; one that fails is named, and what it executed
# counts all the same.
set -uo pipefail
build=$CUVET_BUILD
log=$build/cover/tests.log
reports=$build/cover/reports
bad='^ *not ok|[^0-9][1-9][0-9]* failed'
failed=0

# Of an earlier run, or of an earlier build.
find "$build" -name '*.gcda' -delete
rm -rf "$build/cover"
mkdir -p "$reports" "$build/cover/tmp"
export TMPDIR=$PWD/$build/cover/tmp

echo "cover: $# programs of tests"
tests/run_unit.sh "$@" >"$log" 2>&1 || failed=1
echo 'cover: the scenarios'
SCENARIO_REPORT=$PWD/$reports tests/scenario/run.sh >>"$log" 2>&1 || failed=1
tools/dev/cover-report "$build" "$reports" || failed=1
if grep -qE "$bad" "$log"; then
    printf '\ntests that failed (%s):\n' "$log"
    grep -E "$bad" "$log"
fi
exit $failed
