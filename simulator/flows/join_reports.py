"""The offsets that the members of a classic group report when they join a rebalance, each at a moment of its own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simulator.flows.assigned_copies import AssignedCopies
from simulator.flows.copies_at_join import CopiesAtJoin
from simulator.flows.lag_reports import LagReports
from simulator.world.group_assignment import GroupAssignment
from simulator.world.layout import FloatArray


class JoinReports:
    """Records which copies members report, and where these are at that moment.

    Args:
        lag_reports: receives the positions of the copies.
    """

    def __init__(self, lag_reports: LagReports) -> None:
        self._lag_reports = lag_reports
        self._copies_at_join: CopiesAtJoin | None = None

    def report(
        self,
        assignment: GroupAssignment,
        copies: AssignedCopies,
        joins: Sequence[Sequence[tuple[int, int]]],
        steps: Sequence[int],
        positions: FloatArray,
    ) -> None:
        """Record the offsets that members report at J moments.

        Args:
            assignment: the current assignment.
            copies: its K assigned copies.
            joins: the rows of the members' clients, and their threads, for each moment.
            steps: the number of steps in time before each moment.
            positions: shape (S + 1, K); the positions of the assigned copies after each number of steps.
        """
        reported = self._copies_at_join
        if reported is None or reported.assignment is not assignment or reported.copies is not copies:
            self._copies_at_join = reported = CopiesAtJoin(assignment, copies)
        for client in reported.take_clients([client for threads in joins for client, _ in threads]):
            self._lag_reports.report_closed_at_join(reported.open_on_client(client), client)
        opened = [reported.open_on(threads) for threads in joins]
        places = np.array([place for of_join in opened for place in of_join], dtype=np.int64)
        step = np.repeat(np.array(steps, dtype=np.int64), [len(of_join) for of_join in opened])
        held = positions.reshape(-1).take(step * len(copies) + places)
        self._lag_reports.report_at_join(copies.task.take(places), copies.client.take(places), held)

    def forget_threads(self) -> None:
        """Let the first thread of each client report the copies again that no thread has open."""
        self._copies_at_join = None
