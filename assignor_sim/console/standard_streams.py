"""Standard streams that are closed, cannot be written, or whose encoding lacks some of our characters.

Windows' code page 1252 is such an encoding.
"""

from __future__ import annotations

import codecs
import io
import os
import sys
from typing import Final

_CHARACTERS: Final = "─│├└▁▂▃▄▅▆▇█–−×·÷→←≈•⚠µ²³⁶⁹“”’"
_STAND_INS: Final = {
    **dict(zip(_CHARACTERS, '-|++_.-=+*%#--x*/><~*!u2369""\'', strict=True)),
    **{"…": "...", "≤": "<=", "≥": ">=", "±": "+/-"},
}
_HANDLER: Final = "assignor_sim.stand_in"


def tolerate_encodings() -> None:
    """Let standard output and error replace characters that their encoding lacks, instead of raising an error."""
    codecs.register_error(_HANDLER, _replace)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=_HANDLER)


def _replace(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = error.object[error.start : error.end]
    return "".join(_STAND_INS.get(character, "?") for character in missing), error.end


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
