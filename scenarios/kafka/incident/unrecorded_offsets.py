"""Offsets that clients of Kafka 4.4 reported to the coordinator of a streams group, which its records do not have.

A stream thread reports the offset of each stateful task of which its client has a copy on disk, except for the active
tasks that it runs itself. Which copies a client may have had follows from the records: those of its process so far.
Their offsets do not. The assignor of Kafka 4.4 prefers members with a larger offset, so a target assignment may depend
on them. `recompute_target` computes a target with several sets of offsets that the records allow: if all return the
same, the offsets had no influence; if one returns the recorded target, that is explained; otherwise the target depends
on offsets that are unknown.

Source: `StreamsGroupHeartbeatRequestManager.HeartbeatState.buildRequestData`, kafka-clients 4.4.0;
`StickyTaskAssignor.rankStandbyCandidates`, kafka-group-coordinator 4.4.0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from assignors.model.assignment import TaskAssignor
from assignors.model.ids import TaskId
from scenarios.kafka.incident.recomputation import Mismatch, Recomputed, compare, recompute
from scenarios.kafka.incident.recorded import RecordedRebalance
from scenarios.kafka.incident.states import RebuiltState

Offsets = Mapping[str, Mapping[str, int]]
"""Offset of each copy on disk, by process id and task."""

ThreadOffsets = Sequence[Sequence[Mapping[TaskId, int]]]
"""Reported offsets by client, thread and task."""

_HIGH: Final = 1_000_000_000
"""Offset of a copy that keeps up; only the order of offsets matters."""

_MAX_ATTEMPTS: Final = 8
"""Maximum number of improved sets of offsets per rebalance."""


class OffsetInfluence(StrEnum):
    """Whether a target assignment depends on offsets that were not recorded.

    Attributes:
        NONE: All sets of offsets that were tried return the same assignment, or the assignor uses none.
        EXPLAINED: The recorded assignment follows from offsets that the records allow.
        UNKNOWN: The assignment depends on them, and no set that was tried returns the recorded one.
    """

    NONE = "none"
    EXPLAINED = "explained"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, eq=False)
class RecomputedTarget:
    """The best recomputation of a target assignment.

    Attributes:
        recomputed: The one with the fewest differences.
        mismatches: Its differences.
        influence: Whether it depends on offsets that were not recorded.
    """

    recomputed: Recomputed
    mismatches: tuple[Mismatch, ...]
    influence: OffsetInfluence


class RecordedCopies:
    """The copies that each process has had so far, with the number of the last rebalance that assigned it each."""

    def __init__(self, stateful: frozenset[int]) -> None:
        self._stateful = stateful
        self._last: dict[str, dict[str, int]] = {}

    def note(self, rebalance: RecordedRebalance) -> None:
        """Note the copies that a rebalance assigns."""
        for member in rebalance.members:
            self._last.setdefault(member.process_id, {}).update(
                dict.fromkeys(self._with_state((*member.active, *member.standby)), rebalance.number)
            )

    def possible(self, rebalance: RecordedRebalance) -> Iterator[Offsets]:
        """Yield sets of offsets before a rebalance: of current copies only, and with older ones behind or equal."""
        current: dict[str, dict[str, int]] = {}
        for member in rebalance.members:
            had = self._with_state((*member.previous_active, *member.previous_standby))
            current.setdefault(member.process_id, {}).update(dict.fromkeys(had, _HIGH))
        yield current
        older = {process: self._last.get(process, {}) for process in current}
        if any(older[process].keys() - current[process].keys() for process in current):
            yield {process: {**older[process], **own} for process, own in current.items()}
            yield {process: {**dict.fromkeys(older[process], _HIGH), **own} for process, own in current.items()}

    def _with_state(self, tasks: Sequence[str]) -> Iterator[str]:
        yield from (task for task in tasks if TaskId.parse(task).subtopology in self._stateful)


def recompute_target(
    rebalance: RecordedRebalance, rebuilt: RebuiltState, assignor: TaskAssignor, possible: Sequence[Offsets]
) -> RecomputedTarget:
    """Recompute a target assignment with the offsets that clients may have reported.

    `rebuilt`: the input of its assignor, without offsets. `possible`: sets of offsets that the records allow; none if
    clients report no offsets. Returns the recomputation with the fewest differences; the one without offsets if several
    have as few.
    """

    def attempt(offsets: Offsets | None) -> tuple[Recomputed, tuple[Mismatch, ...]]:
        recomputed = recompute(rebalance, _with_offsets(rebuilt, rebalance, offsets), assignor)
        return recomputed, compare(rebalance, recomputed)

    without = attempt(None)
    attempts = [(None, *without)] + [(offsets, *attempt(offsets)) for offsets in possible]
    _, recomputed, mismatches = best = min(attempts, key=lambda tried: len(tried[2]))
    influences = any(not _is_same(tried, without[0]) for _, tried, _ in attempts)
    offsets, widest = best[0], possible[-1] if possible else {}
    for _ in range(_MAX_ATTEMPTS if possible else 0):
        improved = None
        for changed in _improved(offsets or widest, widest, mismatches):
            tried, differing = attempt(changed)
            influences = influences or not _is_same(tried, without[0])
            if len(differing) < len(mismatches):
                improved = changed, tried, differing
                break
        if improved is None:
            break
        offsets, recomputed, mismatches = improved
    if not influences:
        return RecomputedTarget(recomputed, mismatches, OffsetInfluence.NONE)
    influence = OffsetInfluence.UNKNOWN if mismatches else OffsetInfluence.EXPLAINED
    return RecomputedTarget(recomputed, mismatches, influence)


def _is_same(first: Recomputed, second: Recomputed) -> bool:
    return (first.active, first.standby) == (second.active, second.standby)


def _improved(offsets: Offsets, widest: Offsets, mismatches: Sequence[Mismatch]) -> Iterator[Offsets]:
    """Yield offsets with which tasks that differ would more likely be where they were recorded."""
    for mismatch in mismatches:
        task, recorded = mismatch.task, set(mismatch.recorded)
        holders = {process for process, copies in widest.items() if task in copies}
        # The recorded holders are ahead; only they report the task; only the others do; no client does.
        yield _replaced(offsets, task, dict.fromkeys(holders, 1) | dict.fromkeys(holders & recorded, _HIGH))
        yield _replaced(offsets, task, dict.fromkeys(holders & recorded, _HIGH))
        yield _replaced(offsets, task, dict.fromkeys(holders - recorded, _HIGH))
        yield _replaced(offsets, task, {})


def _replaced(offsets: Offsets, task: str, of_task: Mapping[str, int]) -> Offsets:
    """Return offsets in which some processes report a task, and all others do not."""
    others = {
        process: {other: offset for other, offset in copies.items() if other != task}
        for process, copies in offsets.items()
    }
    return {
        process: {**copies, **({task: of_task[process]} if process in of_task else {})}
        for process, copies in others.items()
    }


def _with_offsets(rebuilt: RebuiltState, rebalance: RecordedRebalance, offsets: Offsets | None) -> RebuiltState:
    """Return a state in which each thread reports the copies of its process, except for its own active tasks."""
    if offsets is None:
        return rebuilt
    by_process = rebalance.by_process()
    known = rebuilt.state.row_of_task
    reported = tuple(
        tuple(
            {
                TaskId.parse(task): offset
                for task, offset in offsets.get(str(process), {}).items()
                if task not in member.previous_active and TaskId.parse(task) in known
            }
            for member in by_process[str(process)]
        )
        for process in rebuilt.state.clients.ids
    )
    return with_reported(rebuilt, reported)


def with_reported(rebuilt: RebuiltState, thread_offsets: ThreadOffsets) -> RebuiltState:
    """Return a state in which the threads of each client report offsets; empty for no reports."""
    return replace(rebuilt, state=replace(rebuilt.state, thread_offsets=thread_offsets))
