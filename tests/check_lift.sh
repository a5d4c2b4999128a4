#!/bin/bash
# check_lift.sh - `cuvet lift` as a shell starts it: bundles of a golden kernel and of kernels that compute the same in
# other orders (tests/lift), images, options, and what it refuses.
#
# Takes CUVET_BUILD from the Makefile.
set -uo pipefail
. tests/tap.sh

cuvet=$CUVET_BUILD/cuvet
orders=$CUVET_BUILD/tests/lift/orders.ptx
golden=tests/golden/bundle-2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# gives STATUS PATTERN COMMAND ...: the exit status, and a line of standard output or standard error.
gives() {
    local status=$1 pattern=$2 got
    shift 2
    "$@" >"$scratch/out" 2>&1
    got=$?
    if [ $got -ne "$status" ] || ! grep -qE -- "$pattern" "$scratch/out"; then
        echo "status $got, expected $status and $pattern:"
        cat "$scratch/out"
        return 1
    fi
}

# A wrong formula in f32 is no loss of digits.
ok 'a wrong formula is within its bound' gives 0 '0 of 40 elements outside' "$cuvet" lift $golden
ok 'its limits are printed' gives 0 'does not see wrong formulas' "$cuvet" lift $golden

# Its product rounded to bf16, before the result is stored in f32.
rounded() {
    sed 's/st.global.f32 *\[\(%rd[0-9]*\)\], \(%f[0-9]*\);/{ .reg .b16 %low; cvt.rn.bf16.f32 %low, \2; mov.b32 \2, {0, %low}; } &/' \
        $golden/module.ptx >"$scratch/rounded.ptx"
    gives 3 'lost at .*PTX line [0-9]+: cvt.rn.bf16.f32' "$cuvet" lift --image "$scratch/rounded.ptx" $golden &&
        gives 3 '"instruction":"cvt.rn.bf16.f32"' "$cuvet" lift --json --image "$scratch/rounded.ptx" $golden &&
        gives 0 '0 of 40 elements outside' "$cuvet" lift --rounds bf16 --image "$scratch/rounded.ptx" $golden &&
        gives 0 '0 of 40 elements outside' "$cuvet" lift --accumulate bf16 --image "$scratch/rounded.ptx" $golden
}
ok 'a rounding in the middle is named, unless it is declared' rounded

# All of the launch, its PTX rewritten.
whole() {
    gives 0 'whole      0 of 40 stored elements outside on PTX interpreter' "$cuvet" lift --device interpreter $golden &&
        gives 3 'whole      40 of 40 stored elements outside' "$cuvet" lift --device interpreter --image "$scratch/strict.ptx" $golden &&
        gives 3 'worst y\[[0-9]+\]: ' "$cuvet" lift --device interpreter --image "$scratch/strict.ptx" $golden &&
        gives 3 '"whole":\{"device":"PTX interpreter","not_held":null,"checked":40,"outside":40,' \
            "$cuvet" lift --json --device interpreter --image "$scratch/strict.ptx" $golden
}
# Its sum rounded to bf16 in a loop of eight turns.
sed 's/st.global.f32 *\[\(%rd[0-9]*\)\], \(%f[0-9]*\);/{ .reg .b16 %low; .reg .b32 %turn; .reg .pred %more; mov.b32 %turn, 0; TURN: cvt.rn.bf16.f32 %low, \2; mov.b32 \2, {0, %low}; add.f32 \2, \2, 0f3A83126F; add.s32 %turn, %turn, 1; setp.lt.s32 %more, %turn, 8; @%more bra TURN; } &/' \
    $golden/module.ptx >"$scratch/strict.ptx"
ok 'a whole launch of rewritten PTX' whole
# The way through the driver, on the stand-in.
driver() {
    gives 0 'whole      0 of 40 stored elements outside on ' env LD_LIBRARY_PATH="$PWD/$CUVET_BUILD/softgpu" "$cuvet" lift --device gpu $golden &&
        ! grep -q 'on PTX interpreter' "$scratch/out"
}
if [ -e "$CUVET_BUILD/softgpu/libcuda.so.1" ]; then
    ok 'a whole launch by the driver' driver
fi
refusals() {
    gives 0 'whole      not held on PTX interpreter: the declared accumulator is narrower' \
        "$cuvet" lift --device interpreter --accumulate bf16 $golden &&
        sed 's/st.global.f32/st.volatile.global.f32/' $golden/module.ptx >"$scratch/volatile.ptx" &&
        gives 0 'whole      not held on PTX interpreter: .*ordered or volatile' \
            "$cuvet" lift --device interpreter --image "$scratch/volatile.ptx" $golden &&
        gives 2 'no such device|expected' "$cuvet" lift --device nowhere $golden &&
        gives 2 'neither --exact nor --check' "$cuvet" lift --device interpreter --check $golden
}
ok 'what cannot be rewritten has a reason' refusals
# Both pointers lead to the same memory, and there are stores through both.
same_memory() {
    mkdir "$scratch/same" && cp $golden/* "$scratch/same" &&
        sed -i 's/0000e0cb6c7f0000/0010e0cb6c7f0000/' "$scratch/same/launch.json" &&
        sed 's/^ret;/{ .reg .f32 %zero; mov.f32 %zero, 0f00000000; st.global.f32 [%rd17], %zero; } &/' \
            $golden/module.ptx >"$scratch/same/module.ptx" &&
        gives 0 'not held on PTX interpreter: p0 and p1 are written, and are the same memory' \
            "$cuvet" lift --device interpreter "$scratch/same"
}
ok 'results that are the same memory' same_memory

some_blocks() {
    gives 0 'followed   1 of 4 blocks' "$cuvet" lift --blocks 1 $golden && ! grep -q 'no element' "$scratch/out"
}
ok 'of a larger grid, the blocks that the verdict names' some_blocks

# Ten elements of each of the four blocks, of which block 2 rounds its products to bf16.
third='{ .reg .b16 %low; .reg .u32 %which; .reg .pred %third; mov.u32 %which, %ctaid.x; setp.eq.u32 %third, %which, 2; @%third cvt.rn.bf16.f32 %low, \2; @%third mov.b32 \2, {0, %low}; }'
ten='{ .reg .pred %over; setp.ge.u32 %over, %r21, 10; @%over ret; }'
listed_blocks() {
    sed -e "s/st.global.f32 *\[\(%rd[0-9]*\)\], \(%f[0-9]*\);/$third &/" -e 's/%ntid.x;/10;/' -e "s/mov.u32 %r21, %tid.x;/& $ten/" \
        $golden/module.ptx >"$scratch/third.ptx"
    gives 3 ' [1-9][0-9]* of 40 elements outside' "$cuvet" lift --image "$scratch/third.ptx" $golden &&
        gives 0 ' 0 of 30 elements outside \(40 are stored\)' "$cuvet" lift --image "$scratch/third.ptx" --blocks 0-1,3 $golden &&
        gives 3 'followed   1 of 4 blocks, the others did not run' "$cuvet" lift --image "$scratch/third.ptx" --blocks 2-2 $golden &&
        gives 3 ' [1-9][0-9]* of 30 elements outside' "$cuvet" lift --image "$scratch/third.ptx" --blocks 1,2,2-3 $golden &&
        gives 3 '"followed":2,' "$cuvet" lift --json --image "$scratch/third.ptx" --blocks 1,2 $golden
}
ok 'blocks of a list are judged, and no others' listed_blocks
unlisted_faults() {
    sed 's/@%third cvt.*mov.b32 [^;]*;/@%third trap;/' "$scratch/third.ptx" >"$scratch/trap.ptx"
    gives 3 'stopped ' "$cuvet" lift --image "$scratch/trap.ptx" $golden &&
        gives 0 'followed   3 of 4 blocks' "$cuvet" lift --image "$scratch/trap.ptx" --blocks 0,1,3 $golden
}
ok 'blocks that are not on the list do not run' unlisted_faults

# The text that line information leaves in a cubin.
cubin() {
    command -v nvcc >/dev/null || return 0
    nvcc -cubin -lineinfo -arch=sm_90 -o "$scratch/orders.cubin" tests/lift/orders.cu &&
        gives 0 'equal' "$cuvet" lift --exact --image "$scratch/orders.cubin" --kernel softmax_max "$1" &&
        nvcc -cubin -arch=sm_90 -o "$scratch/bare.cubin" tests/lift/orders.cu &&
        gives 2 'machine code without its PTX' "$cuvet" lift --image "$scratch/bare.cubin" --kernel softmax_max "$1"
}

# bundle KERNEL [SEED]: one case of it.
bundle() {
    "$cuvet" fuzz -c tests/lift/orders.yaml -k "$1" --seed "${2:-1}" --device interpreter --keep --cases 1 --findings 0 --shrink 0 \
        -o "$scratch/report" "$orders" | sed -n 's/^ *bundle //p'
}

# Tensor cores: bundles of tests/lift/tensor.cu, or of another registry and its image.
tensor() {
    local status=$1 pattern=$2 kernel=$3 made
    "$cuvet" fuzz -c "${4:-tests/lift/tensor.yaml}" -k "$kernel" --device interpreter --keep --cases 2 --findings 0 --shrink 0 \
        -o "$scratch/report" "${5:-$CUVET_BUILD/tests/lift/tensor.ptx}" >"$scratch/fuzz"
    [ "$(grep -c '^ *bundle ' "$scratch/fuzz")" = 2 ] || return 1
    for made in $(sed -n 's/^ *bundle //p' "$scratch/fuzz"); do
        gives "$status" "$pattern" "$cuvet" lift "$made" || return 1
    done
}
line() { grep -n "$1" tests/lift/tensor.cu | head -n 1 | cut -d: -f1; }
ok 'a product on tensor cores' tensor 0 ' 0 of 512 elements outside$' product_right
ok 'an accumulator in f16' tensor 3 'lost at    tensor.cu:[0-9]+ .*mma.sync.*.f16.f16.f16.f16' product_half
ok 'an accumulator that is rounded between tiles' \
    tensor 3 "lost at    tensor.cu:$(line 'sum.i. = __bfloat').*cvt.rn.bf16" product_between
ok 'a product through wmma' tensor 0 ' 0 of 512 elements outside$' product_wmma
ok 'the same with an accumulator in f16' \
    tensor 3 'lost at    .*wmma.mma.sync.*.f16.f16' product_wmma_half
wmma_exact() {
    local made image=$CUVET_BUILD/tests/lift/tensor.ptx
    tensor 0 ' 0 of 512 elements outside$' product_wmma || return 1
    made=$(sed -n 's/^ *bundle //p' "$scratch/fuzz" | head -n 1)
    gives 0 'against product_wmma_backward of .*: equal$' \
        "$cuvet" lift --exact --image "$image" --kernel product_wmma_backward "$made" &&
        gives 3 'against product_wmma_short of .*: different$|against product_wmma_short of .*: different, ' \
            "$cuvet" lift --exact --image "$image" --kernel product_wmma_short "$made"
}
ok 'wmma along k and back is the same computation, a shorter one is not' wmma_exact
ok 'attention on tensor cores, its scores rounded to their operands' tensor 0 ' 0 of 256 elements outside' attention_right
ok 'attention whose sum is rounded between tiles' \
    tensor 3 "lost at    tensor.cu:$(line 'out.i. = __bfloat').*cvt.rn.bf16" attention_between

# Lines by the tables of a cubin, of several kernels; and cubins that end early.
lines() {
    command -v nvcc >/dev/null || return 0
    local made size at
    made=$(sed -n 's/^ *bundle //p' "$scratch/fuzz" | head -n 1)
    nvcc -cubin -lineinfo -std=c++17 -arch=sm_90 -o "$scratch/tensor.cubin" tests/lift/tensor.cu &&
        gives 3 "lost at    [a-z_0-9]+[.][a-z]+:[0-9]+, PTX line [0-9]+: cvt.rn.bf16" \
            "$cuvet" lift --image "$scratch/tensor.cubin" "$made" || return 1
    size=$(stat -c %s "$scratch/tensor.cubin")
    for at in 60 64 100 1000 $((size / 2)) $((size - 100)) $((size - 1)); do
        head -c "$at" "$scratch/tensor.cubin" >"$scratch/cut.cubin"
        "$cuvet" lift --image "$scratch/cut.cubin" "$made" >"$scratch/out" 2>&1
        [ $? -le 3 ] || { echo "cut at $at:"; cat "$scratch/out"; return 1; }
    done
}
ok 'the lines of PTX in a cubin' lines
dot=$(grep -n 'tl.dot(' tests/lift/triton/matmul.py | head -n 1 | cut -d: -f1)
ok 'a product of Triton for sm_90' \
    tensor 0 ' 0 of 8192 elements outside' product tests/lift/triton.yaml tests/lift/triton/product_f16.ptx
ok 'the same with an accumulator in f16' \
    tensor 3 "lost at    matmul.py:$dot,.*wgmma.mma_async.*.f16.f16.f16" product tests/lift/triton.yaml tests/lift/triton/product_f16_half.ptx

# exactly WANT BUNDLE KERNEL
exactly() {
    local status=3
    [ "$1" = different ] || status=0
    gives $status "against $3 of .*: $1\$" "$cuvet" lift --exact --image "$orders" --kernel "$3" "$2" &&
        grep "^ *limits  *$1: " "$scratch/out"
}
while read -r first others; do
    made=$(bundle "$first")
    for other in $others; do
        ok "$first and $other are the same computation" exactly equal "$made" "$other"
    done
    ok "$first and ${first%%_*}_wrong are not" exactly different "$made" "${first%%_*}_wrong"
    [ "$first" != softmax_plain ] || ok 'PTX in a cubin' cubin "$made"
done <<'LIST'
sum_forward sum_backward sum_lanes sum_atomic
softmax_plain softmax_max softmax_online
norm_root norm_scaled
silu_quotient silu_product
product_whole product_split
LIST

# A terminal has a line of progress where the texts take longer than two seconds; a pipe has none.
check_shows() {
    local many
    many=$(yes tests/unit/lift/ptx | head -n 4000 | tr '\n' ' ')
    local command="timeout --foreground 4 $cuvet lift --check --json $many >$scratch/json"
    script -qec "$command" /dev/null </dev/null >"$scratch/out"
    grep -qa 'tests/unit/lift/ptx/[a-z0-9_]*[.]ptx: [a-z]' "$scratch/out" || return 1
    sh -c "$command" 2>"$scratch/out"
    [ ! -s "$scratch/out" ]
}
if command -v script >"$scratch/script"; then
    ok 'texts: a line of progress on a terminal' check_shows
else
    skip 'a line of progress on a terminal' 'there is no script(1)'
fi

two() {
    local first second
    first=$(bundle norm_root) second=$(bundle norm_scaled)
    gives 0 ': equal$' "$cuvet" lift --exact "$first" "$second" &&
        gives 0 '"equal":true' "$cuvet" lift --exact --json "$first" "$second" &&
        gives 2 'holds other numbers in the second launch|is another one in the second launch' \
            "$cuvet" lift --exact "$first" "$(bundle norm_scaled 2)"
}
ok 'two bundles' two

# refused PATTERN ARGUMENT ...: exit status 2, nothing on standard output.
refused() {
    local pattern=$1
    shift
    gives 2 "$pattern" "$cuvet" lift "$@"
}
ok 'no bundle' refused 'cannot read' "$scratch/nothing"
ok 'no argument' refused 'expected the folder of one bundle'
ok 'one bundle for the exact mode' refused 'expected two bundles' --exact $golden
ok 'an accumulator that is none' refused 'expected f64, f32, bf16 or f16' --accumulate f8 $golden
ok 'a number that is none' refused 'expected a number' --blocks 0 $golden
ok 'a list that is none' refused 'expected blocks as in' --blocks 1,x $golden
ok 'a range that ends before it begins' refused 'expected blocks as in' --blocks 3-1 $golden
ok 'a block outside of the grid' refused 'no block 4 in a grid of 4' --blocks 0-4 $golden
ok 'a list of blocks on a device' refused 'runs all blocks' --blocks 0-1 --device interpreter $golden
ok 'an image that is none' refused 'is none of PTX' --image tests/tap.sh $golden
ok 'a kernel that is not there' refused 'no PTX of the kernel other' --kernel other $golden
unknown() {
    sed 's/ret;/tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned; ret;/' $golden/module.ptx >"$scratch/unknown.ptx"
    refused 'PTX:[0-9]+: tcgen05' --image "$scratch/unknown.ptx" $golden
}
ok 'an instruction that is not known' unknown
endless() {
    sed 's/ret;/FOREVER: bra FOREVER;/' $golden/module.ptx >"$scratch/endless.ptx"
    gives 3 'stopped ' "$cuvet" lift --timeout 1 --image "$scratch/endless.ptx" $golden
}
ok 'a launch without an end' endless
fault() {
    sed 's/st.global.f32 *\[\(%rd[0-9]*\)\]/st.global.f32 [\1+1048576]/' $golden/module.ptx >"$scratch/fault.ptx"
    gives 3 'illegal address' "$cuvet" lift --image "$scratch/fault.ptx" $golden
}
ok 'a fault' fault
ok 'a check: held' gives 0 '2 of 2 kernels can be held against their PTX' \
    "$cuvet" lift --check tests/unit/lift/ptx/softmax.ptx tests/unit/lift/ptx/attend.ptx
ok 'a check: the signature' gives 0 'softmax_kernel can be held against its PTX: f32 p0' \
    "$cuvet" lift --check --kernel softmax_kernel tests/unit/lift/ptx/softmax.ptx
ok 'a check: refused' gives 0 'count.ptx: count cannot be lifted: PTX line [0-9]+, atom' "$cuvet" lift --check tests/unit/lift/ptx/count.ptx
ok 'a check: JSON' gives 0 '"held":false,"signature":null,"reason":"atomics"' \
    "$cuvet" lift --check --json tests/unit/lift/ptx/count.ptx
ok 'a check of a kernel that is not there' gives 2 'no kernel is called nosuch' \
    "$cuvet" lift --check --kernel nosuch tests/unit/lift/ptx/softmax.ptx
ok 'a check with --blocks' gives 2 'neither --exact nor --check' "$cuvet" lift --blocks 3 --check tests/unit/lift/ptx/softmax.ptx
ok 'a check of no image' refused 'is none of PTX' --check tests/tap.sh
ok 'a check of nothing' refused 'expected images' --check
ok 'a check with --exact' refused 'expected images' --check --exact $golden
done_testing
