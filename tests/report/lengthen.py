"""lengthen.py JOURNAL LINES [KERNELS] - a journal of that many lines, to standard output.

The lines of a real journal come again and again with other numbers: process, launch, occurrence and time. KERNELS (1):
how many names its kernels have in turn. A process is a whole journal; between its first and last lines its launches
come a hundred times.
"""
import itertools
import re
import sys

NUMBERS = (("pid", r'("pid":)\d+', r"\g<1>%(pid)d"),
           ("launch", r'("(?:launch|occurrence|sequence)":)\d+', r"\g<1>%(launch)d"),
           ("kernel", r'("kernel":"[^"]*)"', r'\g<1>#%(kernel)d"'),
           ("time", r'("time":")[^"]*"', r'\g<1>%(time)s"'))


def template(line):
    line = line.replace("%", "%%")
    for _, number, placed in NUMBERS:
        line = re.sub(number, placed, line)
    return line


def read(path):
    """Templates of the lines before the first launch, of the launches, and of the totals."""
    parts = ([], [], [])
    with open(path, encoding="utf-8") as journal:
        for line in journal:
            event = re.search(r'"event":"(\w+)"', line).group(1)
            parts[0 if event in ("start", "kernel") else 2 if event in ("totals", "end") else 1].append(template(line))
    return parts


def lines(path, kernels):
    head, launches, end = read(path)
    launch = 0
    for process in itertools.count():
        for part, times in ((head, 1), (launches, 100), (end, 1)):
            for _ in range(times):
                launch += 1
                second = launch // 1000
                numbers = {"pid": process % 4000000, "launch": launch, "kernel": launch % kernels, "time":
                           "2026-01-%02dT%02d:%02d:%02d.%03dZ" % (second // 86400 % 28 + 1, second // 3600 % 24,
                                                                  second // 60 % 60, second % 60, launch % 1000)}
                for line in part:
                    yield line % numbers


sys.stdout.reconfigure(encoding="utf-8")
sys.stdout.writelines(itertools.islice(lines(sys.argv[1], int(sys.argv[3]) if len(sys.argv) > 3 else 1),
                                       int(sys.argv[2])))
