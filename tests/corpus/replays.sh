#!/bin/bash
# replays.sh - findings of `cuvet fuzz` on the corpus as bundles: each is replayed byte for byte, and probed.
#
# FUZZ_DEVICE=gpu runs all on the GPU. FUZZ_JOBS (2): replays side by side. Takes CUVET_BUILD from the Makefile.
set -uo pipefail
. tests/tap.sh

cuvet=$CUVET_BUILD/cuvet
corpus=$CUVET_BUILD/tests/corpus
device=${FUZZ_DEVICE:-interpreter}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# fuzz OPTIONS: on the corpus.
fuzz() {
    "$cuvet" fuzz -c "$corpus/registry.yaml" --device "$device" "$@" "$corpus/corpus.fatbin" >"$scratch/out" 2>&1
}

# Mutants that one launch does not show: its fault is kept from the launch before.
alone='l2norm_f32_3'
# Threads that do not wait for each other: on a GPU another launch gives other bytes.
races='row_sum_f32_2|softmax_f32_5|residual_add_bf16_2'
[ "$device" = interpreter ] || alone="$alone|$races"
# A mutant whose fault lies beyond 2^31 elements; cases have 65536.
beyond='row_sum_f16_3'

# reproduced FOLDER: replay finds the same bytes in all outputs, and the finding.
reproduced() {
    local got out
    out=$("$cuvet" replay --device "$device" "$1" 2>&1)
    got=$?
    [ $got -eq 3 ] && grep -q '^ *reproduced every output has' <<<"$out" && return
    echo "status $got"
    echo "$out"
    return 1
}

# one KERNEL: its finding's bundle is there, and reproduced.
one() {
    local bundle
    bundle=$(compgen -G "$scratch/report/$1-*") && reproduced "$bundle" && return
    echo "$1"
    return 1
}
export -f reproduced one
export cuvet device scratch

# all OF KIND: the finding of each such kernel; 16 kernels at a time, for each bundle holds the whole image.
all() {
    local kernels missed=0
    mapfile -t kernels < <(awk -v of="$1" -v kind="$2" '$1 == of && $2 == kind { print $3 }' "$corpus/kernels" |
        grep -vxE "$alone|$beyond")
    [ ${#kernels[@]} -gt 0 ] || return 1
    for ((at = 0; at < ${#kernels[@]}; at += 16)); do
        rm -rf "$scratch/report"
        # shellcheck disable=SC2046
        fuzz $(printf ' -k %s' "${kernels[@]:at:16}") --shrink 0 -o "$scratch/report"
        printf '%s\n' "${kernels[@]:at:16}" | xargs -P "${FUZZ_JOBS:-2}" -I{} bash -c 'one {}' || missed=1
    done
    return $missed
}
ok 'study: each finding is reproduced byte for byte' all study wrong
ok 'mutants: each finding is reproduced byte for byte' all own wrong
ok 'mutants that no reference shows: each finding is reproduced' all own escapes

# damaged COMMAND ...: run in a copy of a bundle, whose surroundings are then no longer what launch.json says.
damaged() {
    local got
    rm -rf "$scratch/report" "$scratch/copy"
    fuzz -k add_f32_1 --shrink 0 -o "$scratch/report"
    cp -r "$(compgen -G "$scratch/report/add_f32_1-*")" "$scratch/copy"
    (cd "$scratch/copy" && "$@") || return 1
    "$cuvet" replay --device interpreter "$scratch/copy" >"$scratch/out" 2>"$scratch/err"
    got=$?
    [ $got -eq 2 ] && [ ! -s "$scratch/out" ] && [ "$(wc -l <"$scratch/err")" -eq 1 ] && return
    echo "status $got"
    cat "$scratch/out" "$scratch/err"
    return 1
}
ok 'surroundings that end early' damaged truncate -s 100 surroundings.bin
ok 'surroundings that are not there' damaged rm surroundings.bin
ok 'surroundings of no size' damaged sed -i '/"surroundings"/,/}/s/"bytes": [0-9]*/"bytes": -1/' launch.json
ok 'surroundings at no address' damaged sed -i '/"surroundings"/,/}/s/"address": "0x/"address": "/' launch.json

# probed KERNEL CHECK: of a case of the kernel, that check finds something.
probed() {
    rm -rf "$scratch/report"
    fuzz -k "$1" --shrink 0 -o "$scratch/report"
    "$cuvet" probe --device "$device" "$(compgen -G "$scratch/report/$1-*")" >"$scratch/shown" 2>&1
    [ $? -eq 3 ] && grep -q "^  $2  *finding" "$scratch/shown" && return
    cat "$scratch/out" "$scratch/shown"
    return 1
}
ok 'probe: a write behind the output' probed scale_f32_3 outside
ok 'probe: a write into an input' probed silu_backward_f32_2 inputs
ok 'probe: what is kept from the launch before' probed l2norm_f32_3 state
for kernel in cross_entropy_backward_bf16_2 softmax_causal_bf16_2 embedding_bf16_2 add_f32_2; do
    ok "probe: elements that $kernel never writes" probed $kernel writes
done
if [ "$device" = interpreter ]; then
    for kernel in ${races//|/ }; do
        ok "probe: threads of $kernel that do not wait" probed $kernel steady
    done
fi

# far KERNEL STATUS: of a case of the kernel with rows beyond 2^32 elements.
far() {
    fuzz -k "$1" --cases 4 --findings 0 --shrink 0 --probe=far
    [ $? -eq "$2" ] && return
    cat "$scratch/out"
    return 1
}
if [ "$device" = interpreter ]; then
    ok 'probe: an offset in 32 bits without a sign' far $beyond 3
    ok 'probe: an offset in 64 bits' far row_sum_f16_0 0
fi

# calm: no right kernel, but for one whose atomics give other bits in another order.
calm() {
    # shellcheck disable=SC2046
    fuzz $(awk '$2 == "right" && $3 !~ /^index_add_atomic/ { print "-k " $3 }' "$corpus/kernels") --cases 2 --findings 0 --probe &&
        ! grep -q 'not probed' "$scratch/out" && return
    grep -A1 -e --case -e 'not probed' -e 'cuvet fuzz:' "$scratch/out"
    return 1
}
ok 'probes find nothing in the right kernels' calm
done_testing
