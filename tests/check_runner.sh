#!/bin/bash
# check_runner.sh - what runs the tests counts right: tests/run_unit.sh, scripts in parts (tests/parts.sh), and the
# binary of a room of unit tests (tests/unit/room.c).
set -uo pipefail
. tests/tap.sh

root=$PWD
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
runner=$root/tests/run_unit.sh

# prints STATUS PATTERN COMMAND ...: in the scratch folder.
prints() {
    local status=$1 pattern=$2 said got
    shift 2
    said=$(cd "$scratch" && "$@" 2>&1)
    got=$?
    [ $got -eq "$status" ] && grep -qE -- "$pattern" <<<"$said" && return
    echo "status $got, expected $status and $pattern:"
    echo "$said"
    return 1
}

# script NAME LINE ...: a program of the shell.
script() {
    printf '%s\n' '#!/bin/bash' "${@:2}" >"$scratch/$1"
    chmod +x "$scratch/$1"
}

script good 'printf "1..2\nok 1 - a\nok 2 - b # SKIP why\n"'
script mixed 'printf "1..3\nok 1 - a\nnot ok 2 - b\nok 3 - c\n"; exit 1'
script crash 'printf "1..2\nok 1 - a\n"; kill -SEGV $$'
script late 'printf "1..1\n"; sleep 5'
ok 'all is well' prints 0 '^1 passed, 0 failed' "$runner" ./good
ok 'skipped tests are counted' prints 0 '^1 skipped' "$runner" ./good
ok 'failed tests are counted' prints 1 '^2 passed, 1 failed' "$runner" ./mixed
ok 'the output of a failed test is shown' prints 1 '^    not ok 2 - b' "$runner" ./mixed
ok 'a crash is a failure' prints 1 '^1 passed, 1 failed' "$runner" ./crash
ok 'a program without an end is stopped' prints 1 'failed, stopped after 1 s' env TEST_SECONDS=1 "$runner" ./late
ok 'one failure does not hide the others' prints 1 '^4 passed, 2 failed' "$runner" ./good ./mixed ./crash

# in_parts LIST BODY: a script of those parts; each is run by BODY, as function part.
parted() {
    script parted.sh "cd $root || exit" '. tests/tap.sh' '. tests/parts.sh' \
        "list() { printf '%s\n' $1; }" "part() { $2; }" 'in_parts "$@"'
}
parted 'a b "c d"' 'ok "$1" [ "$1" != x ]; ok again true'
ok 'parts are one program' prints 0 '^\./parted.sh +6 passed$' "$runner" ./parted.sh
ok 'beside other programs' prints 0 '^7 passed, 0 failed' "$runner" ./good ./parted.sh
ok 'a script in parts numbers its tests alone, too' prints 0 '^ok 6 - ' "$scratch/parted.sh"
parted 'a b c' 'if [ "$1" = b ]; then kill -SEGV $$; fi; ok "$1" true'
ok 'a part that crashes is one failure' prints 1 '^2 passed, 1 failed' "$runner" ./parted.sh
ok 'and is named' prints 1 '^    not ok .*part b, ended' "$runner" ./parted.sh
parted 'a b' '[ "$1" = a ] || ok "$1" true'
ok 'a part without a test is a failure' prints 1 '^1 passed, 1 failed' "$runner" ./parted.sh
parted 'a b' 'ok "$1" [ "$1" = a ]'
ok 'a part that fails is a failure' prints 1 '^1 passed, 1 failed' "$runner" ./parted.sh
ok 'with one plan for all parts' prints 1 '^    1\.\.2$' "$runner" ./parted.sh
ok 'alone, too' prints 1 '^not ok ' "$scratch/parted.sh"
parted 'a b' 'if [ "$1" = b ]; then kill -SEGV $$; fi; ok "$1" true'
ok 'a crash fails the script alone, too' prints 1 '^not ok [12] - part b' "$scratch/parted.sh"

# A room of two groups, the first of which crashes.
cat >"$scratch/groups.c" <<'C'
#include <signal.h>
#include <stdio.h>
int main_test_first(int argc, char **argv);
int main_test_second(int argc, char **argv);
int main_test_first(int argc, char **argv)
{
    (void)argv;
    if (argc > 1)
        puts("first");
    return argc > 1 ? 0 : raise(SIGABRT);
}
int main_test_second(int argc, char **argv)
{
    (void)argc, (void)argv;
    puts("second");
    return 0;
}
C
"${CC:-cc}" -D_GNU_SOURCE '-DROOM_GROUPS=GROUP(test_first) GROUP(test_second)' -o "$scratch/room" tests/unit/room.c \
    "$scratch/groups.c" && ln "$scratch/room" "$scratch/test_first" && ln "$scratch/room" "$scratch/test_second"
ok 'a group of a room is run by its name' prints 0 '^second$' ./test_second
ok 'and gets its arguments' prints 0 '^first$' ./test_first x
ok 'a group that crashes does not hide the next' prints 1 '^second$' ./room
ok 'and is named' prints 1 '^test_first: ended' ./room
done_testing
