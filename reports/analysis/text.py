"""Names from scenarios and logs as text that can be shown anywhere.

A name may hold anything: markup, control characters that a terminal obeys, marks that turn the direction of what
follows. Escaping markup is the business of each output; what no output may let through is made visible here.
"""

from __future__ import annotations

import re
import unicodedata

_BREAKS_OUT = frozenset({"Cc", "Cs", "Zl", "Zp"})
_TURNS_DIRECTION = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def printable(text: str) -> str:
    r"""Show control characters, line ends and marks of direction as escapes, `\x1b` for one; leave the rest alone."""
    return "".join(_escaped(char) if _is_harmful(char) else char for char in text)


def shortened(text: str, width: int) -> str:
    """Take out the middle of a text of more than `width` characters: the ends of names tell them apart."""
    if len(text) <= width:
        return text
    head = width // 2
    tail = width - 1 - head
    return f"{text[:head].rstrip()}…{text[len(text) - tail :].lstrip()}"


def name_parts(name: str) -> list[str]:
    """Cut a name where it may go on in the next line: behind what separates words in names."""
    return re.findall(r"[^\s_.,:=/()-]+[\s_.,:=/()-]*|^[\s_.,:=/()-]+", name)


def _is_harmful(char: str) -> bool:
    return unicodedata.category(char) in _BREAKS_OUT or char in _TURNS_DIRECTION


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")
