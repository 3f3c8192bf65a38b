"""Tables and text in Markdown."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

from reports.analysis.text import printable


def markdown_text(text: str) -> str:
    """Escape text for Markdown: ASCII punctuation with backslashes, and HTML with entities."""
    escaped = "".join(f"\\{char}" if char in "\\`*_{}[]()#+-.!|~@:" else char for char in printable(text))
    return escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def markdown_table(headers: Sequence[str], rows: Iterable[Sequence[str]], right: Container[int] = ()) -> str:
    """Return a table.

    `rows`: one cell per column; `right`: the right-aligned columns.
    """
    head, *body = ([markdown_text(cell) for cell in row] for row in (headers, *rows))
    rule = ["---:" if column in right else "---" for column in range(len(headers))]
    return "".join(f"| {' | '.join(line)} |\n" for line in (head, rule, *body))
