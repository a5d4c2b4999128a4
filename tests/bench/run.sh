#!/bin/sh
# run.sh [OPTIONS] - what `make bench` runs; options are bench.py's.
build=${CUVET_BUILD:-build/release}
exec python3 "$(dirname "$0")/bench.py" --lib "$build/libcuvet.so" --build "$build/tests/bench" "$@"
