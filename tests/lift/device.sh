#!/bin/bash
# device.sh - `cuvet lift --device` on the corpus: whole launches of rewritten PTX, of each right kernel and of each mutant
# of class 12 (a low-precision accumulator). Prints TAP, and with LIFT_TABLE=1 a table.
#
# LIFT_DEVICE (interpreter) is the device: gpu on a machine that has one. LIFT_JOBS: kernels side by side. LIFT_IMAGE: another
# image of the same kernels for the launch. Takes CUVET_BUILD from the Makefile.
set -uo pipefail
. tests/tap.sh

export cuvet=$CUVET_BUILD/cuvet corpus=$CUVET_BUILD/tests/corpus device=${LIFT_DEVICE:-interpreter}
export image=$corpus/corpus.ptx other=${LIFT_IMAGE:-}
scratch=$(mktemp -d)
export scratch
trap 'rm -rf "$scratch"' EXIT

# interpreted: elements outside by the interpreter, in all blocks.
interpreted() { sed 's/.*"outputs"://' "$1" | grep -o '"outside":[0-9]*' | awk -F: '{ n += $2 } END { print n + 0 }'; }
export -f interpreted

# hold KIND KERNEL: a row of its bundles: KIND KERNEL HELD CHECKED OUTSIDE REFUSED MS OWN_MS INTERPRETED WHY.
hold() {
    local kind=$1 kernel=$2 folder=$scratch/$2 bundle options='--cases 1 --findings 0 --keep --seed 5'
    [ "$kind" = right ] || options='--cases 300 --findings 4'
    # shellcheck disable=SC2086
    "$cuvet" fuzz -c "$corpus/registry.yaml" -k "$kernel" --device interpreter --shrink 0 -o "$folder" $options "$image" \
        >"$folder.fuzz" 2>&1
    for bundle in $(sed -n 's/^ *bundle //p' "$folder.fuzz"); do
        "$cuvet" lift --json --blocks 1000000 --device "$device" ${other:+--image "$other"} "$bundle" >"$folder.json" 2>"$folder.err"
        if [ $? -gt 3 ] || ! grep -q '"whole":{' "$folder.json"; then
            echo "$kind $kernel failed 0 0 0 0 0 0 $(tr '\n' ' ' <"$folder.err")"
            continue
        fi
        sed -nE 's/.*"whole":\{"device":"[^"]*","not_held":(null|"([^"]*)"),"checked":([0-9]+),"outside":([0-9]+),"wide":[0-9]+,"refused":([0-9]+),"ms":([^,]*),"own_ms":([^,]*),.*/'"$kind $kernel"' \1 \3 \4 \5 \6 \7 '"$(interpreted "$folder.json")"' \2/p' "$folder.json" |
            sed -E 's/^([a-z]+ [^ ]+) null /\1 held /; s/^([a-z]+ [^ ]+) "[^"]*" /\1 no /'
    done
    rm -rf "$folder"
}
export -f hold

kernels() {
    awk '$2 == "right" { print "right", $3 }' "$corpus/kernels"
    sed -nE 's/^(WRONG|ESCAPES)\(([a-z_0-9]+), ([a-z0-9]+), ([0-9]+), 12,.*/narrow \2_\3_\4/p' tests/corpus/entries.def
}
kernels | xargs -P "${LIFT_JOBS:-2}" -L 1 bash -c 'hold "$1" "$2"' hold | sort >"$scratch/rows"

print_table() {
    echo '# | kernel | kind | held | checked | outside | refused accesses | ms | ms without shadows | outside by the interpreter |'
    echo '# |---|---|---|---|---|---|---|---|---|'
    awk '{ printf "# | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", $2, $1, $3, $4, $5, $6, $7, $8, $9 }' "$scratch/rows"
}
[ -z "${LIFT_TABLE-}" ] || print_table

# rows CONDITION: prints the rows for which it holds; fails where there is one.
none() {
    awk "$1"' { print; bad = 1 } END { exit bad }' "$scratch/rows"
}
every() { [ "$(awk '{ print $2 }' "$scratch/rows" | sort -u | wc -l)" = "$(kernels | wc -l)" ]; }
ok 'each kernel has a row' every
ok 'no launch failed' none '$3 == "failed"'
ok 'nothing in a right kernel' none '$1 == "right" && $5 > 0'
ok 'each access is in an array' none '$6 > 0'
ok 'what is held is compared' none '$3 == "held" && $4 == 0'

# Of a mutant that can be rewritten some bundle is outside, but for two: matmul_tn_bf16_1 rounds each of eight partial sums
# once, which the rewriting takes for roundings of the author's; logsumexp_bf16_1 takes its sum apart as bits (logf).
missed=' matmul_tn_bf16_1 logsumexp_bf16_1 '
found() {
    awk -v missed="$missed" '$1 == "narrow" && $3 == "held" { held[$2]; if ($5 > 0) found[$2] }
        END {
            for (k in held) {
                n++
                if ((k in found) == (index(missed, " " k " ") > 0)) { print k, (k in found) ? "is found" : "is not found"; bad = 1 }
            }
            exit bad || n == 0
        }' "$scratch/rows"
}
ok 'each mutant that is held is found' found
# Two ways to the same shadows: bounds differ, so counts may, by a factor of 4.4 in an attention.
ok 'the interpreter finds them as well' none '$5 > 5 * $9'
awk '{ all[$1 " " $2]; if ($3 == "held") held[$1 " " $2] }
    END { for (k in all) { split(k, part, " "); a[part[1]]++; h[part[1]] += (k in held) }
          for (kind in a) print "# " kind ": " h[kind] " of " a[kind] " kernels are held" }' "$scratch/rows"
awk '$3 == "no" { $1 = $2 = $3 = $4 = $5 = $6 = $7 = $8 = $9 = ""; sub(/^.*(cannot be lifted: )(PTX line [0-9]+, )?/, ""); n[$0]++ }
    END { for (w in n) print "# not held: " n[w] " launches: " w }' "$scratch/rows"
done_testing
