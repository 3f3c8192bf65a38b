"""The summary of a sweep as text: Pareto front, best setting per objective, and influential factors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from reports.analysis.formatting import NumberFormat, format_percent, format_range
from reports.analysis.metrics import METRIC
from reports.analysis.sweeps.conclusion import conclude_sweeps
from reports.analysis.text import printable
from reports.render.terminal.conclusion import conclusion_parts, point
from reports.render.terminal.console import GOOD, HEADER, QUIET, lines, terminal_width
from reports.render.terminal.facts import FactTable

MAX_SHOWN = 20
"""Maximum number of rows of a front."""

Json = Mapping[str, Any]

_HEADERS = {
    "cross_rack_usd_per_day": "cross-rack\ncost per day",
    "cross_rack_bytes_per_s": "cross-rack\ntraffic",
    "active_moves": "active\nmoves",
    "downtime_ms": "total\ndowntime",
    "time_to_converge_ms": "time to\nconverge",
}
"""Short forms of the metric titles for narrow columns."""

_MIN_SHARE = 0.01
"""Minimum share of a factor that is listed."""

_WIDE = 100
"""Minimum width of a terminal for intervals."""


def draw(
    summary: Json, width: int | None = None, *, expectations: Sequence[str] = (), color: bool | None = None
) -> str:
    """Draw the most important parts of a summary, and last its conclusion.

    `summary`: the `summary.json` of an aggregate; `expectations`: a line per expectation of the scenario.
    """
    return lines(_parts(summary, expectations, is_wide=terminal_width(width) >= _WIDE), width, color=color)


def tables(summary: Json) -> list[FactTable]:
    """Return the front, the influential factors and the differences from the baseline as tables."""
    found = sorted(
        {name for scenario in summary["scenarios"] for name in scenario["objectives"]}, key=list(METRIC).index
    )
    cell = {"scenario": "scenario", "sweep": "sweep", "assignor": "assignor", "label": "setting"}
    figures = {
        key: text
        for name in found
        for key, text in (
            (name, name),
            (f"{name}_low", "95 % CI from"),
            (f"{name}_high", "to"),
        )
    }
    front = [
        {"scenario": scenario["scenario"], **point, **_flat(point)}
        for scenario in summary["scenarios"]
        for point in scenario["front"]
    ]
    factors = [
        {**row, **factor} for row in _of_objectives(summary, summary["sensitivity"]) for factor in row["factors"]
    ]
    against = list(_of_objectives(summary, summary["against_baseline"]))
    return [
        FactTable(
            "front", "Pareto-optimal combinations", {**cell, "runs": "runs", **figures, "best_of": "lowest in"}, front
        ),
        FactTable("sensitivity", "Influential factors", _keys("sweep", "metric", "factor", "share"), factors),
        FactTable(
            "against_baseline",
            "Significant differences from the baseline",
            _keys("sweep", "assignor", "baseline", "metric", "settings", "less", "more"),
            against,
        ),
    ]


def _keys(*names: str) -> dict[str, str]:
    return dict(zip(names, names, strict=True))


def _flat(point: Json) -> dict[str, float | None]:
    """Return means and ends of intervals by key."""
    flat = dict(point["means"])
    for name, interval in point["intervals"].items():
        flat[f"{name}_low"], flat[f"{name}_high"] = (None, None) if interval is None else interval
    return flat


def _parts(summary: Json, expectations: Sequence[str], *, is_wide: bool) -> Iterator[RenderableType]:
    several = len(summary["sweeps"]) > 1
    for number, scenario in enumerate(summary["scenarios"]):
        if number:
            yield Text()
        yield from _scenario(scenario, several, is_wide=is_wide)
    yield from _section(
        "Most influential factors (share of the variance explained by the factor alone)", _influential_factors(summary)
    )
    yield from _section(
        "Significant differences from the baseline (paired by seed, 95 % CI)", _significant_differences(summary)
    )
    yield from _section("Left out", _left_out(summary))
    yield from _section("Expectations", expectations)
    yield Text()
    yield from conclusion_parts(conclude_sweeps(summary))


def _scenario(scenario: Json, several: bool, *, is_wide: bool) -> Iterator[RenderableType]:
    heading = Text(printable(scenario["scenario"]), style=HEADER)
    considered, on_front = scenario["cells_considered"], scenario["cells_on_front"]
    figures = "mean, 95 % CI below" if is_wide else "mean"
    of_all = f"{on_front} of {considered} combinations are Pareto-optimal ({figures})"
    heading.append(f"  {of_all}", style=QUIET)
    yield heading
    if not considered:
        yield Text("No setting where all runs produced an assignment.")
        return
    table, num_shown = _front(scenario, several, is_wide=is_wide)
    yield table
    if num_shown < on_front:
        yield Text(f"… and {on_front - num_shown} more in the table front.", style=QUIET)
    yield Text(
        "*: lowest. Pareto-optimal: no other combination is at least as good everywhere and better somewhere.",
        style=QUIET,
    )
    yield Text("\nBest combination per objective", style=HEADER)
    yield _best(scenario, several)


def _front(scenario: Json, several: bool, *, is_wide: bool) -> tuple[Table, int]:
    """Return the table and the number of cells in it; cells with equal means share a row."""
    table = _grid("assignor", "setting")
    for name in scenario["objectives"]:
        table.add_column(Text(_HEADERS[name]), justify="right", no_wrap=True)
    cells_by_means: dict[tuple[float | None, ...], list[Json]] = {}
    for cell in scenario["front"]:
        cells_by_means.setdefault(tuple(cell["means"][name] for name in scenario["objectives"]), []).append(cell)
    for cells in list(cells_by_means.values())[:MAX_SHOWN]:
        cell, others = cells[0], len(cells) - 1
        location = _setting(cell, several) + (f" (and {others} more with equal means)" if others else "")
        figures = (_figure(cell, name, with_interval=is_wide) for name in scenario["objectives"])
        table.add_row(printable(cell["assignor"]), location, *figures)
    return table, sum(map(len, list(cells_by_means.values())[:MAX_SHOWN]))


def _figure(cell: Json, name: str, *, with_interval: bool) -> Text:
    """Return a mean with a star if it is the lowest, and its interval below if there is room."""
    mean, interval, metric = cell["means"][name], cell["intervals"][name], METRIC[name]
    if mean is None:
        return Text(f"{_share(cell['stable'])} stable " if name == "time_to_converge_ms" else "n/a ")
    best = name in cell["best_of"]
    text = Text(metric.write(mean), style=GOOD if best else "")
    text.append("*" if best else " ")
    if with_interval and interval is not None and interval[0] != interval[1]:
        text.append(f"\n{_span(interval, metric.write)} ", style=QUIET)
    return text


def _best(scenario: Json, several: bool) -> Table:
    table = _grid("objective", "assignor", "setting")
    table.add_column(Text("mean"), justify="right", no_wrap=True)
    table.add_column(Text("95 % CI"), no_wrap=True)
    for best in scenario["best"]:
        metric, interval, equal_cells = METRIC[best["objective"]], best["interval"], best["others_equal"]
        location = _setting(best, several) + (f" (and {equal_cells} more with equal mean)" if equal_cells else "")
        span = "" if interval is None else _span(interval, metric.write)
        table.add_row(
            _title(best["objective"]), printable(best["assignor"]), location, metric.write(best["mean"]), span
        )
    return table


def _setting(cell: Json, several: bool) -> str:
    label = printable(cell["label"])
    return f"{printable(cell['sweep'])}: {label}" if several else label


def _influential_factors(summary: Json) -> Iterator[str]:
    several = len(summary["sweeps"]) > 1
    for row in _of_objectives(summary, summary["sensitivity"]):
        factors = [
            f"{printable(factor['factor'])} {_share(factor['share'])}"
            for factor in row["factors"]
            if factor["share"] >= _MIN_SHARE
        ]
        sweep = f"{printable(row['sweep'])}: " if several else ""
        if factors:
            yield f"{sweep}{_title(row['metric'])}: {', '.join(factors)}"


def _significant_differences(summary: Json) -> Iterator[str]:
    several = len(summary["sweeps"]) > 1
    findings: dict[tuple[str, str, str], list[str]] = {}
    for row in _of_objectives(summary, summary["against_baseline"]):
        counts = [
            f"{word} in {row[key]} of {row['settings']} settings"
            for key, word in (("less", "lower"), ("more", "higher"))
            if row[key]
        ]
        assignor_findings = findings.setdefault((row["sweep"], row["assignor"], row["baseline"]), [])
        if counts:
            assignor_findings.append(f"{_title(row['metric'])} {', '.join(counts)}")
    for (sweep, assignor, baseline), assignor_findings in findings.items():
        prefix = f"{printable(sweep)}: " if several else ""
        text = "; ".join(assignor_findings) or "no significant difference"
        yield f"{prefix}{printable(assignor)} vs. {printable(baseline)}: {text}"


def _of_objectives(summary: Json, rows: Sequence[Json]) -> Iterator[Json]:
    """Yield the rows about the objectives of each sweep, by sweep and objective."""
    objectives = {scenario["scenario"]: scenario["objectives"] for scenario in summary["scenarios"]}
    for sweep in summary["sweeps"]:
        for name in objectives[sweep["scenario"]]:
            yield from (row for row in rows if (row["sweep"], row["metric"]) == (sweep["sweep"], name))


def _left_out(summary: Json) -> Iterator[str]:
    for row in summary["left_out"]:
        where = printable(row.get("sweep") or row["scenario"])
        what = row["what"].removesuffix("s") if row["number"] == 1 else row["what"]
        yield f"{where}: {row['number']:,} {what}: {printable(row['why'])}"


def _section(title: str, texts: Iterable[str]) -> Iterator[RenderableType]:
    points = [point(text) for text in texts]
    if points:
        yield Text(f"\n{title}", style=HEADER)
        yield from points


def _span(interval: Sequence[float], write: NumberFormat) -> str:
    low, high = interval
    return format_range(low, high, write)


def _title(metric: str) -> str:
    return METRIC[metric].title


def _share(share: float) -> str:
    return format_percent(round(100 * share))


def _grid(*names: str) -> Table:
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style=HEADER)
    for name in names:
        table.add_column(Text(name), overflow="fold")
    return table
