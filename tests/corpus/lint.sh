#!/bin/bash
# lint.sh [--fix] [--table] - what `cuvet lint` finds in the corpus's kernels, without running one.
#
# lint.txt holds a line for each kernel in which it finds something: the kernel and the rules. This script fails
# where one is not reported any more, where more than one right kernel in twenty has a finding of any severity, and where a
# wrong one of some whole classes is missed, and where a figure of the table in README.md falls. --fix writes lint.txt and
# that table again, --table prints it.
set -uo pipefail
. tests/tap.sh
build=${CUVET_BUILD:-build/release}
folder=$build/tests/corpus
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# KERNEL RULE ...
found() {
    "$build/cuvet" lint --json -c "$folder/registry.yaml" "$folder/corpus.fatbin" >"$scratch/json"
    [ $? -eq 3 ] || return 1
    sed -n 's/.*"rule": "\([a-z-]*\)".*"kernel": "\([A-Za-z0-9_]*\)".*/\2 \1/p' "$scratch/json" | sort -u |
        awk '$1 != last { printf "%s%s", last == "" ? "" : "\n", $1; last = $1 }
             { printf " %s", $2 } END { print "" }'
}

# CLASS KERNEL: the wrong kernels.
wrong() {
    tr '\n' ' ' <tests/corpus/entries.def | sed 's/\/\*[^*]*\*\/ *//; s/\(STUDY_WRONG\|ESCAPES\|WRONG\)(/\n\1(/g' |
        awk -F'[(,] *' '$1 == "STUDY_WRONG" && $4 ~ /^[0-9]+$/ { print $4, $2 "_" $3 "_1" }
             ($1 == "WRONG" || $1 == "ESCAPES") && $5 ~ /^[0-9]+$/ { print $5, $2 "_" $3 "_" $4 }'
}

# CLASS WRONG CAUGHT, by class.
table() {
    wrong | awk 'NR == FNR { found[$1] = 1; next }
        { all[$1]++; caught[$1] += ($2 in found) }
        END { for (c in all) print c, all[c], caught[c] }' "$scratch/found" - | sort -n
}

# The name of each class, from the table of README.md that has no figures.
names() {
    awk -F' *[|] *' 'NF == 6 && $2 ~ /^[0-9]+$/ && $3 !~ /^[0-9]/ { print $2, $3; if ($4 != "") print $4, $5 }' tests/corpus/README.md
}

print_table() {
    echo '| class | | wrong kernels | reported | missed |'
    echo '|---|---|---|---|---|'
    table | awk 'NR == FNR { c = $1; $1 = ""; name[c] = substr($0, 2); next }
        { printf "| %d | %s | %d | %d | %d |\n", $1, name[$1], $2, $3, $2 - $3; all += $2; caught += $3 }
        END { printf "| all | | %d | %d | %d |\n", all, caught, all - caught }' <(names) -
    awk 'NR == FNR { found[$1] = 1; next } $2 == "right" { all++; some += ($3 in found) }
        END { printf "| right | | %d | %d | |\n", all, some }' "$scratch/found" "$folder/kernels"
}

found >"$scratch/found" || {
    echo 'lint.sh: cuvet lint failed on the corpus'
    exit 1
}
case ${1:-} in
--fix)
    cp "$scratch/found" tests/corpus/lint.txt
    print_table >"$scratch/table"
    sed -i -e '/^<!-- lint: begin/,/^<!-- lint: end/{/^|/d}' -e "/^<!-- lint: begin/r $scratch/table" tests/corpus/README.md
    exit 0
    ;;
--table)
    print_table
    exit 0
    ;;
esac

# Rules may differ with the compiler, which unrolls and converts as it likes.
still() {
    awk 'NR == FNR { found[$1] = 1; next } !($1 in found) { print "no longer reported:", $0; bad = 1 }
        END { exit bad || FNR == 0 }' "$scratch/found" tests/corpus/lint.txt
}
ok 'each kernel of lint.txt is reported' still

# The table of README.md: no class has fewer reports, the right kernels have no more.
figures() {
    print_table | awk -F' *[|] *' 'NR == FNR { is[$2] = $5; next }
        /^<!-- lint: begin/ { on = 1 }
        /^<!-- lint: end/ { on = 0 }
        on && $2 ~ /^([0-9]+|all|right)$/ {
            n++
            if ($2 == "right" ? is[$2] > $5 : is[$2] + 0 < $5 + 0) { print "class", $2, "had", $5, "reports, has", is[$2]; bad = 1 }
        }
        END { exit bad || n < 30 }' - tests/corpus/README.md
}
ok 'no figure of the table falls' figures

quiet() {
    awk 'NR == FNR { found[$1] = $0; next }
        $2 == "right" { all++ }
        $2 == "right" && ($3 in found) { some++; print found[$3] }
        END { exit all == 0 || some * 20 > all }' "$scratch/found" "$folder/kernels"
}
ok 'at most one right kernel in twenty has a report' quiet

# Whole classes that reading the PTX can show: each of its kernels is reported. 18 missing barrier, 19 exit before a
# barrier, 6 a number for infinity, 14 an input written.
whole() {
    table | awk '$1 == 6 || $1 == 14 || $1 == 18 || $1 == 19 { n++; if ($2 != $3) { print "class", $1, "has", $2, "kernels, reported are", $3; bad = 1 } }
        END { exit bad || n != 4 }'
}
ok 'classes of which every kernel is reported' whole
# Of others most: 1 neutral element, 5 overflow of exp, 12 narrow accumulator.
most() {
    table | awk '$1 == 1 || $1 == 5 || $1 == 12 { n++; if ($3 * 4 < $2 * 3) { print "class", $1, "has", $2, "kernels, reported are", $3; bad = 1 } }
        END { exit bad || n != 3 }'
}
ok 'classes of which three in four are reported' most

# The script of README.md's table of libraries: a row with the fatbin's kernels, and its rules; what cannot be read fails.
rows_of_libraries() {
    local kernels
    kernels=$("$build/cuvet" lint --json "$folder/corpus.fatbin" | sed -n 's/^ *"kernels": \([0-9]*\),$/\1/p')
    tests/corpus/lint_table.sh --rules corpus="$folder/corpus.fatbin" >"$scratch/rows" || return 1
    grep -q "^| corpus | [1-9][0-9]* | $kernels | 0 | [1-9][0-9]* |" "$scratch/rows" &&
        grep -q '^    shared-race warning: [1-9][0-9]* kernels$' "$scratch/rows" &&
        ! tests/corpus/lint_table.sh none="$scratch/absent" >/dev/null 2>&1
}
ok 'a row of the table of libraries' rows_of_libraries
done_testing
