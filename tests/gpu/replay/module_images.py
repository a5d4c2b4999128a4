"""module_images.py PROGRAM FATBIN LIBRARY - whether each bundle has the image of its launch's module.

Runs PROGRAM (tests/scenario/images) in each of its ways under LIBRARY, by each back end, and reads the bundles. An
image of another module is an error, and none is one too.
"""

import json
import os
import subprocess
import sys
import tempfile

REGISTRY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../scenario/images/registry.yaml")
WAYS = {"modules": 4, "reload": 4, "libraries": 4}


def look(folder):
    """What a bundle has: the number of its launch's module, and that of its image, or the reason."""
    with open(os.path.join(folder, "launch.json")) as text:
        launch = json.load(text)
    number = bytes.fromhex(launch["parameters"][2]["hex"])[0]
    if "missing" in launch["module"]:
        return number, launch["module"]["missing"]
    with open(os.path.join(folder, launch["module"]["file"]), "rb") as image:
        data = image.read()
    marks = [i for i in (0, 1) if b"mark_%d" % i in data]
    return number, marks[0] if len(marks) == 1 else "an image with marks %s" % marks


def run(program, fatbin, library, way, hook):
    good = True
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report")
        env = dict(os.environ, LD_PRELOAD=library, CUVET_CONFIG=REGISTRY, CUVET_REPORT=report, CUVET_SAMPLE="1",
                   CUVET_BUDGET="off", CUVET_BUNDLES="100", CUVET_SUMMARY="0", CUVET_EXIT_WAIT="20000",
                   CUVET_HOOK=hook)
        if hook == "entry":
            env["LD_AUDIT"] = os.path.join(os.path.dirname(library), "libcuvet-audit.so")
        code = subprocess.run([program, fatbin, way], env=env, check=False).returncode
        bundles = sorted(name for name in os.listdir(report) if name.startswith("specialised-"))
        if code or len(bundles) != WAYS[way]:
            print("%s, %s: ended with %d, %d bundles, expected %d" % (hook, way, code, len(bundles), WAYS[way]))
            good = False
        for name in bundles:
            number, image = look(os.path.join(report, name))
            right = image == number
            print("%s, %s: launch of module %d has %s%s" % (hook, way, number, image, "" if right else ": WRONG"))
            good = good and right
    return good


def main():
    program, fatbin, library = sys.argv[1:4]
    results = [run(program, fatbin, os.path.abspath(library), way, hook) for way in WAYS for hook in ("cupti", "entry")]
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
