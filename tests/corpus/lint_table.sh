#!/bin/bash
# lint_table.sh [--rules] NAME=PATH... - what `cuvet lint` reports of libraries, one line of a table each.
#
# PATH is a file or folder that `cuvet lint` takes. --rules prints the findings of each kernel family and rule below it.
set -uo pipefail
cuvet=${CUVET_BUILD:-build/release}/cuvet
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

usage() {
    sed -n 's/^# \(lint_table.sh .*\) - .*/usage: \1/p' "$0" >&2
    exit 2
}

# The number behind a key of the report's head.
head_of() {
    sed -n "s/^ *\"$1\": \([0-9]*\),*$/\1/p" "$scratch/json" | head -n 1
}

# Kernels with a finding of a severity.
kernels_with() {
    sed -n "s/.*\"severity\": \"$1\".*\"kernel\": \"\([^\"]*\)\".*/\1/p" "$scratch/json" | sort -u | wc -l
}

# RULE SEVERITY KERNELS
rules() {
    sed -n 's/.*"rule": "\([^"]*\)","severity": "\([^"]*\)".*"kernel": "\([^"]*\)".*/\1 \2 \3/p' "$scratch/json" |
        sort -u | awk '{ n[$1 " " $2]++ } END { for (r in n) print "    " r ": " n[r] " kernels" }' | sort
}

row() {
    local name=$1 path=$2 began=$EPOCHREALTIME status
    "$cuvet" lint --json "$path" >"$scratch/json" 2>"$scratch/err"
    status=$?
    local ended=$EPOCHREALTIME
    if [ "$status" -ne 0 ] && [ "$status" -ne 3 ]; then
        echo "lint_table.sh: $name: $(cat "$scratch/err")" >&2
        return 1
    fi
    local seconds
    seconds=$(awk -v a="$began" -v b="$ended" 'BEGIN { printf "%.1f", b - a }')
    echo "| $name | $(head_of texts) | $(head_of kernels) | $(head_of not_analysed) |" \
        "$(kernels_with warning) | $(kernels_with note) | $seconds |"
    [ -z "$print_rules" ] || rules
}

print_rules=
[ "${1:-}" = --rules ] && print_rules=1 && shift
[ $# -gt 0 ] || usage
echo '| library | texts | kernels | not read | with a warning | with a note | seconds |'
echo '|---|---|---|---|---|---|---|'
failed=0
for pair in "$@"; do
    case $pair in
    *=*) row "${pair%%=*}" "${pair#*=}" || failed=1 ;;
    *) usage ;;
    esac
done
exit "$failed"
