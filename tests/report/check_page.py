"""check_page.py PAGE - whether the page is well formed, loads nothing and shows labels as text."""
import html.parser
import sys

VOID = {"meta", "input", "rect", "line", "br"}


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.scripts, self.text, self.problems = [], 0, "", []
        self.svgs = self.rows = self.findings = 0

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.open.append(tag)
        self.scripts += tag == "script"
        self.svgs += tag == "svg"
        self.rows += tag == "tr"
        self.findings += ("class", "finding") in attrs
        for name, value in attrs:
            if name in ("src", "href", "action", "srcset") or name.startswith("on"):
                self.problems.append("<%s %s=%s>" % (tag, name, value))

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag):
        if tag in VOID:
            return
        if not self.open or self.open[-1] != tag:
            self.problems.append("</%s> closes %s" % (tag, self.open[-1:]))
        else:
            self.open.pop()

    def handle_data(self, data):
        if "script" not in self.open and "style" not in self.open:
            self.text += data


page = Page()
with open(sys.argv[1], encoding="utf-8") as source:
    text = source.read()
page.feed(text)
page.close()
problems = page.problems + ["<%s> is not closed" % tag for tag in page.open]
if page.scripts != 1:
    problems.append("%d scripts, expected 1: a label became one" % page.scripts)
for wanted in ("<script>alert('1')</script>&\"\\\ufffd", "rank 2 on node2, pid 102", "a warning with <b>markup</b>",
               "adds up in <b>16</b> bits",
               "cuvet replay '", "7 of 100 elements outside the bound, up to 12.5 times, a sample: the launch has 400 elements", "y[1][2]"):
    if wanted not in page.text:
        problems.append("the text lacks %r" % wanted)
if page.svgs < 4 or page.findings != 12:
    problems.append("%d pictures and %d findings, expected 4 at least and 12" % (page.svgs, page.findings))
if "http:" in text or "https:" in text or "//" in text.split("<script>")[0]:
    problems.append("the page names something to load")
print("\n".join(problems))
sys.exit(bool(problems))
