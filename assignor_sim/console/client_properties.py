"""The option `--command-config` of commands that read a running cluster, and other properties files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

Bootstrap = Annotated[
    str | None, typer.Option(help="Running cluster to observe; it is not changed.", metavar="HOST:PORT")
]
CommandConfig = Annotated[
    Path | None,
    typer.Option(help="With --bootstrap: client properties, in the format of Kafka's tools.", metavar="FILE"),
]


def read_properties(path: Path | None) -> Mapping[str, str]:
    """Return the properties in a file; none without a file.

    Raises FormatError if the file is invalid, and UnreadableError if the file cannot be read.
    """
    from scenarios.kafka.formats.lines import FormatError
    from scenarios.kafka.formats.properties import parse_properties

    if path is None:
        return {}
    try:
        return parse_properties(read_input(path))
    except FormatError as error:
        raise FormatError(error.line, f"{path}:{error.line}: {error}") from None


def read_input(path: Path) -> str:
    """Return the text of a file; raise UnreadableError if the file cannot be read; the message names it."""
    from scenarios.language.text_files import MAX_IMPORT_BYTES, UnreadableError, read_text

    try:
        return read_text(path, MAX_IMPORT_BYTES, f"longer than {MAX_IMPORT_BYTES:,} bytes")
    except UnreadableError as error:
        raise UnreadableError(f"'{error.place(path)}': {error}") from None
