"""A sequence of rebalances in which processes join and leave, and what an assignor did in it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol, runtime_checkable

import numpy as np

from assignors.model.configs import AssignmentConfigs
from assignors.model.ids import ProcessId, TaskId
from assignors.model.state import NO_LAG, UNKNOWN_THREAD, ApplicationState, KafkaStreamsState, TaskInfo

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

    def empty_state(self, present: Iterable[int]) -> ApplicationState:
        """Return the state of some processes, by their places, that have no tasks."""
        tasks = [
            TaskInfo(TaskId(part, number), has_state)
            for part, (count, has_state) in enumerate(self.subtopologies)
            for number in range(count)
        ]
        clients = [
            KafkaStreamsState(ProcessId.parse(process), threads)
            for process, threads in (self.processes[place] for place in present)
        ]
        configs = AssignmentConfigs(num_standby_replicas=self.standbys, max_warmup_replicas=max(1, len(tasks)))
        state = ApplicationState.of(tasks, clients, configs)
        lags = np.full(state.lags.shape, configs.acceptable_recovery_lag + 1, dtype=state.lags.dtype)
        lags[~state.tasks.stateful] = NO_LAG
        return replace(state, lags=lags, previous_thread=np.full(lags.shape, UNKNOWN_THREAD, dtype=np.int64))


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
    """An assignor of another process, which runs whole sequences there."""

    def run_sequences(self, sequences: Sequence[MembershipSequence]) -> list[SequenceOutcome]:
        """Return the outcome of each sequence."""
        ...
