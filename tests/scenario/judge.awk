# judge.awk - holds the journals of one run against what a scenario expects; prints complaints.
#
#   awk -f judge.awk -v exact=0|1 EXPECT JOURNAL ...
#
# README.md has the language of `expect`. Journals are JSON lines; `exact` is 0 where an injected
# fault may have made launches unchecked: then nothing is asked but that the books balance and that
# no kernel is called wrong that is not.

function complain(text) { print text; bad = 1 }

# What follows "key": in the line, up to the next comma or brace; strings without their quotes.
function field(line, key,    at, value) {
    at = index(line, "\"" key "\":")
    if (!at) return ""
    value = substr(line, at + length(key) + 3)
    if (substr(value, 1, 1) == "\"") {
        value = substr(value, 2)
        sub(/".*$/, "", value)
    } else
        sub(/[,}].*$/, "", value)
    return value
}

function holds(got, op, want) {
    if (op == "=") return got == want
    if (op == ">=") return got >= want
    if (op == "<=") return got <= want
    complain("unknown comparison '" op "'")
    return 1
}

function ask(what, got) {
    if (exact && !holds(got + 0, op, want))
        complain(what ": " (got + 0) ", expected " op " " want)
}

# "reasons":{"not sampled":3,"captured":1}: adds each, and returns the sum.
function add_reasons(line,    at, text, n, part, i, pair, sum) {
    at = index(line, "\"reasons\":{")
    text = substr(line, at + 11)
    sub(/}.*$/, "", text)
    n = split(text, part, ",")
    for (i = 1; i <= n; i++) {
        split(part[i], pair, "\":")
        sub(/^"/, "", pair[1])
        reasons[pair[1]] += pair[2]
        sum += pair[2]
    }
    return sum + 0
}

function may_be_wrong(name) { return all_wrong || name in wrong }

function ask_every(what,    name, any) {
    for (name in kernels) {
        any = 1
        ask("kernel " name " " what, kernel[name, what])
    }
    if (!any && exact) complain("no kernel was registered, and `every " what "` asks for some")
}

function balance(line,    judged, skipped) {
    judged = field(line, "match") + field(line, "mismatch") + field(line, "inconclusive")
    skipped = add_reasons(line)
    if (judged != field(line, "checked") || skipped != field(line, "unchecked"))
        complain("buckets do not add up to checked and unchecked: " line)
    if (field(line, "seen") - judged - skipped > slack || judged + skipped > field(line, "seen") + 0)
        complain(field(line, "seen") " launches seen, " judged + skipped " in buckets")
}

BEGIN { journals = 1; slack = 0 }

# The first file: the items are kept, and asked at the end.
FNR == 1 { file++ }
file == 1 && /^journals /  { journals = $2 }
file == 1 && /^slack /     { slack = $2 }
file == 1 && /^kernel /    { item[++items] = $0; if ($3 == "mismatch") wrong[$2] = 1 }
file == 1 && /^every /     { item[++items] = $0; if ($2 == "mismatch") all_wrong = 1 }
file == 1 && /^(total|reason|contract|launch_error) / { item[++items] = $0 }
file == 1 { next }

!/^\{"v":1,"event":"[a-z_]+",.*\}$/ { complain("a journal line that is none: " $0); next }
{ event = field($0, "event") }
event == "end" {
    ends++
    balance($0)
    split("seen checked match mismatch inconclusive unchecked", names, " ")
    for (i in names) total[names[i]] += field($0, names[i])
    if (field($0, "lost_lines") > 0) complain(field($0, "lost_lines") " journal lines lost")
}
event == "totals" {
    name = field($0, "kernel")
    kernels[name] = 1
    split("launches checked match mismatch inconclusive", names, " ")
    for (i in names) kernel[name, names[i]] += field($0, names[i])
    if (field($0, "mismatch") > 0 && !may_be_wrong(name)) complain("a finding for " name ", which is right")
}
event == "finding" {
    name = field($0, "kernel")
    if (!may_be_wrong(name)) complain("a finding for " name ", which is right")
    bundle = field($0, "bundle")
    if (bundle != "null" && bundle != "" && (getline text < (bundle "/launch.json")) <= 0)
        complain("no launch.json in " bundle)
}
event == "contract" {
    name = field($0, "name")
    split("launches items met differ unhashed", names, " ")
    for (i in names) contract[name, names[i]] += field($0, names[i])
}
event == "launch_error" { refused[field($0, "kernel")]++ }

END {
    if (exact && journals != "any" && ends + 0 != journals)
        complain(ends + 0 " journals with an end, expected " journals)
    for (i = 1; i <= items; i++) {
        n = split(item[i], w, " ")
        op = w[n - 1]; want = w[n] + 0
        if (w[1] == "kernel") ask("kernel " w[2] " " w[3], kernel[w[2], w[3]])
        else if (w[1] == "every") ask_every(w[2])
        else if (w[1] == "total") ask("total " w[2], total[w[2]])
        else if (w[1] == "contract") {
            name = item[i]
            sub(/^contract /, "", name); sub(/ [a-z]+ [<>=]+ [0-9]+$/, "", name)
            ask("contract " name " " w[n - 2], contract[name, w[n - 2]])
        }
        else if (w[1] == "launch_error") {
            if (exact && !refused[w[2]]) complain("no launch_error for " w[2])
        } else {
            name = item[i]
            sub(/^reason /, "", name); sub(/ [<>=]+ [0-9]+$/, "", name)
            ask("reason '" name "'", reasons[name])
        }
    }
    if (bad && exact)
        for (name in reasons) if (name != "") print "unchecked for '" name "': " reasons[name]
    exit bad
}
