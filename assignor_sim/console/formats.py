"""Output formats of commands: one list of formats, and one function that prints a result in each of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from typing import TextIO

    from reports.document import Report
    from reports.render.terminal.facts import FactTable


class OutputFormat(StrEnum):
    """Output format: a table for people, JSON or CSV for scripts, or Markdown for documents."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"


Format = Annotated[OutputFormat, typer.Option("--format", help="Output format.")]
"""The option of commands that print one table."""

FormatOfTables = Annotated[OutputFormat, typer.Option("--format", help="Output format; csv has the first table.")]
"""The option of commands that print several tables."""


def print_in_format(
    format_: OutputFormat,
    *,
    text: Callable[[], str],
    record: Callable[[], Any],
    tables: Callable[[], Sequence[FactTable]],
    stream: TextIO | None = None,
) -> None:
    """Print a result.

    `text`: returns the text for terminals, which ends with a newline. `record`: returns the JSON-serializable record.
    `tables`: returns the tables for Markdown; CSV has the first. `stream`: the stream; standard output by default.
    """
    if format_ is OutputFormat.TABLE:
        shown = text()
    elif format_ is OutputFormat.JSON:
        shown = json.dumps(record(), indent=2, ensure_ascii=False) + "\n"
    else:
        from reports.render.terminal.facts import render

        listed = list(tables())
        shown = render(listed[:1] if format_ is OutputFormat.CSV else listed, format_.value)
    print(shown, end="", file=stream)


def print_report(format_: OutputFormat, report: Report, record: Callable[[], Any]) -> None:
    """Print a report; `record` returns the JSON-serializable record, and CSV has the first table."""
    from reports.render.report_formats import report_csv, report_markdown, report_text

    match format_:
        case OutputFormat.TABLE:
            shown = report_text(report)
        case OutputFormat.JSON:
            shown = json.dumps(record(), indent=2, ensure_ascii=False) + "\n"
        case OutputFormat.CSV:
            shown = report_csv(report)
        case OutputFormat.MARKDOWN:
            shown = report_markdown(report)
    print(shown, end="")
