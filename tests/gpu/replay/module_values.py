"""module_values.py RUNTIME DRIVER KERNELS LIBRARY - a kernel that reads variables of its module, replayed on the GPU.

RUNTIME is module_values, DRIVER the program of tests/scenario/variables, whose kernels are in KERNELS. Each is run with a
wrong factor, whose bundle must be reproduced, and with the right one, which leaves none. Prints what does not hold, then
"reproduced".
"""

import glob
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
REGISTRY = os.path.join(HERE, "../../scenario/variables/registry.yaml")


def run(cuvet, hook, words):
    """The bundles that a program leaves, and what replay says of each."""
    with tempfile.TemporaryDirectory() as folder:
        env = dict(os.environ, CUVET_EXIT_WAIT="100000", CUVET_HOOK=hook)
        env.pop("LD_PRELOAD", None)
        done = subprocess.run([cuvet, "run", "-c", REGISTRY, "-o", folder, "--", *words], env=env, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        found = []
        for bundle in sorted(glob.glob(os.path.join(folder, "scaled-*"))):
            with open(os.path.join(bundle, "launch.json")) as text:
                launch = json.load(text)
            replay = subprocess.run([cuvet, "replay", "--json", bundle], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                    text=True, check=False)
            found.append((launch, replay.returncode, replay.stdout))
    return found, done.stdout[-600:]


def main():
    runtime, driver, kernels, library = sys.argv[1:5]
    cuvet = os.path.join(os.path.dirname(os.path.abspath(library)), "cuvet")
    wrong = []
    for hook in ("cupti", "entry"):
        for words in ([runtime], [driver, kernels, "module"], [driver, kernels, "library"]):
            name = " ".join([hook] + [os.path.basename(word) for word in words])
            quiet, said = run(cuvet, hook, words + ["2"])
            if quiet:
                wrong.append("%s: a finding with the right factor: %s" % (name, said))
            found, said = run(cuvet, hook, words + ["3"])
            if len(found) != 1:
                wrong.append("%s: %d bundles: %s" % (name, len(found), said))
            for launch, code, text in found:
                print("measured: %s: %s, %s unchanged, image %s: %s" %
                      (name, launch.get("variables"), launch.get("variables_unchanged"), launch["module"], text.strip()))
                if "missing" in launch["module"] and hook == "cupti" and words == [runtime]:
                    continue  # CUPTI does not show images of the runtime's libraries
                if code != 3 or '"reproduced":true' not in text:
                    wrong.append("%s: exit %d: %s" % (name, code, text))
    for line in wrong:
        print(line)
    print("reproduced" if not wrong else "not reproduced")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
