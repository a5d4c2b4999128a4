#!/bin/bash
# check.sh - holds what the stand-in computes against the record of a real GPU (h100.txt); prints TAP.
#
# CONTRACT_DRIVER=real checks the machine's own GPU the same way; CONTRACT_RECORD names a file where its record is kept.
set -uo pipefail
. tests/tap.sh

build=${CUVET_BUILD:-build/release}
here=tests/softgpu/contract
contract=$build/$here/contract
record=$(mktemp)
trap 'rm -f "$record" "$record.bin" "$record.wrong" "$record.wrong.bin"' EXIT

libraries=$PWD/$build/softgpu device='the stand-in'
[ "${CONTRACT_DRIVER:-soft}" != real ] || libraries=${LD_LIBRARY_PATH:-} device='the GPU'

# wrong PATTERN: the record with another checksum in the lines that match.
wrong() { sed "/^$1\t/s/[0-9a-f]\{16\}/0123456789abcdef/" "$record" >"$record.wrong"; }

# lacking NAME: a table without the line; it is reported, and no failure.
lacking() {
    grep -v "^$1	" "$record" >"$record.wrong"
    "$contract" check "$record.wrong" "$record" | grep -q "^not recorded $1$"
}

# skips ARCH: another device has no newest instructions; a sentence gives the reason.
skips() {
    SOFTGPU_ARCH=$1 LD_LIBRARY_PATH=$PWD/$build/softgpu "$contract" record "$record.wrong" "${fatbins[@]}" |&
        grep 'need compute capability 9.0 and no other' && "$contract" plain "$record.wrong" | grep '^0 kernels.* [1-9][0-9]* were skipped'
}

fatbins=("$build/$here"/{contract_kernels,newest_kernels,newest_copies}.fatbin)
ok "$device runs every operation" env LD_LIBRARY_PATH="$libraries" "$contract" record "$record" "${fatbins[@]}"
ok 'its bits are those of an H100' "$contract" check $here/h100.txt "$record"
wrong add.rn.f32
ok 'one wrong checksum is noticed' bash -c "! '$contract' check $here/h100.txt '$record.wrong'"
ok 'what a table lacks is not recorded, and no failure' lacking shuffles
ok 'what a table has is not called absent' bash -c "! '$contract' check '$record' '$record' | grep '^not recorded'"
ok 'the newest instructions give the bits of plain code' "$contract" plain "$record"
for name in wgmma_f16_128 mma_s8_k32 tile_load_f16_128 vectors_f32; do
    wrong $name
    ok "$name: a wrong checksum is noticed" bash -c "! '$contract' plain '$record.wrong'"
done
for arch in 89 100; do
    [ "$device" = 'the GPU' ] || ok "compute capability $arch skips them with a reason" skips $arch
done
"$contract" check $here/h100.txt "$record" | grep 'are not recorded' | sed 's/^/# /'
[ -z "${CONTRACT_RECORD:-}" ] || cp "$record" "$CONTRACT_RECORD"
done_testing
