"""The findings of a checkup: the areas with the worst grades, with evidence and what helps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from reports.analysis.checkup.report import NOTICEABLE, CheckupFinding, GradedArea, ReportCard

MAX_FINDINGS: Final = 3

_GOOD: Final = "A"


def findings(
    today: ReportCard, cards: Sequence[ReportCard], titles: Mapping[str, str], evidence: Mapping[str, str]
) -> tuple[CheckupFinding, ...]:
    """Return the findings that matter most: the worst grades first, then those that a change improves most.

    `today`: report card of the current setting; `cards`: report cards of settings with one change, over at least one
    seed; `evidence`: further figures of areas.
    """
    found = []
    for graded in today.areas:
        if graded.grade in (None, _GOOD):
            continue
        helping = _helping(graded, cards)
        gain = 0.0 if helping is None else graded.position - helping.graded(graded.area).position
        found.append((-int(graded.position), -gain, graded, helping))
    ranked = sorted(found, key=lambda one: one[:2])[:MAX_FINDINGS]
    return tuple(_finding(graded, helping, titles, evidence) for _, _, graded, helping in ranked)


def _helping(graded: GradedArea, cards: Sequence[ReportCard]) -> ReportCard | None:
    """Return the setting that improves an area most, without a migration if one does; None if none does."""
    for is_migration in (False, True):
        full = [card for card in cards if card.is_migration is is_migration and not card.is_partial]
        best = min(full, key=lambda card: card.graded(graded.area).position, default=None)
        if best is None or best.graded(graded.area).value is None:
            continue
        if graded.position - best.graded(graded.area).position >= NOTICEABLE:
            return best
    return None


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
