#!/bin/bash
# check_inductor.sh - `cuvet inductor` as a shell starts it, on the file of tests/scenario/inductor_fused and on changed ones.
#
# Takes CUVET_BUILD from the Makefile.
set -uo pipefail
. tests/tap.sh

cuvet=$CUVET_BUILD/cuvet
folder=tests/scenario/inductor_fused/generated
file=$folder/ab/cabstep.py
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# changed SCRIPT LINE: the file changed by sed gives a registry with that line.
changed() {
    sed -E "$1" $file >"$scratch/changed.py"
    ! cmp -s $file "$scratch/changed.py" || { echo "sed '$1' changes nothing"; return 1; }
    "$cuvet" inductor -o "$scratch/changed.yaml" "$scratch/changed.py" || return 1
    holds changed.yaml "$2"
}

ok 'a folder becomes entries' gives 0 'inductor.yaml: 7 entries; kernels without one: 1' "$cuvet" inductor \
    -o "$scratch/inductor.yaml" $folder
ok 'the counts as JSON' gives 0 '^\{"version":1,"registry":".*json.yaml","entries":7,"without_entry":1,"reference_files":1,"unread":0\}$' \
    "$cuvet" inductor --json -o "$scratch/json.yaml" $folder
ok 'parameters are those of the file' holds inductor.yaml \
    'const bf16 in_ptr0[3840][1], const f32 in_ptr1[96][1], const f32 in_ptr2[3840][1], bf16 out_ptr0[3840][1], i32 xnumel, ...'
ok 'values that never leave are no parameters' holds inductor.yaml \
    'bind: {y0: in_out_ptr0, p0: in_ptr0, p1: in_ptr1, p2: in_ptr2, y1: out_ptr0, y2: out_ptr1}'
ok 'sizes are those of the first call' holds inductor.yaml 'when: xnumel == 40 && r0_numel == 96'
ok 'an input that is written over, scratch' holds inductor.yaml \
    'bind: {p0: in_ptr0, p1: in_ptr1, y0: out_ptr0, y1: out_ptr1, y2: out_ptr2}'
ok 'fast functions of the body are allowed' holds inductor.yaml 'tolerance: {functions: approx}'
ok 'a transposed operand is read by its strides' holds inductor_0.cu 'const auto t2 = p2(((i % 96) * 40 + (i / 96)), c);'
ok 'an operation without a formula is named' holds inductor.yaml \
    '# triton_poi_fused_embedding_6 has no entry: operation aten.embedding.default'
ok 'the registry is read as it is' gives 0 '^7 entries' env CUVET_NVRTC=/nowhere "$cuvet" check "$scratch/inductor.yaml"

ok 'the bytes of a result lie as its array does' changed 's/buf0 = empty_strided_cuda\(\(40, 96\), \(96, 1\)/buf0 = empty_strided_cuda((40, 96), (1, 40)/' \
    'bind: {p0: in_ptr0, p1: in_ptr1, p2: in_ptr2, y0: out_ptr0}'
ok 'and are computed in that order' gives 0 'p0\(\(\(i % 40\) \* 96 \+ \(i / 40\)\), c\)' cat "$scratch/changed_0.cu"
ok 'an input under another name' changed 's/_t_0.run\(primals_1, primals_2/_t_0.run(primals_2, primals_1/' \
    '# triton_poi_fused__to_copy_add_mul_t_0 has no entry: arrays in another order than in its fragment'
ok 'an array of another type' changed "s/'in_ptr1': '\*fp32', 'in_ptr2': '\*fp32', 'out_ptr0': '\*bf16'/'in_ptr1': '*fp16', 'in_ptr2': '*fp32', 'out_ptr0': '*bf16'/" \
    '# triton_poi_fused__to_copy_add_mul_t_0 has no entry: arrays in another order than in its fragment'
ok 'a value from outside the fragment' changed '/%mul_3 : /d' \
    '# triton_poi_fused_add_gelu_2 has no entry: a value from outside its fragment, mul_3'
ok 'sizes with names' changed 's/%mm : Tensor "f32\[40, 96\]/%mm : Tensor "f32[s0, 96]/' \
    '# triton_poi_fused_add_gelu_2 has no entry: sizes that are no numbers'
ok 'a fragment without sizes, of PyTorch 2.8' changed 's/ : Tensor "[^"]*"/ : /' \
    '# triton_poi_fused_add_gelu_2 has no entry: sizes that are not in its fragment'
ok 'operations without arguments' changed 's/args = \(.*\), kwargs/args = (), kwargs/' \
    '# triton_poi_fused_add_gelu_2 has no entry: an argument of aten.add.Tensor'
ok 'an addition with a factor' changed 's/(%add_2 : .*)kwargs = \{\}/\1kwargs = {alpha: 2}/' \
    '# triton_poi_fused_add_gelu_2 has no entry: further arguments of aten.add.Tensor'
ok 'a rounding to 16 bits in the body' changed 's/tmp8 = .*|tmp5 = tmp0 \* tmp2/tmp5 = (tmp0 * tmp2).to(tl.bfloat16)/' \
    'tolerance: {accumulate: bf16}'
ok 'two results that may be in each other'\''s place' changed 's/return %getitem_3,%buf7,%rsqrt_1/return %buf7,%getitem_3,%rsqrt_1/' \
    '# triton_per_fused_native_layer_norm_4 has no entry: results that may be in each other'\''s place'
ok 'atomics' changed 's/tl.store\(in_out_ptr0 \+ \(x2\)/tl.atomic_add(in_out_ptr0 + (x2)/' \
    '# triton_poi_fused_add_gelu_2 has no entry: atomics'

# The file cut off after each of its lines: an entry less or a message, no crash.
damaged() {
    local lines i
    lines=$(wc -l <$file)
    for ((i = 1; i < lines; i += 2)); do
        head -n "$i" $file >"$scratch/cut.py"
        printf '#   %%broken : Tensor "f32[4' >>"$scratch/cut.py"
        "$cuvet" inductor -o "$scratch/cut.yaml" "$scratch/cut.py" >"$scratch/out" 2>&1
        [ $? -lt 3 ] || { echo "cut after line $i: $(cat "$scratch/out")"; return 1; }
    done
}
# Each line without its end.
torn() {
    local cut
    for cut in 10 20 30 45 60 80 100 120 140; do
        cut -c -$cut $file >"$scratch/torn.py"
        "$cuvet" inductor -o "$scratch/torn.yaml" "$scratch/torn.py" >"$scratch/out" 2>&1
        [ $? -lt 3 ] || { echo "lines of $cut: $(cat "$scratch/out")"; return 1; }
    done
}
# Fifteen results of 34 equal ones, the last of a type that none has: all orders of the others are possible.
many() {
    cp tests/fuzz/corpus/inductor/many "$scratch/many.py"
    gives 0 '0 entries' timeout 60 "$cuvet" inductor -o "$scratch/many.yaml" "$scratch/many.py" &&
        grep -q 'no entry: results in more orders than are tried' "$scratch/many.yaml"
}
ok 'results in very many orders' many
ok 'a file that is cut off' damaged
ok 'lines that are cut off' torn
ok 'a folder without fragments' gives 2 'no file with a graph fragment' "$cuvet" inductor tests/scenario/common
ok 'a folder that is not there' gives 2 'No such file' "$cuvet" inductor "$scratch/none"
ok 'no folder' gives 2 '^usage' "$cuvet" inductor
ok 'a file that cannot be written' gives 1 'No such file' "$cuvet" inductor -o "$scratch/none/a.yaml" $folder
done_testing
