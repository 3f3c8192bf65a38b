"""Tables and names in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from reports.analysis.text import printable


def markdown_text(text: str) -> str:
    """A name as text: any ASCII punctuation stands for itself behind a backslash, and entities keep HTML out."""
    escaped = "".join(f"\\{char}" if char in "\\`*_{}[]()#+-.!|~@:" else char for char in printable(text))
    return escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def markdown_table(headers: Sequence[str], rows: Iterable[Sequence[str]], right: range = range(0)) -> str:
    """A table of text.

    Args:
        headers: of the columns.
        rows: a cell a column.
        right: the columns that are numbers.
    """
    head, *body = ([markdown_text(cell) for cell in row] for row in (headers, *rows))
    rule = ["---:" if place in right else "---" for place in range(len(headers))]
    return "".join(f"| {' | '.join(line)} |\n" for line in (head, rule, *body))
