"""Samples of Prometheus metrics: an exporter's text, with or without times, or rows of a query as JSON lines.

Source: Prometheus' text-based exposition format 0.0.4 and OpenMetrics 1.0, as the JMX exporter writes them; a
federation endpoint adds times.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from scenarios.kafka.formats.lines import FormatError

_LABEL = r'[a-zA-Z_][\w-]*\s*=\s*"(?:[^"\\]|\\.)*"'
_SAMPLE: Final = re.compile(
    rf"(?P<name>[a-zA-Z_:][\w:.-]*)\s*(?:\{{(?P<labels>\s*(?:{_LABEL}\s*,?\s*)*)\}})?\s+(?P<value>\S+)"
    r"(?:\s+(?P<time>-?[\d.eE+]+))?(?:\s+#.*)?\s*"
)
_LABEL_PAIR: Final = re.compile(r'([a-zA-Z_][\w-]*)\s*=\s*"((?:[^"\\]|\\.)*)"')
_ESCAPED: Final = {r"\\": "\\", r"\"": '"', r"\n": "\n"}
_END_OF_OPEN_METRICS: Final = "# EOF"
_MAX_SHOWN: Final = 60
_NOT_BLANK: Final = re.compile(r"\S")
_ROW_KEYS: Final = ("__name__", "timestamp", "value")


@dataclass(frozen=True, slots=True)
class Sample:
    """A value of a metric.

    Attributes:
        name: Name of the metric, as written.
        labels: Values by label.
        value: The value; NaN if the metric has none.
        at_ms: Its time since 1970; None if the text has no times.
    """

    line: int
    name: str
    labels: Mapping[str, str]
    value: float
    at_ms: int | None


def parse_samples(text: str) -> Iterator[Sample]:
    """Yield the samples of a text; raise FormatError if a line is not a sample."""
    if text.lstrip().startswith("{"):
        yield from _parse_rows(text)
        return
    lines = text.split("\n")
    # OpenMetrics has times in seconds.
    factor = 1_000 if any(line.strip() == _END_OF_OPEN_METRICS for line in lines[-3:]) else 1
    for number, line in enumerate(lines, start=1):
        if line.strip() and not line.lstrip().startswith("#"):
            yield _parse_sample(number, line.strip(), factor)


def _parse_sample(number: int, line: str, factor: int) -> Sample:
    match = _SAMPLE.fullmatch(line)
    if match is None:
        raise FormatError(number, f"not a sample of Prometheus (such as name{{label=\"value\"}} 1.5): '{_shown(line)}'")
    labels = {key: _unescape(value) for key, value in _LABEL_PAIR.findall(match["labels"] or "")}
    at_ms = None if match["time"] is None else round(_number(number, match["time"]) * factor)
    return Sample(number, match["name"], labels, _number(number, match["value"], allows_nan=True), at_ms)


def _parse_rows(text: str) -> Iterator[Sample]:
    """Yield the samples of JSON objects, each in a line or, as `jq` prints them, over several."""
    decoder, number, position = json.JSONDecoder(), 1, 0
    while start := _NOT_BLANK.search(text, position):
        number += text.count("\n", position, start.start())
        try:
            row, end = decoder.raw_decode(text, start.start())
        except (ValueError, RecursionError) as error:
            raise FormatError(number, f"invalid JSON: {error}") from None
        yield _parse_row(number, row)
        number += text.count("\n", start.start(), end)
        position = end


def _parse_row(number: int, row: Any) -> Sample:
    missing = [key for key in _ROW_KEYS if not isinstance(row, dict) or key not in row]
    if missing:
        raise FormatError(number, f"not a row of a Prometheus query: {', '.join(missing)} missing")
    labels = {str(key): str(value) for key, value in row.items() if key not in _ROW_KEYS}
    at_ms = round(_number(number, row["timestamp"]) * 1_000)
    return Sample(number, str(row["__name__"]), labels, _number(number, row["value"], allows_nan=True), at_ms)


def _number(line: int, value: object, *, allows_nan: bool = False) -> float:
    try:
        number = float(str(value).replace("_", "?"))
    except ValueError:
        number = None
    if number is None or (not math.isfinite(number) and not allows_nan):
        raise FormatError(line, f"'{_shown(str(value))}' is not a number")
    return number


def _unescape(text: str) -> str:
    return re.sub(r"\\.", lambda match: _ESCAPED.get(match[0], match[0]), text)


def _shown(text: str) -> str:
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…"
