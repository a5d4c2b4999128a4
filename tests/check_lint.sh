#!/bin/bash
# check_lint.sh - every rule of `cuvet lint` as a shell has it: its explanation, its sample in text, JSON and SARIF, the sample
# on which it is quiet, and an entry of the registry that leaves it out.
#
# Takes CUVET_BUILD from the Makefile.
set -uo pipefail
. tests/tap.sh

cuvet=$CUVET_BUILD/cuvet
samples=tests/unit/lint/samples
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$cuvet" lint --rules | awk '$2 ~ /^(warning|note|hint)$/ { print $1, $2 }' >"$scratch/rules"

# lint OPTIONS FILE: with the rule's registry, where it has one; hints too.
lint() { "$cuvet" lint --all "${registry[@]}" "$@" 2>&1; }

# without RULE: a registry whose entries, the rule's own or two for the kernels of the samples, leave it out.
without() {
    if [ -f "$samples/$1.yaml" ]; then
        awk -v rule="$1" '{ print } /^ *signature:/ && !/>$/ { match($0, /^ */); printf "%*slint: {ignore: [%s]}\n", RLENGTH, "", rule }' "$samples/$1.yaml"
    else
        printf 'version: 1\nkernels:\n'
        local number
        for number in i32 i64; do
            printf '  - kernel: k\n    signature: const f32 x[rows][n], f32 y[rows][n], %s n, ...\n    let: {rows: "1"}\n' $number
            printf '    reference: relu\n    bind: {cols: n}\n    lint: {ignore: [%s]}\n' "$1"
        done
    fi
}

explained() {
    "$cuvet" lint --explain "$1" | awk -v head="$1 ($2)" 'NR == 1 && $0 == head { good = 1 } NR > 2 && NF { reason = 1 } END { exit !(good && reason) }'
}

# One log with the tool's rules, and results that name one of them, with a level and a line.
is_sarif() {
    python3 - "$1" "$2" <<'PY'
import json, sys
log = json.load(open(sys.argv[1]))
run, = log["runs"]
rules = {rule["id"] for rule in run["tool"]["driver"]["rules"]}
assert log["version"] == "2.1.0" and "$schema" in log
assert sys.argv[2] in {r["ruleId"] for r in run["results"]} <= rules
for r in run["results"]:
    place = r["locations"][0]["physicalLocation"]
    assert r["level"] in ("error", "warning", "note") and r["message"]["text"]
    assert place["artifactLocation"]["uri"] and place["region"]["startLine"] >= 1
PY
}

# caught RULE SEVERITY: in each of the three forms.
caught() {
    local file=$samples/$1.caught.ptx
    lint "$file" >"$scratch/text"
    lint --json "$file" >"$scratch/json"
    lint --sarif "$file" >"$scratch/sarif"
    grep -q ": $2: .* \[$1\]$" "$scratch/text" && grep -q "\"rule\": \"$1\",\"severity\": \"$2\"" "$scratch/json" &&
        python3 -m json.tool "$scratch/json" >/dev/null || return 1
    is_sarif "$scratch/sarif" "$1"
}

quiet() {
    lint "$samples/$1.quiet.ptx" >"$scratch/text"
    [ $? -ne 2 ] && ! grep "\[$1\]$" "$scratch/text"
}

left_out() {
    without "$1" >"$scratch/without.yaml"
    local registry=(-c "$scratch/without.yaml") found
    found=$(lint "$samples/$1.caught.ptx") || [ $? -eq 3 ] || { echo "$found"; return 1; }
    grep -q 'with an entry' <<<"$found" && ! grep "\[$1\]$" <<<"$found"
}

while read -r rule severity; do
    registry=()
    [ ! -f "$samples/$rule.yaml" ] || registry=(-c "$samples/$rule.yaml")
    ok "$rule: explained" explained "$rule" "$severity"
    if grep -q '^// launch ' "$samples/$rule.caught.ptx"; then
        continue # needs a launch: tests/unit/lint, tests/scenario/lifted
    fi
    ok "$rule: caught, in text, JSON and SARIF" caught "$rule" "$severity"
    ok "$rule: quiet" quiet "$rule"
    [ "$rule" = entry-layout ] && continue # an entry that does not fit leaves nothing out
    ok "$rule: left out by an entry" left_out "$rule"
done <"$scratch/rules"
# PTX that Triton and Inductor made, in the tree: reported are the kernels that are written with an accumulator of 16 bits.
of_triton() {
    "$cuvet" lint tests/unit/lift/ptx tests/lift/triton >"$scratch/text"
    grep -q '^8[0-9] kernels of 8[0-9] texts: ' "$scratch/text" &&
        diff <(sed -n 's/^[^ ]*\/\([a-z0-9_]*\)\.ptx: kernel .*/\1/p' "$scratch/text" | sort) <(printf '%s\n' "$@" | sort)
}
ok 'kernels of Triton' of_triton boxes_narrow boxes_made_narrow boxes_roles_narrow rowsum_bf16 softmax_bf16 attend_narrow tile_e5m2_narrow tile_i8_narrow product_f16_half two_results \
    boxes_to_e5m2_narrow experts_bf16_narrow folded_narrow groups_narrow groups_made_narrow
ok 'a kernel that is not there' gives 2 'no kernel is called nosuch' "$cuvet" lint -k nosuch tests/unit/lift/ptx/softmax.ptx
ok 'a pattern that is none' gives 2 'cuvet lint: --kernel: ' "$cuvet" lint -k '/[/' tests/unit/lift/ptx/softmax.ptx
ok 'there are rules' [ "$(wc -l <"$scratch/rules")" -gt 30 ]
done_testing
