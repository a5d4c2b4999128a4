#!/bin/bash
# check_trace.sh - a trace and digests of a program on softgpu, `cuvet trace` and `cuvet diff`, and hostile input.
#
# Takes CUVET_BUILD from the Makefile.
set -uo pipefail
. tests/tap.sh

cuvet=$CUVET_BUILD/cuvet
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

softgpu=$PWD/$CUVET_BUILD/softgpu program=$CUVET_BUILD/tests/scenario/steps/program
fatbin=$CUVET_BUILD/tests/scenario/common/kernels.fatbin
# traced FOLDER KIND VARIABLE=VALUE ...: the program under cuvet; its output is that without cuvet.
traced() {
    local folder=$1 kind=$2
    shift 2
    rm -rf "${scratch:?}/$folder"
    LD_LIBRARY_PATH=$softgpu "$program" "$fatbin" "$kind" >"$scratch/bare" || return 1
    env LD_LIBRARY_PATH="$softgpu" CUVET_SAMPLE=1 CUVET_BUDGET=off CUVET_OUTLIER=off CUVET_SUMMARY=0 \
        CUVET_EXIT_WAIT=20000 LD_PRELOAD="$PWD/$CUVET_BUILD/libcuvet.so" CUVET_REPORT="$scratch/$folder" "$@" \
        "$program" "$fatbin" "$kind" >"$scratch/under" 2>"$scratch/said" && cmp "$scratch/bare" "$scratch/under"
}
# lines FOLDER PYTHON: an expression over the lines of the trace, as a list `t`.
lines() {
    python3 -c '
import glob, json, sys
t = [json.loads(line) for line in open(glob.glob(sys.argv[1] + "/trace-*.jsonl")[0], encoding="utf-8")]
assert eval("(" + sys.argv[2] + ")"), [{k: x.get(k) for k in ("n", "kernel", "mode", "outcome", "args")} for x in t][:30]' "$scratch/$1" "$2"
}
registry=CUVET_CONFIG=tests/scenario/common/registry.yaml

if [ -x "$program" ] && [ -e "$softgpu/libcuda.so.1" ]; then
    ok 'trace beside checking' traced both plain CUVET_TRACE=1 $registry
    ok 'one line a launch, in order, none dropped' lines both \
        '[x["n"] for x in t[1:-1]] == list(range(6)) and t[-1]["event"] == "end" and t[-1]["dropped"] == 0'
    ok 'each launch: shape, arguments by name, allocation and offset' lines both \
        'all(x["grid"] == [4, 1, 1] and x["args"]["cols"] == 100 and x["args"]["eps"] == 1e-5 and
             x["args"]["x"].endswith("+0") and x["args"]["x"] != x["args"]["y"] for x in t[1:-1])'
    ok 'each launch: why it was checked' lines both \
        '{x["outcome"] for x in t[1:-1]} == {"first", "random"} and {x["mode"] for x in t[1:-1]} == {"eager"}'
    ok 'the trace alone checks nothing' traced alone plain CUVET_MODE=trace $registry
    ok 'its launches are counted as switched off' lines alone '{x["outcome"] for x in t[1:-1]} == {"off"}'
    ok 'the trace alone needs no registry' traced unnamed plain CUVET_MODE=trace
    ok 'its launches have names' lines unnamed '[x["kernel"] for x in t[1:-1]] == ["norm_right"] * 6'
    untraced() { traced none plain $registry && ! compgen -G "$scratch/none/trace-*"; }
    for hook in cupti entry; do
        ok "a trace by the back end $hook" traced $hook plain CUVET_TRACE=1 CUVET_HOOK=$hook $registry
        ok 'one line a launch' lines $hook 'len(t) == 8 and all(x["args"]["cols"] == 100 for x in t[1:-1])'
    done
    ok 'no trace without the option' untraced
    ok 'no report folder: one sentence' gives 0 'no trace: CUVET_REPORT names no folder' \
        env LD_LIBRARY_PATH="$softgpu" CUVET_TRACE=1 $registry CUVET_SUMMARY=0 \
        LD_PRELOAD="$PWD/$CUVET_BUILD/libcuvet.so" "$program" "$fatbin" plain
    captured=$CUVET_BUILD/tests/scenario/capture/program
    if [ -x "$captured" ]; then
        # shellcheck disable=SC2046
        env LD_LIBRARY_PATH="$softgpu" CUVET_SUMMARY=0 LD_PRELOAD="$PWD/$CUVET_BUILD/libcuvet.so" CUVET_MODE=trace \
            CUVET_REPORT="$scratch/captured" "$captured" "$fatbin" \
            $(sed -n 's/^arguments //p' tests/scenario/capture/capture_relaxed/expect) >"$scratch/out" 2>&1
        ok 'captured launches and graph launches are told apart' lines captured \
            'any(x["mode"] == "captured" and x["kernel"] for x in t[1:-1]) and
             any(x["mode"] == "graph" and x["graph"] and x["stream"] for x in t[1:-1])'
        # shellcheck disable=SC2016
        ok 'cuvet trace -f chrome: a graph launch has a name, by layer too' bash -c '"$0" trace -f chrome --layer "norm_(.*)" "$1" |
            python3 -c "
import json, sys
names = {x[\"name\"] for x in json.load(sys.stdin)[\"traceEvents\"]}
assert {\"(graph launch)\", \"norm_right\"} <= names and None not in names, names"' "$cuvet" "$scratch/captured"
    fi

    ok 'cuvet trace' gives 0 'norm_right +6 +100.0% +6' "$cuvet" trace "$scratch/both"
    ok 'cuvet trace --layers: by the order of launches' gives 0 '^  2 +2 ' "$cuvet" trace --layers 3 "$scratch/both"
    ok 'cuvet trace --layers: no number' gives 2 'expects a number from 1 to 4096, not 0' "$cuvet" trace --layers 0 "$scratch/both"
    ok 'cuvet trace --layers: not with --layer' gives 2 'does not go with --layers' \
        "$cuvet" trace --layers 3 --layer x "$scratch/both"
    # A model of 4 layers, 3 steps: two norms a layer and a last one, an embedding a step.
    # ordered FOLDER PREFIX TEMPLATE EDIT: its launches, as lines like TEMPLATE.
    ordered() {
        rm -rf "${scratch:?}/$1" && mkdir "$scratch/$1" && python3 - "$scratch/$3" "$scratch/$1/$2-x.jsonl" "$4" <<'END'
import glob, json, sys
source, target, edit = sys.argv[1:]
lines = [json.loads(x) for x in open(glob.glob(source)[0], encoding="utf-8")]
first = next(i for i, x in enumerate(lines) if x["event"] in ("launch", "digest"))
step = ["embed"] + ["norm", "attend", "norm", "mlp"] * 4 + ["norm"]
with open(target, "w", encoding="utf-8") as out:
    for line in lines[:first]:
        out.write(json.dumps(line) + "\n")
    seen = {}
    for n, kernel in enumerate(step * 3):
        line = dict(lines[first], n=n, sequence=n, kernel=kernel, label=kernel, launch=seen.get(kernel, 0))
        line["executed"] = line["launch"]
        seen[kernel] = line["launch"] + 1
        if "output" in line and n == len(step) + 11:  # the second norm of layer 2 in the second step
            line["output"] = edit
        out.write(json.dumps(line) + "\n")
    for line in lines[first + 6:] if lines[first]["event"] == "launch" else []:
        out.write(json.dumps(line) + "\n")
END
    }
    ordered order trace 'both/trace-*.jsonl' ''
    ok 'cuvet trace --layers: kernels that are not launched once a layer have none' gives 0 '^  \(no layer\) +30 ' \
        "$cuvet" trace --layers 4 "$scratch/order"
    ok 'cuvet trace --layers: and are named' gives 0 '2 kernels are not launched once a layer, the first is embed with 3' \
        "$cuvet" trace --layers 4 "$scratch/order"
    ok 'cuvet trace --layers: the others have theirs' gives 0 '^  3 +6 ' "$cuvet" trace --layers 4 "$scratch/order"
    ok 'cuvet trace --begins: all but those before the first' gives 0 '^  \(no layer\) +2 ' \
        "$cuvet" trace --layers 4 --begins '^att' "$scratch/order"
    ok 'cuvet trace --begins: a layer is all behind its beginning' gives 0 '^  2 +12 ' \
        "$cuvet" trace --layers 4 --begins '^att' "$scratch/order"
    ok 'cuvet trace --begins: no such kernel' gives 0 'no kernel is launched whose name --begins matches' \
        "$cuvet" trace --layers 4 --begins nothing "$scratch/order"
    ok 'cuvet trace --begins: not alone' gives 2 'begins needs --layers N' "$cuvet" trace --begins x "$scratch/order"
    ok 'cuvet trace --layer' gives 0 '^  right +6' "$cuvet" trace --layer 'norm_([a-z]+)' "$scratch/both"
    ok 'cuvet trace --by range' gives 0 'no range' "$cuvet" trace --by range "$scratch/both"
    # shellcheck disable=SC2016
    ok 'cuvet trace --json' bash -c '"$0" trace --json "$1" | python3 -c "
import json, sys
r = json.load(sys.stdin)
assert r[\"version\"] == 1
assert r[\"launches\"] == 6 and r[\"rows\"][0][\"checked\"] == 6, r"' "$cuvet" "$scratch/both"
    # shellcheck disable=SC2016
    ok 'cuvet trace -f chrome' bash -c '"$0" trace -f chrome "$1" | python3 -c "
import json, sys
e = json.load(sys.stdin)[\"traceEvents\"]
assert [x[\"ph\"] for x in e] == [\"M\"] + [\"X\"] * 6 and e[1][\"args\"][\"cols\"] == 100, e
assert all(a[\"ts\"] <= b[\"ts\"] for a, b in zip(e[1:], e[2:]))"' "$cuvet" "$scratch/both"

    large() {
        mkdir -p "$scratch/large" && sed 's/"cols":100/"cols":9007199254740993/' "$scratch"/both/trace-*.jsonl >"$scratch/large/trace-a.jsonl"
        "$cuvet" trace -f chrome "$scratch/large" | grep -c '"cols":9007199254740993[,}]'
    }
    ok 'cuvet trace -f chrome: an integer beyond 2^53 keeps its digits' large
    # The same pid on another host, as in two containers.
    two_hosts() {
        mkdir -p "$scratch/hosts" && cp "$scratch"/both/trace-*.jsonl "$scratch/hosts/trace-a.jsonl" &&
            sed '1s/"host":"[^"]*"/"host":"other"/' "$scratch/hosts/trace-a.jsonl" >"$scratch/hosts/trace-b.jsonl"
        "$cuvet" trace -f chrome "$scratch/hosts" | python3 -c '
import json, sys
e = json.load(sys.stdin)["traceEvents"]
names = {x["pid"]: x["args"]["name"] for x in e if x["ph"] == "M"}
assert len(set(names.values())) == 2 and sorted(names) == [1, 2], names
assert [sum(x["pid"] == p for x in e if x["ph"] == "X") for p in names] == [6, 6], e'
    }
    ok 'cuvet trace -f chrome: processes with one pid are apart' two_hosts

    ok 'digests, first run' traced one plain CUVET_DIGEST=1 $registry
    ok 'digests, second run' traced two plain CUVET_DIGEST=1 $registry
    ok 'diff: equal runs' gives 0 '6 are equal, 0 gave other outputs' "$cuvet" diff "$scratch/one" "$scratch/two"
    ok 'digests, a run on other shapes' traced three shapes CUVET_DIGEST=1 $registry
    ok 'diff: other inputs have other hashes' gives 3 '0 gave other outputs for equal inputs, [1-9]' \
        "$cuvet" diff "$scratch/one" "$scratch/three"
    ok 'diff: no digests' gives 2 'holds no digests' "$cuvet" diff "$scratch/one" "$scratch/both"
    # Launch 2 of the second run gave another output, launches 3 and 4 read other inputs.
    changed() {
        mkdir -p "$scratch/$1" && python3 - "$scratch/two" "$scratch/$1/journal-x.jsonl" "$2" "$3" <<'END'
import glob, json, sys
source, target, outputs, inputs = sys.argv[1:]
with open(target, "w", encoding="utf-8") as out:
    for text in open(glob.glob(source + "/journal-*.jsonl")[0], encoding="utf-8"):
        line = json.loads(text)
        if line["event"] == "digest":
            if str(line["launch"]) in outputs:
                line["output"] = "0" * 16
            if str(line["launch"]) in inputs:
                line["input"] = line["output"] = "f" * 16
            line["range"] = "step/layer%d/norm" % (line["launch"] // 2)
        out.write(json.dumps(line) + "\n")
END
    }
    changed caused 2 34
    ok 'diff: the kernel that parted first' gives 3 'other outputs for equal inputs before any inputs differed' \
        "$cuvet" diff "$scratch/one" "$scratch/caused"
    ok 'diff: its launch' gives 3 'norm_right, launch 2 of process 0' "$cuvet" diff "$scratch/one" "$scratch/caused"
    ok 'diff: counts' gives 3 '3 are equal, 1 gave other outputs for equal inputs, 2 had other inputs' \
        "$cuvet" diff "$scratch/one" "$scratch/caused"
    changed given 5 1
    ok 'diff: other inputs come first' gives 3 'inputs differed before any kernel' \
        "$cuvet" diff "$scratch/one" "$scratch/given"
    changed ranges "" ""
    ok 'diff --layer: the layer in which the runs part' gives 3 'first layer that differs: 1, by other outputs of norm_right' \
        "$cuvet" diff --layer 'layer([0-9]+)' "$scratch/caused" "$scratch/ranges"
    ok 'diff --layers: by the order of launches' gives 3 'first layer that differs: 2, by other outputs' \
        "$cuvet" diff --layers 3 "$scratch/one" "$scratch/caused"
    ordered order_one journal 'one/journal-*.jsonl' 0000000000000000
    ordered order_two journal 'one/journal-*.jsonl' 1111111111111111
    ok 'diff --layers: a kernel that is launched twice a layer has none' gives 3 'first layer that differs: \(no layer\), by' \
        "$cuvet" diff --layers 4 "$scratch/order_one" "$scratch/order_two"
    ok 'diff --layers: and is named' gives 3 '2 kernels are not launched once a layer' \
        "$cuvet" diff --layers 4 "$scratch/order_one" "$scratch/order_two"
    ok 'diff --begins: its layer' gives 3 'first layer that differs: 2, by other outputs of norm' \
        "$cuvet" diff --layers 4 --begins attend "$scratch/order_one" "$scratch/order_two"
    ok 'diff --begins: of chosen kernels' gives 3 'first layer that differs: 2, by other outputs of norm' \
        "$cuvet" diff --layers 4 --begins attend --kernel norm "$scratch/order_one" "$scratch/order_two"
    ok 'diff --layer: equal runs name none' gives 0 'the runs are equal' \
        "$cuvet" diff --layer 'layer([0-9]+)' "$scratch/ranges" "$scratch/two"
    ok 'diff --layers: no number' gives 2 'expects a number from 1 to 4096, not none' \
        "$cuvet" diff --layers none "$scratch/one" "$scratch/two"
    # shellcheck disable=SC2016
    ok 'diff --json' bash -c '"$0" diff --json "$1" "$2" | python3 -c "
import json, sys
d = json.load(sys.stdin)
assert d[\"version\"] == 1
assert d[\"first_other_output\"][\"launch\"] == 2 and d[\"first_other_input\"][\"launch\"] == 3, d
assert d[\"kernels\"][0][\"first_is_output\"] and d[\"kernels\"][0][\"other_inputs\"] == 2, d"' \
        "$cuvet" "$scratch/one" "$scratch/caused"
    # The launches of a run with two more before launch 2, a warm-up on other data and one of another kernel.
    inserted() {
        mkdir -p "$scratch/$2" && python3 - "$scratch/$1" "$scratch/$2/journal-x.jsonl" <<'END'
import glob, json, sys
lines = [json.loads(text) for text in open(glob.glob(sys.argv[1] + "/journal-*.jsonl")[0], encoding="utf-8")]
digests = sorted((line for line in lines if line["event"] == "digest"), key=lambda line: line["sequence"])
warm = dict(digests[2], input="a" * 16, output="b" * 16)
tuned = dict(warm, kernel="tuned")
tuned.pop("label", None)
digests[2:2] = [warm, tuned]
counts = {}
for sequence, line in enumerate(digests):
    number = counts[line["kernel"]] = counts.get(line["kernel"], -1) + 1
    digests[sequence] = dict(line, launch=number, executed=number, sequence=sequence)
with open(sys.argv[2], "w", encoding="utf-8") as out:
    for line in [line for line in lines if line["event"] == "start"] + digests:
        out.write(json.dumps(line) + "\n")
END
    }
    inserted two warm
    inserted caused later
    ok 'diff: by numbers alone, launches behind an insertion seem to differ' gives 3 'equal, 0 gave other outputs for equal inputs, [1-9]' \
        "$cuvet" diff "$scratch/one" "$scratch/warm"
    ok 'diff --align: equal runs, one with more launches' gives 0 '8 in the second, 6 in both' \
        "$cuvet" diff --align "$scratch/one" "$scratch/warm"
    ok 'diff --align: they are equal' holds out 'the runs are equal.'
    ok 'diff --align: what has no like is counted' holds out 'Launches that one run alone has, 0 of the first and 2 of the second:'
    ok 'diff --align: and named' grep -qE '^    tuned +second +1  launch 0 of process 0$' "$scratch/out"
    ok 'diff --align: the other way round' gives 0 'alone has, 2 of the first and 0 of the second' \
        "$cuvet" diff --align "$scratch/warm" "$scratch/one"
    ok 'diff --align: the launch that parts behind an insertion' gives 3 'norm_right, launch 2 of process 0' \
        "$cuvet" diff --align "$scratch/one" "$scratch/later"
    ok 'diff --align: its number in the second run' holds out 'launch 3 in the second run'
    ok 'diff --align: counts' gives 3 '3 are equal, 1 gave other outputs for equal inputs, 2 had other inputs' \
        "$cuvet" diff --align "$scratch/one" "$scratch/later"
    ok 'diff --align: nothing is unpaired in runs without an insertion' gives 3 '^  3 are equal, 1 gave other' \
        "$cuvet" diff --align "$scratch/one" "$scratch/caused"
    ok 'diff --align: so none is shown' bash -c '! grep "one run alone" "$0"' "$scratch/out"
    ok 'diff --align --json' gives 3 '"second_only": ?2' "$cuvet" diff --align --json "$scratch/one" "$scratch/later"
    ok 'diff --align --json: numbers' python3 -c '
import json, sys
d = json.load(open(sys.argv[1], encoding="utf-8"))
assert d["first_other_output"]["launch"] == 2 and d["first_other_output"]["second_launch"] == 3, d
assert {a["kernel"]: a["second_only"] for a in d["alone"]}["tuned"] == 1 and len(d["alone"]) == 2, d' "$scratch/out"
    ok 'diff --align: not with --slots' gives 2 'does not go with --slots' \
        "$cuvet" diff --align --slots "$scratch/one" "$scratch/two"
    printf '%s\n' '{"v":1,"event":"digest","time":"2026-01-31T23:59:59.000Z","kernel":"k","launch":0,"input":"zz"}' \
        >"$scratch/bad.jsonl"
    ok 'diff: hostile' gives 2 "bad.jsonl:1: 'input' is no hash" "$cuvet" diff "$scratch/bad.jsonl" "$scratch/bad.jsonl"

    # Two ranks of a replicated group in one folder: the gradient of rank 1 is wrong from the third step on.
    training=$CUVET_BUILD/tests/scenario/training
    # rank NUMBER FOLDER REDUCE
    rank() {
        env LD_LIBRARY_PATH="$softgpu" CUVET_SAMPLE=1 CUVET_BUDGET=off CUVET_SUMMARY=0 CUVET_EXIT_WAIT=20000 CUVET_DIGEST=1 \
            CUVET_CONFIG=tests/scenario/training/registry.yaml LD_PRELOAD="$PWD/$CUVET_BUILD/libcuvet.so" \
            CUVET_REPORT="$scratch/$2" RANK="$1" "$training/program" "$training/kernels.fatbin" accumulate "$3" adamw \
            >/dev/null 2>&1
    }
    ranks() { rank 0 "$1" all_reduce; rank 1 "$1" "$2"; compgen -G "$scratch/$1/journal-*" >"$scratch/out"; }
    ok 'two ranks whose gradients are equal' ranks equal all_reduce
    ok 'two ranks whose gradients are not' ranks unequal all_reduce_alone
    ok 'diff --ranks: the step of the optimiser had equal inputs' gives 0 '4 are equal, 0 gave other outputs' \
        "$cuvet" diff --ranks 0,1 --kernel adamw "$scratch/equal" "$scratch/equal"
    ok 'diff --ranks: the first step with another gradient' gives 3 'adamw, launch 2 of process 0' \
        "$cuvet" diff --ranks 0,1 --kernel adamw "$scratch/unequal" "$scratch/unequal"
    ok 'diff: ranks of two runs each with its own' gives 3 'adamw, launch 2 of process 1' \
        "$cuvet" diff --kernel '^adamw$' "$scratch/equal" "$scratch/unequal"
    ok 'diff --ranks: a process that there is not' gives 2 'the second run has no digests of process 7: its processes are 0, 1$' \
        "$cuvet" diff --ranks 0,7 "$scratch/equal" "$scratch/equal"
    apart() {
        mkdir -p "$scratch/rank0" "$scratch/rank1" && cp "$(grep -l '"rank":0' "$scratch"/equal/journal-*)" "$scratch/rank0" &&
            cp "$(grep -l '"rank":1' "$scratch"/equal/journal-*)" "$scratch/rank1"
        gives 2 'no process in common: those of the first are 0, of the second 1; --ranks A,B' \
            "$cuvet" diff "$scratch/rank0" "$scratch/rank1"
    }
    ok 'diff: runs of other processes' apart
    ok 'diff --align: with ranks and kernels' gives 3 'adamw, launch 2 of process 0' \
        "$cuvet" diff --align --ranks 0,1 --kernel adamw "$scratch/unequal" "$scratch/unequal"
    ok 'diff --align: processes are held against their like' gives 0 'the runs are equal' \
        "$cuvet" diff --align "$scratch/unequal" "$scratch/unequal"
    ok 'diff --ranks: no numbers' gives 2 'expects two numbers, A,B, not 0' \
        "$cuvet" diff --ranks 0 "$scratch/equal" "$scratch/equal"
    ok 'diff --kernel: no expression' gives 2 'no regular expression: \(' \
        "$cuvet" diff --kernel '(' "$scratch/equal" "$scratch/equal"

    # Two ranks whose kernel works on several tensors, of which each check draws one part: both draw the same.
    picked=$CUVET_BUILD/tests/scenario/picked
    # part RANK FOLDER [WORD]
    part() {
        env LD_LIBRARY_PATH="$softgpu" CUVET_SAMPLE=1 CUVET_BUDGET=off CUVET_SUMMARY=0 CUVET_EXIT_WAIT=20000 CUVET_DIGEST=1 \
            CUVET_CONFIG=tests/scenario/picked/registry.yaml LD_PRELOAD="$PWD/$CUVET_BUILD/libcuvet.so" \
            CUVET_REPORT="$scratch/$2" RANK="$1" "$picked/program" "$picked/kernels.fatbin" lists_right ${3:+"$3"} >/dev/null 2>&1
    }
    parts() { part 0 "$1"; part 1 "$1" ${2:+"$2"}; compgen -G "$scratch/$1/journal-*" >"$scratch/out"; }
    ok 'two ranks with the same tensors' parts alike
    ok 'two ranks with other tensors from a launch on' parts apart changed
    ok 'diff --ranks: both draw the same parts' gives 0 '40 are equal, 0 gave other outputs' \
        "$cuvet" diff --ranks 0,1 "$scratch/alike" "$scratch/alike"
    ok 'diff --ranks: a part with other inputs' gives 3 'lists_right, launch 2[0-9] of process 0' \
        "$cuvet" diff --ranks 0,1 "$scratch/apart" "$scratch/apart"

    # The prompt of a decode loop appended at once, and token by token.
    decode=$CUVET_BUILD/tests/scenario/decode
    # filled FOLDER HOW [MODE STEPS]
    filled() {
        env LD_LIBRARY_PATH="$softgpu" CUVET_SAMPLE=1 CUVET_BUDGET=off CUVET_SUMMARY=0 CUVET_EXIT_WAIT=20000 CUVET_DIGEST=1 \
            CUVET_CONFIG=tests/scenario/decode/registry.yaml LD_PRELOAD="$PWD/$CUVET_BUILD/libcuvet.so" \
            CUVET_REPORT="$scratch/$1" "$decode/program" "$decode/kernels.fatbin" "${3:-eager}" append_right "$2" "${4:-2}" >/dev/null 2>&1
    }
    ok 'a prompt at once' filled batched none
    ok 'a prompt token by token' filled serial serial
    ok 'a prompt token by token, one with other data' filled late late
    ok 'diff --slots: the paths leave the same cache' gives 0 '^cuvet diff: 15 rows of caches in both runs, .* 0 differ' \
        "$cuvet" diff --slots "$scratch/batched" "$scratch/serial"
    ok 'diff --slots: the first row that differs' gives 3 'row 9 of cache 0 of process 0' \
        "$cuvet" diff --slots "$scratch/batched" "$scratch/late"
    ok 'diff --slots: it is one' gives 3 '; 1 differ' "$cuvet" diff --slots "$scratch/batched" "$scratch/late"
    # shellcheck disable=SC2016
    ok 'diff --slots --json' bash -c '"$0" diff --slots --json "$1" "$2" | python3 -c "
import json, sys
d = json.load(sys.stdin)
assert d[\"version\"] == 1
row = d[\"first_other_row\"]
assert d[\"differ\"] == 1 and row[\"row\"] == 9 and row[\"first\"][\"hash\"] != row[\"second\"][\"hash\"], d"' \
        "$cuvet" "$scratch/batched" "$scratch/late"

    # The same loop eagerly and by a graph, whose captured launches do not run.
    steps() { filled "$1" "$2" "$3" 12; }
    ok 'a loop run eagerly' steps eager none eager
    ok 'a loop run by a graph' steps graph none graph
    steps stale stale graph # which writes to the slots of the step before, a mismatch
    ok 'diff: a run by a graph is equal to one that is eager' gives 0 \
        '25 launches with digests in the first run, 25 in the second, 25 in both' "$cuvet" diff "$scratch/eager" "$scratch/graph"
    ok 'diff: a graph that differs from its sixth step on is found' gives 3 'append_right, launch 6 of process 0' \
        "$cuvet" diff "$scratch/eager" "$scratch/stale"

    # Several nodes of one kernel in a graph: the numbers of their launches are those of the eager run.
    layers=$CUVET_BUILD/tests/scenario/layers
    # model FOLDER MODE BUG
    model() {
        env LD_LIBRARY_PATH="$softgpu" CUVET_SAMPLE=1 CUVET_BUDGET=off CUVET_SUMMARY=0 CUVET_EXIT_WAIT=20000 CUVET_DIGEST=1 \
            CUVET_CONFIG=tests/scenario/layers/registry.yaml LD_PRELOAD="$PWD/$CUVET_BUILD/libcuvet.so" \
            CUVET_REPORT="$scratch/$1" "$layers/program" "$layers/kernels.fatbin" "$2" rope_indirect "$3" >/dev/null 2>&1
    }
    ok 'layers run eagerly' model eager_layers eager none
    ok 'layers run by a graph' model graph_layers graph none
    model graph_stays graph stays # whose positions stay, a mismatch
    ok 'diff: layers in a graph are equal to eager ones' gives 0 '96 are equal, 0 gave other outputs' \
        "$cuvet" diff "$scratch/eager_layers" "$scratch/graph_layers"
    ok 'diff --layers: the layer in which the graph parts from the eager run' gives 3 \
        'first layer that differs: 0, by other inputs of rope_indirect' \
        "$cuvet" diff --layers 2 "$scratch/eager_layers" "$scratch/graph_stays"
    ok 'diff --slots: no caches' gives 2 'no row of a cache in common' "$cuvet" diff --slots "$scratch/one" "$scratch/two"
else
    skip 'traces' 'make softgpu scenario-programs'
fi

# The ranges that a program opens. NVTX's header belongs to the toolkit.
header=$({ compgen -G '/usr/local/cuda*/include/nvtx3/nvToolsExt.h' || compgen -G '/usr/include/nvtx3/nvToolsExt.h'; } |
    head -n 1)
if [ -n "$header" ] && ${CC:-cc} -x c -I"$(dirname "$header")/.." -o "$scratch/opener" - -ldl <<'END' 2>/dev/null
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
int main(void)
{
    int outer = nvtxRangePushA("step"), inner = nvtxRangePushA("layer");
    int a = nvtxRangePop(), b = nvtxRangePop(), c = nvtxRangePop();
    printf("%d %d %d %d %d\n", outer, inner, a, b, c);
    return 0;
}
END
then
    ok 'ranges: taken while a trace is' gives 0 '^0 1 1 0 -1$' env CUVET_TRACE=1 \
        LD_PRELOAD="$PWD/$CUVET_BUILD/libcuvet.so" "$scratch/opener"
    ok 'ranges: taken while digests are' gives 0 '^0 1 1 0 -1$' env CUVET_DIGEST=1 \
        LD_PRELOAD="$PWD/$CUVET_BUILD/libcuvet.so" "$scratch/opener"
    ok 'ranges: left alone otherwise' gives 0 '^-2 -2 -2 -2 -2$' env LD_PRELOAD="$PWD/$CUVET_BUILD/libcuvet.so" \
        "$scratch/opener"
    ${CC:-cc} -shared -fPIC -x c -I"$(dirname "$header")/.." -o "$scratch/opens.so" - -ldl <<'END'
#include <nvtx3/nvToolsExt.h>
__attribute__((constructor)) static void open_ranges(void)
{
    nvtxRangePushA("step");
    nvtxRangePushA("layer3");
}
END
    without_ranges() {
        traced found wrong CUVET_TRACE=1 CUVET_SUMMARY=1 $registry &&
            grep -q '"event":"finding"' "$scratch"/found/journal-* &&
            ! grep -q '"range"' "$scratch"/found/journal-* && ! grep 'NVTX range' "$scratch/said"
    }
    if [ -x "$program" ] && [ -e "$softgpu/libcuda.so.1" ]; then
        ok 'ranges: a program that opens two' traced ranged plain CUVET_TRACE=1 CUVET_DIGEST=1 $registry \
            LD_PRELOAD="$scratch/opens.so $PWD/$CUVET_BUILD/libcuvet.so"
        ok 'ranges: its launches have both' lines ranged '{x["range"] for x in t[1:-1]} == {"step/layer3"}'
        ok 'cuvet trace --by range: the path' gives 0 '^  step/layer3 +6 ' "$cuvet" trace --by range "$scratch/ranged"
        ok 'cuvet trace --layer: of the range' gives 0 '^  3 +6 ' "$cuvet" trace --layer 'layer([0-9]+)' "$scratch/ranged"
        # norm_wrong is a finding
        ok 'ranges: findings are in them, too' traced found_in wrong CUVET_TRACE=1 CUVET_SUMMARY=1 $registry \
            LD_PRELOAD="$scratch/opens.so $PWD/$CUVET_BUILD/libcuvet.so"
        ok 'ranges: in the journal' grep -q '"event":"finding".*"range":"step/layer3"' "$scratch"/found_in/journal-*
        ok 'ranges: in the bundle' grep -q '"range": *"step/layer3"' "$scratch"/found_in/*/launch.json
        ok 'ranges: in the summary' grep -q 'in the NVTX range step/layer3' "$scratch/said"
        ok 'ranges: findings have none without' without_ranges
        ${CC:-cc} -shared -fPIC -x c -I"$(dirname "$header")/.." -o "$scratch/captures.so" - -ldl <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
int cuStreamBeginCapture_v2(void *stream, int mode)
{
    int (*begin)(void *, int) = dlsym(RTLD_NEXT, "cuStreamBeginCapture_v2");
    nvtxRangePushA("step");
    nvtxRangePushA("layer3");
    return begin(stream, mode);
}
int cuStreamEndCapture(void *stream, void **graph)
{
    int (*end)(void *, void **) = dlsym(RTLD_NEXT, "cuStreamEndCapture");
    nvtxRangePop();
    nvtxRangePop();
    return end(stream, graph);
}
END
        # replayed FOLDER HOW: a decode loop whose graph is captured in two ranges, and replayed in none.
        replayed() {
            env LD_LIBRARY_PATH="$softgpu" CUVET_SAMPLE=1 CUVET_BUDGET=off CUVET_SUMMARY=1 CUVET_EXIT_WAIT=20000 CUVET_DIGEST=1 \
                CUVET_CONFIG=tests/scenario/decode/registry.yaml LD_PRELOAD="$scratch/captures.so $PWD/$CUVET_BUILD/libcuvet.so" \
                CUVET_REPORT="$scratch/$1" "$decode/program" "$decode/kernels.fatbin" graph append_right "$2" 12 \
                >/dev/null 2>"$scratch/said"
        }
        replayed captured_in none
        ok 'ranges: replays of a graph have those of its capture' grep -q '"event":"digest".*"range":"step/layer3"' \
            "$scratch"/captured_in/journal-*
        replayed captured_stale stale
        ok 'ranges: findings in graphs have them, too' grep -q 'in the NVTX range step/layer3' "$scratch/said"
        ok 'diff --layer: of two runs by graphs' gives 3 'first layer that differs: 3, by other' \
            "$cuvet" diff --layer 'layer([0-9])' "$scratch/captured_in" "$scratch/captured_stale"
        ok 'digests have it too' grep -q '"event":"digest".*"range":"step/layer3"' "$scratch"/ranged/journal-*
    fi
    ok "ranges: another tool's are its own" gives 0 '^-2 -2 -2 -2 -2$' env CUVET_TRACE=1 \
        NVTX_INJECTION64_PATH=/nowhere.so LD_PRELOAD="$PWD/$CUVET_BUILD/libcuvet.so" "$scratch/opener"
else
    skip 'ranges' 'no nvToolsExt.h'
fi

hostile() { printf '%b' "$1" >"$scratch/hostile.jsonl"; }
head='{"v":1,"event":"trace","time":"2026-01-31T23:59:59.000Z","host":"h","pid":1}\n'
hostile '{"v":1,"event":"launch"}\n'
ok 'hostile: no first line' gives 2 "hostile.jsonl:1: expected a line of the event 'trace' first" \
    "$cuvet" trace "$scratch/hostile.jsonl"
hostile "$head"'{"v":1,"event":"launch","grid":[1,2]}\n'
ok 'hostile: a grid of two' gives 2 "'grid' is an array, expected an array of three counts" \
    "$cuvet" trace "$scratch/hostile.jsonl"
hostile "$head"'{"v":1,"event":"launch","kernel":"k","args":{"a":{"b":[]},"c":true}}\n'
ok 'hostile: odd arguments' gives 0 '"a":null' "$cuvet" trace -f chrome "$scratch/hostile.jsonl"
hostile "$head"'{"v":1,"event":"launch","grid":[1,2]}\n'
echo kept >"$scratch/output"
ok 'hostile: nothing is written over' gives 2 'three counts' "$cuvet" trace -f chrome -o "$scratch/output" "$scratch/hostile.jsonl"
ok 'the file is what it was' grep -qx kept "$scratch/output"
# shellcheck disable=SC2016
ok 'and nothing is left beside it' bash -c '! compgen -G "$1.*"' - "$scratch/output"
hostile "$head"'{"v":1,"event":"launch","kernel":"k"}\n'
ok 'an output that cannot be written' gives 1 'cannot write /nowhere/x' "$cuvet" trace -o /nowhere/x "$scratch/hostile.jsonl"
ln -s /dev/full "$scratch/full" # so that the device itself is out of reach
ok 'a device is written at once' gives 1 'cannot write .*full: No space' "$cuvet" trace -o "$scratch/full" "$scratch/hostile.jsonl"
ok 'and stays where it is' test -L "$scratch/full"
ok 'an output that is written over' "$cuvet" trace --json -o "$scratch/output" "$scratch/hostile.jsonl"
ok 'and is whole' python3 -m json.tool "$scratch/output"
ok 'a wrong pattern' gives 2 '^cuvet trace: --layer: ' "$cuvet" trace --layer '(' "$scratch/hostile.jsonl"
ok 'no trace in the folder' gives 2 'holds no trace' "$cuvet" trace tests/report
ok 'no folder' gives 2 'expected a folder or a trace' "$cuvet" trace
ok 'diff: one run' gives 2 'expected two runs' "$cuvet" diff "$scratch"
done_testing
