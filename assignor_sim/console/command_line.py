"""The command line, for manifests."""

from __future__ import annotations

import os
import shlex
import sys


def command_line() -> str:
    """Return the current command line, quoted for a shell; bytes that are not UTF-8 are replaced."""
    arguments = [os.fsencode(argument).decode("utf-8", "replace") for argument in sys.argv[1:]]
    return shlex.join(["assignor-sim", *arguments])
