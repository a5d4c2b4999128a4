#!/bin/sh
# check.sh - every fuzz target on its corpus and on some inputs made of it, for `make test`: TAP.
exec "$CUVET_BUILD/tests/fuzz/fuzz" --rounds 1000 "$CUVET_BUILD/tests/fuzz/corpus"
