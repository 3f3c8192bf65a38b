"""Reading of client metrics: files, folders of files, and addresses of exporters."""

from __future__ import annotations

import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from scenarios.kafka.formats.client_metrics import ClientScrape, client_scrapes
from scenarios.kafka.formats.exposition import parse_samples
from scenarios.kafka.formats.lines import FormatError
from scenarios.kafka.observation.observation import ObservationError
from scenarios.language.text_files import MAX_IMPORT_BYTES, UnreadableError, read_text

_SCHEMES: Final = ("http://", "https://")
_TIMEOUT_S: Final = 10
_TOO_LONG: Final = f"longer than {MAX_IMPORT_BYTES:,} bytes"


def is_address(source: str) -> bool:
    """Return whether a source is the address of an exporter, not a file or folder."""
    return source.lower().startswith(_SCHEMES)


def read_client_metrics(sources: Sequence[str]) -> list[ClientScrape]:
    """Read the metrics of Kafka Streams clients.

    `sources`: files, folders of files, and addresses. Each file or answer is a text of Prometheus' JMX exporter, of one
    or several clients, or rows of a Prometheus query as JSON lines. Returns the metrics of each client and time. Raises
    ObservationError if a source is missing, unreachable, or has another format; the message contains the line.
    """
    return [scrape for source in sources for scrape in _read(source)]


def _read(source: str) -> list[ClientScrape]:
    if is_address(source):
        scrapes = _parse(_fetch(source), source)
        for scrape in scrapes:
            if scrape.at_ms is None:
                scrape.at_ms = round(time.monotonic() * 1_000)
        return scrapes
    path = Path(source)
    if not path.is_dir():
        return _parse(_text(path), source)
    files = sorted(file for file in path.iterdir() if file.is_file() and not file.name.startswith("."))
    if not files:
        raise ObservationError(f"'{source}' contains no files with client metrics")
    return [scrape for file in files for scrape in _parse(_text(file), str(file))]


def _parse(text: str, source: str) -> list[ClientScrape]:
    try:
        return client_scrapes(parse_samples(text))
    except FormatError as error:
        raise ObservationError(f"{source}:{error.line}: {error}") from None


def _text(path: Path) -> str:
    try:
        return read_text(path, MAX_IMPORT_BYTES, _TOO_LONG)
    except UnreadableError as error:
        raise ObservationError(f"client metrics '{error.place(path)}': {error}") from None


def _fetch(address: str) -> str:
    try:
        # The scheme is checked; files and other schemes cannot be opened this way.
        with urllib.request.urlopen(address, timeout=_TIMEOUT_S) as answer:
            content: bytes = answer.read(MAX_IMPORT_BYTES + 1)
    except (urllib.error.URLError, OSError, ValueError) as error:
        raise ObservationError(f"client metrics '{address}': {getattr(error, 'reason', None) or error}") from None
    if len(content) > MAX_IMPORT_BYTES:
        raise ObservationError(f"client metrics '{address}': {_TOO_LONG}")
    return content.decode("utf-8", errors="replace")
