#!/bin/sh
# run.sh [OPTIONS] - what `make bench` runs; options are bench.py's. Without a GPU and without options:
# the part that needs none.
build=${CUVET_BUILD:-build/release}
if [ $# = 0 ] && ! "$build/tests/demo/has_gpu"; then
    echo 'bench: no GPU here. Only the part "interpreter" runs; host, callback, copy, outlier, refs, step, decode and sync need one.'
    set -- --only interpreter
fi
exec python3 "$(dirname "$0")/bench.py" --lib "$build/libcuvet.so" --build "$build/tests/bench" "$@"
