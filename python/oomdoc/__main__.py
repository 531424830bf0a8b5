"""`python -m oomdoc`: the command itself."""

import os
import subprocess
import sys

from ._binary import find_binary

if __name__ == "__main__":
    command = [find_binary(), *sys.argv[1:]]
    if os.name == "nt":
        # On Windows `execv` returns to the shell before the command has ended.
        sys.exit(subprocess.run(command).returncode)
    os.execv(command[0], command)
