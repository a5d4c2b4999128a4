#!/bin/bash
# sample.sh CUVET - samples each launch from now on in the process that listens in $XDG_RUNTIME_DIR/cuvet, and
# waits until 40 more launches have been counted; prints what does not hold.
set -uo pipefail
# shellcheck source=tests/scenario/steered/listener.sh
. "$(dirname "$0")/listener.sh"

# reaches KEY COUNT: within some seconds.
reaches() {
    for _ in $(seq 200); do
        [ "0$(value "$1")" -ge "$2" ] && return
        sleep 0.05
    done
    echo "$1 stays at $(value "$1"), expected $2"
}

seen=$(value seen)
"$cuvet" ctl "$pid" sample 1 || echo "cuvet ctl sample: status $?"
reaches seen $((seen + 40))
