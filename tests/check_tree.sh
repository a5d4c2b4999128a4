#!/bin/bash
# check_tree.sh - the rules of the house that every `make test` holds the finished tree against.
#
# Takes CUVET_BUILD, CUDA_INCLUDE, CUPTI_INCLUDE and VARIANT from the Makefile.
set -uo pipefail
. tests/tap.sh

ok 'top: git tracks text alone, and at the top level only what belongs there' tools/dev/check-top
ok 'layers: includes follow tools/dev/layers.txt' tools/dev/check-layers
# A back end that includes the collector, which the core includes, too.
narrows() {
    local tree
    tree=$(mktemp -d)
    mkdir -p "$tree/shim/hook" "$tree/shim/core" "$tree/shim/judge"
    echo 'struct collector;' >"$tree/shim/judge/collector.h"
    echo '#include "judge/collector.h"' | tee "$tree/shim/core/core.h" >"$tree/shim/hook/bad.c"
    (cd "$tree" && ! "$OLDPWD/tools/dev/check-layers") | grep -q '^shim/hook/bad.c:1: may not include shim/judge/collector.h' &&
        echo '#include "core/core.h"' >"$tree/shim/hook/bad.c" && (cd "$tree" && "$OLDPWD/tools/dev/check-layers")
    local status=$?
    rm -rf "$tree"
    return $status
}
ok 'layers: a back end reaches the core through core.h alone' narrows
ok 'banned: nothing under shim/ can end the host program' tools/dev/check-banned
ok 'rooms: small folders, under shim with a README each' tools/dev/check-rooms
ok 'words: plain English in the documents' tools/dev/check-words
# Two files with a static of one name, one of them behind its return type, and one whose names are its own.
namesakes() {
    local tree found
    tree=$(mktemp -d)
    mkdir -p "$tree/shim"
    printf 'static struct {\n    int at;\n} kept, lost;\nstatic int\nsettle(void)\n{\n}\n' >"$tree/shim/a.c"
    printf 'static _Atomic(int) lost = 1;\nstatic void settle(int at);\nstatic void settle(int at)\n{\n}\n' >"$tree/shim/b.c"
    printf 'static int at;\nvoid kept(void)\n{\n    static int settle;\n}\n' >"$tree/shim/c.c"
    found=$(cd "$tree" && "$OLDPWD/tools/dev/check-words")
    [ $? = 1 ] && [ "$(sed 's/ *(.*//' <<<"$found")" = 'static lost stands in shim/a.c and shim/b.c
static settle stands in shim/a.c and shim/b.c' ]
    local status=$?
    rm "$tree/shim/b.c"
    (cd "$tree" && "$OLDPWD/tools/dev/check-words") && [ $status = 0 ]
    status=$?
    rm -rf "$tree"
    return $status
}
ok 'words: statics of one name are found' namesakes
ok 'size: functions and files stay short' tools/dev/check-size
case ${VARIANT:-release} in
san | tsan) skip 'exports: names and libraries of libcuvet.so' "a sanitizer adds its own" ;;
*) ok 'exports: names and libraries of libcuvet.so' \
    tools/dev/check-exports "$CUVET_BUILD/libcuvet.so" ;;
esac
ok 'cbids: every launch API of the toolkit has its row' tools/dev/check-cbids \
    "$CUPTI_INCLUDE/cupti_driver_cbid.h" shim/hook/launch_apis.def \
    shim/hook/wait_apis.def
# The wrappers of cuBLAS and cuDNN hand on what the libraries' headers declare, where these are.
prototypes() { tools/dev/check_prototypes.py "$1"; }
tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
if ! command -v python3 >/dev/null || { tools/dev/check_prototypes.py "$CUDA_INCLUDE" >/dev/null 2>&1; [ $? -eq 77 ]; }; then
    skip 'prototypes: wrappers take what the libraries declare' "no Python, or none of the libraries' headers"
else
    ok 'prototypes: wrappers take what the libraries declare' prototypes "$CUDA_INCLUDE"
    odd_prototype() {
        cp -r shim tools refs "$tmp" && sed -i 's/^GEMV(cublasSgemv_v2_64, int64_t/GEMV(cublasSgemv_v2_64, int/' "$tmp/shim/hook/calls/cublas.c"
        (cd "$tmp" && ! tools/dev/check_prototypes.py "$CUDA_INCLUDE") | grep -q '^shim/hook/calls: cublasSgemv_v2_64 takes'
    }
    ok 'prototypes: another integer is found' odd_prototype
fi
ok 'docs: README.md agrees with the tables' tools/dev/check-docs "$CUVET_BUILD/cuvet"
ok 'softgpu: its settings are those that its README.md lists' tools/dev/check-softgpu
# Without lowdown the pages are the Markdown itself.
pages() {
    local folder page
    folder=$(mktemp -d)
    tools/dev/make-man "$folder" 1
    for page in "$folder"/*.[157]; do
        head -20 "$page" | grep -qx '[.]SH NAME' && head -20 "$page" | grep -q '^cuvet[a-z-]* .- ' || { echo "$page does not begin with a NAME"; return 1; }
    done
    rm -rf "$folder"
}
if command -v lowdown >/dev/null; then
    ok 'man: each page has a NAME' pages
else
    skip 'man: each page has a NAME' 'there is no lowdown'
fi
reads_tables() {
    python3 -c '
import glob, yaml
for path in glob.glob("config/**/*.yaml", recursive=True):
    yaml.safe_load(open(path))'
}
if python3 -c 'import yaml' 2>/dev/null; then
    ok 'tables: PyYAML reads them, too' reads_tables
else
    skip 'tables: PyYAML reads them, too' 'there is no PyYAML'
fi
# Every Debian package that check-deps names is one that tools/setup installs.
sets_up() {
    local line package
    line=" $(sed -n '/apt-get >/,/dnf >/p' tools/setup | tr '\n()' '   ') "
    for package in $(grep -oE '(header|archive|lacks) [^ ]+( [a-z0-9+.-]+)$' tools/dev/check-deps | awk '{ print $3 }' | sort -u); do
        case $line in
        *" $package "*) ;;
        *)
            echo "tools/setup installs no $package, which tools/dev/check-deps names"
            return 1
            ;;
        esac
    done
    [ -n "$package" ]
}
ok 'setup: installs what the build asks for' sets_up
# A toolkit of that version is $CUDA_HOME.
names_toolkit() {
    mkdir -p "$tmp/bin"
    printf '#!/bin/sh\necho "Cuda compilation tools, release %s, V%s.1"\n' "$1" "$1" > "$tmp/bin/nvcc"
    chmod +x "$tmp/bin/nvcc"
    CUDA_HOME=$tmp tools/setup --print 2>&1 >/dev/null | grep -q 'needs 12.4 or later'
}
ok 'setup: a toolkit that is too old is named' names_toolkit 11.8
ok 'setup: one that is not is no matter' eval '! names_toolkit 12.4 && ! names_toolkit 13.0'
done_testing
