#!/bin/bash
# lift.sh - `cuvet lift` on the corpus: the mutants of class 12 (a low-precision accumulator), each with the line that
# lift names, and right kernels, for which it must name none; then the exact mode on every mutant.
#
# LIFT_CASES (1): cases of each right kernel. LIFT_TABLE=1 prints the table. Takes CUVET_BUILD from the Makefile.
set -uo pipefail
. tests/tap.sh

cuvet=$CUVET_BUILD/cuvet
corpus=$CUVET_BUILD/tests/corpus
image=$corpus/corpus.ptx
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# cases KERNEL OPTIONS: the bundles of a run of fuzz.
cases() {
    local kernel=$1
    shift
    "$cuvet" fuzz -c "$corpus/registry.yaml" -k "$kernel" --device interpreter --shrink 0 -o "$scratch/$kernel" "$@" \
        "$image" >"$scratch/fuzz" 2>&1
    sed -n 's/^ *bundle //p' "$scratch/fuzz"
}

# Rows of entries.def: NAME CLASS of each mutant.
mutants() {
    sed -nE 's/^(WRONG|ESCAPES)\(([a-z_0-9]+), ([a-z0-9]+), ([0-9]+), ([0-9]+),.*/\2_\3_\4 \5/p' tests/corpus/entries.def
}

# named FILE: a line of the corpus that lift prints first has MUTANT in it.
named() {
    local file line
    while IFS=: read -r file line; do
        if sed -n "${line}p" "tests/corpus/kernels/$file" | grep MUTANT >/dev/null; then
            echo "$file:$line"
            return
        fi
    done < <(grep -m 1 'lost at' "$1" | grep -oE '[a-z_]+\.cuh?:[0-9]+')
    return 1
}

# accumulator KERNEL: in some finding of fuzz, lift finds elements outside, and names the mutant's line.
accumulator() {
    local bundle where
    for bundle in $(cases "$1" --cases 300 --findings 12); do
        "$cuvet" lift "$bundle" >"$scratch/out" 2>&1
        [ $? -eq 3 ] || continue
        where=$(named "$scratch/out") || break
        [ -z "${LIFT_TABLE-}" ] || printf '# | %s | %s | `%s` |\n' "$1" "$where" \
            "$(sed -n "${where#*:}p" "tests/corpus/kernels/${where%:*}" | sed 's/^ *//')"
        return 0
    done
    cat "$scratch/fuzz" "$scratch/out"
    return 1
}
while read -r kernel class; do
    [ "$class" != 12 ] || ok "$kernel: the line of its accumulator is named" accumulator "$kernel"
done < <(mutants)

# quiet OPERATION: nothing in the right kernels of all types.
quiet() {
    local bundle bad=0 count=0
    for bundle in $(cases "$1" --cases "${LIFT_CASES:-1}" --findings 0 --keep --seed 5); do
        count=$((count + 1))
        "$cuvet" lift "$bundle" >"$scratch/out" 2>&1 && continue
        cat "$scratch/out"
        bad=1
    done
    [ $bad -eq 0 ] && [ $count -gt 0 ]
}
for letter in a b c d e g h i l m n r s t; do
    ok "nothing in the right kernels that begin with $letter" quiet "/^${letter}[a-z0-9_]*_(f32|f16|bf16)_0\$/"
done

# What no field shows: integers as outputs, faults of memory and launches, and formulas that are equal but for overflow.
beyond=' row_sum_f16_3 scale_f32_3 silu_backward_f32_2 l2norm_f32_3 sigmoid_f16_1 '

# exactly KERNEL CLASS: the mutant against the right kernel, on the case that shows the fault. Of classes 12 and 13,
# roundings, they are the same computation; of the others they are not.
exactly() {
    local bundle want=different got
    bundle=$(cases "$1" --cases 300 | head -n 1)
    [ "$2" != 12 ] && [ "$2" != 13 ] || want=equal
    "$cuvet" lift --exact --image "$image" --kernel "${1%_*}_0" "$bundle" >"$scratch/out" 2>&1
    got=$(head -n 1 "$scratch/out")
    [ "${got##*: }" = $want ] && return
    [ $want = equal ] && grep -qE '\b(nan|inf)\b' "$scratch/out" && return # no number to compare
    cat "$scratch/fuzz" "$scratch/out"
    return 1
}
while read -r kernel class; do
    case $beyond in
    *" $kernel "*) ;;
    *) ok "$kernel against the right one, exactly" exactly "$kernel" "$class" ;;
    esac
done < <(mutants)
done_testing
