#!/bin/bash
# steer.sh CUVET - steers the process that listens in $XDG_RUNTIME_DIR/cuvet, with the program CUVET; prints
# what does not hold. Others of this user are listed by `cuvet ctl` too, and none of our business.
set -uo pipefail
cuvet=$1

ctl() { "$cuvet" ctl "$pid" "$@" || echo "cuvet ctl $*: status $?"; }
value() { "$cuvet" ctl "$pid" status --json 2>/dev/null | grep -oE "\"$1\":[^,}]*" | cut -d: -f2 | tr -d '"'; }
is() { # KEY VALUE
    local got
    got=$(value "$1")
    [ "$got" = "$2" ] || echo "$1 is $got, expected $2"
}
# grows KEY: within some seconds, by 3.
grows() {
    local before now
    before=$(value "$1")
    for _ in $(seq 200); do
        now=$(value "$1")
        [ "${now:-0}" -ge $((${before:-0} + 3)) ] && return
        sleep 0.05
    done
    echo "$1 stays at $now $2"
}
# rests KEY: while launches go on.
rests() {
    local before now
    before=$(value "$1")
    grows seen "$2"
    now=$(value "$1")
    [ "$before" = "$now" ] || echo "$1 goes from $before to $now $2"
}

pid=
for _ in $(seq 200); do
    pid=$(cd "$XDG_RUNTIME_DIR/cuvet" 2>/dev/null && basename -s .sock -- *.sock)
    case $pid in '' | *[!0-9]*) pid= ;; esac
    [ -n "$pid" ] && [ "0$(value seen)" -gt 0 ] && break
    sleep 0.05
done
[ -n "$pid" ] || { echo "nobody listens in $XDG_RUNTIME_DIR/cuvet"; exit; }

is state running
grows checked 'at first'
ctl stop 10000
is state stopped
rests checked 'after stop'
ctl start
is state running
grows checked 'after start'
ctl sample 0
is sample 0
ctl flush 10000
rests checked 'with sample 0'
ctl sample 1
grows checked 'with sample 1'
"$cuvet" ctl | grep -qE "^ +$pid +running" || echo "process $pid is not in the list"
"$cuvet" ctl "$pid" status | grep -qE '^ +(unchecked +)?[0-9]+ off$' || echo 'status does not say that launches were off'
