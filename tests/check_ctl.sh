#!/bin/bash
# check_ctl.sh - processes that are steered: from outside by `cuvet ctl`, from inside by the examples
# of README.md. tests/control/world.c stands in for libcuvet.so and a GPU.
#
# Takes CUVET_BUILD and VARIANT from the Makefile.
set -uo pipefail
. tests/tap.sh

build=$PWD/$CUVET_BUILD
cuvet=$build/cuvet
world=$build/tests/control/world.so
scratch=$(mktemp -d)
export XDG_RUNTIME_DIR=$scratch/run
mkdir "$XDG_RUNTIME_DIR"
pids=()
finish() {
    for pid in "${pids[@]}"; do kill -9 "$pid" 2>/dev/null; done
    rm -rf "$scratch"
}
trap finish EXIT

case ${VARIANT:-release} in
san | tsan)
    skip 'ctl: processes that are steered' 'a sanitizer wants to come first'
    done_testing
    exit
    ;;
esac

# begins: a process that sleeps and launches, in $pid; returns when it can be reached. Not in `ok`,
# which captures.
begins() {
    env LD_PRELOAD="$world" WORLD_PROGRAM=/sleep sleep 60 >/dev/null 2>&1 &
    pid=$!
    pids+=("$pid")
    disown # it is killed without a word of the shell
    reachable "$pid"
}
reachable() {
    for _ in $(seq 100); do
        "$cuvet" ctl "$1" status >/dev/null 2>&1 && return
        sleep 0.05
    done
    echo "process $1 cannot be reached"
    return 1
}

# says STATUS PATTERN COMMAND ...: the exit status and a pattern in what it prints on either stream.
says() {
    local status=$1 pattern=$2 said got
    shift 2
    said=$(timeout 20 "$@" 2>&1)
    got=$?
    if [ $got -ne "$status" ]; then
        echo "status $got, not $status: $said"
        return 1
    fi
    grep -qE -- "$pattern" <<<"$said" || {
        echo "no $pattern in: $said"
        return 1
    }
}

# value KEY: of status.
value() { "$cuvet" ctl "$pid" status --json | grep -oE "\"$1\":[^,}]*" | cut -d: -f2 | tr -d '"'; }
is() { # KEY VALUE
    local got
    got=$(value "$1")
    [ "$got" = "$2" ] || { echo "$1 is $got, not $2"; return 1; }
}
grows() { # KEY [not]
    local before after
    before=$(value "$1")
    sleep 0.2
    after=$(value "$1")
    if [ "${2:-}" = not ]; then [ "$before" = "$after" ]; else [ "$after" -gt "$before" ]; fi ||
        { echo "$1 went from $before to $after"; return 1; }
}

if compgen -G "/tmp/cuvet-$(id -u)/*.sock" >/dev/null || compgen -G "/run/user/$(id -u)/cuvet/*.sock" >/dev/null; then
    skip 'ctl: nobody can be reached' 'this user has other processes under cuvet'
else
    ok 'ctl: nobody can be reached' says 3 'no process of this user' "$cuvet" ctl
fi
ok 'ctl: nor this one' says 3 'no cuvet serves process 1;' "$cuvet" ctl 1 status
for wrong in 'x status' '0 status' '-1 status' '1' '1 judge' '1 sample' '1 sample 2' '1 sample x' \
    '1 flush x' '1 flush 60001' '1 stop 1 2' '1 status 5' '1 start now' '1 top -n 0' '1 stop --json' \
    '1 status -n 3' '1 status --what' '-n 3'; do
    # shellcheck disable=SC2086 # words
    ok "ctl: wrong command line: $wrong" says 2 '^usage: cuvet ctl' "$cuvet" ctl $wrong
done
ok 'ctl: help' says 0 '^usage: cuvet ctl' "$cuvet" ctl --help

begins
first=$pid
ok 'ctl: a process begins' reachable "$pid"
ok 'ctl: its folder is private' says 0 '^700$' stat -c %a "$XDG_RUNTIME_DIR/cuvet"
ok 'ctl: status' says 0 'running, sample 1' "$cuvet" ctl "$pid" status
ok 'ctl: status --json has the counters' says 0 \
    "^\{\"pid\":$pid,\"program\":\"[^\"]*sleep\",\"version\":.*\"seen\":[0-9]+.*\"skips\":\{" \
    "$cuvet" ctl "$pid" status --json
if command -v python3 >/dev/null; then
    # shellcheck disable=SC2016
    ok 'ctl: status --json is JSON' bash -c \
        '"$0" ctl "$1" status --json | python3 -c "import json, sys; json.load(sys.stdin)"' "$cuvet" "$pid"
else
    skip 'ctl: status --json is JSON' 'no python3'
fi
ok 'ctl: launches are checked' grows checked
ok 'ctl: mismatches are counted' grows mismatch
ok 'ctl: stop' says 0 '^$' "$cuvet" ctl "$pid" stop 5000
ok 'ctl: it is stopped' is state stopped
ok 'ctl: then nothing is checked' grows checked not
ok 'ctl: while it launches' grows seen
ok 'ctl: and status says why' says 0 'unchecked +[0-9]+ off' "$cuvet" ctl "$pid" status
ok 'ctl: start' says 0 '^$' "$cuvet" ctl "$pid" start
ok 'ctl: it runs again' grows checked
ok 'ctl: sample' says 0 '^$' "$cuvet" ctl "$pid" sample 0
ok 'ctl: the sample is set' is sample 0
"$cuvet" ctl "$pid" flush 2000
ok 'ctl: and holds' grows checked not
"$cuvet" ctl "$pid" sample 1
ok 'ctl: flush' says 0 '^$' "$cuvet" ctl "$pid" flush 5000

begins
ok 'ctl: the list' says 0 "^ +$first +running.*/sleep" "$cuvet" ctl
ok 'ctl: names both' says 0 "^ +$pid +running.*/sleep" "$cuvet" ctl
# shellcheck disable=SC2016
ok 'ctl: the list as JSON' bash -c '"$0" ctl --json | tee "$3/list.json" | python3 -m json.tool >/dev/null && python3 -c "
import json, sys
states = {p[\"pid\"]: p[\"state\"] for p in json.load(open(sys.argv[1]))[\"processes\"]}
assert states[int(sys.argv[2])] == states[int(sys.argv[3])] == \"running\", states" "$3/list.json" "$1" "$2"' \
    "$cuvet" "$first" "$pid" "$scratch"
# shellcheck disable=SC2016
ok 'ctl: top twice without a terminal' bash -c \
    '[ "$("$0" ctl "$1" top -n 2 | grep -cE "^add +[0-9]+ ")" -eq 2 ]' "$cuvet" "$pid"
ok 'ctl: top once by itself' says 0 'launches \(0/s\)' "$cuvet" ctl "$pid" top
if command -v script >/dev/null; then
    ok 'ctl: top redraws on a terminal' says 0 $'\033\\[H.*cuvet' \
        script -qec "$cuvet ctl $pid top -n 2" /dev/null
else
    skip 'ctl: top redraws on a terminal' 'no script(1)'
fi
(
    sleep 1.5
    kill -9 "$first"
) &
ok 'ctl: top ends with the process' says 0 'has ended' "$cuvet" ctl "$first" top -n 60
other=$pid
begins
kill -9 "$pid"
sleep 0.1
ok 'ctl: a killed process leaves its socket' test -S "$XDG_RUNTIME_DIR/cuvet/$pid.sock"
ok 'ctl: which the next ctl removes' says 3 'no cuvet serves' "$cuvet" ctl "$pid" status
ok 'ctl: for good' test ! -e "$XDG_RUNTIME_DIR/cuvet/$pid.sock"
pid=$other
ok 'ctl: and leaves the others' reachable "$pid"

# A silent client must not keep others out, nor one that floods.
if command -v python3 >/dev/null; then
    cat >"$scratch/hostile.py" <<'PYTHON'
import socket, sys, time
def open_one():
    s = socket.socket(socket.AF_UNIX)
    s.connect(sys.argv[1])
    return s
idle = [open_one() for _ in range(8)]
for payload in (b"\0" * 100000, b"status " * 10000, b"\xff\n", b"sample 7\n", b"stop 1 1\n"):
    s = open_one()
    try:
        s.sendall(payload)
    except OSError:
        pass
time.sleep(0.2)
PYTHON
    ok 'ctl: hostile clients' timeout 20 python3 "$scratch/hostile.py" \
        "$XDG_RUNTIME_DIR/cuvet/$pid.sock"
    ok 'ctl: do no harm' is state running
else
    skip 'ctl: hostile clients' 'no python3'
fi

chmod 755 "$XDG_RUNTIME_DIR/cuvet"
ok 'ctl: a folder that others may enter is not used' says 3 'no cuvet serves' \
    "$cuvet" ctl "$pid" status
chmod 700 "$XDG_RUNTIME_DIR/cuvet"

# A process that ends by itself takes its socket along, soon, and with its own status.
began=$(date +%s%N)
env LD_PRELOAD="$world" WORLD_PROGRAM=/sleep sleep 0.3
ended=$?
ok 'ctl: the exit is soon' test $((($(date +%s%N) - began) / 1000000)) -lt 3000
ok 'ctl: with the program'"'"'s status' test $ended -eq 0
ok 'ctl: and the socket is gone' test "$(ls "$XDG_RUNTIME_DIR/cuvet")" = "$pid.sock"

ok 'inside: the example in C' says 0 '^[0-9]+ launches match, [1-9][0-9]* do not; checking took' \
    env LD_PRELOAD="$world" WORLD_PROGRAM=/inside "$build/tests/control/inside"
ok 'inside: which names the wrong launches' says 0 '^add: launch [0-9]+: 1 of 32 elements are wrong' \
    env LD_PRELOAD="$world" WORLD_PROGRAM=/inside "$build/tests/control/inside"
ok 'inside: and is quiet without cuvet' says 0 '^$' "$build/tests/control/inside"
python=$(python3 -c 'import os, sys; print(os.path.realpath(sys.executable))' 2>/dev/null)
if [ -n "$python" ]; then
    ok 'inside: the example in Python' says 1 '^add: launch [0-9]+ is wrong, [0-9.e+]+ times its bound' \
        env LD_PRELOAD="$world" WORLD_PROGRAM="$python" "$python" tests/control/inside.py
    ok 'inside: without cuvet' says 1 '^not under cuvet$' "$python" tests/control/inside.py
else
    skip 'inside: the example in Python' 'no python3'
fi
done_testing
