"""A stored checkup, and what has changed since."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from reports.analysis.checkup.report import CheckupReport, GradedArea, ReportCard, worse_grade
from simulator.results.schema_checks import StoredRecord, check_kind, check_record

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
