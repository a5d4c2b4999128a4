#!/bin/bash
# check_replay.sh - `cuvet replay` and `cuvet probe` as a shell starts them, on the PTX interpreter: a bundle of each
# format, bundles of a program that runs on softgpu, and bundles that are none.
#
# Takes CUVET_BUILD from the Makefile.
set -uo pipefail
. tests/tap.sh

cuvet=$CUVET_BUILD/cuvet
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# gives STATUS PATTERN COMMAND ...: the exit status, and a line of standard output or standard error.
gives() {
    local status=$1 pattern=$2 got
    shift 2
    "$@" >"$scratch/out" 2>&1
    got=$?
    if [ $got -ne "$status" ] || ! grep -qE -- "$pattern" "$scratch/out"; then
        echo "status $got, expected $status and $pattern:"
        cat "$scratch/out"
        return 1
    fi
}

# refused BUNDLE: exit status 2 and one sentence, by both verbs.
refused() {
    local verb
    for verb in replay probe; do
        "$cuvet" $verb --device interpreter "$1" >"$scratch/out" 2>"$scratch/err"
        local got=$?
        if [ $got -ne 2 ] || [ "$(wc -l <"$scratch/err")" -ne 1 ] || [ -s "$scratch/out" ]; then
            echo "$verb gives $got:"
            cat "$scratch/out" "$scratch/err"
            return 1
        fi
    done
}

# copy FILE COMMAND ...: a copy of the golden bundle whose FILE is what the command prints.
copy() {
    local file=$1
    shift
    rm -rf "$scratch/copy"
    cp -r tests/golden/bundle-2 "$scratch/copy"
    "$@" >"$scratch/copy/$file"
}

ok 'worker: the device' gives 0 '^interpreter: ' "$cuvet" worker --device interpreter
ok 'worker: as JSON' gives 0 '"kind":"interpreter","name":".*"memory":[0-9]' "$cuvet" worker --json --device interpreter
ok 'worker: one object' python3 -m json.tool "$scratch/out"
ok 'worker: an unknown option' gives 2 'expected nothing, --json or --device' "$cuvet" worker --jsn
ok 'worker: a GPU by its number' gives 0 '^gpu: softgpu' env "LD_LIBRARY_PATH=$CUVET_BUILD/softgpu" "$cuvet" worker --device 0
ok 'worker: a GPU that is not there' gives 1 'there is no GPU 7' env "LD_LIBRARY_PATH=$CUVET_BUILD/softgpu" "$cuvet" worker --device 7 --json
ok 'worker: a device that is none' gives 2 'or the number of a GPU' "$cuvet" worker --device 7x

# one_line VERB OPTION VALUE: a wrong value is one sentence, without the usage.
one_line() {
    gives 2 "^cuvet $1: .*$3.*; see --help" "$cuvet" "$@" tests/golden/bundle-2 && [ "$(wc -l <"$scratch/out")" -eq 1 ]
}
for verb in replay probe; do
    ok "$verb: a wrong value is one sentence" one_line $verb --times none
    ok "$verb: so is a time that is none" one_line $verb --timeout 5us
done

# What the reference finds in each golden bundle.
declare -A found_in=(
    [bundle-2]='mismatch: 1 of 40 elements outside the bound of silu, up to 6.75e\+05 times'
    [bundle-2-variables]='mismatch: 256 of 256 elements outside the bound of scale, up to 1.12e\+07 times'
)
golden() {
    local found=${found_in[${1##*/}]-}
    [ -n "$found" ] || { echo "found_in has no line for $1"; return 1; }
    gives 3 'reproduced every output has the program' "$cuvet" replay --device interpreter "$1" &&
        gives 3 "reference  $found" "$cuvet" replay --device interpreter --times 3 "$1" &&
        gives 3 '^\{"version":1,.*"reproduced":true,"runs":1,"same":1' "$cuvet" replay --device interpreter --json "$1"
}
for bundle in tests/golden/bundle-*; do
    ok "$bundle is replayed" golden "$bundle"
done

# The last byte of what the program wrote is another one.
different() {
    copy tensors.safetensors python3 -c 'import sys
held = bytearray(open("tests/golden/bundle-2/tensors.safetensors", "rb").read())
held[-1] ^= 1
sys.stdout.buffer.write(held)'
    gives 3 'different  0 of 1 run' "$cuvet" replay --device interpreter "$scratch/copy" &&
        gives 3 'or it is not deterministic: try --seed 1 --times 3$' "$cuvet" replay --device interpreter "$scratch/copy" &&
        ! gives 3 'it is not deterministic' "$cuvet" replay --device interpreter --seed 1 --times 3 "$scratch/copy" >"$scratch/none"
}
ok 'replay: other bytes in one run may be for want of an order' different

# Of each format from the oldest that is read to the one that is written there is a bundle.
formats() {
    local oldest newest format
    oldest=$(sed -n 's/.*BUNDLE_OLDEST = \([0-9]*\).*/\1/p' shim/bundle/bundle.h)
    newest=$(sed -n 's/.*BUNDLE_VERSION = \([0-9]*\).*/\1/p' shim/bundle/bundle.h)
    [ -n "$oldest" ] && [ "$oldest" -le "$newest" ] || { echo "formats $oldest to $newest"; return 1; }
    for format in $(seq "$oldest" "$newest"); do
        grep -q "\"version\": $format," "tests/golden/bundle-$format/launch.json" || return 1
    done
}
ok 'a golden bundle of each format that is read' formats

# other_format NUMBER PATTERN: a bundle of another format is refused by one sentence.
other_format() {
    copy launch.json sed "s/\"version\": 2/\"version\": $1/" tests/golden/bundle-2/launch.json
    refused "$scratch/copy" && gives 2 "$2" "$cuvet" replay --device interpreter "$scratch/copy"
}
ok 'a newer format' other_format 3 'is of format 3, which a newer cuvet wrote: this cuvet reads format 2'
ok 'a format without what a replay needs' other_format 1 'is of format 1, which lacks what a replay needs: this cuvet reads format 2'

mended() {
    sed 's/0f3FC00000/0f3F800000/' tests/golden/bundle-2/module.ptx >"$scratch/mended.ptx"
    sed 's/ret;/bra NOWHERE;/' tests/golden/bundle-2/module.ptx >"$scratch/broken.ptx"
    gives 2 "image:[0-9]+: found 'NOWHERE'" \
        "$cuvet" replay --device interpreter --against "$scratch/broken.ptx" tests/golden/bundle-2 || return 1
    gives 0 'reference  match: 40 elements of silu' \
        "$cuvet" replay --device interpreter --against "$scratch/mended.ptx" tests/golden/bundle-2
}
ok 'another image is held against the reference' mended

smallest() {
    gives 3 'x: 1 of 40 elements, the rest may be zero; from element 23 to 23' \
        "$cuvet" replay --device interpreter --minimize tests/golden/bundle-2 &&
        gives 3 'grid 1x1x1 of 4x1x1 for element 23 of y' \
            "$cuvet" replay --device interpreter --minimize tests/golden/bundle-2 &&
        gives 3 '"needed":1,"first":23,' \
            "$cuvet" replay --device interpreter --minimize --json tests/golden/bundle-2
}
ok 'the smallest inputs and grid that fail' smallest

# A norm that is wrong in each of four rows, a block a row: the first one stays.
first_row() {
    local program=$CUVET_BUILD/tests/scenario
    CUVET_SAMPLE=1 CUVET_BUDGET=off CUVET_EXIT_WAIT=60000 LD_LIBRARY_PATH=$CUVET_BUILD/softgpu "$cuvet" run \
        -c tests/scenario/common/registry.yaml -o "$scratch/rows" -- \
        "$program/steps/program" "$program/common/kernels.fatbin" wrong >"$scratch/out" 2>&1
    gives 3 'grid 1x1x1 of 4x1x1 for element 92 of y' \
        "$cuvet" replay --device interpreter --minimize "$scratch"/rows/norm_wrong-*-0
}
ok 'where every row fails, the smallest is the first' first_row

# shown PATTERN COMMAND: a line on a terminal, of a launch without an end. Standard error of a pipe has none.
shown() {
    sed 's/ret;/AGAIN: bra AGAIN;/' tests/golden/bundle-2/module.ptx >"$scratch/spin.ptx"
    copy module.ptx cat "$scratch/spin.ptx"
    script -qec "$2" /dev/null </dev/null >"$scratch/out"
    grep -qE "$1" "$scratch/out" && sh -c "$2" >"$scratch/out" 2>&1
    ! grep -E "$1" "$scratch/out"
}
if command -v script >"$scratch/script"; then
    ok 'replay: a line of progress on a terminal' shown 'the worker is busy, [23] s' \
        "$cuvet replay --device interpreter --timeout 3 --against $scratch/spin.ptx tests/golden/bundle-2"
    ok 'lift: a line of progress on a terminal' shown 'the launch is interpreted, [23] s' \
        "$cuvet lift --timeout 3 $scratch/copy"
else
    skip 'lines of progress on a terminal' 'there is no script(1)'
fi

# Truncated and damaged bundles.
cut_short() {
    local file=$1 size at
    size=$(stat -c %s tests/golden/bundle-2/"$file")
    for at in 0 1 7 8 9 100 $((size / 2)) $((size - 20)); do
        copy "$file" head -c "$at" tests/golden/bundle-2/"$file"
        refused "$scratch/copy" || return 1
    done
}
ok 'launch.json that ends early' cut_short launch.json
ok 'tensors.safetensors that ends early' cut_short tensors.safetensors

# damaged EXPRESSION: sed's, on launch.json.
damaged() {
    local expression
    for expression in "$@"; do
        copy launch.json sed "$expression" tests/golden/bundle-2/launch.json
        cmp -s "$scratch/copy/launch.json" tests/golden/bundle-2/launch.json && echo "no change: $expression" && return 1
        refused "$scratch/copy" || { echo "$expression"; return 1; }
    done
}
ok 'launch.json with members of other types and ranges' damaged 's/"version": 2/"version": 1/' \
    's/"kernel": "wrong"/"kernel": 7/' 's/"grid": \[4,1,1\]/"grid": [4,1]/' 's/"shape": \[40\]/"shape": [4000000000]/' \
    's/"bytes": 160/"bytes": -1/' 's/"hex": "04000000"/"hex": "04"/' 's/"role": "read"/"role": "eat"/' \
    's/"dtype": "f32"/"dtype": "f33"/' 's/"address": "0x[0-9a-f]*"/"address": "here"/' 's/"array": "x"/"array": "z"/' \
    's/"stride": \[1\]/"stride": [2]/' 's/"call":/"cull":/' 's/"seed": "0x/"seed": "/' 's/"file": "module/"file": "..\/module/'
ok 'no bundle' refused "$scratch/nothing"
ok 'replay: a time in fractions of a second' gives 3 '^  reproduced' \
    "$cuvet" replay --timeout 2.5 --device interpreter tests/golden/bundle-2
ok 'replay: a time in milliseconds' gives 3 '^  reproduced' \
    "$cuvet" replay --timeout 2500ms --device interpreter tests/golden/bundle-2
ok 'no argument' gives 2 'expected the folder of one bundle' "$cuvet" replay
ok 'a device that is none' gives 2 'expected auto, gpu, interpreter or the number of a GPU' "$cuvet" probe --device cpu tests/golden/bundle-2
ok 'an image that is none' gives 2 'is none of PTX' \
    "$cuvet" replay --device interpreter --against tests/tap.sh tests/golden/bundle-2

# A program's findings, each reproduced, and what the probes find.
program=$CUVET_BUILD/tests/scenario/replayed
# findings FOLDER WORD ...
findings() {
    local report=$1
    shift
    CUVET_EXIT_WAIT=60000 LD_LIBRARY_PATH=$CUVET_BUILD/softgpu "$cuvet" run -c tests/scenario/replayed/registry.yaml \
        -o "$report" -- "$program/program" "$program/kernels.fatbin" 12 100 "$@" >"$scratch/out" 2>&1 || {
        cat "$scratch/out"
        return 1
    }
    for kernel in wrong outside stale racing; do
        ls -d "$report/$kernel"-*-[01] || return 1
    done
}
# probes KERNEL CHECK ...: just these checks find something.
probes() {
    local kernel=$1 found
    shift
    "$cuvet" probe --device interpreter "$scratch/report/$kernel"-*-0 >"$scratch/out"
    found=$(awk '$2 == "finding" { printf "%s ", $1 }' "$scratch/out")
    [ "$found" = "$*${*:+ }" ] || { echo "found: $found"; cat "$scratch/out"; return 1; }
}
ok 'a program with four wrong kernels leaves a bundle of each' findings "$scratch/report"
ok 'replay: a wrong kernel' gives 3 'reproduced' "$cuvet" replay --device interpreter "$scratch"/report/wrong-*-0
ok 'replay: a write behind the output' gives 3 'outside    4 guard bytes' \
    "$cuvet" replay --device interpreter "$scratch"/report/outside-*-0
ok 'replay: elements that are never written' gives 3 'reproduced every element that the launch writes has' \
    "$cuvet" replay --device interpreter "$scratch"/report/stale-*-0
ok 'replay: how many they are' gives 3 'y: 12 of 1200 elements are never written .* the first is element 99$' \
    "$cuvet" replay --device interpreter "$scratch"/report/stale-*-0
ok 'replay: an order that changes' gives 3 'not deterministic: [2-9] results in 5 runs' \
    "$cuvet" replay --device interpreter --times 5 "$scratch"/report/racing-*-0
# The driver's side of the worker, on the stand-in for it.
by_driver() {
    local report=$scratch/report
    gives 3 'reproduced every output' env "LD_LIBRARY_PATH=$CUVET_BUILD/softgpu" \
        "$cuvet" replay --device gpu --oracle device "$report"/wrong-*-0 &&
        gives 3 'outside +finding  4 bytes are written outside y' \
            env "LD_LIBRARY_PATH=$CUVET_BUILD/softgpu" "$cuvet" probe --device gpu "$report"/outside-*-0 &&
        gives 1 'there is no GPU 7' env "LD_LIBRARY_PATH=$CUVET_BUILD/softgpu" \
            "$cuvet" replay --gpu 7 "$report"/wrong-*-0 &&
        gives 1 'there is no GPU 7' env "LD_LIBRARY_PATH=$CUVET_BUILD/softgpu" \
            "$cuvet" probe --gpu 7 "$report"/outside-*-0 &&
        gives 3 'device     softgpu' env "LD_LIBRARY_PATH=$CUVET_BUILD/softgpu" \
            "$cuvet" replay --device 0 "$report"/wrong-*-0 &&
        gives 1 'there is no GPU 7' env "LD_LIBRARY_PATH=$CUVET_BUILD/softgpu" \
            "$cuvet" replay --device 7 "$report"/wrong-*-0
}
ok 'the same through the driver' by_driver
# on_sm STATUS PATTERN NUMBER OPTION ...: the wrong kernel with all other multiprocessors busy.
on_sm() {
    local status=$1 pattern=$2 number=$3
    shift 3
    gives "$status" "$pattern" env "LD_LIBRARY_PATH=$CUVET_BUILD/softgpu" \
        "$cuvet" replay --device gpu --sm "$number" "$@" "$scratch"/report/wrong-*-0
}
one_sm() {
    on_sm 3 '^  sm         2: busy blocks held the other 7 until' 2 &&
        on_sm 3 'reproduced every output' 2 &&
        on_sm 3 '"multiprocessor":7,"there":true,"reproduced":true,"runs":3' 7 --json --times 3
}
no_sm() {
    on_sm 2 'there is no multiprocessor 8: the GPU has 8' 8 &&
        on_sm 2 'the interpreter has no multiprocessors' 2 --device interpreter &&
        on_sm 2 'expected a number from 0 to 4095: x' x &&
        on_sm 2 'goes with neither' 2 --stored
}
ok 'replay: on one multiprocessor' one_sm
ok 'replay: a multiprocessor that is none' no_sm
# images WAY HOOK: of two modules with one symbol each launch has its own in its bundle, so that four replay.
images() {
    local program=$CUVET_BUILD/tests/scenario/images folder=$scratch/images-$1-$2 bundle
    CUVET_HOOK=$2 CUVET_SAMPLE=1 CUVET_BUDGET=off CUVET_EXIT_WAIT=60000 LD_LIBRARY_PATH=$CUVET_BUILD/softgpu "$cuvet" run \
        -c tests/scenario/images/registry.yaml -o "$folder" -- \
        "$program/program" "$CUVET_BUILD/tests/scenario/common/kernels.fatbin" "$1" >"$scratch/out" 2>&1 || return 1
    for bundle in "$folder"/specialised-*-{0..3}; do
        gives 3 'reproduced every output' "$cuvet" replay --device interpreter "$bundle" || return 1
    done
}
ok 'modules of one symbol' images modules cupti
ok 'modules of one symbol, at the entry points' images modules entry
ok 'a module that takes the place of another' images reload cupti
ok 'a module that takes the place of another, at the entry points' images reload entry
ok 'libraries of one symbol, whose modules are loaded lazily' images libraries cupti
ok 'libraries of one symbol, at the entry points' images libraries entry

# A kernel with tensor maps, which was held against its own PTX: maps are made anew.
tiles() {
    local folder=$scratch/tiles bundle
    CUVET_SAMPLE=1 CUVET_BUDGET=off CUVET_EXIT_WAIT=60000 LD_LIBRARY_PATH=$CUVET_BUILD/softgpu "$cuvet" run -o "$folder" -- \
        "$CUVET_BUILD/tests/scenario/tiles/program" "$CUVET_BUILD/tests/scenario/common/kernels.fatbin" \
        tests/unit/lift/ptx/boxes_narrow.ptx boxes >"$scratch/out" 2>&1
    for bundle in "$folder"/boxes-*; do
        gives 3 'reproduced every output' "$cuvet" replay --device interpreter "$bundle" &&
            gives 3 'reproduced every output' env "LD_LIBRARY_PATH=$CUVET_BUILD/softgpu" "$cuvet" replay --device gpu "$bundle" &&
            gives 3 'whole +[0-9]+ of 7200 stored elements outside on PTX interpreter' "$cuvet" lift --device interpreter "$bundle"
        return
    done
}
ok 'a kernel with tensor maps' tiles

# A kernel that reads addresses from memory: what these lead to lies elsewhere, and lift finds where precision was lost.
grouped() {
    local folder=$scratch/grouped bundle
    CUVET_SAMPLE=1 CUVET_BUDGET=off CUVET_EXIT_WAIT=60000 LD_LIBRARY_PATH=$CUVET_BUILD/softgpu "$cuvet" run -o "$folder" -- \
        "$CUVET_BUILD/tests/scenario/grouped/program" "$CUVET_BUILD/tests/scenario/common/kernels.fatbin" \
        tests/unit/lift/ptx/groups_narrow.ptx groups >"$scratch/out" 2>&1
    for bundle in "$folder"/groups-*; do
        gives 3 "reproduced every element that the launch writes has the program's bytes" "$cuvet" replay --device interpreter "$bundle" &&
            gives 3 'lost at +PTX line [0-9]+: cvt.rn.bf16.f32' "$cuvet" lift "$bundle" &&
            gives 3 'whole +not held on PTX interpreter: it reads addresses from memory' "$cuvet" lift --device interpreter "$bundle"
        return
    done
}
ok 'a kernel that reads addresses from memory' grouped

# variables WAY HOOK REGISTRY: bundles of kernels that read variables of their module, which the program has set.
variables() {
    local folder=$scratch/variables-$1-$2
    CUVET_HOOK=$2 CUVET_EXIT_WAIT=60000 LD_LIBRARY_PATH=$CUVET_BUILD/softgpu "$cuvet" run -c "$3" -o "$folder" -- \
        "$CUVET_BUILD/tests/scenario/variables/program" "$CUVET_BUILD/tests/scenario/variables/kernels.fatbin" "$1" 5 \
        >"$scratch/out" 2>&1
    gives 3 'reproduced every output' "$cuvet" replay --device interpreter "$folder"/scaled-*-0 &&
        gives 3 'reproduced every output' env "LD_LIBRARY_PATH=$CUVET_BUILD/softgpu" \
            "$cuvet" replay --device gpu "$folder"/scaled-*-0 &&
        gives 3 '"variables":{"held":3,"missing":0,"absent":0,"initial":false}' \
            "$cuvet" replay --device interpreter --json "$folder"/scaled-*-0 &&
        gives 0 'y +0 of 256 elements outside' "$cuvet" lift "$folder"/scaled-*-0
}
set_registry=tests/scenario/variables/registry.yaml
sed 's/alpha: 3/alpha: 2/' $set_registry >"$scratch/fixed.yaml"
ok 'variables of a module' variables module cupti "$scratch/fixed.yaml"
ok 'variables of a library' variables library cupti $set_registry
ok 'variables of a library, at the entry points' variables library entry $set_registry
# set_otherwise KERNEL EXPRESSION: a copy of a bundle with variables, its launch.json changed.
set_otherwise() {
    rm -rf "$scratch/copy"
    cp -r "$scratch"/variables-module-cupti/"$1"-*-0 "$scratch/copy"
    sed -i "$2" "$scratch/copy/launch.json"
}
unset_variables() {
    set_otherwise scaled 's/"name": "factor","bytes": 4,"at": 0/"name": "factor","bytes": 4,"missing": "lost"/' &&
        gives 3 'different  0 of 1 run gave' "$cuvet" replay --device interpreter "$scratch/copy" &&
        gives 3 'not in the bundle: module variable factor: lost' "$cuvet" replay --device interpreter "$scratch/copy" &&
        gives 3 'hold what they held at the report, which is later' "$cuvet" replay --device interpreter "$scratch/copy" &&
        set_otherwise scaled '/"variables":/d' &&
        gives 3 'stopped .* illegal address 0x0' "$cuvet" replay --device interpreter "$scratch/copy"
}
ok 'replay: a variable that is not in the bundle' unset_variables
# The bundle's value is 5, but the launch had 3, which the image begins with.
changed_later() {
    set_otherwise by_fixed 's/"name": "factor"/"name": "fixed"/' &&
        gives 3 'reproduced every output' "$cuvet" replay --device interpreter "$scratch/copy" &&
        gives 3 'variables  hold what the image begins with' "$cuvet" replay --device interpreter "$scratch/copy"
}
ok 'replay: a variable that changed between the launch and the report' changed_later
other_variables() {
    set_otherwise scaled 's/"name": "factor"/"name": "no_such"/' &&
        gives 3 'the image lacks 1 module variable of the bundle, as no_such' \
            "$cuvet" replay --device interpreter "$scratch/copy"
}
ok 'replay: an image without a variable of the bundle' other_variables
damaged_variables() {
    local expression
    for expression in 's/"at": 32/"at": 320/' 's/"at": 32/"at": -1/' 's/"variables_bytes": 48/"variables_bytes": 47/' \
        's/"name": "factor"/"name": ""/' 's/"name": "factor","bytes": 4,"at": 0/"name": "factor","bytes": 4/'; do
        set_otherwise scaled "$expression" && refused "$scratch/copy" || { echo "$expression"; return 1; }
    done
    set_otherwise scaled '' && rm "$scratch/copy/variables.bin" && refused "$scratch/copy"
}
ok 'damaged variables' damaged_variables

# of_library FILE VENDOR_IMAGES: a bundle of a kernel that lies in a library.
of_library() {
    local folder=$scratch/library-$1-$2
    INNER=$CUVET_BUILD/tests/scenario/vendor/$1 CUVET_VENDOR_IMAGES=$2 CUVET_HOOK=entry CUVET_EXIT_WAIT=60000 \
        LD_LIBRARY_PATH=$CUVET_BUILD/softgpu "$cuvet" run -c tests/scenario/vendor/registry.yaml -o "$folder" -- \
        "$CUVET_BUILD/tests/scenario/vendor/program" "$CUVET_BUILD/tests/scenario/common/kernels.fatbin" \
        >"$scratch/out" 2>&1
    of_library=$(ls -d "$folder"/inner-*)
}
left_out() {
    local library
    library=$(realpath "$CUVET_BUILD/tests/scenario/vendor/libnccl.so.2.99")
    of_library libnccl.so.2.99 0 &&
        grep -qF "\"library\": {\"name\": \"NCCL\",\"file\": \"$library\",\"version\": \"2.99\"}" "$of_library/launch.json" &&
        [ "$(cd "$of_library" && echo ./*)" = './launch.json ./tensors.safetensors' ] &&
        refused "$of_library" &&
        gives 2 "an image of NVIDIA's NCCL, which CUVET_VENDOR_IMAGES=1 stores. To run the library's own: cuvet replay --against $library $of_library\$" \
            "$cuvet" replay --device interpreter "$of_library" &&
        gives 3 'reference  mismatch: 256 of 256' "$cuvet" replay --device interpreter --stored "$of_library"
}
ok "an image of NVIDIA's libraries is left out, and the library named" left_out
kept() {
    of_library libnccl.so.2.99 1 &&
        grep -q '"library": {"name": "NCCL"' "$of_library/launch.json" &&
        gives 3 'reproduced every output' "$cuvet" replay --device interpreter "$of_library" &&
        of_library libplain.so 0 && ! grep '"library"' "$of_library/launch.json" &&
        gives 3 'reproduced every output' "$cuvet" replay --device interpreter "$of_library"
}
ok 'an image of them that the user wants, and one of another library' kept

no_image() {
    cp -r "$scratch"/report/wrong-*-0 "$scratch/bare"
    sed -i 's/"module": {.*}/"module": {"missing": "lost"}/' "$scratch/bare/launch.json"
    gives 2 'no image of the kernel: lost' "$cuvet" replay "$scratch/bare" &&
        gives 3 'reference  mismatch: 1 of 1200' "$cuvet" replay --device interpreter --stored "$scratch/bare"
}
ok 'a bundle without an image' no_image
ok 'probe: one row apart from the others, by the number of rows' probes wrong permute split
ok 'probe: a write behind the output' probes outside outside permute
ok 'probe: elements that are never written' probes stale writes
ok 'probe: an order that changes' probes racing steady

# A kernel's bundle serves for the others of its image: each is wrong in what one launch does not show.
relations() {
    local program=$CUVET_BUILD/tests/scenario/probed kernel
    CUVET_EXIT_WAIT=60000 LD_LIBRARY_PATH=$CUVET_BUILD/softgpu "$cuvet" run -c tests/scenario/probed/registry.yaml \
        -o "$scratch/report" -- "$program/program" "$program/kernels.fatbin" 12 100 112 >"$scratch/out" 2>&1 || return 1
    for kernel in straight narrow timed batched zeroed added aligned twice; do
        cp -r "$scratch"/report/off-*-0 "$scratch/report/$kernel-1-0" &&
            sed -i "s/\"kernel\": \"off\"/\"kernel\": \"$kernel\"/" "$scratch/report/$kernel-1-0/launch.json" || return 1
    done
}
ok 'a bundle for kernels that need a second launch' relations
ok 'probe: a right kernel with strides' probes straight
looks_far() {
    gives 0 '^  noise +good' "$cuvet" probe --device interpreter "$scratch/report/straight-1-0" &&
        gives 0 '^  far +good' "$cuvet" probe --device interpreter "$scratch/report/straight-1-0" &&
        gives 0 '^  split +good' "$cuvet" probe --device interpreter "$scratch/report/straight-1-0" &&
        gives 0 '^  split +skipped +not wanted' \
            "$cuvet" probe --no-relations --device interpreter "$scratch/report/straight-1-0" &&
        gives 0 '^  noise +good' env "LD_LIBRARY_PATH=$CUVET_BUILD/softgpu" \
            "$cuvet" probe --device gpu "$scratch/report/straight-1-0"
}
ok 'probe: noise, far rows and halves of the batch are looked at' looks_far
# undeclared KERNEL OUTCOME: what split finds where the reference declares no rows independent.
undeclared() {
    rm -rf "$scratch/undeclared"
    cp -r "$scratch/report/$1-1-0" "$scratch/undeclared"
    sed -i 's/, each rows, each cols//' "$scratch/undeclared/launch.json"
    gives 0 '^  neighbours +skipped' "$cuvet" probe --device interpreter "$scratch/undeclared" &&
        gives 0 "^  split +$2" "$cuvet" probe --device interpreter "$scratch/undeclared"
}
ok 'probe: three launches show that halves of the batch give its rows' undeclared straight good
ok 'probe: no launches show it' undeclared batched 'skipped  no launches show'
# as_many: where there are as many columns as rows, no parameter is known to be the number of rows.
as_many() {
    local program=$CUVET_BUILD/tests/scenario/probed
    CUVET_EXIT_WAIT=60000 LD_LIBRARY_PATH=$CUVET_BUILD/softgpu "$cuvet" run -c tests/scenario/probed/registry.yaml \
        -o "$scratch/square" -- "$program/program" "$program/kernels.fatbin" 12 12 16 >"$scratch/out" 2>&1
    sed -i 's/"kernel": "off"/"kernel": "straight"/' "$scratch"/square/off-*-0/launch.json &&
        gives 0 '^  split +skipped +another size is the number of rows' \
            "$cuvet" probe --device interpreter "$scratch"/square/off-*-0
}
ok 'probe: as many columns as rows' as_many
dense_rows() {
    gives 3 '^  far +skipped  no parameter is the stride' "$cuvet" probe --device interpreter "$scratch"/report/wrong-*-0
}
ok 'probe: rows without a stride are not moved apart' dense_rows
ok 'probe: offsets in 32 bits' probes narrow far
ok 'probe: warps that rely on time' probes timed noise
ok 'probe: bits that depend on the size of the batch' probes batched split
ok 'probe: what the output held, times zero' probes zeroed reads
ok 'probe: what the output held' probes added reads
ok 'probe: bits that depend on the address' probes aligned alignment
ok 'probe: an output that does not double with its input' probes twice scale

# laid_out WHAT VARIABLE=VALUE PROGRAM ARGUMENT ...: findings of a scenario's program are reproduced.
laid_out() {
    local what=$1
    shift
    local variable=$1 program=$2 bundle report=$scratch/$2-$3
    shift 2
    env "$variable" CUVET_SAMPLE=1 CUVET_BUDGET=off CUVET_FIRST=0 CUVET_BUNDLES=1 CUVET_EXIT_WAIT=60000 \
        LD_LIBRARY_PATH=$CUVET_BUILD/softgpu "$cuvet" run -c "tests/scenario/$program/registry.yaml" -o "$report" -- \
        "$CUVET_BUILD/tests/scenario/$program/program" "$CUVET_BUILD/tests/scenario/$program/kernels.fatbin" "$@" \
        >"$scratch/out" 2>&1
    for bundle in "$report"/*/; do
        gives 3 "reproduced every $what" "$cuvet" replay --device interpreter "$bundle" || return 1
    done
}
ok 'a launch that was checked in part' laid_out output CUVET_SUBSET=8K subset update_tail
ok 'heads that were checked in part' laid_out output CUVET_MEMORY=64K subset attention_head
ok 'rows that another array names' laid_out output CUVET_SUBSET=off touched append_shifts places
ok 'pages that another array names' laid_out output CUVET_SUBSET=off touched attend_short
ok 'parameters of more than 1 KiB' laid_out output CUVET_SUBSET=off torch_structs reduce wrong
no_parameters() {
    copy launch.json sed 's/"hex": "[0-9a-f]*"/"hex": null/' tests/golden/bundle-2/launch.json
    gives 1 'other such launches were under way' "$cuvet" replay --device interpreter "$scratch/copy"
}
ok 'a bundle without parameters' no_parameters
wrong_launch() {
    local expression
    for expression in 's/,"hex": "[0-9a-f]*"//' 's/"hex": "[0-9a-f]*"/"hex": 3.5/' 's/[0-9a-f]"}/"}/' 's/"grid": \[4/"grid": [0/' \
        's/"block": \[128/"block": [0/' 's/"block": \[128/"block": [4096/' 's/"block": \[128,1,1/"block": [1,1,65/' \
        's/"grid": \[4,1/"grid": [4,65536/' 's/"grid": \[4,1,1/"grid": [2147483647,65535,65535/'; do
        copy launch.json sed "$expression" tests/golden/bundle-2/launch.json
        refused "$scratch/copy" && grep -qE '"(hex|parameters|grid|block)": expected' "$scratch/err" &&
            gives 2 '"(hex|parameters|grid|block)": expected' "$cuvet" lift "$scratch/copy" && continue
        echo "$expression"
        cat "$scratch/err"
        return 1
    done
}
ok 'parameters without their bytes, and grids and blocks that no device runs' wrong_launch
ok 'as many parameters as CUDA allows' laid_out output CUVET_SUBSET=off wide wide_wrong
ok 'one of several inputs in a struct' laid_out 'element that the launch writes' CUVET_SUBSET=off \
    torch_structs cat wrong
ok 'a row pitch' laid_out output CUVET_SUBSET=off mutants transposed wrong

# called WORD: a product of the stand-in for cuBLAS, which loses its last terms in the program, is made again.
called() {
    local fatbin=$CUVET_BUILD/tests/scenario/common/kernels.fatbin bundle
    SOFTBLAS_FAULT=tail CUVET_SAMPLE=1 CUVET_BUDGET=off CUVET_BUNDLES=1 CUVET_EXIT_WAIT=60000 LD_LIBRARY_PATH=$CUVET_BUILD/softgpu \
        "$cuvet" run -c tests/scenario/calls/registry.yaml -o "$scratch/calls-$1" -- \
        "$CUVET_BUILD/tests/scenario/calls/program" "$fatbin" "$1" >"$scratch/out" 2>&1
    bundle=$(ls -d "$scratch/calls-$1"/cublas* | head -n 1)
    gives 3 'reproduced every output' env SOFTBLAS_FAULT=tail "LD_LIBRARY_PATH=$CUVET_BUILD/softgpu" \
        "$cuvet" replay --device gpu "$bundle" &&
        gives 0 'reference  match' env "LD_LIBRARY_PATH=$CUVET_BUILD/softgpu" "$cuvet" replay --device gpu "$bundle"
}
for word in ex sgemm tf32 beta batch lt lt_added lt_bias lt_relu lt_gelu gemv gemvs list grouped device f8_rows f8_blocks; do
    ok "a library call: $word" called "$word"
done
uncalled() {
    local bundle
    bundle=$(ls -d "$scratch"/calls-lt/cublas* | head -n 1)
    gives 1 'a library call is made again on a GPU alone' "$cuvet" replay --device interpreter "$bundle" &&
        gives 3 'reference  mismatch' "$cuvet" replay --device interpreter --stored "$bundle" &&
        gives 1 "the call's library is not here" env "LD_LIBRARY_PATH=$CUVET_BUILD/softgpu" \
            "$cuvet" replay --device gpu --library "$scratch/nothing.so" "$bundle" &&
        cp -r "$bundle" "$scratch/other" &&
        sed -i 's/"kernel": "cublasLtMatmul<\(.*\)>"/"kernel": "cublasLtMatmul<\1, other>"/' "$scratch/other/launch.json" &&
        gives 1 'what the name calls other, are not rebuilt' env "LD_LIBRARY_PATH=$CUVET_BUILD/softgpu" \
            "$cuvet" replay --device gpu "$scratch/other" &&
        sed -i 's/"kernel": "cublasLtMatmul</"kernel": "cudnnConvolutionForward</' "$scratch/other/launch.json" &&
        gives 1 'its plan is an object of the program' env "LD_LIBRARY_PATH=$CUVET_BUILD/softgpu" \
            "$cuvet" replay --device gpu "$scratch/other"
}
ok 'a library call that cannot be made' uncalled

# Batched kernels against those for single rows, of which the report has no bundle.
pairs() {
    local program=$CUVET_BUILD/tests/scenario/pairs
    CUVET_SAMPLE=1 CUVET_BUDGET=off CUVET_EXIT_WAIT=60000 LD_LIBRARY_PATH=$CUVET_BUILD/softgpu "$cuvet" run \
        -c tests/scenario/pairs/registry.yaml -o "$scratch/report" -- "$program/program" "$program/kernels.fatbin" \
        all _wrong >"$scratch/out" 2>&1
    gives 3 'y +4 of 4 rows differ, in [0-9]+ elements' against rms_norm rms_norm_batched_wrong --grid 1 &&
        gives 0 'y +4 rows compared, no difference beyond' against rms_norm rms_norm_batched_wrong --grid 1 --rtol 1e-6 &&
        gives 0 'y +4 rows compared, no difference$' against rms_norm_batched_wrong rms_norm_batched_wrong --grid 1 &&
        gives 3 '4 of 4 m differ' against q4k_gemv q4k_gemv_batched_wrong --grid 6 --item m &&
        gives 3 '^\{"version":1,.*"agrees":false' against rope rope_batched_wrong --grid 1,1,1 --json &&
        gives 0 'no difference' against "$scratch"/report/rope_batched_wrong-*-0 rope_batched_wrong
}
# against OTHER KERNEL OPTION ...: a bundle of KERNEL and another kernel.
against() {
    local other=$1 kernel=$2
    shift 2
    "$cuvet" probe --device interpreter --parity "$other" "$@" "$scratch/report/$kernel"-*-0
}
ok 'probe --parity: a batch against its rows one by one' pairs
not_comparable() {
    gives 2 "promises no independent 'n'" against rope rope_batched_wrong --item n &&
        gives 2 'w has another type or shape' against "$scratch"/report/q6k_gemv_batched_wrong-*-0 q4k_gemv_batched_wrong &&
        gives 2 'a call of the reference rope_pairs, the other of rmsnorm' \
            against "$scratch"/report/rms_norm_batched_wrong-*-0 rope_batched_wrong &&
        gives 2 'expected a grid' against rope rope_batched_wrong --grid 0 &&
        gives 2 'expected a number from 0 on' against rope rope_batched_wrong --rtol -1
}
ok 'probe --parity: launches that cannot be compared' not_comparable
ok 'probe: rows that take from the first one' probes residual_add_batched_wrong permute neighbours split
ok 'probe: another order of products in every row' probes rms_norm_batched_wrong

right() {
    cp -r "$scratch"/report/wrong-*-0 "$scratch/report/right-1-0"
    sed -i 's/"kernel": "wrong"/"kernel": "right"/' "$scratch/report/right-1-0/launch.json"
    gives 0 'reference  match' "$cuvet" replay --device interpreter "$scratch/report/right-1-0" && probes right
}
ok 'a right kernel: nothing is found' right

# of_graph BUNDLE: it is of a node of a graph.
of_graph() {
    grep -qE '"graph": \{"graph": 1,"node": [0-4],"replay": 0\}' "$1/launch.json" && return
    grep '"graph"' "$1/launch.json"
    return 1
}
graph_findings() {
    local kernel
    findings "$scratch/graph" graph || return 1
    for kernel in wrong outside stale racing; do
        of_graph "$scratch/graph/$kernel"-*-1 || return 1
    done
}
# graph_gives KERNEL PATTERN OPTION ...
graph_gives() {
    local kernel=$1 pattern=$2
    shift 2
    gives 3 "$pattern" "$cuvet" replay --device interpreter "$@" "$scratch/graph/$kernel"-*-1
}
graph_replays() {
    graph_gives wrong 'reproduced every output has the program' && graph_gives wrong 'reference  mismatch' &&
        graph_gives outside 'outside    4 guard bytes' &&
        graph_gives stale 'reproduced every element that the launch writes has' &&
        graph_gives racing 'not deterministic: [2-9] results in 5 runs' --times 5
}
# The inputs of the bundle are those of the launch by itself.
same_bytes() {
    cmp "$scratch"/graph/wrong-*-1/tensors.safetensors "$scratch"/report/wrong-*-0/tensors.safetensors
}
ok 'a graph with four wrong kernels leaves a bundle of each' graph_findings
ok 'replay: kernels of a graph' graph_replays
ok 'a bundle of a launch in a graph holds the same bytes' same_bytes
done_testing
