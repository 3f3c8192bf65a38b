"""The report of a recommendation, and its Java properties."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from reports.analysis.cells import Cell
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
from reports.document import (
    Block,
    CodeLines,
    Emphasis,
    Paragraph,
    Points,
    Report,
    ReportColumn,
    ReportRow,
    ReportSection,
    ReportTable,
    records_table,
)
from reports.render.report_formats import render_report
from simulator.plurals import counted

_UNSET: Final = "not set"
_REMOVED: Final = "remove"


def render(
    recommendation: Recommendation, format: str = "table", *, width: int | None = None, color: bool | None = None
) -> str:
    """Render a recommendation as text that ends with a newline.

    `format`: one of `reports.render.report_formats.FORMATS`, or `properties` for the configuration of the application;
    `csv` has the metrics before and after. `width`: columns of the terminal; detected by default. Used for `table`
    only. Raises ValueError if the format is unknown.
    """
    if format == "properties":
        return properties(recommendation)
    report = recommendation_report(recommendation)
    return render_report(report, lambda: record(recommendation), format, width, color=color)


def recommendation_report(recommendation: Recommendation) -> Report:
    """Return the report of a recommendation; CSV has the metrics before and after."""
    verdict, is_change = _verdict(recommendation), bool(recommendation.changes)
    emphasis: Emphasis = "bad" if recommendation.verdict == "none_feasible" else "good"
    effort = f"{recommendation.settings:,} settings evaluated, {recommendation.runs:,} runs"
    gain = recommendation.gain
    answer: list[Block] = [
        _records(recommendation),
        Points([f"objective: {recommendation.objective}", *_limits(recommendation), effort], "note"),
        Paragraph(f"{verdict[0].upper()}{verdict[1:]}.", emphasis),
        _changes(recommendation),
        Paragraph("" if gain is None else f"{'Gain' if is_change else 'Best alternative'}: {_gain(gain)}"),
    ]
    # A block of code in Markdown could end within a value.
    lines = [line for change in recommendation.changes for line in _property(change)]
    fragment = [CodeLines(lines, "properties", only=("terminal",))] if lines else []
    option = ("The properties as a file, to review and deploy:", "--format properties -o streams.properties")
    figures: list[Block] = [_figures(recommendation), Points(recommendation.remarks)]
    sections = [
        ReportSection("answer", "", answer, leads=True),
        ReportSection("figures", "Effect on other metrics" if is_change else "Its metrics", figures),
        ReportSection("properties", "Application properties", fragment),
        ReportSection("conclusion", "Conclusion", [Points(conclude_recommendation(recommendation))]),
        ReportSection("next", "Try next", [Points([option] if is_change else [], only=("terminal",))]),
    ]
    return Report(recommendation.scenario, sections)


def _changes(recommendation: Recommendation) -> ReportTable:
    columns = [ReportColumn(title, title) for title in ("config", "current", "recommended")]
    rows: list[ReportRow] = []
    for change in recommendation.changes:
        after = Cell(_REMOVED if change.after is None else change.after, emphasis="good")
        rows.append([change.key, _UNSET if change.before is None else change.before, after])
    return ReportTable("changes", columns, rows, only=("terminal", "markdown"))


def _records(recommendation: Recommendation) -> ReportTable:
    gains = () if recommendation.gain is None else (recommendation.gain,)
    records = [
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
    keys = ("metric", "before", "after", "difference", "low", "high")
    return records_table("figures", {key: key for key in keys}, records)


def _figures(recommendation: Recommendation) -> ReportTable:
    """Return means before and after, and differences, with intervals as notes."""
    titles = ("current", "recommended" if recommendation.changes else "alternative", "difference")
    columns = [
        ReportColumn("metric", "mean (95 % CI)", header="mean (95 % CI below)"),
        *(ReportColumn(title, title, is_number=True) for title in titles),
        ReportColumn("direction", ""),
    ]
    rows: list[ReportRow] = []
    for change in recommendation.figures:
        if change.name is None or change.before is None or change.after is None or change.difference is None:
            continue
        metric = METRIC[change.name]
        difference = _signed(change.difference, metric.write) if change.difference else "–"
        direction = {-1: Cell("lower", emphasis="good"), 0: Cell(""), 1: Cell("higher", emphasis="bad")}
        rows.append(
            [
                metric.title,
                Cell(metric.write(change.before), _spans(change.before_interval, metric.write)),
                Cell(metric.write(change.after), _spans(change.after_interval, metric.write)),
                Cell(difference, _spans(change.interval, metric.write)),
                direction[change.direction],
            ]
        )
    return ReportTable("effects", columns, rows, has_notes=True, only=("terminal", "markdown"))


def _spans(interval: tuple[float, float] | None, write: NumberFormat) -> tuple[str, ...]:
    return () if interval is None or interval[0] == interval[1] else (_span(interval, write),)


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
    parts += ["".join(f"{line}\n" for line in _property(change)) for change in recommendation.changes]
    return "\n".join(parts)


def _property(change: SettingChange) -> Iterator[str]:
    was = _UNSET if change.before is None else change.before
    yield from (f"# {printable(note)}" for note in change.notes)
    if change.after is None:
        yield printable(f"# {change.key}: {_REMOVED} (was: {was})")
    elif not change.is_property:
        yield printable(f"# {change.key}={change.after} (was: {was})")
    else:
        yield printable(f"# was: {was}")
        yield f"{change.key}={change.after}"


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


def _span(interval: tuple[float, float], write: NumberFormat) -> str:
    low, high = interval
    if low >= 0:
        return format_range(low, high, write)
    return f"{_signed(low, write)} to {_signed(high, write)}"


def _signed(value: float, write: NumberFormat, plus: str = "+") -> str:
    return f"{'−' if value < 0 else plus}{write(abs(value))}"
