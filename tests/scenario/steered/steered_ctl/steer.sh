#!/bin/bash
# steer.sh CUVET - steers the process that listens in $XDG_RUNTIME_DIR/cuvet, with the program CUVET; prints
# what does not hold. Other processes of this user, which `cuvet ctl` lists too, are left alone.
set -uo pipefail
# shellcheck source=tests/scenario/steered/listener.sh
. "$(dirname "$0")/../listener.sh"

ctl() { "$cuvet" ctl "$pid" "$@" || echo "cuvet ctl $*: status $?"; }
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
