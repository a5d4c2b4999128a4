#!/bin/bash
# check_xla.sh - `cuvet xla` as a shell starts it, on the dump of tests/scenario/xla_fusions and on damaged ones.
#
# Takes CUVET_BUILD from the Makefile.
set -uo pipefail
. tests/tap.sh

cuvet=$CUVET_BUILD/cuvet
dump=tests/scenario/xla_fusions/hlo
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

ok 'a dump becomes entries' gives 0 'xla.yaml: 8 entries; kernels without one: 2' "$cuvet" xla -o "$scratch/xla.yaml" $dump
ok 'the counts as JSON' gives 0 '^."version":1,"registry":".*json.yaml","entries":8,"without_entry":2,"reference_files":1,"unread":0.$' \
    "$cuvet" xla --json -o "$scratch/json.yaml" $dump
ok 'a module that cannot be read is counted' bash -c 'cp -r "$1" "$2/unread" && echo none >"$2/unread/x_after_optimizations.txt" &&
    "$0" xla -o "$2/unread.yaml" --json "$2/unread" 2>"$2/err" | python3 -c "
import json, sys
assert json.load(sys.stdin)[\"unread\"] == 1"' "$cuvet" $dump "$scratch"
ok 'values in one memory are one parameter' holds xla.yaml \
    'inout f32 a0[5000][1], inout f32 a1[5000][1], const f32 a2[5000][1], const f32 a3[1][1]'
ok 'and, in another entry, parameters of their own' holds xla.yaml \
    'const f32 a0[5000][1], const f32 a1[5000][1], const f32 a2[5000][1], const f32 a3[1][1], f32 a4[5000][1], f32 a5[5000][1]'
ok 'a layout is the order of bytes' holds xla_0.cu 'const auto t2 = p2(((i / 96) + (i % 96) * 40), c);'
ok 'elements that depend on their own place alone are independent' holds xla_0.cu \
    'REFERENCE_ONCE(xla_2, "in p0[n0][1], in p1[n0][1], in p2[n0][1], in p3[m3][1], out y0[n0][1], out y1[n0][1], each n0")'
ok 'others are not' holds xla_0.cu 'REFERENCE_ONCE(xla_3, "in p0[m0][1], in p1[m1][1], out y0[n0][1]")'
ok 'an operation without a formula is named' holds xla.yaml '# loop_xor_fusion has no entry: operation xor'
ok 'so is a name that two fusions have' holds xla.yaml \
    '# wrapped_negate has no entry: two modules have different kernels of this name'
ok 'the registry is read as it is' gives 0 '^8 entries' env CUVET_NVRTC=/nowhere "$cuvet" check "$scratch/xla.yaml"

# Each module cut off after each of its lines: an entry less or a message, no crash.
damaged() {
    local file lines i
    mkdir "$scratch/cut"
    file=$scratch/cut/module_0001.jit_step.sm_9.0_gpu_after_optimizations.txt
    lines=$(wc -l <"$dump/${file##*/}")
    for ((i = 1; i < lines; i += 3)); do
        head -n "$i" "$dump/${file##*/}" >"$file"
        printf '  %%broken = f32[4{ add(' >>"$file"
        "$cuvet" xla -o "$scratch/cut.yaml" "$scratch/cut" >"$scratch/out" 2>&1
        [ $? -lt 3 ] || { echo "cut after line $i: $(cat "$scratch/out")"; return 1; }
    done
}
ok 'a module that is cut off' damaged
ok 'a folder without modules' gives 2 'no file whose name ends' "$cuvet" xla tests/scenario/common
ok 'no folder' gives 2 '^usage' "$cuvet" xla
ok 'a file that cannot be written' gives 1 'No such file' "$cuvet" xla -o "$scratch/none/xla.yaml" $dump
done_testing
