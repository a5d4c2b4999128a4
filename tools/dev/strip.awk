# strip.awk - prints C sources without comments and without the text of strings and characters;
# line numbers stay. Lines come out as "FILE<TAB>LINE<TAB>CODE". Preprocessor lines keep strings.
FNR == 1 { inside = 0 }
{
    code = ""
    line = $0
    directive = !inside && line ~ /^[ \t]*#[ \t]*include/
    while (line != "") {
        if (inside) {
            end = index(line, "*/")
            if (!end)
                break
            line = substr(line, end + 2)
            inside = 0
            code = code " "
        } else if (substr(line, 1, 2) == "/*") {
            inside = 1
            line = substr(line, 3)
        } else if (substr(line, 1, 2) == "//") {
            break
        } else if (!directive && match(line, /^"([^"\\]|\\.)*"/)) {
            code = code "\"\""
            line = substr(line, RLENGTH + 1)
        } else if (!directive && match(line, /^'([^'\\]|\\.)+'/)) {
            code = code "' '"
            line = substr(line, RLENGTH + 1)
        } else {
            code = code substr(line, 1, 1)
            line = substr(line, 2)
        }
    }
    printf "%s\t%d\t%s\n", FILENAME, FNR, code
}
