#!/bin/bash
# check_report.sh - `cuvet report` on made-up journals, on hostile ones, and on those of two ranks on softgpu.
#
# Takes CUVET_BUILD from the Makefile.
set -uo pipefail
. tests/tap.sh

cuvet=$CUVET_BUILD/cuvet
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 tests/report/journals.py "$scratch/job" || exit 1

# refuses PATTERN FILE: one sentence, exit status 2, nothing on standard output.
refuses() {
    gives 2 "$1" "$cuvet" report "$2" || return 1
    [ ! -s "$scratch/out" ] && [ "$(wc -l <"$scratch/err")" -eq 1 ] && return
    cat "$scratch/out" "$scratch/err"
    return 1
}

report() {
    "$cuvet" report "$@"
    [ $? -eq 3 ]
}

ok 'text: totals of three ranks' gives 3 \
    '3 processes, 210 launches seen. Checked 35: 20 match, 15 mismatch' "$cuvet" report "$scratch/job"
ok 'text: a note of CUVET_LINT, of three ranks' gives 3 \
    '^ +good, line 42 of its PTX \(/src/sum.py:7\): note: add.bf16 .* \[accumulator-narrow\] \(3 times\)$' \
    "$cuvet" report "$scratch/job"
ok 'text: a killed process' gives 3 '1 process left no totals' "$cuvet" report "$scratch/job"
# Rank 2 was killed behind its second counts so far: 30 launches, 9 match, 4 mismatch; then its fifth finding.
python3 tests/report/journals.py "$scratch/interim" interim
ok 'counts so far of a killed process' gives 3 \
    '3 processes, 240 launches seen. Checked 44: 29 match, 15 mismatch' "$cuvet" report "$scratch/interim"
ok 'counts so far: of each kernel' gives 3 '^ +good +224 +29 +29 +0 ' "$cuvet" report "$scratch/interim"
ok 'counts so far: and what was found since' gives 3 ' +17 +15 +0 +15 ' "$cuvet" report "$scratch/interim"
ok 'counts so far: reasons' gives 3 '197  budget' "$cuvet" report "$scratch/interim"
ok 'counts so far: their time' gives 3 '"counted": "2026-01-31T23:' "$cuvet" report -f json "$scratch/interim"
ok 'text: a bundle beside its journal is replayed there' gives 3 \
    "cuvet replay '$scratch/job/host1/it'.''s b-1-0'" "$cuvet" report "$scratch/job"
ok 'text: a contract that does not hold' gives 3 '^ +contract c: item 1 is item 0 of <b>$' "$cuvet" report "$scratch/job"
ok 'text: a bundle that is elsewhere' gives 3 "b-1-1', which is not here" "$cuvet" report "$scratch/job"
# The same, of kernels that were held against their own PTX.
cp -r "$scratch/job" "$scratch/own"
find "$scratch/own" -name '*.jsonl' -exec sed -i 's/"reference":"[^"]*"/"reference":"precision (own PTX)"/g' {} +
ok 'own PTX: named in the text' gives 3 'precision \(own PTX\): [0-9]+ of' "$cuvet" report "$scratch/own"
ok 'own PTX: a bundle is lifted' gives 3 "lift    cuvet lift '$scratch/own/host1/it'" "$cuvet" report "$scratch/own"
# never PATTERN FORMAT FOLDER: no report of that form has it.
never() { ! "$cuvet" report -f "$2" "$3" | grep -E -- "$1"; }
for format in text html junit sarif; do
    ok "own PTX: no replay in $format" never 'cuvet replay' $format "$scratch/own"
    ok "a reference: no rule of own PTX in $format" never 'ruleId": ?"precision"|failure type="precision"|against="ptx"' $format "$scratch/job"
    ok "a reference: nothing of own PTX in $format" never 'own PTX|cuvet lift' $format "$scratch/job"
done
ok 'own PTX: a rule of its own in SARIF' gives 3 '"ruleId": ?"precision"' "$cuvet" report -f sarif "$scratch/own"
ok 'own PTX: a type of its own in JUnit' gives 3 '<failure type="precision"' "$cuvet" report -f junit "$scratch/own"
ok 'own PTX: a label of its own in OpenMetrics' gives 3 'against="ptx",verdict="mismatch"} [1-9]' "$cuvet" report -f openmetrics "$scratch/own"
ok 'own PTX: named in SARIF' gives 3 'precision \(own PTX\): [0-9]+ of' "$cuvet" report -f sarif "$scratch/own"
# shellcheck disable=SC2016
ok 'no finding: status 0' gives 0 'Checked 10: 10 match, 0 mismatch' bash -c \
    'grep -v -e wrong "$1"/host0/*.jsonl | sed "s/\"mismatch\":5/\"mismatch\":0/" >"$1/clean.jsonl"; "$0" report "$1/clean.jsonl"' \
    "$cuvet" "$scratch/job"
rm -f "$scratch/job/clean.jsonl"

ok 'html' report -o "$scratch/page.html" "$scratch/job"
ok 'html: well formed, escaped, loads nothing' python3 tests/report/check_page.py "$scratch/page.html"
browser=$(command -v chromium-headless-shell || command -v chromium || command -v chromium-browser || command -v google-chrome || true)
if [ -n "$browser" ]; then
    # With tests/report/clicks.js behind the page, its title becomes what the clicks changed.
    { grep -vxE '</body>|</html>' "$scratch/page.html"; echo '<script>'; cat tests/report/clicks.js; echo '</script>'; } \
        >"$scratch/clicked.html"
    "$browser" --headless --no-sandbox --dump-dom "file://$scratch/page.html" >"$scratch/page.dom" 2>"$scratch/browser"
    "$browser" --headless --no-sandbox --dump-dom "file://$scratch/clicked.html" >"$scratch/clicked.dom" 2>"$scratch/browser"
    ok 'html: in a browser' grep -q 'rank 2 on node2' "$scratch/page.dom"
    ok 'html: tables are sorted by a click, findings are filtered' \
        grep -q '<title>rows [1-9][0-9]* down true up true findings 12 filtered 4</title>' "$scratch/clicked.dom"
else
    skip 'html: in a browser' 'no browser here'
fi

ok 'json' report -o "$scratch/report.json" "$scratch/job"
ok 'json: numbers' python3 -c '
import json, sys
report = json.load(open(sys.argv[1], encoding="utf-8"))
assert report["totals"]["mismatch"] == 15 and report["totals"]["unended"] == 1, report["totals"]
assert [p["rank"] for p in report["processes"]] == [0, 1, 2]
assert {f["rank"] for f in report["findings"]} == {0, 1, 2}
assert report["kernels"][0]["ratios"][14] == 10
assert [n["count"] for n in report["lint"]] == [3]' "$scratch/report.json"
ok 'json: a folder given twice, and by a link, is counted once' bash -c 'ln -s "$1" "$2" && mkdir -p "$3" &&
    "$0" report -f json "$1" "$2" $(find "$1" -name "journal-*.jsonl") >"$3/1"; "$0" report -f json "$1" >"$3/2"
    cmp <(grep -v "\"generated\|\"time\"" "$3/1") <(grep -v "\"generated\|\"time\"" "$3/2")' \
    "$cuvet" "$scratch/job" "$scratch/job-link" "$scratch/twice"
ok 'junit' report -f junit -o "$scratch/report.xml" "$scratch/job"
ok 'junit: well formed, one failure' python3 -c '
import sys, xml.etree.ElementTree as tree
suite = tree.parse(sys.argv[1]).getroot().find("testsuite")
assert suite.get("tests") == "2" and suite.get("failures") == "1"
assert len(suite.findall("testcase/failure")) == 1' "$scratch/report.xml"
ok 'junit: a finite bound is shown' grep -q 'worst y.*: got 1, expected 2 +- 0.5$' "$scratch/report.xml"
mkdir "$scratch/nan"
sed 's/"reference":2,"bound":0.5/"reference":"NaN","bound":"NaN"/' "$scratch"/job/host0/*.jsonl >"$scratch/nan/journal-nan.jsonl"
ok 'junit: an expected NaN has no bound' gives 3 'worst y.*: got 1, expected nan$' "$cuvet" report -f junit "$scratch/nan"
ok 'sarif' report -o "$scratch/report.sarif" "$scratch/job"
ok 'sarif: places in the registry' python3 -c '
import json, sys
run = json.load(open(sys.argv[1], encoding="utf-8"))["runs"][0]
place = run["results"][0]["locations"][0]["physicalLocation"]
assert place["artifactLocation"]["uri"] == "k.yaml" and place["region"]["startLine"] == 12
assert len(run["results"]) == 12' "$scratch/report.sarif"
ok 'openmetrics' report -o "$scratch/report.prom" "$scratch/job"
ok 'openmetrics: each line is one of the format' python3 -c '
import re, sys
lines = open(sys.argv[1], encoding="utf-8").read().split("\n")
assert lines[-2:] == ["# EOF", ""]
label = r"[a-z]+=\"(?:[^\"\\\n]|\\[\\\"n])*\""
sample = re.compile(r"[a-z_]+(\{%s(,%s)*\})? (\d+|[0-9.e+-]+|\+Inf|NaN)" % (label, label))
for line in lines[:-2]:
    assert re.fullmatch(r"# (TYPE|HELP) .*", line) or sample.fullmatch(line), line
assert "cuvet_checks_total{verdict=\"mismatch\"} 15" in lines' "$scratch/report.prom"

line=$(head -n 1 "$scratch/job/host0/"*.jsonl)
hostile() { printf '%b' "$1" >"$scratch/hostile.jsonl"; }
hostile "$line\nnot json\n"
ok 'hostile: no JSON' refuses 'hostile.jsonl:2: not JSON' "$scratch/hostile.jsonl"
hostile '[1]\n'
ok 'hostile: no object' refuses 'hostile.jsonl:1: expected a JSON object' "$scratch/hostile.jsonl"
hostile '{"v":2,"event":"start"}\n'
ok 'hostile: another version' refuses 'format version 2, expected 1' "$scratch/hostile.jsonl"
hostile '{"v":1,"event":"end","time":"2026-01-31T23:59:59.000Z"}\n'
ok 'hostile: no start' refuses "expected a line of the event 'start'" "$scratch/hostile.jsonl"
hostile "$line"'\n{"v":1,"event":"end","time":"2026-01-31T23:59:59.000Z","seen":-1}\n'
ok 'hostile: a negative count' refuses "'seen' is a number, expected a count" "$scratch/hostile.jsonl"
hostile "$line"'\n{"v":1,"event":"totals","time":"2026-01-31T23:59:59.000Z","kernel":{}}\n'
ok 'hostile: another type' refuses "'kernel' is an object, expected a string" "$scratch/hostile.jsonl"
head -c 1100000 /dev/zero | tr '\0' '[' >"$scratch/hostile.jsonl"
ok 'hostile: a line of a million brackets' refuses 'longer than' "$scratch/hostile.jsonl"
head -c 100000 /dev/urandom >"$scratch/hostile.jsonl" && echo >>"$scratch/hostile.jsonl"
ok 'hostile: random bytes' refuses 'hostile.jsonl:1: ' "$scratch/hostile.jsonl"
mkfifo "$scratch/fifo.jsonl"
ok 'hostile: a FIFO' refuses 'fifo.jsonl: ' "$scratch/fifo.jsonl"
mkdir "$scratch/empty"
ok 'a folder without journals' refuses 'holds no journal' "$scratch/empty"
ok 'a missing folder' refuses 'No such file' "$scratch/absent"
ok 'no folder' gives 2 'expected a folder' "$cuvet" report
ok 'a wrong format' gives 2 'not pdf' "$cuvet" report -f pdf "$scratch/job"
ok 'an output that cannot be written' gives 1 'cannot write' "$cuvet" report -o /nowhere/x.html "$scratch/job"

# Two ranks of a job write into one folder.
softgpu=$PWD/$CUVET_BUILD/softgpu steps=$CUVET_BUILD/tests/scenario/steps/program
fatbin=$CUVET_BUILD/tests/scenario/common/kernels.fatbin
if [ -x "$steps" ] && [ -e "$softgpu/libcuda.so.1" ]; then
    rank() {
        env LD_LIBRARY_PATH="$softgpu" RANK="$1" WORLD_SIZE=2 CUVET_SAMPLE=1 CUVET_BUDGET=off CUVET_SUMMARY=0 \
            CUVET_EXIT_WAIT=20000 LD_PRELOAD="$PWD/$CUVET_BUILD/libcuvet.so" CUVET_REPORT="$scratch/ranks" \
            CUVET_CONFIG=tests/scenario/common/registry.yaml "$steps" "$fatbin" ${2:+"$2"}
    }
    rank 0 plain >"$scratch/rank0" 2>&1 &
    rank 1 wrong >"$scratch/rank1" 2>&1
    wait
    ok 'two ranks: one report' gives 3 '2 processes' "$cuvet" report "$scratch/ranks"
    ok 'two ranks: the wrong one is named, and its bundle' gives 3 'launch [0-9]+, rank 1 on ' \
        "$cuvet" report "$scratch/ranks"
    ok 'two ranks: replay' gives 3 "replay  cuvet replay $scratch/ranks/" "$cuvet" report "$scratch/ranks"
    # Memory does not grow with a journal: 45,000 further lines fit into 1 MiB above the least room, 23 bytes each.
    long() {
        python3 tests/report/lengthen.py "$1" 5000 >"$scratch/5.jsonl" && python3 tests/report/lengthen.py "$1" 50000 >"$scratch/50.jsonl"
    }
    # within MIB FORMAT FILE: the report in that much address space.
    within() { (ulimit -v $(($1 * 1024)) && exec "$cuvet" report -f "$2" "$3") >/dev/null 2>&1; [ $? -eq 3 ]; }
    bounded() {
        local mib=1
        until within $mib "$1" "$scratch/5.jsonl" 2>/dev/null; do [ $((mib++)) -lt 256 ] || return 1; done
        within $((mib + 1)) "$1" "$scratch/50.jsonl"
    }
    ok 'a real journal with more lines' long "$(grep -l '"event":"finding"' "$scratch"/ranks/journal-*)"
    for format in text html json junit sarif openmetrics; do
        ok "a long journal in bounded memory: $format" bounded $format
    done
    mkdir "$scratch/many"
    for i in {1..100}; do cp "$scratch/50.jsonl" "$scratch/many/journal-$i.jsonl"; done
    ok 'progress on a terminal, after two seconds' gives 0 'journal-[0-9]+[.]jsonl: [0-9]+ %' \
        python3 tests/report/terminal.py "$cuvet" report "$scratch/many"
    rm -r "$scratch/many"
    shows_nothing() { [ -z "$(python3 tests/report/terminal.py "$cuvet" report "$scratch/5.jsonl")" ]; }
    ok 'no progress before' shows_nothing
    under_run() {
        local registry=$1
        shift
        env LD_LIBRARY_PATH="$softgpu" CUVET_EXIT_WAIT=20000 CUVET_LIBRARY="$PWD/$CUVET_BUILD/libcuvet.so" \
            "$cuvet" run -c "$registry" "$@" -- "$steps" "$fatbin" plain 2>"$scratch/said" >&2
        cat "$scratch/said"
        grep -q 'Checked [1-9]' "$scratch/said"
    }
    gone() { under_run tests/scenario/common/registry.yaml && ! grep -q '^  journal ' "$scratch/said"; }
    stays() { under_run tests/scenario/common/registry.yaml -o "$scratch/stays" && test -e "$(sed -n 's/^  journal //p' "$scratch/said")"; }
    # Of this registry two entries of three name kernels that this program does not launch.
    unmet() { under_run tests/scenario/common/registry.yaml &&
        grep -q 'Entries that named no kernel that ran: .*lookup (registry.yaml:[0-9]*)$' "$scratch/said"; }
    sed '/^  - kernel: update/,$d' tests/scenario/common/registry.yaml >"$scratch/first.yaml"
    all_met() { under_run "$scratch/first.yaml" && ! grep -q 'Entries that named no kernel' "$scratch/said"; }
    # A program that is killed leaves no summary: its journal has its counts so far.
    killed() {
        env LD_LIBRARY_PATH="$softgpu" CUVET_INTERIM="$1" CUVET_SAMPLE=1 CUVET_BUDGET=off CUVET_LIBRARY="$PWD/$CUVET_BUILD/libcuvet.so" \
            "$cuvet" run -c tests/scenario/common/registry.yaml -- "$CUVET_BUILD/tests/scenario/ending/program" "$fatbin" killed \
            2>"$scratch/said" >&2
        [ $? -eq 137 ] && grep -q 'ended without a summary' "$scratch/said" && grep -Eq "$2" "$scratch/said" && return
        cat "$scratch/said"
        return 1
    }
    ok 'a killed program has its counts so far' killed 1 '^  norm_right +[0-9]+ +[1-9]'
    ok 'a killed program without' killed 0 '^cuvet report: 1 process, 0 launches seen'
    ok 'entries that named no kernel are listed' unmet
    ok 'where all did, none is' all_met
    ok 'cuvet run without -o names no journal, which is gone' gone
    ok 'cuvet run with -o names the journal, which is there' stays
else
    skip 'two ranks' 'make softgpu scenario-programs'
fi
done_testing
