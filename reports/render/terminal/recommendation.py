"""A recommendation as text for terminals, as Java properties and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from reports.analysis.formatting import NumberFormat, format_number, format_percent, format_range
from reports.analysis.metrics import METRIC
from reports.analysis.recommendation import (
    MetricChange,
    Recommendation,
    SettingChange,
    conclude_recommendation,
    record,
)
from reports.analysis.text import printable
from reports.render.terminal.conclusion import point
from reports.render.terminal.console import BAD, GOOD, HEADER, QUIET, grid, lines
from reports.render.terminal.facts import FactTable
from reports.render.terminal.facts import render as render_tables
from simulator.plurals import counted

FORMATS: Final = ("table", "json", "csv", "markdown", "properties")
"""Formats of `render`."""

_UNSET: Final = "not set"
_REMOVED: Final = "remove"


def render(
    recommendation: Recommendation, format: str = "table", *, width: int | None = None, color: bool | None = None
) -> str:
    """Render a recommendation as text that ends with a newline.

    `format`: one of `FORMATS`; `properties` is for the configuration of the application; `csv` has the metrics before
    and after. `width`: columns of the terminal; detected by default. Used for `table` only. Raises ValueError if the
    format is unknown.
    """
    match format:
        case "table":
            return lines(_parts(recommendation), width, color=color)
        case "json":
            return json.dumps(record(recommendation), indent=2, ensure_ascii=False) + "\n"
        case "csv":
            return render_tables([_figure_table(recommendation)], "csv")
        case "markdown":
            return render_tables([_change_table(recommendation), _figure_table(recommendation)], "markdown")
        case "properties":
            return properties(recommendation)
    raise ValueError(f"{format!r} is not a format (formats: {', '.join(FORMATS)})")


def _change_table(recommendation: Recommendation) -> FactTable:
    rows = [
        {
            "config": change.key,
            "current": _UNSET if change.before is None else change.before,
            "recommended": _REMOVED if change.after is None else change.after,
        }
        for change in recommendation.changes
    ]
    verdict = _verdict(recommendation)
    title = f"{recommendation.scenario}: {verdict}"
    columns = {key: key for key in ("config", "current", "recommended")}
    return FactTable("changes", title, columns, rows, note=" ".join(conclude_recommendation(recommendation)))


def _figure_table(recommendation: Recommendation) -> FactTable:
    columns = {
        "metric": "metric",
        "before": "current (mean)",
        "after": "recommended (mean)" if recommendation.changes else "alternative (mean)",
        "difference": "difference",
        "low": "95 % CI from",
        "high": "to",
    }
    gains = () if recommendation.gain is None else (recommendation.gain,)
    rows = [
        {
            "metric": "objective" if change.name is None else change.name,
            "before": change.before,
            "after": change.after,
            "difference": change.difference,
            "low": None if change.interval is None else change.interval[0],
            "high": None if change.interval is None else change.interval[1],
        }
        for change in (*gains, *recommendation.figures)
    ]
    return FactTable("figures", "Metrics", columns, rows)


def properties(recommendation: Recommendation) -> str:
    """Return the properties of the application; changes elsewhere, and remarks, are comments."""
    about = [
        f"{recommendation.scenario}: {_verdict(recommendation)}",
        f"objective: {recommendation.objective}",
        *_limits(recommendation),
    ]
    if recommendation.gain is not None and recommendation.changes:
        about.append(f"gain: {_gain(recommendation.gain)}")
    about += [f"WARNING: {warning}" for warning in recommendation.warnings]
    parts = ["".join(f"# {printable(line)}\n" for line in about)]
    parts += ["".join(_property(change)) for change in recommendation.changes]
    return "\n".join(parts)


def _property(change: SettingChange) -> Iterator[str]:
    was = _UNSET if change.before is None else change.before
    yield from (f"# {printable(note)}\n" for note in change.notes)
    if change.after is None:
        yield printable(f"# {change.key}: {_REMOVED} (was: {was})") + "\n"
    elif not change.is_property:
        yield printable(f"# {change.key}={change.after} (was: {was})") + "\n"
    else:
        yield printable(f"# was: {was}") + f"\n{change.key}={change.after}\n"


def _verdict(recommendation: Recommendation) -> str:
    match recommendation.verdict:
        case "recommended":
            changes = counted(len(recommendation.changes), "config change")
            return f"{changes}, compared with the current setting ({recommendation.today})"
        case "already_best":
            return f"no better setting found than the current one ({recommendation.today})"
        case "none_feasible":
            return "no evaluated setting is feasible"


def _limits(recommendation: Recommendation) -> list[str]:
    return [f"in every run: {', '.join(recommendation.limits)}"] if recommendation.limits else []


def _gain(gain: MetricChange) -> str:
    if gain.before is None or gain.after is None or gain.difference is None:
        return "unknown: the current runs have no value"
    share = "" if gain.relative is None else f", {_signed(100 * gain.relative, format_percent)}"
    span = "" if gain.interval is None else f" (95 % CI: {_span(gain.interval, format_number)})"
    values = " → ".join(_signed(value, format_number, plus="") for value in (gain.before, gain.after))
    return f"{values}, {_signed(gain.difference, format_number)}{span}{share}, over {gain.pairs} fresh seeds"


def _parts(recommendation: Recommendation) -> Iterator[RenderableType]:
    heading = Text(printable(recommendation.scenario), style=HEADER)
    heading.append(f"  ({recommendation.settings:,} settings evaluated, {recommendation.runs:,} runs)", style=QUIET)
    yield heading
    yield Text(f"objective: {printable(recommendation.objective)}")
    yield from (Text(printable(line)) for line in _limits(recommendation))
    verdict = printable(_verdict(recommendation))
    yield Text(
        f"\n{verdict[0].upper()}{verdict[1:]}.", style=BAD if recommendation.verdict == "none_feasible" else GOOD
    )
    if recommendation.changes:
        yield Text()
        yield _changes(recommendation)
    if recommendation.gain is not None:
        title = "Gain" if recommendation.changes else "Best alternative"
        yield Text(f"\n{title}: ", style=HEADER).append(printable(_gain(recommendation.gain)), style="")
        yield Text("\nEffect on other metrics" if recommendation.changes else "\nIts metrics", style=HEADER)
        yield _figures(recommendation)
    for remark in recommendation.remarks:
        yield Text(f"– {printable(remark)}")
    if recommendation.changes:
        yield Text("\nApplication properties", style=HEADER)
        yield Text(
            "".join("".join(_property(change)) for change in recommendation.changes).rstrip("\n"), overflow="fold"
        )
    yield Text("\nConclusion", style=HEADER)
    yield from map(point, conclude_recommendation(recommendation))
    if recommendation.changes:
        yield Text("Try next", style=HEADER)
        yield point("The properties as a file, to review and deploy:")
        yield Text("  --format properties -o streams.properties", no_wrap=True, overflow="ignore")


def _changes(recommendation: Recommendation) -> Table:
    table = grid()
    table.padding = (0, 1)
    for header in ("config", "current", "recommended"):
        table.add_column(Text(header), overflow="fold")
    for change in recommendation.changes:
        before = _UNSET if change.before is None else printable(change.before)
        after = _REMOVED if change.after is None else printable(change.after)
        table.add_row(Text(printable(change.key)), Text(before), Text(after, style=GOOD))
    return table


def _figures(recommendation: Recommendation) -> Table:
    """Return a table of means before and after, and of differences, with intervals below."""
    table = grid()
    table.padding = (0, 1)
    table.add_column(Text("mean (95 % CI below)"))
    for header in ("current", "recommended" if recommendation.changes else "alternative", "difference"):
        table.add_column(Text(header), justify="right", no_wrap=True)
    table.add_column(Text(""))
    for change in recommendation.figures:
        if change.name is None or change.before is None or change.after is None or change.difference is None:
            continue
        metric = METRIC[change.name]
        difference = _signed(change.difference, metric.write) if change.difference else "–"
        direction = {-1: "lower", 0: "", 1: "higher"}[change.direction]
        table.add_row(
            Text(metric.title),
            _with_interval(metric.write(change.before), change.before_interval, metric.write),
            _with_interval(metric.write(change.after), change.after_interval, metric.write),
            _with_interval(difference, change.interval, metric.write),
            Text(direction, style={-1: GOOD, 0: "", 1: BAD}[change.direction]),
        )
    return table


def _with_interval(text: str, interval: tuple[float, float] | None, write: NumberFormat) -> Text:
    if interval is None or interval[0] == interval[1]:
        return Text(text)
    return Text(text).append(f"\n{_span(interval, write)}", style=QUIET)


def _span(interval: tuple[float, float], write: NumberFormat) -> str:
    low, high = interval
    if low >= 0:
        return format_range(low, high, write)
    return f"{_signed(low, write)} to {_signed(high, write)}"


def _signed(value: float, write: NumberFormat, plus: str = "+") -> str:
    return f"{'−' if value < 0 else plus}{write(abs(value))}"
