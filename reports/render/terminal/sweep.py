"""What a sweep says, as text: the front, the best setting of each objective, and what matters, from a summary."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from reports.analysis.formatting import NumberFormat, format_percent, format_range
from reports.analysis.metrics import METRIC
from reports.analysis.text import printable
from reports.render.terminal.console import lines, terminal_width

FORMATS = ("table", "json")
"""What `render` can make."""

MAX_SHOWN = 20
"""Rows of a front that people see here."""

Json = Mapping[str, Any]

_HEADERS = {
    "cross_rack_usd": "x-rack\ncost",
    "cross_rack_bytes": "x-rack\nbytes",
    "active_moves": "tasks\nmoved",
    "downtime_ms": "down, all\ntasks",
    "time_to_converge_ms": "time to\nconverge",
}
_TITLES = {"cross_rack_usd": "Cross-rack cost, whole run"}
_LEAST_SHARE = 0.01
_WIDE = 100
_QUIET, _HEADER, _BEST = "dim", "bold", "bold green"


def render(summary: Json, format: str = "table", *, width: int | None = None, color: bool | None = None) -> str:
    """Write a summary as text that ends in a line end.

    Args:
        summary: the `summary.json` of an aggregate.
        format: one of `FORMATS`; `json` is all of it, `table` what matters most.
        width: columns of the terminal; found out if None.
        color: whether to write the codes for colours; found out if None.

    Raises:
        ValueError: an unknown format.
    """
    if format == "json":
        return json.dumps(summary, indent=2, ensure_ascii=False) + "\n"
    if format != "table":
        raise ValueError(f"{format!r} is not a format (formats: {', '.join(FORMATS)})")
    return lines(_parts(summary, is_wide=terminal_width(width) >= _WIDE), width, color=color)


def _parts(summary: Json, *, is_wide: bool) -> Iterator[RenderableType]:
    several = len(summary["sweeps"]) > 1
    for number, scenario in enumerate(summary["scenarios"]):
        if number:
            yield Text()
        yield from _scenario(scenario, several, is_wide=is_wide)
    yield from _section("What matters most (share of the variance that a factor explains by itself)", _matters(summary))
    yield from _section("Surely less or more than the baseline with the same seeds", _against(summary))
    yield from _section("Left out", _left_out(summary))


def _scenario(scenario: Json, several: bool, *, is_wide: bool) -> Iterator[RenderableType]:
    heading = Text(printable(scenario["scenario"]), style=_HEADER)
    considered, on_front = scenario["cells_considered"], scenario["cells_on_front"]
    figures = "means, below them 95 % intervals" if is_wide else "means"
    of_all = f"{on_front} of {considered} settings × assignors are on the Pareto front; {figures}"
    heading.append(f"  ({of_all})", style=_QUIET)
    yield heading
    if not considered:
        yield Text("No setting of which all runs came to an assignment.")
        return
    table, shown = _front(scenario, several, is_wide=is_wide)
    yield table
    if shown < on_front:
        yield Text(f"… and {on_front - shown} more in the table front.", style=_QUIET)
    yield Text("*: least of all. On the front: nobody is as good in everything and better in something.", style=_QUIET)
    yield Text("\nBest of each objective", style=_HEADER)
    yield _best(scenario, several)


def _front(scenario: Json, several: bool, *, is_wide: bool) -> tuple[Table, int]:
    """The table, and how many cells stand in it: those with the same means share a row."""
    table = _grid("assignor", "setting")
    for name in scenario["objectives"]:
        table.add_column(Text(_HEADERS[name]), justify="right", no_wrap=True)
    alike: dict[tuple[float | None, ...], list[Json]] = {}
    for cell in scenario["front"]:
        alike.setdefault(tuple(cell["means"][name] for name in scenario["objectives"]), []).append(cell)
    for cells in list(alike.values())[:MAX_SHOWN]:
        cell, others = cells[0], len(cells) - 1
        where = _where(cell, several) + (f" (and {others} alike)" if others else "")
        figures = (_figure(cell, name, with_interval=is_wide) for name in scenario["objectives"])
        table.add_row(printable(cell["assignor"]), where, *figures)
    return table, sum(map(len, list(alike.values())[:MAX_SHOWN]))


def _figure(cell: Json, name: str, *, with_interval: bool) -> Text:
    """A mean, a star if it is the least, and its interval below if there is room for it."""
    mean, interval, metric = cell["means"][name], cell["intervals"][name], METRIC[name]
    if mean is None:
        return Text(f"{_share(cell['stable'])} stable " if name == "time_to_converge_ms" else "n/a ")
    best = name in cell["best_of"]
    text = Text(metric.write(mean), style=_BEST if best else "")
    text.append("*" if best else " ")
    if with_interval and interval is not None and interval[0] != interval[1]:
        text.append(f"\n{_span(interval, metric.write)} ", style=_QUIET)
    return text


def _best(scenario: Json, several: bool) -> Table:
    table = _grid("objective", "assignor", "setting")
    table.add_column(Text("mean"), justify="right", no_wrap=True)
    table.add_column(Text("95 % interval"), no_wrap=True)
    for best in scenario["best"]:
        metric, interval, equal = METRIC[best["objective"]], best["interval"], best["others_equal"]
        where = _where(best, several) + (f" (and {equal} more with the same mean)" if equal else "")
        span = "" if interval is None else _span(interval, metric.write)
        table.add_row(_title(best["objective"]), printable(best["assignor"]), where, metric.write(best["mean"]), span)
    return table


def _where(cell: Json, several: bool) -> str:
    label = printable(cell["label"])
    return f"{printable(cell['sweep'])}: {label}" if several else label


def _matters(summary: Json) -> Iterator[str]:
    several = len(summary["sweeps"]) > 1
    for row in _of_objectives(summary, summary["sensitivity"]):
        factors = [
            f"{printable(factor['factor'])} {_share(factor['share'])}"
            for factor in row["factors"]
            if factor["share"] >= _LEAST_SHARE
        ]
        sweep = f"{printable(row['sweep'])}: " if several else ""
        if factors:
            yield f"{sweep}{_title(row['metric'])}: {', '.join(factors)}"


def _against(summary: Json) -> Iterator[str]:
    several = len(summary["sweeps"]) > 1
    found: dict[tuple[str, str, str], list[str]] = {}
    for row in _of_objectives(summary, summary["against_baseline"]):
        told = [f"{what} in {row[what]} of {row['settings']} settings" for what in ("less", "more") if row[what]]
        of_one = found.setdefault((row["sweep"], row["assignor"], row["baseline"]), [])
        if told:
            of_one.append(f"{_title(row['metric'])} {', '.join(told)}")
    for (sweep, assignor, baseline), said in found.items():
        named = f"{printable(sweep)}: " if several else ""
        yield f"{named}{printable(assignor)} against {printable(baseline)}: {'; '.join(said) or 'no sure difference'}"


def _of_objectives(summary: Json, rows: Sequence[Json]) -> Iterator[Json]:
    """The rows about what the sweep's scenario is judged by, by sweep and objective."""
    objectives = {scenario["scenario"]: scenario["objectives"] for scenario in summary["scenarios"]}
    for sweep in summary["sweeps"]:
        for name in objectives[sweep["scenario"]]:
            yield from (row for row in rows if (row["sweep"], row["metric"]) == (sweep["sweep"], name))


def _left_out(summary: Json) -> Iterator[str]:
    for row in summary["left_out"]:
        where = printable(row.get("sweep") or row["scenario"])
        yield f"{where}: {row['number']:,} {row['what']}: {printable(row['why'])}"


def _section(title: str, lines: Iterator[str]) -> Iterator[RenderableType]:
    texts = [Text(f"– {line}", overflow="fold") for line in lines]
    if texts:
        yield Text(f"\n{title}", style=_HEADER)
        yield from texts


def _span(interval: Sequence[float], write: NumberFormat) -> str:
    low, high = interval
    return format_range(low, high, write)


def _title(metric: str) -> str:
    return _TITLES.get(metric, METRIC[metric].title)


def _share(share: float) -> str:
    return format_percent(round(100 * share))


def _grid(*names: str) -> Table:
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style=_HEADER)
    for name in names:
        table.add_column(Text(name), overflow="fold")
    return table
