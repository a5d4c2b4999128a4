# shellcheck shell=bash
# listener.sh - sourced by a script whose argument is the path of `cuvet`: $pid is the process that listens in
# $XDG_RUNTIME_DIR/cuvet and has launched something. Ends the script with a sentence where there is none.
cuvet=$1

value() { "$cuvet" ctl "$pid" status --json 2>/dev/null | grep -oE "\"$1\":[^,}]*" | cut -d: -f2 | tr -d '"'; }

pid=
for _ in $(seq 200); do
    pid=$(cd "$XDG_RUNTIME_DIR/cuvet" 2>/dev/null && basename -s .sock -- *.sock)
    case $pid in '' | *[!0-9]*) pid= ;; esac
    [ -n "$pid" ] && [ "0$(value seen)" -gt 0 ] && break
    sleep 0.05
done
[ -n "$pid" ] || { echo "nobody listens in $XDG_RUNTIME_DIR/cuvet"; exit; }
