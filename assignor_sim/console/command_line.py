"""The command line, for manifests."""

from __future__ import annotations

import shlex
import sys


def command_line() -> str:
    """Return the current command line, quoted for a shell."""
    return shlex.join(["assignor-sim", *sys.argv[1:]])
