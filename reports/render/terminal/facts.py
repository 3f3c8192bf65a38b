"""Lists of facts in every format: text for terminals, JSON and CSV for scripts, Markdown for documents."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from reports.analysis.text import plain_text, printable
from reports.render.markdown import markdown_table, markdown_text
from reports.render.terminal.console import HEADER, QUIET, lines, terminal_width
from simulator.results.files import csv_cell

FORMATS: Final = ("table", "json", "csv", "markdown")
"""Formats of `render`."""


class FactFormatError(ValueError):
    """The format cannot hold the facts."""


@dataclass(frozen=True, slots=True)
class FactTable:
    """Facts of one kind, one row each.

    Attributes:
        key: key in JSON.
        title: title above the rows.
        columns: title of each column by key; the first column names the row. A column without a title has none in
            terminals.
        rows: the values by key; JSON has all of them, the other formats those of the columns. Options of the command
            line are on further lines of a value.
        note: a sentence below the rows; empty if there is none.
    """

    key: str
    title: str
    columns: Mapping[str, str]
    rows: Sequence[Mapping[str, Any]]
    note: str = ""


def render(tables: Sequence[FactTable], format: str, width: int | None = None, *, color: bool | None = None) -> str:
    """Return facts as text that ends with a newline.

    `format`: one of `FORMATS`. JSON is a list of rows for a single table, otherwise a mapping of lists by key. Raises
    FactFormatError if CSV cannot hold several tables, and ValueError if the format is unknown.
    """
    match format:
        case "table":
            return lines(_parts(tables, terminal_width(width) - 2), width, color=color)
        case "json":
            by_key = {table.key: list(table.rows) for table in tables}
            data: Any = by_key if len(tables) != 1 else by_key[tables[0].key]
            return json.dumps(data, indent=2, ensure_ascii=False) + "\n"
        case "csv":
            if len(tables) != 1:
                raise FactFormatError(f"csv holds one table (choose one of: {', '.join(t.key for t in tables)})")
            return _csv(tables[0])
        case "markdown":
            return "\n".join(_markdown(table, has_title=len(tables) > 1) for table in tables)
    raise ValueError(f"unknown format {format!r} (formats: {', '.join(FORMATS)})")


def _parts(tables: Sequence[FactTable], width: int) -> Iterator[RenderableType]:
    for number, table in enumerate(tables):
        if number:
            yield Text("")
        if len(tables) > 1:
            yield Text(f"{table.title}\n", style="bold underline")
        (name, _), *columns = table.columns.items()
        for row in table.rows:
            # Names and options are never broken, so that they can be copied.
            yield Text(printable(plain_text(row.get(name))), style=HEADER, no_wrap=True, overflow="ignore")
            for key, title in columns:
                for value in _paragraphs(row.get(key)):
                    text, *options = value.split("\n")
                    shown = _broken_at_dots(printable(text), width)
                    yield Padding(Text(f"{title}: {shown}" if title else shown), (0, 0, 0, 2))
                    for option in options:
                        yield Text(f"    {printable(option)}", no_wrap=True, overflow="ignore")
        if table.note:
            yield Text(f"\n{table.note}", style=QUIET)


def _broken_at_dots(text: str, width: int) -> str:
    """Return a text in which a name that is longer than a line, as of a class, continues on the next after a dot."""
    last_dot = re.compile(rf"(?<=\.)(?=[^.]{{1,{width}}}$)")
    return " ".join(last_dot.sub("\n", word) if len(word) > width else word for word in text.split(" "))


def _csv(table: FactTable) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows([csv_cell(_on_one_line(row.get(key))) for key in table.columns] for row in table.rows)
    return out.getvalue()


def _markdown(table: FactTable, *, has_title: bool) -> str:
    title = f"## {markdown_text(table.title)}\n\n" if has_title else ""
    headers = [text or key for key, text in table.columns.items()]
    note = f"\n{markdown_text(table.note)}\n" if table.note else ""
    rows = ([_on_one_line(row.get(key)) for key in table.columns] for row in table.rows)
    return f"{title}{markdown_table(headers, rows)}{note}"


def _paragraphs(value: Any) -> list[str]:
    if isinstance(value, Sequence) and not isinstance(value, str) and any(len(str(item)) > 40 for item in value):
        return [str(item) for item in value]
    text = plain_text(value)
    return [text] if text else []


def _on_one_line(value: Any) -> str:
    return plain_text(value).replace("\n", " ")
