#!/bin/bash
# check_cli.sh - the finished program and library from outside, without a GPU.
#
# Takes CUVET_BUILD and VARIANT from the Makefile.
set -uo pipefail
. tests/tap.sh

cuvet=$CUVET_BUILD/cuvet
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# gives STATUS OUT ERR COMMAND ...: the exit status, and patterns that standard output and standard
# error hold; '' means that the stream stays empty.
gives() {
    local status=$1 out=$2 err=$3 stream pattern
    shift 3
    "$@" >"$scratch/out" 2>"$scratch/err"
    local got=$?
    if [ $got -ne "$status" ]; then
        echo "status $got, not $status"
        cat "$scratch/out" "$scratch/err"
        return 1
    fi
    for stream in out err; do
        pattern=$out
        [ $stream = err ] && pattern=$err
        if [ -z "$pattern" ]; then
            [ ! -s "$scratch/$stream" ] && continue
            echo "std$stream is not empty:"
        else
            grep -qE -- "$pattern" "$scratch/$stream" && continue
            echo "std$stream does not hold $pattern:"
        fi
        cat "$scratch/$stream"
        return 1
    done
}

ok 'version' gives 0 '^cuvet [0-9]+\.[0-9]+\.[0-9]+$' '' "$cuvet" --version
ok 'no verb: help and status 2' gives 2 'cuvet check' '' "$cuvet"
verbs=$("$cuvet" help | sed -n 's/^  cuvet \([a-z]*\).*/\1/p' | grep -vx help)
each_has_help() {
    local verb
    for verb in $verbs; do
        gives 0 "^usage: cuvet $verb" '' "$cuvet" "$verb" --help || { echo "cuvet $verb --help"; return 1; }
        gives 2 '' '^(cuvet|usage: cuvet)' "$cuvet" "$verb" --nonsense || return 1
    done
}
ok 'each verb has --help, and refuses a wrong option' each_has_help

# A kernel, its bundle and an entry for it, so that verbs have something to print.
golden=tests/golden/bundle-2
cat >"$scratch/golden.yaml" <<'YAML'
version: 1
kernels:
  - kernel: wrong
    signature: const f32 x[rows][cols], f32 y[rows][cols], i32 rows, i32 cols
    reference: silu
    fuzz: {rows: 1..4, cols: 1..40, block: 128, grid: rows}
YAML
printing=(help --version "check --json $scratch/golden.yaml" "check $scratch/golden.yaml" 'worker --device interpreter'
    "lift $golden" "replay --device interpreter $golden" "probe --device interpreter $golden" 'replay --help'
    "lint --json $golden/module.ptx" "fuzz -c $scratch/golden.yaml --device interpreter $golden/module.ptx"
    "fuzz -c $scratch/golden.yaml --device interpreter --json $golden/module.ptx")
unwritable() {
    local command
    for command in "${printing[@]}"; do
        # shellcheck disable=SC2086
        "$cuvet" $command >/dev/full 2>"$scratch/err"
        [ $? -eq 1 ] && [ "$(wc -l <"$scratch/err")" -eq 1 ] &&
            grep -q '^cuvet .*: standard output cannot be written' "$scratch/err" && continue
        echo "cuvet $command"
        cat "$scratch/err"
        return 1
    done
}
ok 'output that cannot be written is a failure with a sentence' unwritable
reader_gone() {
    local command
    for command in "${printing[@]}"; do
        # shellcheck disable=SC2086
        python3 -c 'import os, subprocess, sys
reader, writer = os.pipe()
os.close(reader)
ended = subprocess.run(sys.argv[1:], stdout=writer, stderr=subprocess.PIPE, restore_signals=False)
sys.exit(ended.returncode != 1 or ended.stderr != b"")' "$cuvet" $command && continue
        echo "cuvet $command"
        return 1
    done
}
ok 'a reader that has gone is a failure without a sentence' reader_gone
without_gpu() {
    local command
    for command in worker lift replay probe fuzz; do
        case $command in
        worker) set -- ;;
        fuzz) set -- -c "$scratch/golden.yaml" $golden/module.ptx ;;
        *) set -- $golden ;;
        esac
        gives 1 '' "^cuvet $command: " env CUDA_VISIBLE_DEVICES=-1 "$cuvet" $command --device gpu "$@" || return 1
    done
}
ok 'no GPU is a failure of one status' without_gpu
head -c 300 /dev/urandom >"$scratch/random.yaml"
ok 'compile: a wrong registry, where there is no GPU' gives 2 '' 'random\.yaml' \
    env CUDA_VISIBLE_DEVICES=-1 "$cuvet" compile "$scratch/random.yaml"

ok 'unknown verb' gives 2 '' "unknown verb 'judge'" "$cuvet" judge
ok 'help' gives 0 'cuvet run' '' "$cuvet" help
ok 'help options' gives 0 '^CUVET_SAMPLE  \(' '' "$cuvet" help options
ok 'help options as roff' gives 0 '^\.B CUVET_SAMPLE$' '' "$cuvet" help options --man
ok 'a count beyond 100' gives 2 '' 'a number from 0 to 100, not 101' "$cuvet" run --unregistered 101 -- true
ok 'help buckets' gives 0 '^unregistered ' '' "$cuvet" help buckets
ok 'help on nothing' gives 2 '' "no help on 'verdicts'" "$cuvet" help verdicts
every_verb_has_help() {
    local verb
    for verb in $("$cuvet" help verbs) $("$cuvet" help pages); do
        [[ $verb =~ ^(help|options)$ ]] || "$cuvet" help "$verb" | grep "^# " >/dev/null || {
            echo "cuvet help $verb prints no page"
            return 1
        }
    done
}
ok 'help VERB and help PAGE print a manual page' every_verb_has_help
completes() { # EXPECTED WORD ...
    local found
    found=$(PATH="$PWD/$CUVET_BUILD:$PATH" bash -c '. tools/completion/cuvet.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _cuvet
        echo "${COMPREPLY[*]}"' - "${@:2}")
    [ "$found" = "$1" ] || { echo "completed to '$found'"; return 1; }
}
ok 'completion: verbs' completes 'replay report' cuvet re
ok 'completion: options of a verb' completes '--minimize' cuvet replay --mini
ok "completion: options of plugin" completes '--json --limit' cuvet plugin --
ok "completion: a verb's own options alone" completes '--device --json' cuvet worker --
every_verb_in_the_page() {
    local verb
    for verb in $("$cuvet" help verbs); do
        grep -q "^\.B $verb\$" "$CUVET_BUILD/cuvet.1" || { echo "cuvet.1 has no $verb"; return 1; }
    done
}
ok 'cuvet.1 lists each verb' every_verb_in_the_page
for verb in check compile plugin worker help; do
    ok "help $verb: its own page" gives 0 "^# cuvet-$verb" '' "$cuvet" help $verb
done
ok 'help references: formula and formals' gives 0 '^    y = x / rms\(x\) \* w' '' "$cuvet" help references
ok 'help reference' gives 0 '^    rstd\[rows\] +written, compared; may stay unbound$' '' "$cuvet" help reference rmsnorm
ok 'help reference: indices are integers, other arrays are not' gives 0 'const i64 ids\[tokens\], const f32 table\[' '' "$cuvet" help reference embedding
ok 'help reference: a wrong name' gives 2 '' "did you mean 'linear'\?.*cuvet help references" \
    "$cuvet" help reference matmul_nt
ok 'help reference: no name' gives 2 '' '^usage: ' "$cuvet" help reference

# check --json: entries, and errors with their places.
cat >"$scratch/two.yaml" <<'YAML'
version: 1
kernels:
  - kernel: right_kernel
    label: right
    signature: const f32 x[n], f32 y[n], i32 n
    reference: relu
  - kernel: wrong_kernel
    signature: const f32 x[n], f32 y[n], i32 n
    refrence: relu
YAML
sed '/wrong_kernel/,$d' "$scratch/two.yaml" >"$scratch/one.yaml"
checked_json() { # STATUS PYTHON FILE: an expression over the object `c`.
    "$cuvet" check --json "$3" >"$scratch/json" 2>"$scratch/err"
    [ $? -eq "$1" ] && [ ! -s "$scratch/err" ] && python3 -c '
import json, sys
c = json.load(open(sys.argv[1], encoding="utf-8"))
assert eval("(" + sys.argv[2] + ")"), c' "$scratch/json" "$2" && return
    cat "$scratch/json" "$scratch/err"
    return 1
}
ok 'check --json: an error has file, line and column' checked_json 2 \
    '[(e["file"][-8:], e["line"], e["column"]) for e in c["errors"]] == [("two.yaml", 9, 5)] and
         c["errors"][0]["message"].startswith("unknown key") and [e["label"] for e in c["entries"]] == ["right"]' "$scratch/two.yaml"
ok 'check --json: a right file has entries alone' checked_json 0 \
    'c["errors"] == [] and [(e["kernel"], e["reference"], e["line"]) for e in c["entries"]] == [("right_kernel", "relu", 3)]' \
    "$scratch/one.yaml"
ok 'check --json: a file that is not there' checked_json 2 \
    'c["entries"] == [] and "cannot be opened" in c["errors"][0]["message"] and "line" not in c["errors"][0]' "$scratch/none.yaml"

# begins: the entry that `help reference` ends with is one that `check` accepts, for each reference.
begins() {
    local name
    for name in $("$cuvet" help references | grep -o '^[a-z0-9_]*$'); do
        { printf 'version: 1\nkernels:\n'; "$cuvet" help reference "$name" | sed -n '/^  - kernel/,$p'; } \
            >"$scratch/begin.yaml"
        "$cuvet" check "$scratch/begin.yaml" >"$scratch/out" 2>&1 && grep -q '^1 entry' "$scratch/out" || {
            echo "$name:"
            cat "$scratch/begin.yaml" "$scratch/out"
            return 1
        }
    done
    [ -n "$name" ]
}
ok 'help reference: an entry to begin with, for each' begins
# shellcheck disable=SC2016
ok 'every option is listed' bash -c '[ "$(grep -c "^OPTION(" shim/base/options.def)" -eq \
    "$("$0" help options | grep -c "^CUVET_")" ]' "$cuvet"

samples=tests/unit/lint/samples
ok 'lint: a warning has its line' gives 3 'shared-race\.caught\.ptx:[0-9]+: warning: .*\[shared-race\]' '' \
    "$cuvet" lint $samples/shared-race.caught.ptx
ok 'lint: notes alone are no finding' gives 0 '1 text: 0 warnings, 1 note$' '' \
    "$cuvet" lint $samples/state-kept.caught.ptx
ok 'lint: a fatbin' gives 3 'demo_softmax_tail$' '' "$cuvet" lint "$CUVET_BUILD/tests/demo/kernels.fatbin"
ok 'lint: a folder' gives 3 'texts: [0-9]+ warnings' '' "$cuvet" lint $samples
ok 'lint: an entry of the registry' gives 3 'never reads parameter 3, the number alpha' '' \
    "$cuvet" lint -c $samples/param-unread.yaml $samples/param-unread.caught.ptx
printf '%s\n    lint: {ignore: [param-unread]}\n' "$(<$samples/param-unread.yaml)" >"$scratch/ignored.yaml"
ok 'lint: an entry leaves a rule out' gives 0 'with an entry: 0 warnings' '' \
    "$cuvet" lint -c "$scratch/ignored.yaml" $samples/param-unread.caught.ptx
sed 's/param-unread]/param-unred]/' "$scratch/ignored.yaml" >"$scratch/unknown.yaml"
ok 'lint: an entry names no rule' gives 2 '' "unknown\.yaml:[0-9]+:[0-9]+: unknown rule 'param-unred'" \
    "$cuvet" lint -c "$scratch/unknown.yaml" $samples/param-unread.caught.ptx
ok 'lint: a rule left out' gives 0 '0 warnings' '' "$cuvet" lint --ignore spin-weak $samples/spin-weak.caught.ptx
ok 'lint: an unknown rule' gives 2 '' "unknown rule 'spin'" "$cuvet" lint --ignore spin $samples/spin-weak.caught.ptx
ok 'lint: rules' gives 0 '^shared-race +warning ' '' "$cuvet" lint --rules
ok 'lint: explain' gives 0 '^Each rounding to bf16' '' "$cuvet" lint --explain accumulator-rounded
ok 'lint: JSON' gives 3 '"rule": "spin-weak","severity": "warning"' '' "$cuvet" lint --json $samples/spin-weak.caught.ptx
ok 'lint: SARIF' gives 3 '"ruleId": "spin-weak"' '' "$cuvet" lint --sarif $samples/spin-weak.caught.ptx
ok 'lint: no image' gives 2 '' 'none of PTX, a cubin' "$cuvet" lint tests/check_cli.sh
ok 'lint: without files' gives 2 '' '^usage: ' "$cuvet" lint
ok 'check: a sound file' gives 0 'demo_softmax' '' "$cuvet" check tests/demo/demo.yaml
printf 'version: 1\nkernels:\n  - kernel: f\n    refrence: gelu\n' >"$scratch/bad.yaml"
ok 'check: a mistake has its place' gives 2 '.*' 'bad\.yaml:4:[0-9]+: .*refrence' \
    "$cuvet" check tests/demo/demo.yaml "$scratch/bad.yaml"
ok 'check: a missing file' gives 2 '.*' 'absent\.yaml' "$cuvet" check "$scratch/absent.yaml"
user=tests/scenario/user_reference
mkfifo "$scratch/fifo.yaml"
ok 'check: references without NVRTC' gives 0 'bent \(source activations\.cu\)' \
    'not compiled: CUVET_NVRTC: /nowhere: .*package cuda-nvrtc' \
    env CUVET_NVRTC=/nowhere "$cuvet" check $user/registry.yaml
ok 'check: a FIFO as NVRTC' gives 0 '.*' 'CUVET_NVRTC: .*fifo\.yaml is not a regular file' \
    env CUVET_NVRTC="$scratch/fifo.yaml" timeout 10 "$cuvet" check $user/registry.yaml
if "$cuvet" check $user/registry.yaml 2>&1 | grep 'not compiled' >"$scratch/none"; then
    skip 'check: references are compiled' "$(<"$scratch/none")"
    skip 'check: one does not compile' "$(<"$scratch/none")"
    skip 'compile' "$(<"$scratch/none")"
else
    ok 'check: references are compiled' gives 0 'clip_norm \(inline ' '' \
        "$cuvet" check config/examples/full.yaml
    ok 'check: one does not compile' gives 2 '.*' 'registry\.yaml:11: the reference does not compile: ' \
        "$cuvet" check $user/user_reference_broken/registry.yaml
    ok 'compile: into the cache' gives 0 '^2 compiled, 0 in the cache, 0 failed: .*/kept$' '' \
        env CUVET_CACHE="$scratch/kept" "$cuvet" compile --arch 90 $user/registry.yaml
    ok 'compile: the next time it is there' gives 0 '^0 compiled, 2 in the cache, 0 failed: ' '' \
        env CUVET_CACHE="$scratch/kept" "$cuvet" compile --arch 90 $user/registry.yaml
    ok 'compile: JSON' gives 0 '^.*"compiled":0,"cached":2,"failed":0,"archs":\[90\],"cache":"/' '' \
        env CUVET_CACHE="$scratch/kept" "$cuvet" compile --json --arch 90 $user/registry.yaml
    ok 'compile: one object' python3 -m json.tool "$scratch/out"
    ok 'compile: one does not compile' gives 2 '^1 compiled, 0 in the cache, 1 failed: ' \
        'registry\.yaml:11: the reference does not compile: ' \
        env CUVET_CACHE="$scratch/kept2" "$cuvet" compile --arch 90 $user/user_reference_broken/registry.yaml
    ok 'run: a text that does not compile stops it' gives 2 '' \
        '1 text of the registry does not compile; the program was not started' \
        env CUVET_CACHE="$scratch/kept2" LD_LIBRARY_PATH="$CUVET_BUILD/softgpu" \
        "$cuvet" run -c $user/user_reference_broken/registry.yaml echo started
    progress() { # one text after the other takes longer than 2 s
        script -qec "env CUVET_CACHE=$scratch/kept4 taskset -c 0 $cuvet $* \
            $user/registry.yaml config/examples/full.yaml" /dev/null </dev/null |
            grep "cuvet $1: compiling the registry.s references: [0-9]* of [0-9]"
    }
    checking() { # twelve texts
        local i
        { echo 'version: 1'; echo 'kernels:'; } >"$scratch/twelve.yaml"
        for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
            cat >>"$scratch/twelve.yaml" <<YAML
  - kernel: twice_$i
    signature: const f32 x[rows][cols], f32 y[rows][cols], i32 rows, i32 cols
    reference:
      inline: |
        REFERENCE(twice_$i, "in x[rows][cols], out y[rows][cols]")
        {
            ROW(r, rows) { EACH(c, cols) y(r, c) = x(r, c) + $i * SUM(k, cols, x(r, k)); }
        }
YAML
        done
        script -qec "taskset -c 0 $cuvet check $scratch/twelve.yaml" /dev/null </dev/null | tee "$scratch/out" |
            grep "compiling the registry.s references, [0-9]* s" >"$scratch/shown" || { cat "$scratch/out"; return 1; }
    }
    if command -v script >"$scratch/none"; then
        ok 'compile: a terminal gets a line of progress' progress compile --arch 90
        ok 'check: a terminal gets a line of progress' checking
    else
        skip 'compile: a terminal gets a line of progress' 'there is no script(1)'
    fi
fi
ok 'compile: nowhere to put it' gives 1 '' 'folder /proc/none: ' \
    env CUVET_CACHE=/proc/none "$cuvet" compile --arch 90 $user/registry.yaml
ok 'compile: without NVRTC' gives 1 '' 'CUVET_NVRTC: /nowhere: .*package cuda-nvrtc' \
    env CUVET_NVRTC=/nowhere CUVET_CACHE="$scratch/kept3" "$cuvet" compile --arch 90 $user/registry.yaml
ok 'compile: without files' gives 2 '' '^usage: ' "$cuvet" compile
no_nvrtc() { ! grep -q nvrtcCompileProgram "$CUVET_BUILD/libcuvet.so"; }
case ${VARIANT:-release} in
san) skip 'the library has no way to call NVRTC' 'ASan keeps what nothing uses' ;;
*) ok 'the library has no way to call NVRTC' no_nvrtc ;;
esac
printf 'version: 1\ninclude: fifo.yaml\n' >"$scratch/includes.yaml"
fifo='fifo\.yaml: expected a regular file, found a FIFO'
ok 'check: a FIFO is not waited for' gives 2 '.*' "$fifo" timeout 10 "$cuvet" check "$scratch/fifo.yaml"
ok 'check: nor as an include' gives 2 '.*' "$fifo" timeout 10 "$cuvet" check "$scratch/includes.yaml"
ok 'check: nor as tolerances' gives 2 '.*' "$fifo" \
    timeout 10 "$cuvet" check --tolerances "$scratch/fifo.yaml" tests/demo/demo.yaml
sed 's/reference: /label: "a\\x1b[2J\\nforged"\n    reference: /' tests/demo/demo.yaml >"$scratch/label.yaml"
ok 'check: a label cannot steer the terminal' gives 0 'label a\?\[2J forged$' '' "$cuvet" check "$scratch/label.yaml"
ok 'check: without files' gives 2 '' '^usage: ' "$cuvet" check

plugin=$CUVET_BUILD/tests/plugin/told.so
ok 'plugin: a made-up finding' gives 0 '^made_up_row launch 17 .* y\[3\]\[5\] got 1\.5 ' '' \
    env -u LD_PRELOAD "$cuvet" plugin "$plugin"
ok 'plugin: what it took' gives 0 'told\.so took a made-up finding in ' '' "$cuvet" plugin "$plugin"
ok 'plugin: as JSON' gives 0 '^\{"version":1,"plugin":".*told\.so","outcome":"returned","ms":[0-9.]*\}$' '^made_up_row ' \
    "$cuvet" plugin --json "$plugin"
ok 'plugin: a hang as JSON' gives 1 '"outcome":"late"' 'took longer than 500 ms and was stopped' \
    env PLUGIN_ACT=hang "$cuvet" plugin --json --limit 500 "$plugin"
ok 'plugin: a crash' gives 1 '^made_up_row ' 'told\.so ended its process by signal 11' \
    env PLUGIN_ACT=crash "$cuvet" plugin "$plugin"
ok 'plugin: an exit' gives 1 '^made_up_row ' 'ended its process with exit status 3' \
    env PLUGIN_ACT=exit "$cuvet" plugin "$plugin"
ok 'plugin: a hang' gives 1 '^made_up_row ' 'took longer than 500 ms and was stopped' \
    env PLUGIN_ACT=hang "$cuvet" plugin --limit 500 "$plugin"
"${CC:-cc}" -shared -fPIC -o "$scratch/none.so" -x c /dev/null
ok 'plugin: a limit out of its range' gives 2 '' '--limit expects 1 to 3600000 milliseconds, not 0$' \
    "$cuvet" plugin --limit 0 "$plugin"
ok 'plugin: without the function' gives 2 '' 'cuvet_plugin_finding' "$cuvet" plugin "$scratch/none.so"
ok 'plugin: a missing file' gives 2 '' 'absent\.so' "$cuvet" plugin "$scratch/absent.so"
ok 'plugin: another version' gives 2 '' "the library's is 0\.0" "$cuvet" plugin --serve 0.0 "$plugin"
ok 'plugin: without a file' gives 2 '' '^usage: ' "$cuvet" plugin
awk '/^ \*     #include/ { on = 1 } /^ \*     cc / { exit } on { sub(/^ \*( {5})?/, ""); print }' \
    shim/cuvet_plugin.h >"$scratch/example.c"
ok "plugin: the header's example compiles" "${CC:-cc}" -Wall -Wextra -Werror -Wno-unused -shared -fPIC \
    -Ishim -o "$scratch/example.so" "$scratch/example.c"

case ${VARIANT:-release} in
san | tsan) skip 'preload: a program without CUDA is left alone' 'a sanitizer wants to come first' ;;
*)
    # bash has a setenv of its own.
    ok 'preload: paths are those of the folder in which a program starts' gives 0 "^$scratch/told.so$" '' \
        env -C "$scratch" LD_PRELOAD="$PWD/$CUVET_BUILD/libcuvet.so" CUVET_PLUGIN=told.so \
        /bin/bash -c 'cd / && printenv CUVET_PLUGIN'
    ok 'preload: a program without CUDA is left alone' gives 7 '^out$' '' \
        env LD_PRELOAD="$PWD/$CUVET_BUILD/libcuvet.so" CUVET_CONFIG=tests/demo/demo.yaml \
        /bin/sh -c 'echo out; exit 7'
    ;;
esac

if ldconfig -p 2>/dev/null | grep 'libcuda\.so\.1' >/dev/null; then
    skip 'demo: one sentence without a driver' 'there is a driver'
else
    ok 'demo: one sentence without a driver' gives 1 '' '^demo: no NVIDIA driver was found' \
        "$CUVET_BUILD/tests/demo/demo"
fi
done_testing
