"""Measured differences between Kafka releases: how many answers of an assignor changed, on which problems.

`python -m tools.releases measure` asks the released assignors the same random problems and writes
`release_differences.json`, from which this module reads.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, Final

FILE: Final = "release_differences.json"

ALL: Final = "all"
"""The family of all problems."""

THREADS: Final = "tasks to threads"
"""The name under which the assignment of tasks to threads was compared; it is not an assignor."""


@dataclass(frozen=True, slots=True)
class AnswerDifferences:
    """Numbers of problems by how the answers of two releases differ; every problem counts once.

    Attributes:
        problems: compared problems.
        actives: an active task is on another client.
        standbys: all active tasks are on the same clients, but a standby is not.
        order_only: only one of the two answers differs: that for sorted collections, or that for hash collections.
        other: another exception, or another request for a follow-up rebalance.
        in_production: the answer for hash collections, as in production, differs; not a further kind.
    """

    problems: int
    actives: int = 0
    standbys: int = 0
    order_only: int = 0
    other: int = 0
    in_production: int = 0

    @property
    def different(self) -> int:
        """Return the number of problems with different answers."""
        return self.actives + self.standbys + self.order_only + self.other


@dataclass(frozen=True, slots=True)
class AssignorHistory:
    """The answers of one assignor in all releases, compared pair by pair.

    Attributes:
        name: name of the assignor.
        releases: compared minor releases, oldest first.
        problems: number of problems by family; the families overlap.
        pairs: differences by older release, newer release and family; pairs without differences are absent.
        equal_without: by older and newer release: of the problems with different answers, how many have equal answers
            after an input feature is removed from the problem.
    """

    name: str
    releases: tuple[str, ...]
    problems: Mapping[str, int]
    pairs: Mapping[tuple[str, str, str], AnswerDifferences] = field(default_factory=dict)
    equal_without: Mapping[tuple[str, str], Mapping[str, int]] = field(default_factory=dict)

    def between(self, older: str, newer: str, family: str = ALL) -> AnswerDifferences:
        """Return the differences between two releases on a family of problems.

        Raises LookupError if a release or the family was not compared.
        """
        if not {older, newer} <= set(self.releases) or family not in self.problems:
            raise LookupError(f"{self.name}: Kafka {older} and {newer} were not compared on problems '{family}'")
        return self.pairs.get((older, newer, family), AnswerDifferences(self.problems[family]))


@dataclass(frozen=True, slots=True)
class Measurement:
    """How the answers of clients or brokers were measured.

    Attributes:
        date: ISO date.
        command: command line.
        patches: compared patch by minor release, oldest first.
    """

    date: str
    command: str
    patches: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ReleaseDifferences:
    """All measured differences between releases.

    Attributes:
        clients: how assignors of clients were measured.
        brokers: how the assignor of brokers was measured.
    """

    clients: Measurement
    brokers: Measurement
    assignors: Mapping[str, AssignorHistory]

    @property
    def releases(self) -> tuple[str, ...]:
        """Return all compared releases, of clients or brokers, oldest first."""
        return tuple(sorted({*self.clients.patches, *self.brokers.patches}, key=_numbers))


@cache
def measured_differences() -> ReleaseDifferences:
    """Return the measured differences."""
    content = json.loads(files("reports").joinpath("analysis", FILE).read_text(encoding="utf-8"))
    return ReleaseDifferences(
        Measurement(**content["clients"]),
        Measurement(**content["brokers"]),
        {name: _history(name, record) for name, record in content["assignors"].items()},
    )


def _numbers(release: str) -> tuple[int, ...]:
    """Return the order of a release: a minor release is that of its last patch."""
    major, minor, patch = (*map(int, release.split(".")), 999)[:3]
    return major, minor, patch


def _history(name: str, record: Mapping[str, Any]) -> AssignorHistory:
    problems = record["problems"]
    pairs, equal_without = {}, {}
    for pair in record["differences"]:
        older, newer = pair["from"], pair["to"]
        equal_without[older, newer] = pair["equal_without"]
        for family, counts in pair["families"].items():
            pairs[older, newer, family] = AnswerDifferences(problems[family], **counts)
    return AssignorHistory(name, tuple(record["releases"]), problems, pairs, equal_without)
