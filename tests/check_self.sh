#!/bin/bash
# check_self.sh - each check of tools/dev catches what it is for and stays quiet otherwise.
#
# Small trees are made in a scratch folder, with and without the fault.
set -uo pipefail
. tests/tap.sh

root=$PWD
dev=$root/tools/dev
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
CC=${CC:-cc}

# A fresh tree; the caller's working directory moves into it.
tree() {
    rm -rf "${scratch:?}/tree"
    mkdir -p "$scratch"/tree/{shim/{base,system,driver,value,gate,copy,hook,report,device},refs/row,tools/dev}
    cd "$scratch/tree" || exit 1
    echo 'int base_thing(void);' >shim/base/thing.h
    echo '#include "base/thing.h"' >shim/gate/gate.c
    echo 'int gate(void);' >shim/gate/gate.h
    echo 'int hook(void);' >shim/hook/router.h
}

quiet() { "$@"; }
# catches TEXT COMMAND ...: the command must fail and print TEXT.
catches() {
    local text=$1 said
    shift
    if said=$("$@" 2>&1); then
        echo "passed, although it should have found: $text"
        return 1
    fi
    grep -qF -- "$text" <<<"$said" || {
        echo "did not say '$text' but: $said"
        return 1
    }
}

includes() { # FILE INCLUDE
    printf '#include %s\n' "$2" >>"$1"
}

tree
ok 'layers: quiet on a sound tree' quiet "$dev/check-layers"
includes shim/base/thing.c '"gate/gate.h"'
ok 'layers: base may not reach up' catches 'shim/base/thing.c:1: may not include shim/gate/gate.h' \
    "$dev/check-layers"
tree
includes shim/gate/gate.c '"hook/router.h"'
ok 'layers: the gates may not include the hook' catches shim/hook/router.h "$dev/check-layers"
tree
includes shim/value/verdict.c '<cuda.h>'
ok 'layers: plain values include no driver header' catches '<cuda.h>' "$dev/check-layers"
tree
includes shim/copy/snapshot_copy.c '<cuda.h>'
ok 'layers: the copies may include the driver header' quiet "$dev/check-layers"
includes shim/copy/snapshot_copy.c '<cupti.h>'
ok 'layers: but not CUPTI' catches '<cupti.h>' "$dev/check-layers"
tree
includes shim/report/journal.c '"gate/gate.h"'
ok 'layers: report sees values only' catches shim/gate/gate.h "$dev/check-layers"
tree
printf '#include <cuda.h>\n' >shim/driver/thing.h
includes shim/value/launch.c '"gate/gate.h"'
ok 'layers: one row for each room' catches shim/gate/gate.h "$dev/check-layers"
tree
printf '#include <cuda.h>\n' >shim/gate/gate.h
includes shim/gate/tally.h '"gate/gate.h"'
includes shim/report/journal.c '"gate/tally.h"'
ok 'layers: an include of an include counts' catches 'shim/report/journal.c:1: may not include shim/gate/gate.h, which shim/gate/tally.h includes' \
    "$dev/check-layers"
tree
cp "$dev/layers.txt" tools/dev/layers.txt
echo 'shim/nowhere/*: shim/base/*' >>tools/dev/layers.txt
ok 'layers: a row that fits no file is named' catches 'the row shim/nowhere/* decides for no file' \
    "$dev/check-layers" tools/dev/layers.txt
tree
for room in shim/*/; do echo "# $room" >"$room/README.md"; done
ok 'rooms: quiet on a sound tree' quiet "$dev/check-rooms"
touch shim/base/file{1..20}.c
ok 'rooms: over 20 source files' catches 'shim/base: 21 source files' "$dev/check-rooms"
rm shim/base/file*.c
touch shim/file{1..21}.c
ok 'rooms: over 20 source files above the rooms' catches 'shim: 2' "$dev/check-rooms"
rm shim/file*.c shim/gate/README.md
ok 'rooms: a README each' catches 'shim/gate: has no README.md' "$dev/check-rooms"
echo '# shim/gate/' >shim/gate/README.md
mkdir -p tests/scenario/steps/steps_quiet && touch tests/scenario/steps/file{1..20}.c
ok 'rooms: 20 files of a program of scenarios' quiet "$dev/check-rooms"
touch tests/scenario/steps/file21.c
ok 'rooms: over 20' catches 'tests/scenario/steps: 21 source files' "$dev/check-rooms"
rm -r tests/scenario
mkdir -p tests/unit/gate && touch tests/unit/gate/file{1..20}.c tests/unit/gate/file{1..5}.yaml tools/dev/file{1..20}.py
ok 'rooms: 20 files under tests/ and tools/, data beside them' quiet "$dev/check-rooms"
for file in tests/unit/gate/one.{c,h,cu,cuh,cpp,py,sh}; do
    touch "$file"
    ok "rooms: over 20 with ${file##*/}" catches 'tests/unit/gate: 21 source files' "$dev/check-rooms"
    rm "$file"
done
touch tools/dev/one.py
ok 'rooms: over 20 under tools/' catches 'tools/dev: 21 source files' "$dev/check-rooms"
rm tools/dev/one.py
touch refs/row/file{1..20}.cu
ok 'rooms: 20 files under refs/' quiet "$dev/check-rooms"
touch refs/row/one.h
ok 'rooms: over 20 under refs/' catches 'refs/row: 21 source files' "$dev/check-rooms"
tree
includes shim/base/options.c '<yaml.h>'
ok 'layers: only yaml_doc.c knows libyaml' catches '<yaml.h>' "$dev/check-layers"
tree
includes shim/system/yaml_doc.c '<yaml.h>'
ok 'layers: yaml_doc.c does' quiet "$dev/check-layers"
includes refs/row/norm.cu '"shim/base/thing.h"'
ok 'layers: references know references only' catches refs/row/norm.cu "$dev/check-layers"
tree
includes tools/cmd_check.c '"hook/router.h"'
ok 'layers: tools do not hook' catches tools/cmd_check.c "$dev/check-layers"
tree
printf '/* #include "hook/router.h" */\n' >shim/base/thing.c
ok 'layers: comments do not count' quiet "$dev/check-layers"

tree
cat >shim/base/quiet.c <<'C'
/* exit(1) and abort() in a comment */
static const char *text = "system(\"ls\")";
int on_exit_wait(int exit_code) { return object.exit(1) + exit_code + text[0]; }
C
ok 'banned: quiet on look-alikes' quiet "$dev/check-banned"
for call in 'exit(1)' '_exit(1)' 'abort()' 'system("ls")' 'popen("ls", "r")' 'printf("x")' \
    'fprintf(stdout, "x")' 'assert(0)'; do
    printf 'void f(void)\n{\n    %s;\n}\n' "$call" >shim/base/loud.c
    ok "banned: $call" catches shim/base/loud.c:3: "$dev/check-banned"
done

rm -f shim/base/loud.c
mkdir -p shim/gate shim/session
for call in 'budget_add(b, now, 1)' 'sink->seen(sink->user)' 'p->sink->spent(u, &cost)'; do
    printf 'void f(void)\n{\n    %s;\n}\n' "$call" >shim/gate/ledger.c
    ok "banned: $call is what ledger.c is for" quiet "$dev/check-banned"
    mv shim/gate/ledger.c shim/gate/other.c
    ok "banned: $call elsewhere" catches shim/gate/other.c:3: "$dev/check-banned"
    rm shim/gate/other.c
done
printf 'void f(void)\n{\n    seen(1);\n    budget_add;\n    kernels->seen(1);\n    sink->seen = y;\n}\n' >shim/gate/other.c
ok 'banned: quiet on what is like them' quiet "$dev/check-banned"
rm shim/gate/other.c

for row in 'session/on_mismatch.c abort()' 'system/helper.c posix_spawn(0)' 'system/helper.c clone(0)'; do
    rm -f shim/base/loud.c
    file=shim/${row%% *} call=${row#* }
    printf 'void f(void)\n{\n    %s;\n}\n' "$call" >"$file"
    ok "banned: $call is what ${file##*/} is for" quiet "$dev/check-banned"
    printf 'void g(void)\n{\n    %s;\n}\n' "$call" >>"$file"
    ok "banned: but once" catches "$file:7:" "$dev/check-banned"
    printf 'void f(void)\n{\n    exit(1);\n}\n' >"$file"
    ok "banned: and nothing else" catches "$file:3:" "$dev/check-banned"
    rm "$file"
    printf 'void f(void)\n{\n    %s;\n}\n' "$call" >shim/report/plugin.c
    ok "banned: nor elsewhere" catches shim/report/plugin.c:3: "$dev/check-banned"
    rm shim/report/plugin.c
done

tree
lines() { for ((i = 0; i < $1; i++)); do echo "    thing();"; done; }
{ printf 'void fits(void)\n{\n'; lines 68; printf '}\n'; } >shim/base/thing.c
ok 'size: 70 lines fit' quiet "$dev/check-size"
{ printf 'void is_long(void)\n{\n'; lines 69; printf '}\n'; } >shim/base/thing.c
ok 'size: 71 lines do not' catches 'shim/base/thing.c:2: 71 lines, over 70: void is_long' "$dev/check-size"
tree
lines 601 >shim/base/thing.c
ok 'size: nor 601 lines of a file' catches 'shim/base/thing.c: 601 lines, over 600' "$dev/check-size"
mkdir -p tests/unit && lines 600 >tests/unit/test_thing.c && rm shim/base/thing.c
ok 'size: 600 lines of a test fit' quiet "$dev/check-size"
lines 601 >tests/unit/test_thing.c
ok 'size: 601 do not' catches 'tests/unit/test_thing.c: 601 lines, over 600' "$dev/check-size"

tree
echo 'size_t lonely(void);' >shim/base/lonely.h
ok 'headers: one that lacks its own include' catches 'shim/base/lonely.h does not compile alone' \
    "$dev/check-headers"
sed -i '1i #include <stddef.h>' shim/base/lonely.h
ok 'headers: quiet when it has it' quiet "$dev/check-headers"

if command -v "${CLANG_FORMAT:-clang-format}" >/dev/null; then
    tree
    echo 'BasedOnStyle: LLVM' >.clang-format
    ok 'format: quiet' quiet "$dev/check-format"
    echo 'int   wide  ;' >shim/base/thing.h
    ok 'format: caught' catches shim/base/thing.h "$dev/check-format"
else
    skip 'format: quiet' 'no clang-format'
    skip 'format: caught' 'no clang-format'
fi

tree
cat >cuvet.h <<'C'
CUVET_API const char *cuvet_version(void);
C
library() { # CODE FLAGS ...
    echo "$1" >library.c
    $CC -shared -fPIC -o library.so library.c "${@:2}"
}
mkdir -p shim/hook
echo 'ENTRY(cuThing, cuThing, 10000, LEGACY)' >shim/hook/entry_apis.def
sound='#define F(name) void name(void); void name(void) {}
F(InitializeInjection) F(InitializeInjectionNvtx2) F(cuGetProcAddress) F(cuGetProcAddress_v2) F(cuvet_entry_bound) F(cuvet_entry_cuThing)
const char *cuvet_version(void); const char *cuvet_version(void) { return 0; }'
library "$sound"
echo 'BLAS_FUNCTION(cublasThing)' >calls.def
library "$sound int cublasThing(void); int cublasThing(void) { return 0; }"
ok 'exports: a wrapper of the list' quiet "$dev/check-exports" library.so cuvet.h calls.def
library "$sound"
ok 'exports: a missing wrapper' catches 'does not export cublasThing' "$dev/check-exports" library.so cuvet.h calls.def
: >calls.def
ok 'exports: quiet' quiet "$dev/check-exports" library.so cuvet.h calls.def
echo 'ENTRY(cuOther, cuOther, 10000, LEGACY)' >>shim/hook/entry_apis.def
ok 'exports: a missing wrapper of the driver' catches 'does not export cuvet_entry_cuOther' \
    "$dev/check-exports" library.so cuvet.h calls.def
sed -i '$d' shim/hook/entry_apis.def
library "$sound int stray(void); int stray(void) { return 0; }"
ok 'exports: a stray name' catches 'exports stray' "$dev/check-exports" library.so cuvet.h calls.def
library 'void InitializeInjection(void); void InitializeInjection(void) {}'
ok 'exports: a missing name' catches 'does not export cuvet_version' \
    "$dev/check-exports" library.so cuvet.h calls.def
$CC -shared -fPIC -Wl,-soname,libother.so.1 -o libother.so -x c - <<<'int other(void) { return 0; }'
library "$sound" -Wl,--no-as-needed ./libother.so
ok 'exports: a foreign library' catches 'needs libother.so.1' "$dev/check-exports" library.so cuvet.h calls.def

tree
cat >cbid.h <<'C'
    CUPTI_DRIVER_TRACE_CBID_cuInit                  = 1,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel          = 307,
    CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz      = 515,
C
cat >table.def <<'C'
/* LAUNCH_API(name, number, how) */
LAUNCH_API(cuLaunchKernel, 307, HANDLED)
LAUNCH_API(cuGraphLaunch_ptsz, 515, COUNTED)
LAUNCH_API(cuLaunchFuture, 999, COUNTED)
C
ok 'cbids: quiet, also on a row that this header lacks' quiet "$dev/check-cbids" cbid.h table.def
echo '    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx2 = 900,' >>cbid.h
ok 'cbids: a launch API that the table lacks' catches 'cuLaunchKernelEx2 = 900 has no row' \
    "$dev/check-cbids" cbid.h table.def
sed -i -e '$d' -e 's/307/308/' cbid.h
ok 'cbids: a wrong number' catches 'cuLaunchKernel is 308 in the header and 307' \
    "$dev/check-cbids" cbid.h table.def
sed -i 's/308/307/' cbid.h
echo 'WAIT_API(cuInit, 2)' >wait.def
ok 'cbids: a wrong number in another table' catches 'wait.def: cuInit is 1' \
    "$dev/check-cbids" cbid.h table.def wait.def
: >empty.h
ok 'cbids: a header without any' catches 'no launch API' "$dev/check-cbids" empty.h table.def

tree
printf '#!/bin/sh\necho "| CUVET_X | a table |"\n' >cuvet
chmod +x cuvet
page() { # TABLE
    printf '# title\n'
    for name in knobs buckets; do
        printf '<!-- %s: begin -->\n%s\n<!-- %s: end -->\n' $name "$1" $name
    done
}
page '| CUVET_X | a table |' >README.md
ok 'docs: quiet' quiet "$dev/check-docs" ./cuvet
page '| CUVET_X | an old table |' >README.md
ok 'docs: a stale table' catches 'README.md is stale' "$dev/check-docs" ./cuvet
ok 'docs: written again' quiet "$dev/check-docs" --fix ./cuvet
ok 'docs: then quiet' quiet "$dev/check-docs" ./cuvet
printf 'import cuvet\n' >example.py
printf '%s\n' '<!-- file example.py: begin -->' '```python' 'import cuvet' '```' \
    '<!-- file example.py: end -->' >>README.md
ok 'docs: quiet on a file that is shown as it is' quiet "$dev/check-docs" ./cuvet
printf 'import torch\n' >example.py
ok 'docs: a file that has changed' catches '> import torch' "$dev/check-docs" ./cuvet
ok 'docs: is shown again' quiet "$dev/check-docs" --fix ./cuvet
ok 'docs: then quiet about it' quiet "$dev/check-docs" ./cuvet
sed -i 's/buckets: /baskets: /' README.md
ok 'docs: a table that no page shows' catches 'no page has a line <!-- buckets: begin -->' "$dev/check-docs" ./cuvet
sed -i 's/baskets: /buckets: /' README.md
mkdir -p tools/man
page '| CUVET_X | an old table |' >tools/man/cuvet-options.md
ok 'docs: a stale manual page' catches 'tools/man/cuvet-options.md is stale' "$dev/check-docs" ./cuvet
rm tools/man/cuvet-options.md
mkdir -p config/kernels
: >config/kernels/other.yaml
printf '| table | kernels | run against |\n| `kernels/other.yaml` | some | |\n' >config/README.md
ok 'docs: a table of entries that was not run' catches 'what other.yaml was run against' "$dev/check-docs" ./cuvet
echo '| `kernels/other.yaml` | some | its own tests |' >config/README.md
ok 'docs: quiet on one that was' quiet "$dev/check-docs" ./cuvet
rm -r config
cp README.md old.md
echo 'A program reads a file.' >README.md
ok 'words: quiet on a plain page' quiet "$dev/check-words"
echo 'The library tells the program what it heard.' >README.md
ok 'words: personification' catches 'README.md:1: " tells ": name the thing' "$dev/check-words"
printf 'a %.0s' {1..46} >README.md
ok 'words: a sentence that is too long' catches 'a sentence of 46 words, over 45' "$dev/check-words"
for i in {1..151}; do echo; done >README.md
ok 'words: a README that is too long' catches 'README.md: 151 lines, over 150' "$dev/check-words"
mv old.md README.md
echo 'The gate tells the kernel.' >shim/gate/README.md
ok 'words: a room' catches 'shim/gate/README.md:1: " tells ": name the thing' "$dev/check-words"
rm shim/gate/README.md
echo '/* The kernel hears the host. */' >shim/gate/words.c
ok 'words: comments' catches 'shim/gate/words.c:1:' "$dev/check-words"
echo 'int asked; /* what the driver wants */' >shim/gate/words.c
ok 'words: a comment behind code' catches 'shim/gate/words.c:1:' "$dev/check-words"
printf '/*\n * The sum is\n * not learnt.\n */\n' >shim/gate/words.c
ok 'words: a line inside a comment' catches 'shim/gate/words.c:3:' "$dev/check-words"
printf '/* The mask of unknown words. */\nint *f(int asked)\n{\n    *(&told) = asked;\n}\n' >shim/gate/words.c
ok 'words: quiet on names, and on words that hold a banned one' quiet "$dev/check-words"
echo 'int f(void) { return fail("%s: the driver says \"no\"", name); }' >shim/gate/words.c
ok 'words: a message' catches 'shim/gate/words.c:1:' "$dev/check-words"
printf '%s\n' 'void f(void) { get(json, "looks", told, asked, "the unknown task"); }' >shim/gate/words.c
ok 'words: quiet on keys, and on names between messages' quiet "$dev/check-words"
rm shim/gate/words.c
mkdir -p refs/abi tests
for folder in tools refs refs/abi tests; do
    for kind in h cu cpp; do
        printf 'int asked;\n// the number that the caller wants\n' >$folder/words.$kind
        ok "words: comments of $folder/*.$kind" catches "$folder/words.$kind:2:" "$dev/check-words"
        printf '/* Number of the calls. */\nfloat *y = *(&told) / wants;\n' >$folder/words.$kind
        ok "words: quiet on code of $folder/*.$kind" quiet "$dev/check-words"
        rm $folder/words.$kind
    done
done
rm example.py
ok 'docs: a file that is gone' catches 'shows example.py, which is not there' \
    "$dev/check-docs" ./cuvet

if command -v git >/dev/null; then
    tree
    git init -q .
    mkdir .ci
    touch Makefile README.md LICENSE .ci/run
    git add -A
    touch notes.txt
    ok 'top: quiet on what belongs there, and on what git does not track' quiet "$dev/check-top"
    git add notes.txt
    ok 'top: a stray file' catches 'notes.txt: does not belong at the top' "$dev/check-top"
    git rm -qf notes.txt
    mkdir wheels
    echo text >wheels/one
    git add -A
    ok 'top: a stray folder' catches 'wheels: does not belong at the top' "$dev/check-top"
    git rm -qrf wheels
    printf 'PK\003\004\000\000' >shim/some.whl
    git add -A
    ok 'top: a package' catches 'shim/some.whl: not text' "$dev/check-top"
    git rm -qf shim/some.whl
    ln -s /etc/hostname shim/name
    git add -A
    ok 'top: a link' catches 'shim/name: a link' "$dev/check-top"
    git rm -qf shim/name
    printf '%0100d' 0 >refs/table.inc
    git add -A
    ok 'top: quiet on a file that is just not too large' quiet "$dev/check-top" 100
    ok 'top: a large file' catches 'refs/table.inc: 100 bytes, over 99' "$dev/check-top" 99
    git mv refs/table.inc 'refs/a table of möre.inc'
    ok 'top: whatever it is called' catches 'refs/a table of möre.inc: 100 bytes' "$dev/check-top" 99
    rm -rf .git
    ok 'top: quiet where there is no git' quiet "$dev/check-top" 99
else
    skip 'top' 'no git'
fi
done_testing
