"""The texts of a checkup that all its forms share."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final

from reports.analysis.checkup.area import FAILED, Area
from reports.analysis.checkup.report import CheckupReport, GradedArea, ReportCard, SituationFigures
from reports.analysis.metrics import METRIC
from reports.analysis.recommendation import MetricChange, SettingChange

GAIN_HEADERS: Final = ("figure", "now", "then", "difference", "95 % CI")
SITUATION_HEADERS: Final = ("situation and figure", "now", "then", "difference", "95 % CI")
LIMIT_HEADERS: Final = ("area", "figure", "A up to", "B", "C", "D")
UNKNOWN: Final = "–"


def title(report: CheckupReport) -> str:
    """Return the application and its size."""
    return f"{report.application}: {report.size}"


def method(report: CheckupReport) -> str:
    """Return how the figures were found."""
    return (
        f"{report.runs:,} simulated runs of {len(report.situations)} situations with {len(report.cards)} settings; "
        f"grades are means over {report.today.seeds} seeds"
    )


def answer(report: CheckupReport) -> str:
    """Return the answer in one sentence."""
    if report.recommended is None:
        return "Keep the current setting: no setting that was tried is better without a worse grade."
    better = [
        f"{old.definition.title} {old.grade} → {new.grade}"
        for old, new in zip(report.today.areas, report.recommended.areas, strict=True)
        if old.grade != new.grade
    ]
    changed = ", ".join(better) or "no other grade, but significantly better figures"
    return f"Change {len(report.changes)} setting{'' if len(report.changes) == 1 else 's'}: {changed}."


def card_rows(today: ReportCard, recommended: ReportCard | None) -> Iterator[tuple[str, ...]]:
    """Yield a row per area: title, grade and value now, grade and value as recommended, and the figure."""
    after = today if recommended is None else recommended
    for before, new in zip(today.areas, after.areas, strict=True):
        area = before.definition
        changed = (new.grade or UNKNOWN, _text(new)) if recommended is not None else ("", "")
        yield (area.title, before.grade or UNKNOWN, _text(before), *changed, area.figure)


def unknown_areas(today: ReportCard) -> Iterator[str]:
    """Yield why areas are not graded."""
    for graded in today.areas:
        if graded.grade is None:
            yield f"{graded.definition.title} is not graded: {graded.definition.unknown}."


def setting_headers(report: CheckupReport) -> tuple[str, ...]:
    """Return the headers of `setting_rows`."""
    return ("setting", *(area.title for area in report.areas))


def setting_rows(report: CheckupReport) -> Iterator[tuple[str, ...]]:
    """Yield a row for each setting that was tried, the best first: its changes, and the grade in each area."""
    for card in report.cards:
        remark = " (migration)" if card.is_migration else " (screened)" if card.is_partial else ""
        yield (f"{card.setting}{remark}", *(_graded(graded) for graded in card.areas))


def gain_rows(report: CheckupReport) -> Iterator[tuple[str, ...]]:
    """Yield a row for each graded area: figure, before, after, difference and interval."""
    for gain in report.gains:
        area = report.area(str(gain.name))
        yield (area.figure, *_changed(gain, area.text))


def situation_rows(report: CheckupReport) -> Iterator[tuple[str, ...]]:
    """Yield a row for each metric of each situation."""
    for situation in report.situations:
        for figure in situation.figures:
            metric = METRIC[str(figure.name)]
            yield (f"{situation.title}: {metric.title}", *_changed(figure, metric.write))


def worse_lines(report: CheckupReport) -> Iterator[str]:
    """Yield the metrics that the recommended setting makes significantly worse, those that grow most first.

    Of each metric, the situation counts in which it grows most.
    """
    worst: dict[str, tuple[float, str]] = {}
    for situation in report.situations:
        for figure in situation.figures:
            metric = METRIC[str(figure.name)]
            if figure.direction <= 0 or not metric.lower_is_better or figure.before is None or figure.after is None:
                continue
            growth = figure.after / figure.before if figure.before else math.inf
            values = f"{metric.write(figure.before)} → {metric.write(figure.after)}"
            line = f"{metric.title}: {values} ({_lower(situation)})"
            worst[metric.name] = max(worst.get(metric.name, (0.0, "")), (growth, line))
    yield from (line for _, line in sorted(worst.values(), reverse=True))


def change_lines(changes: tuple[SettingChange, ...]) -> Iterator[str]:
    """Yield the changes of properties as lines of a diff; changes elsewhere are comments."""
    for change in changes:
        if not change.is_property:
            yield f"# {change.key}: {change.after}"
        else:
            if change.before is not None:
                yield f"-{change.key}={change.before}"
            if change.after is not None:
                yield f"+{change.key}={change.after}"
        yield from (f"#   {note}" for note in change.notes)


def limit_rows(areas: Sequence[Area]) -> Iterator[tuple[str, ...]]:
    """Yield the limits of the grades of each area."""
    for area in areas:
        yield (area.title, area.figure, *(area.write(limit) for limit in area.limits))


def _lower(situation: SituationFigures) -> str:
    return situation.title[0].lower() + situation.title[1:]


def _text(graded: GradedArea) -> str:
    return UNKNOWN if graded.grade is None else graded.text


def _graded(graded: GradedArea) -> str:
    return UNKNOWN if graded.grade is None else f"{graded.grade} {graded.text}"


def _changed(change: MetricChange, write: object) -> tuple[str, str, str, str]:
    """Return the values before and after, the difference with its sign, and the interval."""
    assert callable(write)
    if change.before is None or change.after is None or change.difference is None:
        return UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN
    values = str(write(change.before)), str(write(change.after))
    if FAILED in (change.before, change.after):
        return *values, UNKNOWN, UNKNOWN
    interval = UNKNOWN
    if change.interval is not None:
        interval = " to ".join(_signed(value, write) for value in change.interval)
    return *values, _signed(change.difference, write), interval


def _signed(value: float, write: object) -> str:
    assert callable(write)
    sign = "−" if value < 0 else "+" if value > 0 else ""
    return f"{sign}{write(abs(value))}"
