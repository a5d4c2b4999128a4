# shellcheck shell=bash
# tap.sh - for test scripts: source it, call `ok NAME COMMAND ...` for each test, then
# `done_testing`.

tap_count=0 tap_failed=0

# The command must succeed; its output is shown where it does not.
ok() {
    local name=$1 said
    shift
    tap_count=$((tap_count + 1))
    if said=$("$@" 2>&1); then
        echo "ok $tap_count - $name"
    else
        tap_failed=$((tap_failed + 1))
        echo "not ok $tap_count - $name"
        sed 's/^/# /' <<<"$said"
    fi
}

skip() {
    tap_count=$((tap_count + 1))
    echo "ok $tap_count - $1 # SKIP $2"
}

# gives STATUS PATTERN COMMAND ...: the exit status, and what standard output or standard error holds. Both are
# kept in $scratch, a folder of the script's.
gives() {
    local status=$1 pattern=$2
    shift 2
    "$@" >"${scratch:?}/out" 2>"$scratch/err"
    local got=$?
    [ $got -eq "$status" ] && grep -qE -- "$pattern" "$scratch/out" "$scratch/err" && return
    echo "status $got, expected $status and $pattern"
    cat "$scratch/out" "$scratch/err"
    return 1
}

# holds FILE LINE: the file of $scratch has the line, spaces in front aside.
holds() {
    sed 's/^ *//' "${scratch:?}/$1" | grep -xF -- "$2" >/dev/null && return
    echo "no line '$2' in:"
    cat "$scratch/$1"
    return 1
}

done_testing() {
    echo "1..$tap_count"
    [ $tap_failed -eq 0 ]
}
