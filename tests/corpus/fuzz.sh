#!/bin/bash
# fuzz.sh - `cuvet fuzz` on the corpus and on kernels that end badly, and its command line.
#
# FUZZ_SEEDS (20): seeds with each of which each of the study's wrong kernels must be found within 30 cases.
# FUZZ_MORE (2): seeds with which the mutants must be within 200, and nothing in right kernels. FUZZ_DEVICE=gpu runs all
# on the GPU. Takes CUVET_BUILD from the Makefile.
set -uo pipefail
. tests/tap.sh

cuvet=$CUVET_BUILD/cuvet
corpus=$CUVET_BUILD/tests/corpus
device=${FUZZ_DEVICE:-interpreter}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# fuzz OPTIONS: on the corpus.
fuzz() {
    "$cuvet" fuzz -c "$corpus/registry.yaml" --device "$device" "$@" "$corpus/corpus.fatbin"
}

# named OF KIND: the options that name such kernels.
named() {
    awk -v of="$1" -v kind="$2" '$1 == of && $2 == kind { printf " -k %s", $3 }' "$corpus/kernels"
}

# A mutant's fault lies beyond 2^31 elements; cases have 65536.
beyond='row_sum_f16_3'

# found OF KIND CASES SEED: each such kernel has a finding within so many cases.
found() {
    # shellcheck disable=SC2046
    fuzz $(named "$1" "$2") --cases "$3" --seed "$4" --shrink 0 >"$scratch/out" 2>&1
    local got=$? missed
    missed=$(awk -v of="$1" -v kind="$2" 'NR == FNR { if (/: case [0-9]/) seen[substr($1, 1, length($1) - 1)]; next }
        $1 == of && $2 == kind && !($3 in seen) { print $3 }' "$scratch/out" "$corpus/kernels" |
        grep -vx "$beyond")
    [ $got -eq 3 ] && [ -z "$missed" ] && return
    echo "status $got, not found: $missed"
    tail -n 3 "$scratch/out"
    return 1
}

# quiet OF CASES SEED: no right kernel has one.
quiet() {
    # shellcheck disable=SC2046
    fuzz $(named "$1" right) --cases "$2" --seed "$3" --shrink 0 >"$scratch/out" 2>&1 &&
        ! grep -q 'not run' "$scratch/out" && return
    grep -A1 -e --case -e 'not run' -e 'cuvet fuzz:' "$scratch/out"
    return 1
}

for ((seed = 1; seed <= ${FUZZ_SEEDS:-20}; seed++)); do
    ok "study: wrong kernels are found within 30 cases of seed $seed" found study wrong 30 "$seed"
done
for ((seed = 1; seed <= ${FUZZ_MORE:-2}; seed++)); do
    ok "study: nothing in the right ones, seed $seed" quiet study 30 "$seed"
    ok "mutants are found within 200 cases of seed $seed" found own wrong 200 "$seed"
done
ok 'a write behind the output, and one into an input, are found' found own escapes 30 1
began=${EPOCHREALTIME/[.,]/}
ok 'nothing in the right kernels' quiet own 20 1
awk -v us=$((${EPOCHREALTIME/[.,]/} - began)) '/ cases in / { cases += $2 }
    END { printf "# %d cases in %.1f s, %.0f a minute\n", cases, us / 1e6, 6e7 * cases / us }' "$scratch/out"

# same KERNEL: a case by its own seed is the case of the run.
same() {
    local seed
    fuzz -k "$1" --list --cases 5 --findings 0 --shrink 0 | grep '^case 3 ' >"$scratch/run"
    seed=$(awk '{ print $3 }' "$scratch/run")
    fuzz -k "$1" --list --case "$seed" --shrink 0 | grep '^case 0 ' >"$scratch/alone"
    [ -n "$seed" ] && diff <(cut -d' ' -f3- "$scratch/run") <(cut -d' ' -f3- "$scratch/alone")
}
ok 'a case is run again by its seed' same rmsnorm_bf16_0

# parts: three shards are together the cases of one run.
parts() {
    local i
    fuzz -k gelu_f32_0 --list --cases 20 | grep '^case' | sort >"$scratch/whole"
    for i in 1 2 3; do
        fuzz -k gelu_f32_0 --list --cases 20 --shard $i/3 | grep '^case'
    done | sort >"$scratch/parts"
    [ "$(wc -l <"$scratch/whole")" -eq 20 ] && diff "$scratch/whole" "$scratch/parts"
}
ok 'shards split the cases' parts
ok 'a shard without a case' gives 0 '^gelu_f32_0: no case is in this shard$' fuzz -k gelu_f32_0 --cases 2 --shard 3/3

# merged: the journals of three shards, with a finding, are one report.
merged() {
    local i
    for i in 1 2 3; do
        fuzz -k triton_softmax_f32_1 -k gelu_f32_0 -o "$scratch/merged" --findings 0 --shrink 0 --cases 30 --shard $i/3 \
            >"$scratch/out" 2>&1
    done
    "$cuvet" report --json "$scratch/merged" >"$scratch/json" 2>"$scratch/err"
    [ $? -eq 3 ] && grep -qE '"seen": ?60\b' "$scratch/json" && grep -q triton_softmax_f32_1 "$scratch/json" && return
    cat "$scratch/err"
    head -c 2000 "$scratch/json"
    return 1
}
ok 'journals of shards are one report' merged

# names COUNT OPTIONS: so many kernels are run.
names() {
    local count=$1
    shift
    fuzz "$@" --cases 2 --findings 0 --shrink 0 >"$scratch/out" 2>&1
    [ "$(grep -c ' cases in ' "$scratch/out")" -eq "$count" ] && return
    tail -n 3 "$scratch/out"
    return 1
}
ok 'a glob names kernels' names 3 -k 'gelu_[bf][13f]*_0'
ok 'a regex names kernels' names 4 -k '/^triton_(gelu|silu)_f32_/'
ok 'without a name, all kernels with a rule' names "$(wc -l <"$corpus/kernels")"

# shrinks: the smallest case of a softmax whose padding counts is one row of two columns, or three.
shrinks() {
    fuzz -k triton_softmax_f32_1 -o "$scratch/report" >"$scratch/out"
    grep -A1 smallest "$scratch/out" | grep ' *batch=1 seq=1 cols=[23] x=' >/dev/null &&
        compgen -G "$scratch/report/*/launch.json" >/dev/null && compgen -G "$scratch/report/*/tensors.safetensors" >/dev/null
}
ok 'a finding is made small and kept as a bundle' shrinks

# again KERNEL: the bundle is replayed byte for byte.
again() {
    fuzz -k "$1" -o "$scratch/again" >"$scratch/out"
    "$cuvet" replay --device "$device" "$(sed -n 's/^ *bundle //p' "$scratch/out")" >"$scratch/replayed" 2>&1
    grep -q '^ *reproduced' "$scratch/replayed" && return
    cat "$scratch/out" "$scratch/replayed"
    return 1
}
for kernel in softmax_f32_2 add_bf16_3 attention_f16_3 embedding_backward_bf16_1; do
    ok "$kernel: its bundle is reproduced" again $kernel
done
ok 'JSON: one object a line' bash -c "$(declare -f fuzz); cuvet=$cuvet corpus=$corpus device=$device
    fuzz -k triton_gelu_f32_1 --json | grep -cE '^\{\"version\":1,\"event\":\"(finding|end)\".*\}$' |
    grep -qx 2"

# from IMAGE STATUS PATTERN: a wrong kernel, whose threads are those of Triton's metadata.
sed 's/block: 128/block: 32 * triton.num_warps/' "$corpus/registry.yaml" >"$scratch/triton.yaml"
mkdir -p "$scratch/cache/KEY"
cp "$corpus/corpus.ptx" "$scratch/cache/KEY/softmax_f32_2.ptx"
echo '{"num_warps": 4, "num_ctas": 1, "shared": 0}' >"$scratch/cache/KEY/softmax_f32_2.json"
cat >"$scratch/object.c" <<C
__asm__(".section .nv_fatbin,\"a\"\n.align 8\n.incbin \"$(realpath "$corpus/corpus.fatbin")\"\n.previous");
C
from() {
    local got registry=$corpus/registry.yaml
    [ -d "$1" ] && registry=$scratch/triton.yaml
    "$cuvet" fuzz -c "$registry" --device interpreter -k softmax_f32_2 --shrink 0 "$1" >"$scratch/out" 2>&1
    got=$?
    [ $got -eq "$2" ] && grep -qE "$3" "$scratch/out" && return
    echo "status $got"
    cat "$scratch/out"
    return 1
}
ok 'a shared object is linked' cc -shared -o "$scratch/object.so" "$scratch/object.c"
ok 'a shared object with a fatbin' from "$scratch/object.so" 3 '^softmax_f32_2: case .*: mismatch: '
ok "a folder of Triton's cache" from "$scratch/cache" 3 '^softmax_f32_2: case .*: mismatch: '
# The header of a cubin for sm_90, without sections.
python3 -c 'import struct, sys
sys.stdout.buffer.write(b"\x7fELF\2\1\1\x33\7" + bytes(7) + struct.pack("<HHIQQQIHHHHHH", 2, 190, 1, 0, 0, 0, 0x5a055a, 64, 0, 0, 64, 0, 0))' \
    >"$scratch/code.cubin"
ok 'machine code has no meaning for the interpreter' from "$scratch/code.cubin" 2 'code.cubin: the interpreter runs PTX'

# The header of one with its tables behind the end of the file.
python3 -c 'import struct, sys
sys.stdout.buffer.write(b"\x7fELF\2\1\1\x33\7" + bytes(7) + struct.pack("<HHIQQQIHHHHHH", 2, 190, 1, 0, 0, 5000, 0x5a055a, 64, 0, 0, 64, 3, 0))' \
    >"$scratch/short.cubin"
ok 'a cubin that is cut off' from "$scratch/short.cubin" 2 'short.cubin: the image is cut off: its header needs 5192 bytes, and it has 64'

# on_cpu STATUS KERNEL PATTERN: with references on the processor.
on_cpu() {
    local got
    fuzz -k "$2" --oracle cpu --cases 20 --shrink 0 >"$scratch/out" 2>&1
    got=$?
    [ $got -eq "$1" ] && grep -qE "^$2: $3" "$scratch/out" && return
    echo "status $got"
    cat "$scratch/out"
    return 1
}
ok 'references on the processor: a wrong kernel is found' on_cpu 3 softmax_f32_2 'case .*: mismatch: '
ok 'references on the processor: nothing in the right one' on_cpu 0 softmax_f32_0 '20 cases in '

# Kernels that no reference shows, or that end the process.
cat >"$scratch/kernels.ptx" <<'PTX'
.version 6.4
.target sm_75
.address_size 64
.visible .entry fault(.param .u64 x, .param .u64 y, .param .u32 n)
{
    .reg .b64 %rd<2>;
    .reg .b32 %r<2>;
    mov.u64 %rd1, 64;
    mov.u32 %r1, 0;
    st.global.u32 [%rd1], %r1;
    ret;
}
.visible .entry spin(.param .u64 x, .param .u64 y, .param .u32 n)
{
AGAIN:
    bra AGAIN;
}
.visible .entry by_factor(.param .u64 x, .param .u64 y, .param .u64 factor, .param .u32 n)
{
    .reg .pred %p<2>;
    .reg .b32 %r<6>;
    .reg .b64 %rd<8>;
    .reg .f32 %f<4>;
    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [y];
    ld.param.u64 %rd6, [factor];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.s32 %r5, %r2, %r3, %r4;
    setp.ge.s32 %p1, %r5, %r1;
    @%p1 bra DONE;
    mul.wide.s32 %rd3, %r5, 4;
    add.s64 %rd4, %rd1, %rd3;
    add.s64 %rd5, %rd2, %rd3;
    ld.global.f32 %f1, [%rd4];
    ld.global.f32 %f2, [%rd6];
    mul.f32 %f3, %f1, %f2;
    st.global.f32 [%rd5], %f3;
DONE:
    ret;
}
.visible .entry by_scratch(.param .u64 t, .param .u64 x, .param .u64 y, .param .u32 n)
{
    .reg .pred %p<2>;
    .reg .b32 %r<6>;
    .reg .b64 %rd<8>;
    .reg .f32 %f<4>;
    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [y];
    ld.param.u64 %rd6, [t];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.s32 %r5, %r2, %r3, %r4;
    setp.ge.s32 %p1, %r5, %r1;
    @%p1 bra DONE;
    mul.wide.s32 %rd3, %r5, 4;
    add.s64 %rd4, %rd1, %rd3;
    add.s64 %rd5, %rd2, %rd3;
    add.s64 %rd7, %rd6, %rd3;
    ld.global.f32 %f1, [%rd4];
    st.global.f32 [%rd7], %f1;
    ld.global.f32 %f2, [%rd7];
    neg.f32 %f3, %f2;
    st.global.f32 [%rd5], %f3;
DONE:
    ret;
}
.visible .entry idle(.param .u64 x, .param .u64 y, .param .u32 n)
{
    ret;
}
.visible .entry beyond(.param .u64 x, .param .u64 y, .param .u32 n)
{
    .reg .pred %p<2>;
    .reg .b32 %r<8>;
    .reg .b64 %rd<6>;
    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [y];
    ld.param.u32 %r1, [n];
    add.s32 %r6, %r1, 7;
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.s32 %r5, %r2, %r3, %r4;
    setp.ge.s32 %p1, %r5, %r6;
    @%p1 bra DONE;
    mul.wide.s32 %rd3, %r5, 4;
    add.s64 %rd4, %rd1, %rd3;
    add.s64 %rd5, %rd2, %rd3;
    ld.global.u32 %r7, [%rd4];
    st.global.u32 [%rd5], %r7;
DONE:
    ret;
}
PTX
cat >"$scratch/kernels.yaml" <<'YAML'
version: 1
kernels:
  - kernel: /^(fault|spin|idle|slow)$/
    signature: const f32 x[n], f32 y[n], i32 n
    reference: relu
    fuzz: {n: 1..500, block: 128, grid: "ceil_div(n, 128)", x: {values: [nan, normal]}}
  - kernel: beyond
    signature: const f32 x[n], f32 y[n], i32 n
    reference: cast
    fuzz: {n: 1..500, block: 128, grid: "ceil_div(n + 7, 128)"}
  - kernel: by_scratch
    signature: ws f32 t[n], const f32 x[n], f32 y[n], i32 n
    reference: scale
    let: {minus: -1}
    bind: {alpha: minus}
    fuzz: {n: 1..500, block: 128, grid: "ceil_div(n, 128)", x: {values: normal}}
  - kernel: by_factor
    signature: const f32 x[n], f32 y[n], const f32 factor[1], i32 n
    reference: scale
    bind: {alpha: "factor[0]"}
    fuzz: {n: 1..500, block: 128, grid: "ceil_div(n, 128)"}
YAML
sed 's/factor\[0\]/1.5/' "$scratch/kernels.yaml" >"$scratch/number.yaml"
sed 's/n: 1\.\.500/n: 1/; s/\[nan, normal\]/nan/' "$scratch/kernels.yaml" >"$scratch/nan.yaml"
sed 's/block: 128/block: 2000/' "$scratch/kernels.yaml" >"$scratch/large.yaml"
sed 's/reference: relu/reference: row_sum/; s/n: 1\.\./n: 2../' "$scratch/kernels.yaml" >"$scratch/rank.yaml"

# The corpus's kernels that read or write rows by index, with tables that the indices alone reach.
cat >"$scratch/rows.yaml" <<'YAML'
version: 1
kernels:
  - kernel: /^embedding_(f32|f16|bf16)_\d+$/
    signature: >
      const i64 ids[tokens], const T table[@ids][cols], T y[tokens][cols], i32 tokens, i32 entries, i32 cols
    reference: embedding
    fuzz: {tokens: 1..129, cols: 1..33, entries: 2..1000, block: 128, align: 1, grid: "min(ceil_div(tokens * cols, 128), 64)",
           ids: {below: entries}, table: {rows: entries}}
  - kernel: /^index_add_(f32|f16|bf16)_\d+$/
    signature: >
      const i32 ids[tokens], const T x[tokens][cols], inout T y[@ids][cols], i32 tokens, i32 entries, i32 cols, f32 alpha
    reference: index_add
    fuzz: {tokens: 2..200, cols: 1..5, entries: 3..33, alpha: [1, 0.3], block: 128, grid: "min(ceil_div(entries * cols, 128), 64)",
           ids: {below: entries}, y: {rows: entries, values: [normal, zero]}}
YAML
sed -i 's/(f32|f16|bf16)/(?<T>f32|f16|bf16)/' "$scratch/rows.yaml"

# rows STATUS OPTIONS: with these entries.
rows() {
    local status=$1 got
    shift
    "$cuvet" fuzz -c "$scratch/rows.yaml" --device "$device" --shrink 0 "$@" "$corpus/corpus.fatbin" >"$scratch/out" 2>&1
    got=$?
    [ $got -eq "$status" ] && ! grep -q 'not run' "$scratch/out" && return
    echo "status $got"
    cat "$scratch/out"
    return 1
}
ok 'rows by index: nothing in the right kernels' rows 0 -k '/^(embedding|index_add)_.*_0$/' --cases 60
for kernel in embedding_f32_1 index_add_f32_1; do
    ok "rows by index: $kernel is found" rows 3 -k $kernel
done

# Products with weights in blocks of 256: a case has whole blocks with random codes and finite scales.
cat >"$scratch/blocks.yaml" <<'YAML'
version: 1
kernels:
  - kernel: q4k_gemv*
    signature: const q4_K w[n][k], const f32 x[m][k], f32 y[m][n], i32 n, i32 k
    let: &rows {m: grid.y}
    reference: linear_blocks
    fuzz: &drawn {n: 1..40, m: 1..4, block: 128, grid: [n, m]}
  - kernel: q6k_gemv*
    signature: const q6_K w[n][k], const f32 x[m][k], f32 y[m][n], i32 n, i32 k
    let: *rows
    reference: linear_blocks
    fuzz: *drawn
YAML

# blocks STATUS PATTERN OPTIONS: with these entries.
blocks() {
    local status=$1 pattern=$2
    shift 2
    gives "$status" "$pattern" "$cuvet" fuzz -c "$scratch/blocks.yaml" --device "$device" "$@" \
        "$CUVET_BUILD/tests/scenario/pairs/kernels.fatbin" && ! grep 'not run' "$scratch/out"
}
for kernel in q4k_gemv q6k_gemv; do
    ok "blocks: nothing in the right kernel $kernel" blocks 0 ': 200 cases in ' -k $kernel
    ok "blocks: the wrong kernel ${kernel}_batched_wrong is found" blocks 3 'smallest.*: mismatch: ' -k ${kernel}_batched_wrong
done
# A bundle of such a case, which is replayed byte for byte.
blocks_again() {
    blocks 3 ' bundle ' -k q4k_gemv_batched_wrong -o "$scratch/blocks" &&
        gives 3 '^ *reproduced every' "$cuvet" replay --device "$device" "$(sed -n 's/^ *bundle //p' "$scratch/out")"
}
ok 'blocks: the bundle is reproduced' blocks_again

# Sums of integers that name the accumulator in which they are wrong.
cat >"$scratch/integers.yaml" <<'YAML'
version: 1
kernels:
  - kernel: '/^row_sum_(?<T>f32|f16|bf16)_\d+$/'
    signature: const T x[rows:pitch][cols], T y[rows], i32 rows, i32 cols, i64 pitch
    reference: row_sum
    fuzz: {block: 128, grid: "min(rows, 64)", align: 1, rows: 1..8, cols: 1..4099, x: {values: integers}}
  - kernel: '/^gemv_(?<T>f32|f16|bf16)_\d+$/'
    signature: const T a[m][n], const T x[n], T y[m], i32 m, i32 n
    reference: gemv
    fuzz: {block: 128, grid: "min(m, 64)", m: 1..65, n: 1..4099, a: {values: integers}, x: {values: integers}}
  - kernel: '/^matmul_(?<T>f32|f16|bf16)_\d+$/'
    signature: const T a[m][k], const T b[k][n], T c[m][n], i32 m, i32 n, i32 k, f32 alpha
    reference: matmul
    fuzz: {block: 128, grid: "min(ceil_div(m*n, 128), 64)", m: 1..33, n: 1..97, k: 1..300, alpha: 1,
           a: {values: integers}, b: {values: integers}}
YAML

# integers STATUS PATTERN OPTIONS
integers() {
    local status=$1 pattern=$2
    shift 2
    gives "$status" "$pattern" "$cuvet" fuzz -c "$scratch/integers.yaml" --device "$device" --shrink 0 "$@" \
        "$corpus/corpus.fatbin" && ! grep "[0-9] not run" "$scratch/out"
}
for kernel in row_sum_bf16_1 row_sum_bf16_5 matmul_bf16_2; do
    ok "integers: a bf16 accumulator, $kernel" integers 3 'those up to 2\^11 are not: an accumulator in bf16$' -k $kernel --cases 30
done
ok 'integers: an f16 accumulator' integers 3 'those up to 2\^24 are not: an accumulator in f16$' -k gemv_f16_1 --cases 30
ok 'integers: the accumulator in JSON' integers 3 '"accumulator":"f16","drawn"' -k gemv_f16_1 --cases 30 --json
ok 'integers: nothing in the right kernels' integers 0 ': 200 match$' -k '/^(row_sum|gemv|matmul)_.*_0$/'
unnamed() { integers 3 ': mismatch: ' -k "$1" && ! grep accumulator "$scratch/out"; }
ok 'integers: a tail that is left out is no accumulator' unnamed row_sum_f16_4

# Kernels that work on several arrays at once, which a struct lists; a check judges one part of them.
cat >"$scratch/lists.yaml" <<'YAML'
version: 1
kernels:
  - kernel: lists_*
    signature: >
      struct 176 {
        const f32 x[count from first] @0[tensor], f32 y[count from first] @32[tensor],
        i64 numel @64[tensor], u8 tensor @96[block], i32 chunk @112[block]
      }, f32 factor
    pick: {block: grid.x}
    let: {first: chunk * 256, count: "min(numel - first, 256)"}
    reference: scale
    bind: {alpha: factor}
    fuzz:
      tensors: 1..4
      numel: 1..1000
      factor: [0.75, -2]
      block: 64
      grid: lists.blocks
      lists: {count: tensors, length: numel, tensor: tensor, part: chunk, parts: "ceil_div(numel, 256)"}
YAML
grep -v ' lists: ' "$scratch/lists.yaml" | sed 's/lists.blocks/1/' >"$scratch/listless.yaml"

# lists STATUS PATTERN REGISTRY OPTIONS
lists() {
    local status=$1 pattern=$2 registry=$3
    shift 3
    gives "$status" "$pattern" "$cuvet" fuzz -c "$scratch/$registry" --device "$device" "$@" \
        "$CUVET_BUILD/tests/scenario/picked/kernels.fatbin"
}
ok 'lists: nothing in the right kernel' lists 0 ': 200 cases in .*: 200 match$' lists.yaml -k lists_right
ok 'lists: a part that ends early is found, and named' lists 3 'unwritten: .*; block [0-9]+ of [0-9]+; 1 of ' lists.yaml -k lists_short
ok 'lists: the least case has the array that is wrong' holds out 'numel=1 tensors=3 factor=0.75 x=zero y=poison grid=3 block=64'
ok 'lists: without the rule one sentence' lists 2 "cases of a struct that lists arrays need 'lists'" listless.yaml -k lists_right
sed 's/min(numel - first, 256)/100000/' "$scratch/lists.yaml" >"$scratch/beyond.yaml"
ok 'lists: a part outside all arrays is not judged' lists 2 'reaches beyond the arrays of the case' beyond.yaml -k lists_right
# A bundle of such a case, with the addresses of all arrays.
lists_again() {
    lists 3 ' bundle ' lists.yaml -k lists_short -o "$scratch/lists" &&
        gives 3 '^ *reproduced every' "$cuvet" replay --device "$device" "$(sed -n 's/^ *bundle //p' "$scratch/out")"
}
ok 'lists: the bundle is reproduced' lists_again

# ends KERNEL OUTCOME: each of three cases has that outcome, and the run goes on behind it.
ends() {
    "$cuvet" fuzz -c "$scratch/kernels.yaml" --device interpreter -k "$1" --cases 3 --findings 0 \
        --shrink 0 --timeout 300ms "$scratch/kernels.ptx" >"$scratch/out" 2>&1
    [ $? -eq 3 ] && grep -q "^$1: 3 cases in .* 3 $2\$" "$scratch/out" && return
    cat "$scratch/out"
    return 1
}
ok 'a fault ends the case, not the run' ends fault fault
ok 'a launch without an end ends the case, not the run' ends spin hang
ok 'an output that nothing was written to' ends idle unwritten

# reported KERNEL OUTCOME RULE: such a finding is one in every form of the report, with the command that shows it again,
# and its bundle is replayed.
reported() {
    local out=$scratch/reported-$1 again
    "$cuvet" fuzz -c "$scratch/kernels.yaml" --device interpreter -k "$1" --cases 3 --shrink 0 --timeout 300ms -o "$out" \
        "$scratch/kernels.ptx" >"$scratch/out" 2>&1
    "$cuvet" report "$out" >"$scratch/text" 2>&1
    [ $? -eq 3 ] && grep -q "^    1\. $1, .*: $2: " "$scratch/text" || { cat "$scratch/text"; return 1; }
    again=$(sed -n 's/^ *again   cuvet //p' "$scratch/text")
    # shellcheck disable=SC2086
    "$cuvet" $again --device interpreter --timeout 300ms --shrink 0 >"$scratch/out" 2>&1
    [ $? -eq 3 ] && grep -q "^$1: case 0, .*: $2: " "$scratch/out" || { echo "$again"; cat "$scratch/out"; return 1; }
    gives 3 "^cuvet fuzz -c .* --case 0x" "$cuvet" report -f junit "$out" &&
        gives 3 "<failure type=\"$3\" message=\"1 of 1 " "$cuvet" report -f junit "$out" &&
        gives 3 "\"ruleId\": *\"$3\"" "$cuvet" report -f sarif "$out" &&
        gives 3 "<p>$2: " "$cuvet" report -f html "$out" &&
        gives 3 "\"outcome\": *\"$2\"" "$cuvet" report --json "$out" || return 1
    gives 3 "^  case       $2: " "$cuvet" replay --device interpreter --timeout 1 "$out"/"$1"-* || return 1
    [ "$2" = unwritten ] && return
    gives 3 '^  reproduced it ends the same way$' "$cuvet" replay --device interpreter --timeout 1 "$out"/"$1"-* &&
        gives 3 '^  reference  none: the launch did not end$' "$cuvet" replay --device interpreter --timeout 1 "$out"/"$1"-* &&
        gives 3 '"reproduced":true,"runs":0.*"no_verdict":"the launch did not end"' \
            "$cuvet" replay --device interpreter --timeout 1 --json "$out"/"$1"-*
}
ok 'a fault is a finding in reports, and a bundle' reported fault fault fault
ok 'a hang is a finding in reports, and a bundle' reported spin hang hang
# another_ending: a fault where the bundle's finding is a hang, and one where a program's launch ended.
another_ending() {
    local bundle
    bundle=$(echo "$scratch"/reported-spin/spin-*)
    sed 's/ret;/AGAIN: bra AGAIN;/' tests/golden/bundle-2/module.ptx >"$scratch/again.ptx"
    gives 3 '"reproduced":false,' "$cuvet" replay --device interpreter --json --against "$scratch/kernels.ptx" --kernel fault "$bundle" &&
        gives 3 '^  reference  none: the launch did not end$' "$cuvet" replay --device interpreter --timeout 1 \
            --against "$scratch/again.ptx" tests/golden/bundle-2 && ! grep reproduced "$scratch/out"
}
ok 'replay: another ending is none that is reproduced' another_ending
ok 'an output that nothing was written to is named so in reports' reported idle unwritten unwritten

# reported_clean: a run without a finding is none.
reported_clean() {
    fuzz -k gelu_f32_0 -o "$scratch/clean" --cases 5 >"$scratch/out" 2>&1 &&
        "$cuvet" report "$scratch/clean" >"$scratch/text" && ! grep -qE 'again|Findings' "$scratch/text" &&
        ! "$cuvet" report -f junit "$scratch/clean" | grep -q '<failure'
}
ok 'a run without a finding is none in reports' reported_clean

# escapes: matching elements with a write outside, or into an input, are findings with their own names.
escapes() {
    # shellcheck disable=SC2046
    fuzz $(named own escapes) --cases 30 --shrink 0 -o "$scratch/escapes" >"$scratch/out" 2>&1
    "$cuvet" report -f sarif "$scratch/escapes" >"$scratch/sarif"
    [ $? -eq 3 ] && grep -q '"ruleId": *"write-outside"' "$scratch/sarif" && grep -q '"ruleId": *"input-changed"' "$scratch/sarif" && return
    cat "$scratch/sarif"
    return 1
}
ok 'a write outside, and one into an input, are findings in reports' escapes

# small STATUS REGISTRY KERNEL PATTERN: of one of these kernels; what the output holds.
small() {
    local got
    "$cuvet" fuzz -c "$scratch/$2" --device interpreter -k "$3" --shrink 0 "$scratch/kernels.ptx" >"$scratch/out" 2>&1
    got=$?
    [ $got -eq "$1" ] && grep -qE "$4" "$scratch/out" && return
    echo "status $got"
    cat "$scratch/out"
    return 1
}
ok 'a number from memory' small 0 kernels.yaml by_factor ' match'
ok 'another number than the one in memory' small 3 number.yaml by_factor ' mismatch'
ok 'an expected NaN has neither a sign nor a bound' small 3 nan.yaml idle 'got [0-9][^,]*, expected nan; 1 of 1 elements'
ok 'a launch that no device runs' small 2 large.yaml idle 'no device runs a grid'
ok 'shapes that the reference cannot judge' small 2 rank.yaml idle 'no case was judged'

# beyond: a copy of seven elements too many takes what lies behind the input onto what lies behind the output, in each
# case, in a replay of one between guard bytes of the worker's own, and in its probe.
beyond() {
    local bundle
    "$cuvet" fuzz -c "$scratch/kernels.yaml" --device interpreter -k beyond --cases 30 --findings 0 --shrink 0 \
        -o "$scratch/beyond" "$scratch/kernels.ptx" >"$scratch/out" 2>&1
    [ $? -eq 3 ] && grep -q ': 30 write outside$' "$scratch/out" || { tail -n 3 "$scratch/out"; return 1; }
    bundle=$(sed -n 's/^ *bundle //p' "$scratch/out" | head -n 1)
    "$cuvet" probe --device interpreter "$bundle" >"$scratch/out" 2>&1
    [ $? -eq 3 ] && grep -q '^  outside  *finding  [0-9]* bytes are written outside y; the first is byte [1-4] behind' "$scratch/out" ||
        { cat "$scratch/out"; return 1; }
    sed -i '/"surroundings":/d' "$bundle/launch.json"
    "$cuvet" replay --device interpreter "$bundle" >"$scratch/out" 2>&1
    [ $? -eq 3 ] && grep -q '^  outside  *[0-9]* guard bytes' "$scratch/out" && return
    cat "$scratch/out"
    return 1
}
ok 'a copy beyond the end of both arrays is a write outside' beyond
sed 's/reference: cast/reference: relu/' "$scratch/kernels.yaml" >"$scratch/relu.yaml"
ok 'wrong outputs, and a write outside besides' small 3 relu.yaml beyond \
    ' mismatch: .* elements outside the bound.*; [0-9]+ bytes changed outside the arrays, the first [1-4] bytes behind'

# A cubin that carries its PTX, as those of Triton and of nvcc -lineinfo do.
mkdir -p "$scratch/cubins/KEY"
python3 -c 'import struct, sys
text = open(sys.argv[1], "rb").read().replace(b"\n", b"\0")
names = b"\0.shstrtab\0.nv_debug_ptx_txt\0"
tables = 64 + (len(text) + len(names) + 7) // 8 * 8
head = b"\x7fELF\2\1\1\x33\7" + bytes(7) + struct.pack("<HHIQQQIHHHHHH", 2, 190, 1, 0, 0, tables, 0x5a055a, 64, 0, 0, 64, 3, 1)
rows = [(0, 0, 0, 0, 0, 0, 0, 0, 0, 0), (1, 3, 0, 0, 64 + len(text), len(names), 0, 0, 1, 0), (11, 1, 0, 0, 64, len(text), 0, 0, 1, 0)]
body = (head + text + names).ljust(tables, b"\0")
open(sys.argv[2], "wb").write(body + b"".join(struct.pack("<IIQQQQIIQQ", *row) for row in rows))' \
    "$scratch/kernels.ptx" "$scratch/cubins/KEY/beyond.cubin"
# carried STATUS PATTERN VERB ...: of the cubin, on the interpreter.
carried() {
    local status=$1 pattern=$2 got
    shift 2
    "$cuvet" "$@" >"$scratch/shown" 2>&1
    got=$?
    [ $got -eq "$status" ] && grep -qE "$pattern" "$scratch/shown" && return
    echo "status $got"
    cat "$scratch/shown"
    return 1
}
ok 'fuzz: the PTX that a cubin carries' carried 3 ': write outside: ' fuzz -c "$scratch/kernels.yaml" \
    --device interpreter -k beyond --shrink 0 "$scratch/cubins/KEY/beyond.cubin"
ok "fuzz: a folder of Triton's cache without PTX" carried 3 ': write outside: ' fuzz -c "$scratch/kernels.yaml" \
    --device interpreter -k beyond --shrink 0 "$scratch/cubins"
ok 'replay: the PTX that a cubin carries' carried 3 '^  outside ' replay --device interpreter \
    --against "$scratch/cubins/KEY/beyond.cubin" "$scratch"/beyond/beyond-*-0

# lost: the worker is killed once in the middle of a run, which goes on.
lost() {
    local run
    stdbuf -oL "$cuvet" fuzz -c "$scratch/kernels.yaml" --device interpreter -k by_factor --list --cases 5000 \
        "$scratch/kernels.ptx" >"$scratch/out" 2>&1 &
    run=$!
    until grep -q '^case 5 ' "$scratch/out"; do kill -0 $run || break; done
    pkill -9 -P $run
    wait $run
    [ $? -eq 0 ] && grep -q ': 4999 match, 1 lost$' "$scratch/out" && return
    tail -n 2 "$scratch/out"
    return 1
}
ok 'a worker that is killed costs one case' lost
lost_again() {
    local run
    "$cuvet" fuzz -c "$scratch/kernels.yaml" --device interpreter -k spin --timeout 60 "$scratch/kernels.ptx" \
        >"$scratch/out" 2>&1 &
    run=$!
    while kill -0 $run 2>"$scratch/gone"; do pkill -9 -P $run; done
    wait $run
    [ $? -eq 1 ] && grep -q 'the worker process was killed from outside' "$scratch/out" && return
    cat "$scratch/out"
    return 1
}
ok 'workers that are killed one after the other end the run' lost_again

# Kernels that are right in each single launch, and wrong in what several show.
cat >"$scratch/probed.yaml" <<'YAML'
version: 1
kernels:
  - kernel: /^(straight|narrow|timed|batched)$/
    signature: const f32 x[rows:stride][cols], f32 y[rows:stride][cols], i32 rows, i32 cols, i32 stride
    reference: silu
    fuzz: {rows: 12..15, cols: 100..120, block: 128, grid: 4}
YAML

# probed STATUS PATTERN KERNEL OPTIONS: on these.
probed() {
    local status=$1 pattern=$2 kernel=$3 got
    shift 3
    "$cuvet" fuzz -c "$scratch/probed.yaml" --device "$device" -k "$kernel" --cases 3 "$@" \
        "$CUVET_BUILD/tests/scenario/probed/kernels.fatbin" >"$scratch/out" 2>&1
    got=$?
    [ $got -eq "$status" ] && grep -qE "$pattern" "$scratch/out" && return
    echo "status $got"
    cat "$scratch/out"
    return 1
}
for kernel in timed batched narrow; do
    ok "without --probe nothing is found in $kernel" probed 0 ': 3 match$' $kernel
done
ok 'a probe finds bits that depend on the size of the batch' probed 3 ': probe: split: ' batched --probe
ok 'the check is named alone' probed 3 ': probe: split: ' batched --probe=split
ok 'another check does not find it' probed 0 ' probed: 3 cases in [1-9]' batched --probe=steady,permute
if [ "$device" = interpreter ]; then
    ok 'a probe finds warps that rely on time' probed 3 ': probe: noise: ' timed --probe
    ok 'a probe finds offsets in 32 bits' probed 3 ': probe: far: ' narrow --probe=far
    ok 'rows far apart are no probe unless named' probed 0 ': 3 match$' narrow --probe
fi
ok 'probes find nothing in a right kernel' probed 0 ' probed: 3 cases in [1-9]' straight --probe
ok 'a finding of a probe in JSON' probed 3 '"event":"finding".*"outcome":"probe","sentence":"split: ' batched --probe --json
ok 'a probe that there is not' probed 2 "'fast'; expected some of steady, " straight --probe=split,fast

# kept: the bundle of a probe's finding shows it again.
kept() {
    probed 3 ' bundle ' batched --probe -o "$scratch/kept" || return 1
    "$cuvet" probe --device "$device" "$(sed -n 's/^ *bundle //p' "$scratch/out")" >"$scratch/shown" 2>&1
    [ $? -eq 3 ] && grep -q '^  split  *finding' "$scratch/shown" && return
    cat "$scratch/shown"
    return 1
}
ok 'a finding of a probe is kept as a bundle' kept

# alone: the launch of such a bundle is reproduced, and matches: still a finding.
alone() {
    "$cuvet" replay --device "$device" "$(sed -n 's/^ *bundle //p' "$scratch/out")" >"$scratch/shown" 2>&1
    [ $? -eq 3 ] && grep -q '^  case .*: split: .*; a launch by itself does not show it$' "$scratch/shown" &&
        grep -q '^  reference  match' "$scratch/shown" && return
    cat "$scratch/shown"
    return 1
}
ok 'replay: a finding of a probe, whose launch alone matches' alone

# probe_again: in the report the finding has the command with --probe.
probe_again() {
    local again
    "$cuvet" report "$scratch/kept" >"$scratch/text"
    [ $? -eq 3 ] || return 1
    again=$(sed -n 's/^ *again   cuvet //p' "$scratch/text")
    # shellcheck disable=SC2086
    "$cuvet" $again --device "$device" >"$scratch/out" 2>&1
    [ $? -eq 3 ] && grep -q ': probe: split: ' "$scratch/out" && return
    cat "$scratch/text" "$scratch/out"
    return 1
}
ok 'a finding of a probe is one in reports' probe_again

# scratch: bundles of cases with a workspace, which is apart from the arrays.
scratch() {
    local bundle
    "$cuvet" fuzz -c "$scratch/kernels.yaml" --device interpreter -k by_scratch --cases 3 --keep -o "$scratch/apart" \
        "$scratch/kernels.ptx" >"$scratch/out" 2>&1 || return 1
    for bundle in "$scratch"/apart/by_scratch-*; do
        if ! "$cuvet" probe --device interpreter "$bundle" >"$scratch/out" 2>&1 || ! grep -q '^  outside  *good' "$scratch/out"; then
            cat "$scratch/out"
            return 1
        fi
    done
}
ok 'a workspace of a case is no gap between its arrays' scratch

# calm: of right kernels, each in three cases; the second run's have as many columns as rows.
calm() {
    fuzz -k add_f32_0 -k rmsnorm_bf16_0 -k softmax_causal_f16_0 -k gather_f32_0 -k linear_f32_0 -k matmul_tn_f32_0 \
        -k attention_f32_0 -k adamw_f32_0 --cases 3 --findings 0 --probe >"$scratch/out" 2>&1 &&
        [ "$(grep -c ' probed: 3 cases in [1-9]' "$scratch/out")" -eq 8 ] &&
        ! grep -q 'not probed' "$scratch/out" &&
        "$cuvet" fuzz -c "$scratch/square.yaml" --device "$device" --cases 3 --findings 0 --probe \
            -k row_sum_f32_0 -k linear_f32_0 "$corpus/corpus.fatbin" >"$scratch/out" 2>&1 &&
        [ "$(grep -c ' probed: 3 cases in [1-9]' "$scratch/out")" -eq 2 ] && return
    cat "$scratch/out"
    return 1
}
sed -E '/row_sum/,/fuzz:/s/(fuzz: .*)cols: [^,}]*/\1cols: rows/; /linear_\(/,/fuzz:/s/(fuzz: .*)n: [^,}]*(.*)k: [^,}]*/\1n: m\2k: m/' \
    "$corpus/registry.yaml" >"$scratch/square.yaml"
ok 'probes find nothing in right kernels' calm

# checked: `cuvet check` shows a mistake in a mapping.
checked() {
    sed 's/n: 1\.\.500/m: 1..500/' "$scratch/kernels.yaml" >"$scratch/wrong.yaml"
    "$cuvet" check "$scratch/wrong.yaml" >"$scratch/out" 2>"$scratch/err"
    [ $? -eq 2 ] && grep -q "wrong.yaml:6:.* fuzz: nothing reads 'm'" "$scratch/err"
}
ok 'cuvet check shows a wrong mapping' checked

# progress: a run over two seconds has a line on a terminal.
progress() {
    script -qec "$cuvet fuzz -c $corpus/registry.yaml -k gelu_f32_0 --device interpreter --cases 10000000 \
        --seconds 3 $corpus/corpus.fatbin" /dev/null </dev/null | grep '[0-9] of 10000000 cases, [0-9]* a second' >/dev/null
}
if command -v script >"$scratch/script"; then
    ok 'a line of progress on a terminal' progress
else
    skip 'a line of progress on a terminal' 'there is no script(1)'
fi

# refuses PATTERN COMMAND ...: exit status 2 and one line on standard error.
refuses() {
    local pattern=$1 got
    shift
    "$@" >"$scratch/out" 2>"$scratch/err"
    got=$?
    [ $got -eq 2 ] && [ ! -s "$scratch/out" ] && [ "$(wc -l <"$scratch/err")" -eq 1 ] &&
        grep -qE -- "$pattern" "$scratch/err" && return
    echo "status $got"
    cat "$scratch/out" "$scratch/err"
    return 1
}
head -c 3000 "$corpus/corpus.fatbin" >"$scratch/cut"
head -c 3000 /dev/urandom >"$scratch/random"
: >"$scratch/empty"
head -n 3 "$scratch/kernels.ptx" >"$scratch/head.ptx"
one="fuzz -c $corpus/registry.yaml --device interpreter -k gelu_f32_0"
ok 'no registry' refuses 'no registry: give -c FILE' "$cuvet" fuzz --no-tables -k gelu_f32_0 x
ok 'no image' refuses 'expected one IMAGE' "$cuvet" fuzz -c "$corpus/registry.yaml"
ok 'a wrong pattern' refuses 'regex' "$cuvet" fuzz -c "$corpus/registry.yaml" -k '/(/' \
    --device interpreter "$corpus/corpus.fatbin"
for option in '--seed x' '--cases 0' '--seconds -1' '--shard 3/2' '--shard 1' '--device tpu' \
    '--oracle me' '--timeout 0' '--timeout ms' '--timeout 0.5us' '--shrink -1'; do
    # shellcheck disable=SC2086
    ok "option $option" refuses 'expected' "$cuvet" $one $option "$corpus/corpus.fatbin"
done
# shellcheck disable=SC2086
{
    ok 'no file' refuses 'cannot read .*none: ' "$cuvet" $one "$scratch/none"
    ok 'an empty image' refuses 'empty is empty' "$cuvet" $one "$scratch/empty"
    ok 'PTX without an entry' refuses 'the PTX has no .entry: it is cut off' "$cuvet" ${one% -k*} "$scratch/head.ptx"
    ok 'a cut image' refuses 'image' "$cuvet" $one "$scratch/cut"
    ok 'a random image' refuses 'image' "$cuvet" $one "$scratch/random"
    ok 'a folder without the kernel' refuses 'holds no file gelu_f32_0.ptx' "$cuvet" $one "$scratch"
    ok 'a kernel that the image has not' refuses 'gelu_f32_99' "$cuvet" ${one% -k*} \
        -k gelu_f32_99 "$corpus/corpus.fatbin"
    ok 'no GPU for the oracle' refuses 'the kernel runs on the interpreter' "$cuvet" $one \
        --oracle gpu "$corpus/corpus.fatbin"
}
done_testing
