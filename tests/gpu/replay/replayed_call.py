"""replayed_call.py PROGRAM LIBRARY - the wrong product of a cublasLt, made again by `cuvet replay`.

PROGRAM is lt_tail. Exit status 77 where this machine's cublasLt is right. Prints what does not hold, then "replayed".
"""

import glob
import json
import os
import subprocess
import sys
import tempfile


def replay(cuvet, bundle, *words):
    done = subprocess.run([cuvet, "replay", "--json", *words, bundle], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, check=False)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return done.returncode, lines[0] if lines else {}, done.stderr.strip()


def main():
    program, library = sys.argv[1:3]
    cuvet = os.path.join(os.path.dirname(os.path.abspath(library)), "cuvet")
    env = dict(os.environ, CUVET_EXIT_WAIT="100000", CUVET_SUBSET="off", CUVET_MEMORY="2G")
    env.pop("LD_PRELOAD", None)
    if subprocess.run([program, "11528", "77"], env=env, stdout=subprocess.DEVNULL, check=False).returncode == 77:
        return 77
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([cuvet, "run", "-o", folder, "--", program, "11528", "77"], env=env, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        bundles = sorted(glob.glob(os.path.join(folder, "cublasLtMatmul*-0")))
        if not bundles:
            print("no bundle: %s" % done.stdout[-600:])
            return 1
        code, found, words = replay(cuvet, bundles[0], "--times", "3")
    print("measured: exit %d, reproduced %s, %s of %s elements outside the bound %s" %
          (code, found.get("reproduced"), found.get("violations"), found.get("checked"), words))
    good = code == 3 and found.get("reproduced") and found.get("verdict") == "mismatch"
    print("replayed" if good else "not replayed")
    return not good


if __name__ == "__main__":
    sys.exit(main())
