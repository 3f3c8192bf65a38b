"""A sequence of rebalances in which processes join and leave, and what an assignor did in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol, runtime_checkable

UNCHANGED_ROUNDS: Final = 30
"""Rebalances after the last change, within which an assignor must settle."""


@dataclass(frozen=True, slots=True)
class MembershipSequence:
    """Rebalances of a group whose processes join and leave.

    Attributes:
        subtopologies: the number of tasks of each, and whether they have state.
        processes: process ids with their numbers of threads.
        standbys: `num.standby.replicas`.
        rounds: for each rebalance, which processes are in the group, by their place in `processes`, ascending; the last
            ones stay.
    """

    subtopologies: tuple[tuple[int, bool], ...]
    processes: tuple[tuple[str, int], ...]
    standbys: int
    rounds: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class SequenceOutcome:
    """What an assignor did in a sequence.

    Attributes:
        violated: keys of the violated invariants, sorted.
        uneven: active tasks of the last assignment above an even share of their thread, which is the number of tasks by
            that of threads, rounded up. An assignment without such tasks exists.
        uneven_stateful: the same, of tasks with state only.
    """

    violated: tuple[str, ...] = ()
    uneven: int = 0
    uneven_stateful: int = 0


@runtime_checkable
class RunsSequences(Protocol):
    """An assignor of another process, which may run whole sequences there."""

    @property
    def can_run_sequences(self) -> bool:
        """Return whether it does."""
        ...

    def run_sequences(self, sequences: Sequence[MembershipSequence]) -> list[SequenceOutcome]:
        """Return the outcome of each sequence."""
        ...
