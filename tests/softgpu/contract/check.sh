#!/bin/bash
# check.sh - holds what the stand-in computes against the record of a real GPU (h100.txt); speaks TAP.
set -uo pipefail
. tests/tap.sh

build=${CUVET_BUILD:-build/release}
here=tests/softgpu/contract
record=$(mktemp)
trap 'rm -f "$record" "$record.bin" "$record.wrong"' EXIT

ok 'the stand-in runs every operation' env LD_LIBRARY_PATH="$PWD/$build/softgpu" \
    "$build/$here/contract" record "$record" "$build/$here/contract_kernels.fatbin"
ok 'its bits are those of an H100' "$build/$here/contract" check $here/h100.txt "$record"
sed '/^add.rn.f32\t/s/[0-9a-f]\{16\}/0123456789abcdef/' "$record" >"$record.wrong"
ok 'one wrong checksum is noticed' bash -c "! '$build/$here/contract' check $here/h100.txt '$record.wrong'"
done_testing
