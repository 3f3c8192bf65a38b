"""Output on terminals and in files whose encoding lacks some of our characters, such as Windows' code page 1252."""

from __future__ import annotations

import codecs
import io
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
