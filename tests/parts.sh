# shellcheck shell=bash
# parts.sh - for a test script of many tests that run side by side: source it behind tap.sh, and define
#
#   list [WORD ...]   prints a line for each part
#   part LINE         runs one, with `ok` and `skip` of tap.sh
#   closing           tests that follow where all parts were chosen; may be left out
#
# and end the script with `in_parts "$@"`. tests/run_unit.sh runs the parts in its pool: SCRIPT --list prints their
# lines, SCRIPT --part LINE is one of them.

closing_part='(closing)'

# renumbered: TAP of several parts as that of one script.
renumbered() {
    awk '/^1\.\.[0-9]+$/ { planned += substr($0, 4); next }
        /^(not )?ok [0-9]+ / { sub(/ok [0-9]+/, "ok " ++count) }
        /^not / { bad = 1 }
        { print }
        END { print "1.." planned; exit bad || count != planned }'
}

in_parts() {
    case ${1:-} in
    --list)
        list
        if declare -F closing >/dev/null; then echo "$closing_part"; fi
        ;;
    --part)
        if [ "$2" = "$closing_part" ]; then closing; else part "$2"; fi
        done_testing
        ;;
    --whole) # its output at once, so that parts do not mix
        local output status
        output=$("$0" --part "$2" 2>&1)
        status=$?
        grep -q '^1\.\.[1-9]' <<<"$output" || output+=$'\n'"not ok 1 - part $2, ended early with status $status"$'\n1..1'
        printf '%s\n' "$output"
        ;;
    *)
        { if [ $# -gt 0 ]; then list "$@"; else in_parts --list; fi; } |
            xargs -d '\n' -r -P "${TEST_JOBS:-$((2 * $(nproc)))}" -I{} "$0" --whole {} | renumbered
        ;;
    esac
}
