#!/bin/bash
# check_fuzz.sh - `cuvet fuzz` with the built-in tables, on kernels of the names and parameters of llm.c's, and entries
# of which a check judges one part.
#
# Takes CUVET_BUILD from the Makefile.
set -uo pipefail
. tests/tap.sh

cuvet=$CUVET_BUILD/cuvet
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# The sum of two arrays; an entry of no table; rows of planes, doubled.
cat >"$scratch/right.ptx" <<'PTX'
.version 6.4
.target sm_75
.address_size 64
.visible .entry _Z23residual_forward_kernelPfS_S_i(.param .u64 out, .param .u64 a, .param .u64 b, .param .u32 n)
{
    .reg .pred %p<2>;
    .reg .b32 %r<6>;
    .reg .b64 %rd<8>;
    .reg .f32 %f<4>;
    ld.param.u64 %rd1, [out];
    ld.param.u64 %rd2, [a];
    ld.param.u64 %rd3, [b];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.s32 %r5, %r2, %r3, %r4;
    setp.ge.s32 %p1, %r5, %r1;
    @%p1 bra DONE;
    mul.wide.s32 %rd4, %r5, 4;
    add.s64 %rd5, %rd1, %rd4;
    add.s64 %rd6, %rd2, %rd4;
    add.s64 %rd7, %rd3, %rd4;
    ld.global.f32 %f1, [%rd6];
    ld.global.f32 %f2, [%rd7];
    add.f32 %f3, %f1, %f2;
    st.global.f32 [%rd5], %f3;
DONE:
    ret;
}
.visible .entry twice(.param .u64 x, .param .u64 y, .param .u32 n, .param .u32 stride)
{
    .reg .pred %p<2>;
    .reg .b32 %r<12>;
    .reg .b64 %rd<7>;
    .reg .f32 %f<3>;
    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [y];
    ld.param.u32 %r1, [n];
    ld.param.u32 %r2, [stride];
    mov.u32 %r3, %ctaid.x;
    mov.u32 %r4, %ntid.x;
    mov.u32 %r5, %tid.x;
    mad.lo.s32 %r6, %r3, %r4, %r5;
    setp.ge.s32 %p1, %r6, %r1;
    @%p1 bra DONE;
    mov.u32 %r7, %ctaid.y;
    mov.u32 %r10, %ctaid.z;
    mov.u32 %r11, %nctaid.y;
    mad.lo.s32 %r7, %r10, %r11, %r7;
    mad.lo.s32 %r8, %r7, %r2, %r6;
    mad.lo.s32 %r9, %r7, %r1, %r6;
    mul.wide.s32 %rd3, %r8, 4;
    mul.wide.s32 %rd4, %r9, 4;
    add.s64 %rd5, %rd1, %rd3;
    add.s64 %rd6, %rd2, %rd4;
    ld.global.f32 %f1, [%rd5];
    add.f32 %f2, %f1, %f1;
    st.global.f32 [%rd6], %f2;
DONE:
    ret;
}
PTX
sed 's/add.f32 %f3, %f1, %f2/add.f32 %f3, %f1, %f1/; s/mad.lo.s32 %r7, %r10, %r11, %r7;/mad.lo.s32 %r7, %r10, %r11, 0;/' \
    "$scratch/right.ptx" >"$scratch/wrong.ptx"
cat >"$scratch/planes.yaml" <<'YAML'
version: 1
kernels:
  - kernel: twice
    signature: >
      const f32 x[1 from s:channels * stride][1 from c:stride][n], f32 y[1 from s:channels * n][1 from c][n], i32 n, i32 stride
    pick: {c: grid.y, s: grid.z}
    let: {channels: grid.y}
    formula: y = x + x
    fuzz:
      n: 1..300
      planes: 1..4
      samples: 1..2
      stride: [n, n + 3]
      block: 128
      grid: ["ceil_div(n, 128)", planes, samples]
YAML
sed '/fuzz:/,$d' "$scratch/planes.yaml" >"$scratch/without.yaml"

# fuzz STATUS PATTERN OPTIONS: what the command shows.
fuzz() {
    local status=$1 pattern=$2
    shift 2
    gives "$status" "$pattern" env -u CUVET_CONFIG -u CUVET_TABLES "$cuvet" fuzz --device interpreter "$@"
}
sum=_Z23residual_forward_kernelPfS_S_i
ok 'the tables: a right kernel is quiet' fuzz 0 "^$sum: 200 cases in .*: 200 match\$" "$scratch/right.ptx"
ok 'the tables: a wrong one is found' fuzz 3 "^$sum: case .*: mismatch: " "$scratch/wrong.ptx"
ok 'the tables: a glob' fuzz 0 '^_Z25unpermute_kernel_backwardPfPKfiiii: 20 cases in .*: 20 match$' \
    --cases 20 -k '*unpermute_kernel_backward*' "$CUVET_BUILD/tests/scenario/llmc/kernels.fatbin"
ok 'the tables come before the file' fuzz 0 "^$sum: 5 cases" --cases 5 -c "$scratch/planes.yaml" -k $sum "$scratch/right.ptx"
ok 'without the tables' fuzz 2 "no entry of the registry names the kernel '$sum'" --no-tables -c "$scratch/planes.yaml" -k $sum \
    "$scratch/right.ptx"
ok 'without the tables and a file' fuzz 2 'no registry: give -c FILE, set CUVET_CONFIG, or leave the tables on' --no-tables \
    "$scratch/right.ptx"
in_environment() {
    gives 2 'no registry: ' env -u CUVET_CONFIG CUVET_TABLES=off "$cuvet" fuzz --device interpreter "$scratch/right.ptx" &&
        gives 0 '^twice: 5 cases' env CUVET_CONFIG="$scratch/planes.yaml" CUVET_TABLES=off "$cuvet" fuzz --device interpreter \
            --cases 5 "$scratch/right.ptx"
}
ok 'the environment names the registry' in_environment

# again: the command in the report of a run without a file.
again() {
    local command
    fuzz 3 ' bundle ' -o "$scratch/report" "$scratch/wrong.ptx" || return 1
    "$cuvet" report "$scratch/report" >"$scratch/text"
    command=$(sed -n 's/^ *again   cuvet fuzz //p' "$scratch/text")
    # shellcheck disable=SC2086
    fuzz 3 "^$sum: case 0, .*: mismatch: " $command && ! grep -q -- ' -c ' <<<"$command"
}
ok 'a report has the command without a file' again

# suggested: the mapping that the message shows makes cases, once its stride is an expression of its own.
suggested() {
    fuzz 2 'expected one such as `fuzz: \{' -c "$1" -k "$2" "$3" || return 1
    sed -n 's/.*expected one such as `\(fuzz: .*\)`, with.*/    \1/p' "$scratch/err" >"$scratch/mapping"
    cat "$1" "$scratch/mapping" >"$scratch/made.yaml"
    fuzz 0 "^$2: 20 cases in .*: 20 match\$" --cases 20 -c "$scratch/made.yaml" -k "$2" "$3"
}
cat >"$scratch/plain.yaml" <<YAML
version: 1
kernels:
  - kernel: $sum
    signature: f32 out[n], const f32 a[n], const f32 b[n], i32 n
    reference: residual_add
    bind: {x: a, residual: b, y: out}
YAML
ok 'an entry without a mapping: the one that is shown works' suggested "$scratch/plain.yaml" $sum "$scratch/right.ptx"
sed 's/\[n\]/[rows][4]/g; s/, i32 n/, i32 n/; s/reference:/let: {rows: grid.x}\n    when: n == 4 * rows\n    reference:/' \
    "$scratch/plain.yaml" >"$scratch/by_grid.yaml"
ok 'a grid that a let names' fuzz 2 'fuzz: \{rows: 1\.\.64, n: 1\.\.16, block: 256, grid: \[rows\]\}' -c "$scratch/by_grid.yaml" \
    -k $sum "$scratch/right.ptx"
no_suggestion() {
    fuzz 2 "has no 'fuzz', the rule by which launches are drawn$" -c "$scratch/without.yaml" -k twice "$scratch/right.ptx"
}
ok 'no mapping is shown where names and a launch are not enough' no_suggestion

# An entry whose checks judge one plane of one sample; cases have all of them, and each is judged.
ok 'parts: a right kernel is quiet' fuzz 0 '^twice: 200 cases in .*: 200 match$' -c "$scratch/planes.yaml" -k twice "$scratch/right.ptx"
ok 'parts: a plane that is left out is found, and named' fuzz 3 'unwritten: .*; c [0-9]+ of [0-9]+, s [0-9]+ of [0-9]+; ' \
    -c "$scratch/planes.yaml" -k twice "$scratch/wrong.ptx"
ok 'parts: the least case has two planes' holds out 'n=1 stride=1 planes=2 samples=1 x=zero y=poison grid=1x2x1 block=128'

# Relations that the entry declares, of a copy. `flip` declares none of its rows; in the uneven kernel the first row is
# rounded otherwise, and in the moved one an output is not times a power of two where its input is.
cat >"$scratch/related.yaml" <<'YAML'
version: 1
kernels:
  - kernel: twice
    signature: const f32 x[rows:stride][1][n], f32 y[rows][1][n], i32 n, i32 stride
    let: {rows: grid.y}
    reference: flip
    bind: {column_back: 0}
    tolerance: {rule: close, rtol: 1e-5, atol: 1e-5}
    fuzz: {n: 100..300, many: 2..9, stride: n, x: {values: normal}, block: 128, grid: ["ceil_div(n, 128)", many], relations: [permute, scale x]}
YAML
sed 's/, relations: .*]}/}/' "$scratch/related.yaml" >"$scratch/unrelated.yaml"
sed 's/add.f32 %f2, %f1, %f1/mov.f32 %f2, %f1/' "$scratch/right.ptx" >"$scratch/copy.ptx"
sed 's/mov.f32 %f2, %f1;/& setp.eq.u32 %p1, %r7, 0; @%p1 mul.f32 %f2, %f2, 0f3F800008;/' "$scratch/copy.ptx" >"$scratch/uneven.ptx"
sed 's/mov.f32 %f2, %f1/add.f32 %f2, %f1, 0f358637BD/' "$scratch/copy.ptx" >"$scratch/moved.ptx"

# related STATUS PATTERN REGISTRY IMAGE
related() {
    fuzz "$1" "$2" --cases 3 --probe -c "$scratch/$3.yaml" -k twice "$scratch/$4.ptx"
}
quiet='^twice: 3 cases in .*: 3 match$'
ok 'relations: a kernel that holds them is quiet' related 0 "$quiet" related copy
ok 'relations: rows that depend on their place' related 3 ': probe: .*permute: with the rows of the inputs reversed' related uneven
ok 'relations: an output that does not scale' related 3 ': probe: scale: with x times 2, y is not times a power of two' related moved
ok 'relations: none is declared, and rows may depend on their place' related 0 "$quiet" unrelated uneven
ok 'relations: none is declared, and the output need not scale' related 0 "$quiet" unrelated moved

# The bundle of a case has the relations of its entry.
bundle_of() {
    fuzz "$1" 'bundle ' --cases 1 --findings 0 --keep -o "$scratch/kept-$3" -c "$scratch/$2.yaml" -k twice "$scratch/$3.ptx" &&
        sed -n 's/^ *bundle //p' "$scratch/out" | head -n 1 >"$scratch/kept"
}
probed() {
    local got
    bundle_of 0 "$3" "$4" || return 1
    "$cuvet" probe --device interpreter "$(cat "$scratch/kept")" >"$scratch/probed" 2>&1
    got=$?
    [ $got -eq "$1" ] && grep -qE -- "$2" "$scratch/probed" && return
    echo "status $got, expected $1 and $2:"
    cat "$scratch/probed"
    return 1
}
ok 'a bundle: an output that does not scale, as its entry declares' probed 3 'scale +finding' related moved
ok 'a bundle: rows that depend on their place' probed 3 'permute +finding' related uneven
# Its rows have no room of their own, which the check `far` finds.
ok 'a bundle: a kernel that holds what is declared' probed 3 'scale +good' related copy
ok 'a bundle: none is declared, and the output need not scale' probed 3 'scale +skipped' unrelated moved

done_testing
