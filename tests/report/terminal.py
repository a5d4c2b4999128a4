"""terminal.py COMMAND ... - what the command shows on standard error, where that is a terminal, up to its first '%'."""
import os
import pty
import subprocess
import sys

own, its = pty.openpty()
shown = b""
with subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=its) as process:
    os.close(its)
    try:
        while b"%" not in shown and (part := os.read(own, 4096)):
            shown += part
    except OSError:  # the command has ended
        pass
    if b"%" in shown:
        process.kill()
sys.stdout.write(shown.decode("utf-8", "replace").replace("\r", "\n"))
