#!/bin/bash
# sample.sh CUVET - samples each launch from now on in the process that listens in $XDG_RUNTIME_DIR/cuvet, and
# waits until 40 more launches have been counted; prints what does not hold.
set -uo pipefail
cuvet=$1

value() { "$cuvet" ctl "$pid" status --json 2>/dev/null | grep -oE "\"$1\":[^,}]*" | cut -d: -f2 | tr -d '"'; }
# reaches KEY COUNT: within some seconds.
reaches() {
    for _ in $(seq 200); do
        [ "0$(value "$1")" -ge "$2" ] && return
        sleep 0.05
    done
    echo "$1 stays at $(value "$1"), expected $2"
}

pid=
for _ in $(seq 200); do
    pid=$(cd "$XDG_RUNTIME_DIR/cuvet" 2>/dev/null && basename -s .sock -- *.sock)
    case $pid in '' | *[!0-9]*) pid= ;; esac
    [ -n "$pid" ] && [ "0$(value seen)" -gt 0 ] && break
    sleep 0.05
done
[ -n "$pid" ] || { echo "nobody listens in $XDG_RUNTIME_DIR/cuvet"; exit; }

seen=$(value seen)
"$cuvet" ctl "$pid" sample 1 || echo "cuvet ctl sample: status $?"
reaches seen $((seen + 40))
