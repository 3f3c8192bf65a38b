"""What changes from one Kafka release to another: the answers of assignors, and the figures of scenarios."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from reports.analysis.cells import metric_cell
from reports.analysis.comparison import ComparisonRow
from reports.analysis.metrics import METRIC
from reports.analysis.release_differences import ALL, AnswerDifferences, AssignorHistory
from reports.analysis.text import listed
from simulator.plurals import counted

EFFECT_METRICS: Final = (
    "cross_rack_bytes_per_s",
    "active_moves",
    "standby_moves",
    "worst_downtime_ms",
    "time_to_converge_ms",
)
"""Keys of the metrics that show what an upgrade changes in a scenario."""

_MAX_NAMED: Final = 3
"""Maximum number of scenarios that the conclusion names."""


@dataclass(frozen=True, slots=True)
class UpgradeEffect:
    """A scenario under the older and under the newer release of the brokers, or of the clients.

    Attributes:
        scenario: name of the scenario.
        assignor: label of the assignor in the scenario.
        older: the row of the older release.
        newer: the row of the newer release.
    """

    scenario: str
    assignor: str
    older: ComparisonRow
    newer: ComparisonRow

    def changes(self) -> Iterator[tuple[str, str, str]]:
        """Yield title, older and newer value of each metric whose median over the seeds changes."""
        for name in EFFECT_METRICS:
            before, after = (metric_cell(row, METRIC[name]) for row in (self.older, self.newer))
            if before.text != after.text:
                yield METRIC[name].title, before.text, after.text


@dataclass(frozen=True, slots=True)
class ReleaseChanges:
    """What changes between two releases.

    Attributes:
        older: the older release.
        newer: the newer release.
        assignors: assignors that were compared in both releases.
        not_compared: assignors that were not, because a release has none, or is not published.
        effects: scenarios that use a streams group; empty if their brokers were not compared.
        client_effects: scenarios in which clients of the two releases behave differently.
        same_clients: scenarios in which clients of both releases behave alike, which were not simulated.
    """

    older: str
    newer: str
    assignors: tuple[AssignorHistory, ...]
    not_compared: tuple[str, ...] = ()
    effects: tuple[UpgradeEffect, ...] = ()
    client_effects: tuple[UpgradeEffect, ...] = ()
    same_clients: tuple[str, ...] = ()

    def answers(self) -> Iterator[tuple[AssignorHistory, str, AnswerDifferences]]:
        """Yield assignor, family and differences: all problems, then each family if there are differences."""
        for history in self.assignors:
            whole = history.between(self.older, self.newer)
            yield history, ALL, whole
            if whole.different:
                families = [family for family in history.problems if family != ALL]
                yield from ((history, family, history.between(self.older, self.newer, family)) for family in families)

    def causes(self) -> Iterator[tuple[AssignorHistory, Mapping[str, int]]]:
        """Yield assignors with different answers: how many are equal without each input feature."""
        for history in self.assignors:
            if counts := history.equal_without.get((self.older, self.newer)):
                yield history, counts


def share(differences: AnswerDifferences, count: int | None = None) -> str:
    """Return a number of problems with its share: `38.8 % (465)`, or `0`.

    `count`: the number; by default, the problems with different answers.
    """
    shown = differences.different if count is None else count
    return f"{shown / differences.problems:.1%} ({shown:,})".replace("%", " %") if shown else "0"


def cause_sentence(whole: AnswerDifferences, counts: Mapping[str, int]) -> str:
    """Return which input features cause differences: those without which answers are equal."""
    parts = [f"without {feature} {share_of(count, whole.different)}" for feature, count in counts.items()]
    return f"Of the {whole.different:,} different answers, these become equal: {', '.join(parts)}."


def share_of(count: int, total: int) -> str:
    """Return a share in percent: `44 %`."""
    return f"{count / total:.0%}".replace("%", " %")


def conclude_releases(changes: ReleaseChanges) -> list[str]:
    """Return what an upgrade changes, in sentences: answers of assignors, then figures of scenarios."""
    findings = []
    different = {history.name: history.between(changes.older, changes.newer) for history in changes.assignors}
    parts = [f"{name} answers {share(found)} differently" for name, found in different.items() if found.different]
    alike = [name for name, found in different.items() if not found.different]
    if parts:
        findings.append(f"Of random problems, {listed(parts)}.")
    if alike:
        findings.append(f"Same answers to all problems: {listed(alike)}.")
    for subject, effects in (("brokers", changes.effects), ("clients", changes.client_effects)):
        changed = [f"{effect.scenario} ({effect.assignor})" for effect in effects if any(effect.changes())]
        if changed:
            more = f"{', '.join(changed[:_MAX_NAMED])} and {len(changed) - _MAX_NAMED} more"
            named = listed(changed) if len(changed) <= _MAX_NAMED + 1 else more
            compared = counted(len(effects), "comparison")
            findings.append(f"New {subject} change figures in {len(changed)} of {compared}: {named}.")
        elif effects:
            findings.append(f"New {subject} change no figure.")
    return findings


def record(changes: ReleaseChanges) -> dict[str, Any]:
    """Return the changes as JSON values."""
    return {
        "from": changes.older,
        "to": changes.newer,
        "answers": [
            {"assignor": history.name, "family": family, **asdict(found), "different": found.different}
            for history, family, found in changes.answers()
        ],
        "equal_without": {history.name: dict(counts) for history, counts in changes.causes()},
        "not_compared": list(changes.not_compared),
        "scenarios": list(map(_effect_record, changes.effects)),
        "clients": list(map(_effect_record, changes.client_effects)),
        "same_clients": list(changes.same_clients),
    }


def _effect_record(effect: UpgradeEffect) -> dict[str, Any]:
    return {
        "scenario": effect.scenario,
        "assignor": effect.assignor,
        "seeds": list(effect.older.seeds),
        "metrics": {
            name: {"from": _median(effect.older, name), "to": _median(effect.newer, name)} for name in EFFECT_METRICS
        },
    }


def _median(row: ComparisonRow, name: str) -> float | None:
    spread = row.spreads[name]
    return None if spread is None else spread.median
