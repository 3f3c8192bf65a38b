"""Standard streams that are closed, or cannot be written."""

from __future__ import annotations

import io
import os
import sys


def replace_closed_streams() -> None:
    """Discard what is printed to a standard stream that was closed before the start, as in `assignor-sim list >&-`."""
    for number, name in ((1, "stdout"), (2, "stderr")):
        if getattr(sys, name) is None:
            handle = os.open(os.devnull, os.O_WRONLY)
            if handle != number:
                os.dup2(handle, number)
                os.close(handle)
            file = io.FileIO(number, "w", closefd=False)
            setattr(sys, name, io.TextIOWrapper(file, encoding="utf-8"))


def discard_output() -> None:
    """Discard what is left in the buffer of standard output, which the interpreter would write at its end."""
    handle = os.open(os.devnull, os.O_WRONLY)
    os.dup2(handle, 1)
    os.close(handle)
