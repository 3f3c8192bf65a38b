"""The parts of a Markdown page that the examples consist of."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_PART = re.compile(
    r"^<!-- setup\n(?P<setup>.*?)^-->\n"
    r"|^<!-- figures: (?P<figures>[^\n]*?) -->\n(?P<table>.*?)^<!-- end -->\n"
    r"|^(?:<!-- (?P<mark>[^\n]*?) -->\n)?(?P<fence>```+)(?P<language>[^\n]*)\n(?P<text>.*?)^(?P=fence)\n",
    re.MULTILINE | re.DOTALL,
)
KINDS = ("file", "changes", "output", "error", "not run", "from")


@dataclass(frozen=True, slots=True)
class PagePart:
    """A fenced block, hidden commands or a generated table.

    Attributes:
        kind: `setup`, `figures`, `block`, or the first word of the comment before a fenced block: see `tools.examples`.
        argument: The rest of the comment.
        language: Language of a fenced block; empty if it has none.
        text: Content.
        line: Number of the first line, from 1.
        start: Position of the content in the page.
        end: Position behind the content.
    """

    kind: str
    argument: str
    language: str
    text: str
    line: int
    start: int
    end: int


def parts(page: str) -> Iterator[PagePart]:
    """Yield the parts of a page in order."""
    for match in _PART.finditer(page):
        line = page.count("\n", 0, match.start()) + 1
        if match["setup"] is not None:
            yield PagePart("setup", "", "sh", match["setup"], line, *match.span("setup"))
        elif match["figures"] is not None:
            yield PagePart("figures", match["figures"], "", match["table"], line, *match.span("table"))
        else:
            kind, _, argument = (match["mark"] or "").partition(": ")
            known = kind in KINDS
            text, span = match["text"], match.span("text")
            yield PagePart(kind if known else "block", argument if known else "", match["language"], text, line, *span)
