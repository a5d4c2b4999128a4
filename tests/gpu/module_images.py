"""module_images.py PROGRAM LIBRARY - whether each bundle has the image of its launch's module.

Runs PROGRAM (module_images.c) in each of its ways under LIBRARY, by each back end, and reads the bundles. An image of
another module is an error; none is one too, but for libraries under CUPTI, whose callbacks do not show their modules:
there the bundle names the reason.
"""

import json
import os
import subprocess
import sys
import tempfile

REGISTRY = """version: 1
kernels:
  - kernel: specialised
    signature: const f32 x[256], f32 y[256], i32 number
    reference: scale
    bind: {alpha: 2}
"""
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


def run(program, library, way, hook):
    good = True
    with tempfile.TemporaryDirectory() as folder:
        registry = os.path.join(folder, "registry.yaml")
        with open(registry, "w") as text:
            text.write(REGISTRY)
        report = os.path.join(folder, "report")
        env = dict(os.environ, LD_PRELOAD=library, CUVET_CONFIG=registry, CUVET_REPORT=report, CUVET_SAMPLE="1",
                   CUVET_BUDGET="off", CUVET_BUNDLES="100", CUVET_SUMMARY="0", CUVET_EXIT_WAIT="20000",
                   CUVET_HOOK=hook)
        if hook == "entry":
            env["LD_AUDIT"] = os.path.join(os.path.dirname(library), "libcuvet-audit.so")
        code = subprocess.run([program, way], env=env, check=False).returncode
        bundles = sorted(name for name in os.listdir(report) if name.startswith("specialised-"))
        if code or len(bundles) != WAYS[way]:
            print("%s, %s: ended with %d, %d bundles, expected %d" % (hook, way, code, len(bundles), WAYS[way]))
            good = False
        for name in bundles:
            number, image = look(os.path.join(report, name))
            right = image == number or (way == "libraries" and hook == "cupti" and isinstance(image, str) and
                                        ("a library's" in image or "several" in image))
            print("%s, %s: launch of module %d has %s%s" % (hook, way, number, image, "" if right else ": WRONG"))
            good = good and right
    return good


def main():
    program, library = sys.argv[1:3]
    results = [run(program, os.path.abspath(library), way, hook) for way in WAYS for hook in ("cupti", "entry")]
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
