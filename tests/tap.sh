# shellcheck shell=bash
# tap.sh - for test scripts: source it, call `ok NAME COMMAND ...` for each test, then
# `done_testing`.

tap_count=0 tap_failed=0

# The command must succeed; what it says is shown where it does not.
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

done_testing() {
    echo "1..$tap_count"
    [ $tap_failed -eq 0 ]
}
