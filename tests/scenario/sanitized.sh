#!/bin/bash
# sanitized.sh - what a sanitizer build runs: the threads scenarios, then one sweep; prints TAP.
set -uo pipefail
. tests/tap.sh

ok "threads scenarios, ${VARIANT:-release}" tests/scenario/run.sh threads
ok "a sweep of failing driver calls, ${VARIANT:-release}" tests/scenario/sweep.sh update_quiet
done_testing
