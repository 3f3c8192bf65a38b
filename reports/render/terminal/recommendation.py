"""A recommendation as text: for people at a terminal, as a fragment of properties, as JSON for scripts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from reports.analysis.formatting import NumberFormat, format_number, format_percent, format_range
from reports.analysis.metrics import METRIC
from reports.analysis.recommendation import MetricChange, Recommendation, SettingChange, record
from reports.analysis.text import printable
from reports.render.terminal.console import BAD, GOOD, HEADER, QUIET, grid, lines

FORMATS: Final = ("table", "json", "properties")
"""What `render` can make."""

_UNSET: Final = "not set"
_REMOVED: Final = "remove"
_TITLES: Final = {"cross_rack_usd": "Cross-rack cost, whole run"}


def render(found: Recommendation, format: str = "table", *, width: int | None = None, color: bool | None = None) -> str:
    """Write a recommendation as text that ends in a line end.

    Args:
        found: what to write.
        format: one of `FORMATS`; `properties` is what to put into the application's configuration, and nothing else
            but comments.
        width: columns of the terminal; found out if None. Matters for `table` only.
        color: whether to write the codes for colours; found out if None.

    Raises:
        ValueError: an unknown format.
    """
    match format:
        case "table":
            return lines(_parts(found), width, color=color)
        case "json":
            return json.dumps(record(found), indent=2, ensure_ascii=False) + "\n"
        case "properties":
            return properties(found)
    raise ValueError(f"{format!r} is not a format (formats: {', '.join(FORMATS)})")


def properties(found: Recommendation) -> str:
    """What to put into the application's properties; what stands elsewhere, and what there is to say, as comments."""
    about = [f"{found.scenario}: {_verdict(found)}", f"objective: {found.objective}", *_limits(found)]
    if found.gain is not None and found.changes:
        about.append(f"gain: {_gain(found.gain)}")
    about += [f"WARNING: {warning}" for warning in found.warnings]
    parts = ["".join(f"# {printable(line)}\n" for line in about)]
    parts += ["".join(_property(change)) for change in found.changes]
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


def _verdict(found: Recommendation) -> str:
    match found.verdict:
        case "recommended":
            keys = len(found.changes)
            return f"{keys} key{'' if keys == 1 else 's'} to set, against today's ({found.today})"
        case "already_best":
            return f"today's settings ({found.today}) are the best that were found; nothing to change"
        case "none_feasible":
            return "no setting that was tried is acceptable"


def _limits(found: Recommendation) -> list[str]:
    return [f"in every run: {', '.join(found.limits)}"] if found.limits else []


def _gain(gain: MetricChange) -> str:
    if gain.before is None or gain.after is None or gain.difference is None:
        return "not known: today's runs have no such figure"
    share = "" if gain.relative is None else f", {_signed(100 * gain.relative, format_percent)}"
    span = "" if gain.interval is None else f" (95 % interval: {_span(gain.interval, format_number)})"
    values = " → ".join(_signed(value, format_number, plus="") for value in (gain.before, gain.after))
    return f"{values}, {_signed(gain.difference, format_number)}{span}{share}, over {gain.pairs} fresh seeds"


def _parts(found: Recommendation) -> Iterator[RenderableType]:
    heading = Text(printable(found.scenario), style=HEADER)
    heading.append(f"  ({found.settings:,} settings tried, {found.runs:,} runs)", style=QUIET)
    yield heading
    yield Text(f"objective: {printable(found.objective)}")
    yield from (Text(line) for line in _limits(found))
    verdict = printable(_verdict(found))
    yield Text(f"\n{verdict[0].upper()}{verdict[1:]}.", style=BAD if found.verdict == "none_feasible" else GOOD)
    yield from (Text(f"WARNING: {printable(warning)}", style=BAD) for warning in found.warnings)
    if found.changes:
        yield Text()
        yield _changes(found)
    if found.gain is not None:
        title = "Gain" if found.changes else "The best other setting"
        yield Text(f"\n{title}: ", style=HEADER).append(printable(_gain(found.gain)), style="")
        yield Text("\nWhat it costs, and what it saves" if found.changes else "\nIts figures", style=HEADER)
        yield _figures(found)
    for remark in found.remarks:
        yield Text(f"– {printable(remark)}")
    if found.changes:
        yield Text("\nFor the application's properties", style=HEADER)
        yield Text("".join("".join(_property(change)) for change in found.changes).rstrip("\n"), overflow="fold")


def _changes(found: Recommendation) -> Table:
    table = grid()
    table.padding = (0, 1)
    for header in ("key", "today", "recommended"):
        table.add_column(Text(header), overflow="fold")
    for change in found.changes:
        before = _UNSET if change.before is None else printable(change.before)
        after = _REMOVED if change.after is None else printable(change.after)
        table.add_row(Text(printable(change.key)), Text(before), Text(after, style=GOOD))
    return table


def _figures(found: Recommendation) -> Table:
    """Means before and after, and the difference, each with its interval below."""
    table = grid()
    table.padding = (0, 1)
    table.add_column(Text("mean, below it 95 %"))
    for header in ("today", "recommended" if found.changes else "other", "difference"):
        table.add_column(Text(header), justify="right", no_wrap=True)
    table.add_column(Text(""))
    for figure in found.figures:
        if figure.name is None or figure.before is None or figure.after is None or figure.difference is None:
            continue
        metric = METRIC[figure.name]
        difference = _signed(figure.difference, metric.write) if figure.difference else "–"
        said = {-1: "less", 0: "", 1: "more"}[figure.direction]
        table.add_row(
            Text(_TITLES.get(figure.name, metric.title)),
            _with_interval(metric.write(figure.before), figure.before_interval, metric.write),
            _with_interval(metric.write(figure.after), figure.after_interval, metric.write),
            _with_interval(difference, figure.interval, metric.write),
            Text(said, style={-1: GOOD, 0: "", 1: BAD}[figure.direction]),
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
