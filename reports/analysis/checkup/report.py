"""The result of a checkup: report cards of settings, findings with evidence, the recommended changes and their rollout.

A stored checkup (`checkup.lock`) is compared with a new one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Literal

import numpy as np

from reports.analysis.checkup.areas import GRADES, Area, SituationRun, area_figure, worst_situation
from reports.analysis.metrics import METRIC, least_relevant
from reports.analysis.recommendation import MetricChange, SettingChange, metric_changes
from simulator.results.schema_checks import StoredRecord, check_kind, check_record

SeedRuns = Sequence[Mapping[str, SituationRun]]
"""The runs of a setting: for each seed, one run per situation."""

NOTICEABLE: Final = 0.25
"""Smallest difference of positions that counts."""

CheckupSubject = Literal["application", "consumer group"]
"""What is checked: an application of Kafka Streams, or a consumer group."""

CheckupVerdict = Literal["recommended", "already_best", "out_of_time"]
"""Whether to change the setting; `out_of_time`: no better one was found before the time was over."""


@dataclass(frozen=True, slots=True)
class GradedArea:
    """The grade of a setting in an area.

    Attributes:
        grade: from A to F; None if the figure is unknown.
        value: mean of the figure over the seeds, in the unit of the area; None if it is unknown.
        worst: the highest value.
        situation: key of the situation with the highest figure; None if it is unknown.
    """

    definition: Area
    grade: str | None
    value: float | None
    worst: float | None
    situation: str | None

    @property
    def area(self) -> str:
        """Key of the area."""
        return self.definition.key

    @property
    def position(self) -> float:
        """Where the figure lies between the limits: 0 is best, 5 is worst; 0 if it is unknown."""
        return 0.0 if self.value is None else self.definition.position(self.value)

    @property
    def text(self) -> str:
        """The figure with its unit."""
        return "unknown" if self.value is None else self.definition.text(self.value)


@dataclass(frozen=True, slots=True)
class ReportCard:
    """The grades of a setting.

    Attributes:
        setting: its changes, in one line; `current` for the current one.
        is_migration: whether the setting needs another group protocol.
        is_partial: whether it was run in some situations only, so that its figures may be too low.
    """

    setting: str
    seeds: int
    areas: tuple[GradedArea, ...]
    is_migration: bool = False
    is_partial: bool = False

    @property
    def total(self) -> float:
        """The sum of the positions in all areas: lower is better."""
        return sum(graded.position for graded in self.areas)

    def is_worse_than(self, other: ReportCard) -> bool:
        """Return whether an area has a worse grade than in another report card, and not only just.

        A figure that crosses a limit by a small step, as from 59 s to 61 s, does not count.
        """
        return any(
            worse_grade(before.grade, after.grade) and after.position - before.position >= NOTICEABLE
            for before, after in zip(other.areas, self.areas, strict=True)
        )

    def graded(self, key: str) -> GradedArea:
        """Return the grade in an area."""
        return next(graded for graded in self.areas if graded.area == key)


@dataclass(frozen=True, slots=True)
class CheckupFinding:
    """What is wrong, the figures that show it, and what helps.

    Attributes:
        area: key of the area.
        title: the finding.
        evidence: the figures.
        remedy: what helps, with the figure that it leads to; empty if nothing that was tried helps.
    """

    area: str
    title: str
    evidence: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Rollout:
    """What the rollout of a setting does, from the current state.

    Attributes:
        note: what was simulated.
        steps: how to roll out, one step each.
        checks: how to verify it afterwards.
        metrics: mean metrics of the rollout, by key; empty if it was not simulated.
        ranges: lowest and highest value of each metric over the seeds.
    """

    note: str
    steps: tuple[str, ...]
    checks: tuple[str, ...]
    metrics: Mapping[str, float]
    ranges: Mapping[str, tuple[float, float]]


@dataclass(frozen=True, slots=True)
class SituationFigures:
    """A situation with the current setting and with the recommended one.

    Attributes:
        key: name of the situation.
        title: what happens.
        figures: its metrics before and after; after equals before if nothing is recommended.
    """

    key: str
    title: str
    figures: tuple[MetricChange, ...]


@dataclass(frozen=True, slots=True)
class CheckupReport:
    """The result of a checkup.

    Attributes:
        subject: what is checked.
        application: the application.id, or the group.id.
        scenario: name of the scenario.
        size: tasks or partitions, clients, brokers and racks, in one line.
        facts: what the grades depend on: topics, clients, configs.
        verdict: whether to change the setting.
        today: report card of the current setting.
        recommended: report card of the recommended one; None if nothing is recommended.
        changes: configs to change.
        gains: areas with a figure before and after, with intervals, over the same seeds.
        situations: the situations with figures before and after.
        findings: the findings that matter most, at most three.
        rollout: how to roll out; None if nothing is recommended.
        cards: report cards of all settings that were tried, the best first.
        left_out: situations that the subject cannot have, with reasons.
        remarks: remarks on the subject, one sentence each.
        notes: what was assumed.
        seeds: seeds over which today's and the recommended setting are compared.
        runs: number of simulated runs.
    """

    subject: CheckupSubject
    application: str
    scenario: str
    size: str
    facts: Mapping[str, Any]
    verdict: CheckupVerdict
    today: ReportCard
    recommended: ReportCard | None
    changes: tuple[SettingChange, ...]
    gains: tuple[MetricChange, ...]
    situations: tuple[SituationFigures, ...]
    findings: tuple[CheckupFinding, ...]
    rollout: Rollout | None
    cards: tuple[ReportCard, ...]
    left_out: tuple[tuple[str, str], ...]
    remarks: tuple[str, ...]
    notes: tuple[str, ...]
    seeds: int
    runs: int

    @property
    def areas(self) -> tuple[Area, ...]:
        """The areas that are graded."""
        return tuple(graded.definition for graded in self.today.areas)

    def area(self, key: str) -> Area:
        """Return an area that is graded."""
        return self.today.graded(key).definition


def worse_grade(before: str | None, after: str | None) -> bool:
    """Return whether a grade is worse than another one; an unknown grade is neither better nor worse."""
    return before is not None and after is not None and GRADES.index(after) > GRADES.index(before)


def report_card(
    setting: str, runs: SeedRuns, areas: Sequence[Area], *, is_migration: bool = False, is_partial: bool = False
) -> ReportCard:
    """Grade a setting.

    `setting`: its changes, in one line; `is_migration` says whether it needs another group protocol; `is_partial` says
    whether it was run in some situations only.
    """
    return ReportCard(setting, len(runs), tuple(_grade(area, runs) for area in areas), is_migration, is_partial)


def _grade(area: Area, runs: SeedRuns) -> GradedArea:
    figures = [area_figure(area, run) for run in runs]
    known = [figure for figure in figures if figure is not None]
    if not known:
        return GradedArea(area, None, None, None, None)
    value, worst = float(np.mean(known)), max(known)
    situation = worst_situation(area, runs[figures.index(worst)])
    return GradedArea(area, area.grade(value), value, worst, situation)


def area_gains(areas: Sequence[Area], before: SeedRuns, after: SeedRuns) -> tuple[MetricChange, ...]:
    """Compare the figures of areas over the same seeds; those that are unknown are left out."""
    known = [area for area in areas if all(area_figure(area, run) is not None for run in (*before, *after))]
    if not known:
        return ()
    today, changed = (
        np.array([[area_figure(area, run) for area in known] for run in runs], dtype=np.float64)
        for runs in (before, after)
    )
    return metric_changes({area.key: area.least for area in known}, today, changed, "checkup")


def situation_figures(
    key: str, title: str, metrics: Sequence[str], before: SeedRuns, after: SeedRuns
) -> SituationFigures:
    """Compare metrics of a situation over the same seeds; those that are unknown are left out."""
    names = [
        name for name in metrics if all(METRIC[name].of(run[key].metrics) is not None for run in (*before, *after))
    ]
    if not names:
        return SituationFigures(key, title, ())
    today, changed = (
        np.array([[METRIC[name].of(run[key].metrics) for name in names] for run in runs], dtype=np.float64)
        for runs in (before, after)
    )
    changes = metric_changes({name: least_relevant(name) for name in names}, today, changed, "checkup")
    return SituationFigures(key, title, changes)


def grade_records(report: CheckupReport) -> list[dict[str, Any]]:
    """Return the grades of the current and of the recommended setting as records, one for each area."""
    cards = [report.today, *([] if report.recommended is None else [report.recommended])]
    return [{"setting": card.setting, **_grade_record(graded)} for card in cards for graded in card.areas]


def report_record(report: CheckupReport) -> dict[str, Any]:
    """Return the report as a record for JSON."""
    cards = {"today": report.today, "recommended": report.recommended}
    record = asdict(replace(report, facts={}, today=_EMPTY, recommended=None, cards=(), rollout=None))
    record |= {name: None if card is None else _card_record(card) for name, card in cards.items()}
    record["cards"] = [_card_record(card) for card in report.cards]
    record["facts"] = dict(report.facts)
    if report.rollout is not None:
        record["rollout"] = {
            "note": report.rollout.note,
            "steps": list(report.rollout.steps),
            "checks": list(report.rollout.checks),
            "metrics": dict(report.rollout.metrics),
            "ranges": {name: list(values) for name, values in report.rollout.ranges.items()},
        }
    record["left_out"] = [{"situation": title, "reason": reason} for title, reason in report.left_out]
    return record


_EMPTY: Final = ReportCard("", 0, ())


def _card_record(card: ReportCard) -> dict[str, Any]:
    return {**asdict(replace(card, areas=())), "areas": [_grade_record(graded) for graded in card.areas]}


def _grade_record(graded: GradedArea) -> dict[str, Any]:
    names = ("area", "grade", "value", "worst", "situation")
    return {name: getattr(graded, name) for name in names}


MAX_FINDINGS: Final = 3

_GOOD: Final = "A"


def findings(
    today: ReportCard,
    cards: Sequence[ReportCard],
    titles: Mapping[str, str],
    evidence: Mapping[str, str],
    complete: Callable[[ReportCard], ReportCard],
) -> tuple[CheckupFinding, ...]:
    """Return the findings that matter most: the worst grades first, then those that a change improves most.

    `today`: report card of the current setting; `cards`: report cards of settings with one change, over at least one
    seed; `evidence`: further figures of areas; `complete`: returns one of the cards over all situations.
    """
    found = []
    for graded in today.areas:
        if graded.grade in (None, _GOOD):
            continue
        helping = _helping(graded, cards)
        gain = 0.0 if helping is None else graded.position - helping.graded(graded.area).position
        found.append((-int(graded.position), -gain, graded, helping))
    ranked = sorted(found, key=lambda one: one[:2])[:MAX_FINDINGS]
    whole = [(graded, None if helping is None else complete(helping)) for _, _, graded, helping in ranked]
    return tuple(
        _finding(graded, helping if helping is not None and _helps(helping, graded) else None, titles, evidence)
        for graded, helping in whole
    )


def _helping(graded: GradedArea, cards: Sequence[ReportCard]) -> ReportCard | None:
    """Return the setting that improves an area most, without a migration if one does; None if none does."""
    for is_migration in (False, True):
        same = [card for card in cards if card.is_migration is is_migration]
        best = min(same, key=lambda card: card.graded(graded.area).position, default=None)
        if best is not None and _helps(best, graded):
            return best
    return None


def _helps(card: ReportCard, graded: GradedArea) -> bool:
    """Return whether a setting improves an area noticeably."""
    after = card.graded(graded.area)
    return after.value is not None and graded.position - after.position >= NOTICEABLE


def _finding(
    graded: GradedArea, helping: ReportCard | None, titles: Mapping[str, str], evidence: Mapping[str, str]
) -> CheckupFinding:
    area = graded.definition
    about = [f"grade {graded.grade}"]
    if graded.situation is not None and len(area.situations) > 1:
        about.append(f"worst: {titles[graded.situation][0].lower()}{titles[graded.situation][1:]}")
    about += [evidence[graded.area]] if graded.area in evidence else []
    remedy = ""
    if helping is not None:
        after = helping.graded(graded.area)
        migration = ", which needs a migration" if helping.is_migration else ""
        remedy = f"{helping.setting}: {after.text}, grade {after.grade}{migration}"
    return CheckupFinding(graded.area, area.finding.format(value=graded.text), "; ".join(about), remedy)


_KIND: Final = "assignor-sim checkup"


class _StoredGrade(StoredRecord):
    grade: str | None
    value: float | None
    situation: str | None


class _StoredCheckup(StoredRecord):
    version: Literal[1]
    model: int
    seeds: int
    facts: dict[str, Any]
    grades: dict[str, _StoredGrade]


class LockError(ValueError):
    """A file is not a stored checkup."""


@dataclass(frozen=True, slots=True)
class GradeChange:
    """An area whose grade differs from the stored one.

    Attributes:
        area: key of the area.
        before: the stored grade and figure.
        after: the current ones.
    """

    area: str
    before: GradedArea
    after: GradedArea

    @property
    def is_worse(self) -> bool:
        """Whether the grade is worse than the stored one."""
        return worse_grade(self.before.grade, self.after.grade)


@dataclass(frozen=True, slots=True)
class LockComparison:
    """A checkup compared with a stored one.

    Attributes:
        facts: what has changed in the application, one line each.
        grades: the areas with another grade.
        note: why grades may differ for another reason: another model or number of seeds; empty if there is none.
    """

    facts: tuple[str, ...]
    grades: tuple[GradeChange, ...]
    note: str

    @property
    def is_worse(self) -> bool:
        """Whether an area has a worse grade."""
        return any(change.is_worse for change in self.grades)


def lock_text(report: CheckupReport, model: int) -> str:
    """Return a checkup as the text of a lock file.

    `model`: version of the simulation's model.
    """
    record = {
        "kind": _KIND,
        "version": 1,
        "model": model,
        "application": report.application,
        "seeds": report.today.seeds,
        "facts": dict(report.facts),
        "grades": {
            graded.area: {"grade": graded.grade, "value": _rounded(graded.value), "situation": graded.situation}
            for graded in report.today.areas
        },
    }
    return json.dumps(record, indent=2, ensure_ascii=False) + "\n"


def read_lock(text: str, name: str) -> dict[str, Any]:
    """Parse the text of a lock file.

    Returns the stored checkup. Raises LockError if it is not a lock file.
    """
    try:
        record: dict[str, Any] = json.loads(text)  # `read_json` refuses infinity, the figure of a failed run.
        check_kind(record, _KIND, "a checkup")
        check_record(_StoredCheckup, record)
    except (ValueError, RecursionError) as error:
        raise LockError(f"{name}: not a stored checkup: {error}; write one with --save") from None
    return record


def compare_lock(report: CheckupReport, stored: Mapping[str, Any], model: int) -> LockComparison:
    """Compare a checkup with a stored one.

    `stored`: what `read_lock` returned; `model`: version of the simulation's model. Returns what has changed.
    """
    notes = []
    if stored["model"] != model:
        notes.append(f"the stored checkup has model {stored['model']}, this one {model}")
    if stored["seeds"] != report.today.seeds:
        notes.append(f"the stored checkup has {stored['seeds']} seeds, this one {report.today.seeds}")
    return LockComparison(
        facts=tuple(_fact_changes(stored["facts"], report.facts)),
        grades=tuple(_grade_changes(stored["grades"], report.today)),
        note="; ".join(notes),
    )


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.6g}")


def _fact_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    """Yield the facts that differ; those of mappings entry by entry."""
    for key in dict.fromkeys((*before, *after)):
        old, new = before.get(key), after.get(key)
        if isinstance(old, dict) and isinstance(new, dict):
            yield from (f"{key}: {text}" for text in _fact_changes(old, new))
        elif old != new:
            yield f"{key}: {_shown(old)} → {_shown(new)}"


def _shown(value: Any) -> str:
    return "none" if value is None else str(value)


def _grade_changes(stored: Mapping[str, Any], today: ReportCard) -> Iterator[GradeChange]:
    for graded in today.areas:
        if graded.area not in stored:
            continue
        record = stored[graded.area]
        before = GradedArea(graded.definition, record["grade"], record["value"], None, record["situation"])
        if before.grade != graded.grade:
            yield GradeChange(graded.area, before, graded)


def change_line(change: GradeChange) -> str:
    """Return a changed grade in one line."""
    grades = f"{change.before.grade or 'unknown'} → {change.after.grade or 'unknown'}"
    area = change.after.definition
    return f"{area.title}: {grades} ({area.figure}: {change.before.text} → {change.after.text})"
