"""Outcomes that depend on client times: how a run converges with shorter and with longer times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from assignors.model.assignment import UNASSIGNED
from simulator.flows.execution import Execution
from simulator.results.convergence import convergence
from simulator.results.tables import TIME_RANGES
from simulator.results.tabulation import arrow_column
from simulator.results.trace import Trace
from simulator.results.verdict import times_differ


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run converges; None for an unknown figure."""

    rebalances: int | None
    time_to_converge_ms: int | None

    @classmethod
    def of(cls, trace: Trace) -> Outcome:
        """Return the outcome of a run."""
        converged = convergence(trace)
        return cls(converged.rebalances, converged.time_to_converge_ms)

    def differs(self, other: Outcome) -> bool:
        """Return whether the rebalances differ, or the times by more than the client times themselves may."""
        if self.rebalances != other.rebalances:
            return True
        if self.time_to_converge_ms is None or other.time_to_converge_ms is None:
            return self.time_to_converge_ms != other.time_to_converge_ms
        return times_differ(self.time_to_converge_ms, other.time_to_converge_ms)


@dataclass(frozen=True, slots=True)
class DecisiveCopy:
    """A copy that has caught up in time for a rebalance, or not.

    Attributes:
        round: index of the round.
        task: row of the task.
        client: row of the client.
    """

    round: int
    task: int
    client: int


def may_depend_on_times(trace: Trace) -> bool:
    """Return whether a rebalance of a run found copies that were behind, so that seconds may decide another one."""
    return any(round_.restoring or round_.warming_up for round_ in trace.rounds[:-1]) or bool(
        trace.rounds and trace.rounds[-1].warming_up
    )


def first_difference(faster: Trace, slower: Trace) -> int | None:
    """Return the index of the first round in which two runs decide differently, None if there is none."""
    for index, (one, other) in enumerate(zip(faster.rounds, slower.rounds, strict=False)):
        if not one.decides_like(other) or one.followup_delay_ms != other.followup_delay_ms:
            return index
    return None


def decisive_copy(faster: Trace, slower: Trace) -> DecisiveCopy | None:
    """Return a copy that one of two runs makes active where the other keeps it as a warm-up, None if there is none."""
    index = first_difference(faster, slower)
    if index is None:
        return None
    for run, other in ((faster, slower), (slower, faster)):
        owner = run.rounds[index].owner
        warm = other.rounds[index].standbys(len(other.world.clients))
        has_owner = np.flatnonzero(owner != UNASSIGNED)
        promoted = has_owner[warm[has_owner, owner[has_owner]]]
        if len(promoted):
            return DecisiveCopy(index, int(promoted[0]), int(owner[promoted[0]]))
    return None


class CaughtUpTimes:
    """Observes when a copy has caught up after it was behind or not assigned. `at_ms`: the times."""

    def __init__(self, copy: DecisiveCopy) -> None:
        self._copy = copy
        self._is_caught_up = False
        self.at_ms: list[int] = []

    def __call__(self, execution: Execution) -> None:
        """Note whether the copy has caught up now."""
        copies = execution.restoration.copies
        is_copy = (copies.task == self._copy.task) & (copies.client == self._copy.client)
        is_caught_up = bool((is_copy & execution.restoration.caught_up()).any())
        if is_caught_up and not self._is_caught_up:
            self.at_ms.append(execution.now_ms)
        self._is_caught_up = is_caught_up

    def nearest_ms(self, at_ms: int) -> int | None:
        """Return the time nearest to a given one, None if the copy never caught up."""
        return min(self.at_ms, key=lambda time: abs(time - at_ms), default=None)


def time_range_table(key: dict[str, object], rows: Sequence[dict[str, object]]) -> pa.Table:
    """Return the table of the rows of one run."""
    complete = [{**key, **row} for row in rows]
    columns = [arrow_column([row.get(field.name) for row in complete], field.type) for field in TIME_RANGES]
    return pa.Table.from_arrays(columns, schema=TIME_RANGES)
