#!/bin/bash
# check_discover.sh - `cuvet discover` on a program of kernels that no registry describes (tests/scenario/unknown), on softgpu.
#
# Takes CUVET_BUILD from the Makefile.
set -uo pipefail
. tests/tap.sh

cuvet=$CUVET_BUILD/cuvet
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

ok 'help' gives 0 '^usage: cuvet discover' "$cuvet" discover --help
ok 'no program' gives 2 'no program to run' "$cuvet" discover
ok 'an unknown option' gives 2 'unknown option --nothing' "$cuvet" discover --nothing -- true
ok 'a wrong count' gives 2 '--tries expects a count' "$cuvet" discover --tries some -- true
ok 'a wrong device' gives 2 'auto, gpu' "$cuvet" discover --device tpu -- true
mkdir "$scratch/none"
ok 'JSON of a program that runs' gives 2 '--json goes with --from' "$cuvet" discover --json -- true
ok 'JSON and the draft on standard output' gives 2 '--json goes with --from' "$cuvet" discover --json --from "$scratch" -o -
ok 'a folder without a record' gives 2 'holds no record' "$cuvet" discover --from "$scratch/none"
ok 'a program that is not there' gives 127 'cannot start' "$cuvet" discover -o "$scratch/x" -- /nothing/here

softgpu=$PWD/$CUVET_BUILD/softgpu
program=$CUVET_BUILD/tests/scenario/unknown/program fatbin=$CUVET_BUILD/tests/scenario/unknown/kernels.fatbin
under() { env LD_LIBRARY_PATH="$softgpu" "$@"; }
# fits KERNEL REFERENCE: the entry in force of the draft.
fits() {
    awk -v kernel="$1" '/^  - kernel:/ { at = index($0, kernel) } at && /^    reference:/ { print $2; exit }' \
        "$scratch/draft.yaml" | grep -x "$2"
}
# found KERNEL LINE ...: of the mutants' program, the entry in force has these lines.
found() {
    under "$cuvet" discover --device interpreter -o "$scratch/mutant.yaml" -- "$mutants/program" "$mutants/kernels.fatbin" "$1" right \
        >"$scratch/out" 2>&1
    local kernel=$1 line
    shift
    for line in "$@"; do
        sed -n "/^  - kernel: \"${kernel}_right\"/,\$p" "$scratch/mutant.yaml" | sed 's/^ *//' | grep -xF -- "$line" >/dev/null && continue
        cat "$scratch/mutant.yaml"
        return 1
    done
}
# probed KERNEL TEXT ...: its part of the draft of roles has these.
probed() {
    local kernel=$1 text
    shift
    awk -v name="  # $kernel" '$0 == name { on = 1 } /^$/ { on = 0 } on' "$scratch/roles.yaml" >"$scratch/part"
    for text in "$@"; do
        grep -qF -- "$text" "$scratch/part" && continue
        cat "$scratch/part"
        return 1
    done
}
# imageless FOLDER: a draft of the record without the images of its kernels.
imageless() {
    local file
    mkdir -p "$scratch/imageless"
    for file in "$1"/discover-*.jsonl; do
        grep -v '"event":"image"' "$file" >"$scratch/imageless/${file##*/}"
        cp "$file.bytes" "$scratch/imageless"
    done
    "$cuvet" discover --probe --tries 0 --device interpreter --from "$scratch/imageless" -o "$scratch/again.yaml"
}
# strange KIND KERNEL LINE ...: of the program strangers, the entry in force has these lines.
strange() {
    local kind=$1 kernel=$2 line
    shift 2
    [ -e "$scratch/$kind.yaml" ] || under "$cuvet" discover --no-tables --tries 160 --device interpreter -o "$scratch/$kind.yaml" -- \
        "$strangers/program" "$strangers/kernels.fatbin" "$kind" >/dev/null 2>&1 || return 1
    awk -v name="  - kernel: \"$kernel\"" '$0 == name { on = 1 } /^$/ { on = 0 } on' "$scratch/$kind.yaml" | sed 's/^ *//' >"$scratch/part"
    for line in "$@"; do
        grep -qxF -- "$line" "$scratch/part" && continue
        cat "$scratch/$kind.yaml"
        return 1
    done
}
# strange_run KIND: the program under what was written for it.
strange_run() {
    env LD_LIBRARY_PATH="$softgpu" CUVET_SAMPLE=1 CUVET_BUDGET=off "$cuvet" run --strict --no-tables -c "$scratch/$1.yaml" -- \
        "$strangers/program" "$strangers/kernels.fatbin" "$1"
}
# lacks KERNEL: it is a comment alone.
lacks() { grep -q "^#  - kernel: .*$1" "$scratch/draft.yaml" && ! grep -q "^  - kernel: .*$1" "$scratch/draft.yaml"; }
integers() { grep -A2 -F '"mul_i16"' "$scratch/whole.yaml" | grep -F 'const i16 p0' | grep -v f16; }
discover() {
    under "$program" "$fatbin" >"$scratch/bare" || return 1
    under CUVET_HOOK="$1" "$cuvet" discover --device interpreter --tries 120 --keep "$scratch/$1" \
        -o "$scratch/draft.yaml" -- "$program" "$fatbin" >"$scratch/under" 2>"$scratch/said" || return 1
    cmp "$scratch/bare" "$scratch/under" && grep -q '13 kernels without an entry; a reference fits 11 of them' "$scratch/said"
}
if [ -x "$program" ] && [ -e "$softgpu/libcuda.so.1" ]; then
    for hook in cupti entry; do
        ok "a draft, launches seen by the back end $hook; the program's output is its own" discover $hook
    done
    ok 'a quota without room for memory' gives 0 '13 kernels without an entry; a reference fits 0 of them' under CUVET_QUOTA=48K \
        "$cuvet" discover --device interpreter -o "$scratch/short.yaml" -- "$program" "$fatbin"
    ok 'leaves the launches of each kernel' gives 1 '^0$' grep -c '#   0 launches' "$scratch/short.yaml"
    edited=$CUVET_BUILD/tests/scenario/edited
    ok 'kernel nodes of a graph that is built by hand are recorded' gives 0 '2 kernels without an entry' under "$cuvet" discover \
        --tries 0 -o "$scratch/graph.yaml" -- "$edited/program" "$edited/kernels.fatbin" nodes right
    ok 'with their launches' grep -q '120 launches, 120 of them in graphs' "$scratch/graph.yaml"
    ok 'and their parameters' grep -qF 'const f32 p0[SIZE], const f32 p1[SIZE], f32 p2[SIZE], i32 a3, f32 a4' "$scratch/graph.yaml"
    mutants=$CUVET_BUILD/tests/scenario/mutants references=$CUVET_BUILD/tests/scenario/references
    ok 'a kernel that makes bf16 by integer instructions' gives 0 '1 kernel without an entry' under "$cuvet" discover --tries 0 \
        -o "$scratch/made.yaml" -- "$mutants/program" "$mutants/kernels.fatbin" kept_precision right
    ok 'writes bf16, as it reads' grep -qF 'const bf16 p0[SIZE], const bf16 p1[SIZE], bf16 p2[SIZE], i32 a3' "$scratch/made.yaml"
    ok 'arrays whose allocations touch are recorded' gives 0 'a reference fits 1 of them' under "$cuvet" discover --tries 120 \
        --device interpreter -o "$scratch/touch.yaml" -- "$mutants/program" "$mutants/kernels.fatbin" off_by_one right
    ok 'an eps that stands in the code' found one_pass 'reference: layernorm' 'bind: {eps: 1e-5}'
    ok 'an eps that is a parameter' found missing_eps 'reference: rmsnorm' \
        'const f32 x[grid.x][cols], const f32 w[cols], f32 y[grid.x][cols], i32 cols, f32 eps'
    ok 'rows of the input alone lie apart' found wrong_stride 'reference: rmsnorm' \
        'const f32 x[grid.x:x_pitch][cols], const f32 w[cols], f32 y[grid.x][cols], i64 x_pitch, i32 cols, f32 eps'
    ok 'a value that is rounded on the way' found kept_precision 'reference: rmsnorm' 'tolerance: {rounding: {xhat: bf16}}'
    ok 'outputs of one value name no reference' gives 0 'a reference fits 0 of them' under "$cuvet" discover --device interpreter \
        -o "$scratch/mutant.yaml" -- "$mutants/program" "$mutants/kernels.fatbin" bf16_accumulator right
    ok 'and the draft has the reason' grep -q 'its outputs hold one value in each launch' "$scratch/mutant.yaml"
    random=$CUVET_BUILD/tests/scenario/torch_random
    ok "PyTorch's kernels of random numbers are known to the tables" gives 0 'no kernel without an entry' under "$cuvet" discover \
        -o "$scratch/random.yaml" -- "$random/program" "$random/kernels.fatbin"
    ok 'without which they are drafted' gives 0 '7 kernels without an entry' under "$cuvet" discover --no-tables --tries 0 \
        -o "$scratch/random.yaml" -- "$random/program" "$random/kernels.fatbin"
    ok 'kernels of integers' gives 0 'kernels without an entry' under "$cuvet" discover --tries 0 --no-tables \
        -o "$scratch/whole.yaml" -- "$references/program" "$references/kernels.fatbin" right
    ok 'keep integers' integers
    ok 'the registry takes it' gives 0 'reference rmsnorm' "$cuvet" check "$scratch/draft.yaml"
    ok 'rmsnorm of a template' fits fused_rms_kernel rmsnorm
    ok 'swiglu in bf16' fits gated_activation swiglu
    ok 'softmax in a namespace' fits probabilities softmax
    ok 'a product' fits tiled_product matmul
    ok 'a sum of rows' fits rows_total row_sum
    ok 'layernorm' fits normalise_rows layernorm
    ok 'a scaled array' fits multiply_all scale
    ok 'of one dim' grep -qF 'const f32 x[rows], f32 y[rows], f32 alpha, i32 rows' "$scratch/draft.yaml"
    ok 'rows that lie apart' fits padded_silu silu
    ok 'how far' grep -q 'const f32 x.grid.x:x_pitch..cols., f32 y.grid.x:y_pitch..cols., i32 x_pitch, i32 y_pitch, i32 cols' \
        "$scratch/draft.yaml"
    ok 'dims in another order' fits heads_apart permute
    ok 'by strides' grep -qE 'const f32 x.planes:rows..batch:planes \* rows..rows., f32 y.planes..batch..rows., i32 batch, i32 planes, i32 rows' \
        "$scratch/draft.yaml"
    ok 'an rmsnorm with an output more' fits rmsnorm_and_count rmsnorm
    ok 'which is not judged' grep -qE '^  #   p3 is not judged' "$scratch/draft.yaml"
    ok 'a sum in place' fits accumulate_into add
    ok 'an rmsnorm that is wrong has no reference' lacks forgetful_rms_kernel
    ok 'nor has a formula of its own' lacks iterate
    ok 'configurations and values are there' grep -qE 'grid 16x1x1 block 64x1x1; grid 18x1x1' "$scratch/draft.yaml"
    ok 'the written registry checks the program, quiet' gives 0 ' 0 mismatch, 0 inconclusive' env LD_LIBRARY_PATH="$softgpu" \
        CUVET_SAMPLE=1 CUVET_BUDGET=off "$cuvet" run --strict --no-tables -c "$scratch/draft.yaml" -- "$program" "$fatbin"
    ok 'its kernels are left out the next time' gives 0 '2 kernels without an entry' env LD_LIBRARY_PATH="$softgpu" \
        "$cuvet" discover --tries 0 -c "$scratch/draft.yaml" -o "$scratch/rest.yaml" -- "$program" "$fatbin"
    ok 'the counts as JSON' gives 0 '"kernels":13,"found":0,"time_share":0,"lines":0,"comments":[1-9]' \
        "$cuvet" discover --json --tries 0 --from "$scratch/entry" -o "$scratch/counted.yaml"
    ok 'as one object' python3 -m json.tool "$scratch/out"
    ok 'beside the draft' gives 0 '' "$cuvet" check "$scratch/counted.yaml"
    ok 'nothing is run again unless --probe is given' gives 1 '^0$' grep -c 'run again' "$scratch/counted.yaml"
    numba=$CUVET_BUILD/tests/scenario/numba
    ok "kernels of Numba" gives 0 'a reference fits 2 of them' under "$cuvet" discover --no-tables --device interpreter \
        -o "$scratch/draft.yaml" -- "$numba/program" "$numba/kernels.fatbin"
    ok 'a vector is an array with its size' grep -q \
        'f32 alpha, _, _, _, _, const f32 b\[\([a-z]*\)\], i64 \1, _, _, _, _, _, const f32 a\[\1\], _, _, _, _, _, _, f32 y\[\1\], _' \
        "$scratch/draft.yaml"
    ok 'a matrix has two' grep -q '_, _, _, _, const f32 x\[rows\]\[cols\], i64 rows, i64 cols, _, _, _, _, _, _, f32 y\[rows\], _' \
        "$scratch/draft.yaml"
    roles=$CUVET_BUILD/tests/scenario/roles strangers=$CUVET_BUILD/tests/scenario/strangers
    ok 'launches that are run again' gives 0 'run again, launches of 6 of 7 kernels gave what was recorded' under "$cuvet" discover \
        --no-tables --probe --tries 0 --device interpreter --keep "$scratch/roles" -o "$scratch/roles.yaml" -- \
        "$roles/program" "$roles/kernels.fatbin"
    ok 'a half that is read' probed first_half 'const f32 p0[a2 / 2], f32 p1[a2 / 2], i32 a2' \
        'reads bytes 0..511 of 1024, writes none' 'reads none, writes bytes 0..639 of 1280'
    ok 'what is added to' probed add_to_chosen 'acc f32 p1[a4], const f32 p2[a4]' 'writes bytes 0..1023 of 1024, adds to them' \
        'reads and writes none of 1024 bytes'
    ok 'memory that addresses in memory lead to' probed through_table 'const i64 p0[3], i32 a1' \
        'addresses in it lead to 3072 bytes, read and written'
    ok 'a branch that is not taken, and an output that is read back' probed maybe_bias \
        'no byte of it matters in these launches' 'what it held makes no difference: scratch (ws), or an output that is read back'
    ok 'a counter that is reset' probed total_by_ticket 'inout i32 p2[1]' 'launches leave there what they found, and need it: a counter'
    ok 'an integer that is added to, and indices' probed count_values 'const i32 p0[a2], acc i32 p1[16], i32 a2'
    ok 'a variable of the module is no part of a record' probed by_factor '0 of 2 launches gave the recorded results; the others need' \
        'const f32 p0[SIZE], f32 p1[SIZE]'
    ok 'the written file is a registry' gives 0 '' "$cuvet" check "$scratch/roles.yaml"
    ok 'a folder gives the same' gives 0 'launches of 6 of 7 kernels' under "$cuvet" discover --probe --tries 0 --device interpreter \
        --from "$scratch/roles" -o "$scratch/again.yaml"
    ok 'but for the name of the program' diff <(tail -n +2 "$scratch/roles.yaml") <(tail -n +2 "$scratch/again.yaml")
    ok 'and so does a GPU' gives 0 'launches of 6 of 7 kernels' under "$cuvet" discover --probe --tries 0 --device gpu \
        --from "$scratch/roles" -o "$scratch/gpu.yaml"
    ok 'in each line' diff "$scratch/again.yaml" "$scratch/gpu.yaml"
    ok 'without a device' gives 0 'no launch is run again: ' "$cuvet" discover --probe --tries 0 --device gpu \
        --from "$scratch/roles" -o "$scratch/again.yaml"
    ok 'without time' gives 0 'launches of 0 of 7 kernels' "$cuvet" discover --probe --tries 0 --seconds 0 --device interpreter \
        --from "$scratch/roles" -o "$scratch/again.yaml"
    ok 'the draft has the reason' grep -q 'the time ended before all was done' "$scratch/again.yaml"
    ok 'without images' gives 0 'launches of 0 of 7 kernels' imageless "$scratch/roles"
    ok 'the draft has that reason' grep -q 'gave the recorded results; the image of the kernel was not recorded' "$scratch/again.yaml"
    ok 'a reference with dims by what is read and written' gives 0 'a reference fits 1 of them' under "$cuvet" discover --probe \
        --tries 120 --device interpreter -o "$scratch/mutant.yaml" -- "$mutants/program" "$mutants/kernels.fatbin" wrong_stride right
    ok 'is the right one' grep -qF 'const f32 x[grid.x:x_pitch][cols], const f32 w[cols], f32 y[grid.x][cols]' "$scratch/mutant.yaml"
    ok 'fields of a struct' strange norm layernorm_fwd 'reference: layernorm' \
        'struct 56 { const f32 x[grid.x][cols] @0, const f32 w[cols] @8, const f32 b[cols] @16, f32 y[grid.x][cols] @24, i64 a4 @32, i64 a5 @40, i32 cols @48, f32 eps @52 }'
    ok 'a plane of rows that lie apart' strange copy copy2d 'reference: cast' \
        'const f32 x[rows:x_pitch][cols], i32 x_pitch, f32 y[rows:y_pitch][cols], i32 y_pitch, i32 rows, i32 cols'
    ok 'counts of pairs, in place' strange layer bias_gelu 'reference: bias_gelu' \
        'inout f16 x[a2 / a3][a3 * 2], const f16 bias[a3 * 2], i32 a2, i32 a3'
    ok 'rows by indices' strange tokens 'embed<__nv_bfloat16>' 'reference: embedding' \
        'const i32 ids[tokens], const bf16 table[@ids][cols], bf16 y[tokens][cols], i32 tokens, i32 cols'
    ok 'the greatest of a row and its place' strange tokens row_max 'reference: topk' \
        'const f32 x[rows][cols], f32 y[rows][1], i32 places[rows][1], i32 rows, i32 cols'
    ok 'all bins of a histogram' strange sums histogram_kernel 'reference: histogram' 'const u8 x[n], acc i32 y[256], i32 n'
    ok 'a product of tiles' strange sums 'sgemm_tiled<8>' 'reference: gemm'
    ok 'the written registry checks a struct, quiet' gives 0 ' 0 mismatch, 0 inconclusive' strange_run norm
    ok 'and rows by indices' gives 0 ' 0 mismatch, 0 inconclusive' strange_run tokens
    ok 'a mask whose last element hides another' gives 0 'run again, launches of 2 of 2 kernels' under "$cuvet" discover --no-tables --probe \
        --tries 0 --device interpreter -o "$scratch/masked.yaml" -- "$strangers/program" "$strangers/kernels.fatbin" layer
    ok 'has dims all the same' grep -qF 'const f32 p0[grid.x][a4], const u8 p1[grid.x][a4], f32 p2[grid.x][a4], f32 a3, i32 a4' "$scratch/masked.yaml"
    ok 'a draft without entries is a registry' gives 0 '' "$cuvet" check "$scratch/rest.yaml"
    head -c 3000 "$scratch/entry"/discover-*.jsonl >"$scratch/none/discover-cut.jsonl"
    printf '{"v":1,"event":"sample","kernel":"f","params":"zz","layout":[[0,99]],"pointers":[{"at":-1}],"regions":[{"bytes":9}]}\n' \
        >>"$scratch/none/discover-cut.jsonl"
    ok 'a record that is cut off or damaged' gives 0 'kernels? without an entry' "$cuvet" discover --device interpreter \
        --from "$scratch/none" -o -
else
    skip 'on softgpu' "$program is not built"
fi
done_testing
