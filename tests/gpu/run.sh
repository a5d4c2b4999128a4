#!/bin/sh
# run.sh [WORD...] - what `make gpu-test` runs: all cases, or those whose name holds a word.
build=${CUVET_BUILD:-build/release}
here=$(dirname "$0")
only=
for word in "$@"; do
    only="$only --only $word"
done
# shellcheck disable=SC2086 # words of TESTS hold no blanks
exec python3 "$here/run.py" --lib "$build/libcuvet.so" --cuvet "$build/cuvet" \
    --build "$build/tests/gpu" $only
