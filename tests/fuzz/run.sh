#!/bin/bash
# run.sh BUILD/tests/fuzz [TARGET ...] - each target under libFuzzer for FUZZ_SECONDS (600), as many at once as there are
# cores. New inputs go to BUILD/tests/fuzz/found/TARGET; a crash leaves its input in BUILD/tests/fuzz/crashes.
set -uo pipefail
out=$1
shift
mapfile -t all < <(sed -n 's/^    {"\([a-z_]*\)", target_.*/\1/p' tests/fuzz/targets.c)
[ $# -gt 0 ] || set -- "${all[@]}"
mkdir -p "$out/crashes"

run_target() {
    mkdir -p "$1/found/$2"
    log=$1/$2.log
    if FUZZ_TARGET=$2 "$1/libfuzzer" -max_total_time="${FUZZ_SECONDS:-600}" -timeout=10 -rss_limit_mb=2048 -max_len=65536 \
        -verbosity=1 -artifact_prefix="$1/crashes/$2-" "$1/found/$2" "$1/corpus/$2" >"$log" 2>&1; then
        echo "ok - $2: $(grep -oE 'Done [0-9]+ runs' "$log")"
    else
        echo "not ok - $2: $log"
        grep -m 3 -E 'ERROR|SUMMARY|runtime error' "$log" | sed 's/^/    /'
        return 1
    fi
}
export -f run_target
printf '%s\0' "$@" | xargs -0 -P "$(nproc)" -I '{}' bash -c 'run_target "$0" "$1"' "$out" '{}'
