"""The comparison as text: a table for people at a terminal, and formats for scripts and documents."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import sys
from collections.abc import Sequence

from reports.cells import Column, column, gap_cell, one_rack_cell, stable_cell
from reports.comparison import RECORD_KEYS, Row, Tables, best, by_scenario, compare, records
from reports.text import printable

FORMATS = ("table", "json", "csv", "markdown")
"""What `render` can make."""

COLUMNS: tuple[Column, ...] = (
    column("remote_source_partitions", "x-rack\nparts"),
    column("gap_partitions", "gap to\nbound", gap_cell),
    column("cross_rack_bytes_per_s", "x-rack\ntraffic"),
    column("active_moves", "tasks\nmoved"),
    column("standby_moves", "standby\nmoves"),
    column("rounds_to_stable", "rounds to\nstable"),
    column("stable_after_ms", "stable\nafter", stable_cell),
    column("restored_bytes", "state\nrestored"),
    column("down_ms", "tasks\ndown"),
    column("load_skew", "load\nskew"),
    column("subtopology_skew", "subtop.\nskew"),
    column("tasks_in_one_rack", "in one\nrack", one_rack_cell),
)
"""What is shown to people; everything else is in the formats for scripts."""


def render(tables: Tables, format: str = "table", *, width: int | None = None, color: bool | None = None) -> str:
    """Write the comparison as text that ends in a line end.

    Args:
        tables: must hold `runs`.
        format: one of `FORMATS`. `json` is a list of records and `csv` has the same keys as its head, both with every
            metric, in full precision; `table` and `markdown` show what matters most, rounded.
        width: columns of the terminal; found out if None. Matters for `table` only.
        color: whether the best values are coloured; found out if None. They are marked with a star in any case.

    Raises:
        ValueError: an unknown format.
        TableError: a table is missing.
    """
    rows = compare(tables)
    match format:
        case "table":
            from reports.terminal_table import draw

            columns = shutil.get_terminal_size((100, 24)).columns if width is None else width
            return draw(rows, COLUMNS, columns, color=_wants_color() if color is None else color)
        case "json":
            return json.dumps(records(rows), indent=2, ensure_ascii=False) + "\n"
        case "csv":
            return _csv(rows)
        case "markdown":
            return _markdown(rows)
    raise ValueError(f"{format!r} is not a format (formats: {', '.join(FORMATS)})")


def _wants_color() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _csv(rows: Sequence[Row]) -> str:
    """Seeds stand in one field, separated by spaces; what is not known is empty."""
    out = io.StringIO()
    flat = [{**record, "seeds": " ".join(map(str, record["seeds"]))} for record in records(rows)]
    writer = csv.DictWriter(out, fieldnames=RECORD_KEYS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(flat)
    return out.getvalue()


def _markdown(rows: Sequence[Row]) -> str:
    parts = []
    groups = by_scenario(rows)
    for scenario, group in groups.items():
        title = f"**{_markdown_text(scenario)}**\n\n" if len(groups) > 1 else ""
        parts.append(title + _markdown_table(group))
    return "\n".join(parts) or "No runs.\n"


def _markdown_table(rows: Sequence[Row]) -> str:
    winners = [best(rows, each.metric) for each in COLUMNS]
    lines = [
        ["assignor", *(each.header.replace("\n", " ") for each in COLUMNS)],
        ["---", *("---:" for _ in COLUMNS)],
    ]
    for row in rows:
        cells = [str(each.cell(row)) for each in COLUMNS]
        marked = [f"**{cell}**" if row in won else cell for cell, won in zip(cells, winners, strict=True)]
        lines.append([_markdown_text(row.assignor), *marked])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _markdown_text(text: str) -> str:
    """Markdown takes any ASCII punctuation behind a backslash for itself; entities keep HTML out where that fails."""
    escaped = "".join(f"\\{char}" if char in "\\`*_{}[]()#+-.!|~@:" else char for char in printable(text))
    return escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
