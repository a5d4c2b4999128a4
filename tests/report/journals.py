"""journals.py FOLDER [interim] - made-up journals of three ranks.

Ranks 0 and 1 ended, rank 2 was killed, with `interim` behind counts so far. The label of the wrong kernel is HTML, its bundle's name has a
blank and a quote.
"""
import json
import os
import sys

WRONG = "<script>alert('1')</script>&\"\\\u202e"


def rank_lines(rank, ended, findings, interim):
    clock = rank * 500

    def line(event, **fields):
        head = {"v": 1, "event": event,
                "time": "2026-01-31T23:%02d:%02d.%03dZ" % (clock // 60000 % 60, clock // 1000 % 60, clock % 1000),
                "host": "node%d" % rank, "pid": 100 + rank, "rank": rank, "run": "r1"}
        return json.dumps({**head, **fields}, separators=(",", ":"), ensure_ascii=False) + "\n"

    def verdicts(match, mismatch, budget):
        return {"checked": match + mismatch, "match": match, "mismatch": mismatch, "inconclusive": 0,
                "unchecked": budget, "reasons": {"budget": budget}}

    wrong = {"kernel": "_Zwrong", "label": WRONG, "reference": "softmax", "where": "k.yaml:12"}
    yield line("start", program="/usr/bin/python3", registry=["k.yaml"], entries=2,
               options={"CUVET_SEED": 18446744073709551615})
    yield line("kernel", kernel="_Zgood", label="good", reference="gelu", where="k.yaml:3")
    yield line("kernel", **wrong)
    for i in range(findings):
        clock += 1
        yield line("finding", occurrence=i + 1, **wrong, launch=i, gate="first", grid=[5, 1, 1], block=[32, 1, 1],
                   numbers={"elements": 100, "of": 400, "violations": 7, "max_ratio": 12.5},
                   worst={"array": "y", "index": [1, 2], "got": 1, "reference": 2, "bound": 0.5},
                   first={"array": "y", "index": [0, 2], "got": "NaN", "reference": 2, "bound": 0.1},
                   parity={"contract": "c", "sentence": "contract c: item 1 is item 0 of <b>"},
                   bundle="/nowhere/it's b-%d-%d" % (rank, i))
        if interim and i % 2:  # behind the second finding, and again behind the fourth
            yield line("interim", **wrong, launches=i + 3, **verdicts(0, i + 1, 2), elements=100 * (i + 1),
                       violations=7, max_ratio=12.5, ratios=[0] * 24)
            yield line("interim", kernel="_Zgood", label="good", launches=8 * i, **verdicts(3 * i, 0, 5 * i),
                       elements=10, violations=0, max_ratio=0.5, ratios=[0] * 24)
            yield line("interim", seen=i + 3 + 8 * i, kernels=2, **verdicts(3 * i, i + 1, 5 * i + 2),
                       cost={"threads": 0.1, "copies": 0, "references": 0, "looks": 0, "overlap": 0, "elapsed": 4})
    yield line("warning", sentence="a warning with <b>markup</b>")
    yield line("lint", kernel="_Zgood", label="good", rule="accumulator-narrow", severity="note", line=42,
               source="/src/sum.py", source_line=7, more=0, sentence="add.bf16 adds up in <b>16</b> bits")
    if not ended:
        yield line("warning", sentence="cut off")[:-20]
        return
    ratios = [0] * 24
    ratios[14] = findings
    yield line("totals", **wrong, launches=findings, **verdicts(0, findings, 0), elements=700, violations=70,
               max_ratio="Infinity", ratios=ratios)
    ratios = [0] * 24
    ratios[3] = 10
    yield line("totals", kernel="_Zgood", label="good", launches=100, **verdicts(10, 0, 90), elements=1000,
               violations=0, max_ratio=0.25, ratios=ratios)
    yield line("end", seen=100 + findings, kernels=2, **verdicts(10, findings, 90), balanced=True, lost_lines=0,
               cost={"threads": 0.1, "copies": 0.1, "references": 0.1, "looks": 0.1, "overlap": 0.01, "elapsed": 12})


folder = sys.argv[1]
os.makedirs(folder, exist_ok=True)
for number in range(3):
    where = "%s/host%d" % (folder, number)
    os.makedirs(where, exist_ok=True)
    os.makedirs("%s/it's b-%d-0" % (where, number), exist_ok=True)
    with open("%s/journal-node%d-%d-r1.jsonl" % (where, number, 100 + number), "w", encoding="utf-8") as out:
        out.writelines(rank_lines(number, number != 2, 5, number == 2 and "interim" in sys.argv))
