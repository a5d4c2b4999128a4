# shellcheck shell=bash
# lib.sh - what run.sh and sweep.sh share: reading `expect`, running a program bare and under cuvet.
#
# From the environment: CUVET_BUILD, VARIANT, SCENARIO_DRIVER (softgpu or real), SCENARIO_SECONDS, and
# SCENARIO_REPORT, a folder that gets what each process executed (SOFTGPU_REPORT); SCENARIO_HOOK=entry: launches are
# seen at the driver's entry points instead of by CUPTI.

here=$PWD/tests/scenario
build=${CUVET_BUILD:-build/release}
case $build in /*) ;; *) build=$PWD/$build ;; esac
driver=${SCENARIO_DRIVER:-softgpu}
# A lifted kernel takes up to 3 s to be compiled there: its program waits between 24 launches.
pause=() && [ "$driver" = real ] && pause=(PAUSE_MS=250)
library=$build/libcuvet.so
audit=$build/libcuvet-audit.so
hook=() && [ "${SCENARIO_HOOK:-cupti}" = entry ] && hook=(CUVET_HOOK=entry "LD_AUDIT=$audit")
case ${VARIANT:-release} in
san) sanitizer=$(${CC:-gcc} -print-file-name=libasan.so) slow=6 ;;
tsan) sanitizer=$(${CC:-gcc} -print-file-name=libtsan.so) slow=10 ;;
cover) sanitizer='' slow=3 ;;
*) sanitizer='' slow=1 ;;
esac

# What every process starts from: nothing of ours, and the stand-ins in front of the loader's path.
unset LD_PRELOAD CUDA_INJECTION64_PATH
for name in "${!CUVET_@}" "${!SOFTGPU_@}" "${!_CUVET_@}"; do
    [ "$name" = CUVET_BUILD ] || unset "$name"
done
[ "$driver" = softgpu ] && export LD_LIBRARY_PATH=$build/softgpu
[ -n "${SCENARIO_REPORT:-}" ] && export SOFTGPU_REPORT=$SCENARIO_REPORT/%p
export ASAN_OPTIONS=exitcode=97:detect_leaks=0:abort_on_error=0
export UBSAN_OPTIONS=print_stacktrace=1
export TSAN_OPTIONS=exitcode=97:report_thread_leaks=0:suppressions=$here/tsan.suppressions

# What every run under cuvet has, unless its scenario has otherwise: all launches are checked.
# An exit may wait for checks half the time that the scenario has.
usual=(CUVET_TABLES=off CUVET_SAMPLE=1 CUVET_BUDGET=off CUVET_BUNDLES=1 CUVET_SUMMARY=0)

# The scenario's expect: each word's values, a line each.
declare -A said

read_expect() {
    local word values
    said=()
    while read -r word values; do
        [ -n "$word" ] || continue
        said[$word]+=${said[$word]+$'\n'}$values
    done <"$folder/expect"
}

# each WORD: its values, one a line.
each() {
    [ -z "${said[$1]-}" ] || printf '%s\n' "${said[$1]}"
}

# chosen FILTER [WORD ...]: PROGRAM/NAME of each scenario whose expect the filter lets through, and whose name holds
# a word; names are unique.
chosen() {
    local filter=$1 file name word
    shift
    for file in tests/scenario/*/*/expect; do
        "$filter" "$file" || continue
        file=${file#tests/scenario/}
        file=${file%/expect}
        name=${file#*/}
        for word in "${@:-}"; do
            case $name in *"$word"*) echo "$file" && break ;; esac
        done
    done
}

# use PROGRAM/NAME: sets of (the program's folder), folder, program, fatbin, registry, beside, seconds, arguments,
# settings.
use() {
    folder=$here/$1
    read_expect
    of=${1%%/*}
    program=$build/tests/scenario/$of/program
    fatbin=$build/tests/scenario/$of/kernels.fatbin
    [ -e "$here/$of/kernels.cu" ] || fatbin=$build/tests/scenario/common/kernels.fatbin
    registry=$here/common/registry.yaml
    [ -e "$build/tests/scenario/$of/registry.yaml" ] && registry=$build/tests/scenario/$of/registry.yaml
    [ -e "$here/$of/registry.yaml" ] && registry=$here/$of/registry.yaml
    [ -e "$folder/registry.yaml" ] && registry=$folder/registry.yaml
    beside=${said[beside]-}
    seconds=${SCENARIO_SECONDS:-$((${said[seconds]-60} * slow))}
    read -r -a arguments <<<"${said[arguments]-}"
    local text=${said[environment]-}
    text=${text//\{build\}/$build/tests/scenario}
    text=${text//\{lib\}/$library}
    text=${text//\{audit\}/$audit}
    read -r -a settings <<<"${text//$'\n'/ }"
    settings=("${pause[@]}" "${settings[@]}")
    case " ${settings[*]}" in
    *" CUVET_EXIT_WAIT="*) ;;
    *) settings+=("CUVET_EXIT_WAIT=$((500 * seconds))") ;;
    esac
}

# run_process WORK NAME WORD ...: runs the words under the time limit; leaves NAME.out, .err, .code.
# The group is ended as a whole: a program's children too.
run_process() {
    local work=$1 name=$2
    shift 2
    {
        printf '#!/bin/sh\ncd %q && env ' "$PWD"
        printf '%q ' ${LD_LIBRARY_PATH:+"LD_LIBRARY_PATH=$LD_LIBRARY_PATH"} "$@"
    } >"$work/$name.sh"
    ( # whose standard error is where the shell reports an aborted program
        timeout -k 2 "$seconds" env -u CUVET_BUILD "$@" >"$work/$name.out" 2>"$work/$name.err" </dev/null
        echo $? >"$work/$name.code"
    ) 2>/dev/null
}

# The scenario alone. Prints nothing.
run_bare() {
    run_process "$1" bare "${settings[@]}" "$program" "$fatbin" "${arguments[@]}"
}

# run_cuvet WORK NAME [VARIABLE=VALUE ...]: under cuvet, its reports in WORK/NAME.report.
run_cuvet() {
    local work=$1 name=$2 report=$1/$2.report cache=$1/$2.cache front
    shift 2
    front=${said[front]-}
    [ ! -e "$report" ] && [ ! -e "$cache" ] || rm -rf "$report" "$cache"
    [ -n "$beside" ] && stands_beside "$work" "$name"
    if [ -n "$front" ]; then
        [ "$front" = - ] && front=
        # shellcheck disable=SC2086 # options are words
        run_process "$work" "$name" "${usual[@]}" "CUVET_CACHE=$cache" "${settings[@]}" "$@" \
            ${sanitizer:+"LD_PRELOAD=$sanitizer" CUVET_HOOK=cupti} \
            "$build/cuvet" run -c "$registry" -o "$report" $front -- "$program" "$fatbin" "${arguments[@]}"
        return
    fi
    run_process "$work" "$name" "${usual[@]}" "CUVET_CONFIG=$registry" "CUVET_CACHE=$cache" \
        "CUVET_REPORT=$report" "LD_PRELOAD=${sanitizer:+$sanitizer:}$library" "${hook[@]}" "${settings[@]}" "$@" \
        "$program" "$fatbin" "${arguments[@]}"
}

# stands_beside WORK NAME: starts what `expect` has beside the program, which is to end when that has.
# Both meet in a folder of their own, so that no other process is taken for the program.
stands_beside() {
    local work=$1 name=$2
    mkdir -p "$work/run" && chmod 700 "$work/run"
    touch "$work/$name.beside"
    settings+=("BESIDE=$work/$name.beside" "XDG_RUNTIME_DIR=$work/run")
    (
        XDG_RUNTIME_DIR=$work/run timeout "$seconds" "$folder/$beside" "$build/cuvet" >"$work/$name.said" 2>&1
        rm "$work/$name.beside"
    ) &
}

# compare WORK NAME: the run under cuvet against the bare one.
compare() {
    local work=$1 name=$2 bare got want
    bare=$(<"$work/bare.code") got=$(<"$work/$name.code")
    want=${said[exit]-0}
    [ "$bare" = 124 ] && echo "the program alone ran past $seconds s"
    [ "$got" = 124 ] && echo "ran past $seconds s under cuvet"
    case " $want " in
    *" $bare "*) ;;
    *) echo "the program alone ended with $bare, expected $want" ;;
    esac
    want=${said[exit_under]-${said[exit]-}}
    case " $want " in
    *" $got "*) ;;
    "  ") [ "$got" = "$bare" ] || echo "ended with $got under cuvet, with $bare alone" ;;
    *) echo "ended with $got under cuvet, expected $want" ;;
    esac
    cmp -s "$work/bare.out" "$work/$name.out" || {
        echo 'standard output differs (< alone, > under cuvet):'
        diff "$work/bare.out" "$work/$name.out" | head -20
    }
    [ -n "$beside" ] && wait && sed "s|^|$beside: |" "$work/$name.said"
}
