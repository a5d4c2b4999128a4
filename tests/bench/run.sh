#!/bin/sh
# run.sh [OPTIONS] - what `make bench` runs; options are bench.py's. Without a GPU and without options:
# the parts that need none.
build=${CUVET_BUILD:-build/release}
if [ $# = 0 ] && ! "$build/tests/demo/has_gpu"; then
    echo 'bench: no GPU here. Only the parts "gate", "hook" and "interpreter" run; all others need one.'
    set -- --only gate --only hook --only interpreter
fi
exec python3 "$(dirname "$0")/bench.py" --lib "$build/libcuvet.so" --build "$build/tests/bench" "$@"
