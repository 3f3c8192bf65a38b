"""Exchanging standbys between clients of different racks, pair by pair.

Source: KIP-925, `RackAwareTaskAssignor.optimizeStandbyTasks`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np

from assignors.columns import IntArray
from assignors.tasks.flows import Flow, costs_of_moving, min_traffic_flow
from assignors.tasks.placement import Placement

ROUNDS = 4

MayMoveStandby = Callable[[int, int, int], bool]
"""Whether a standby may move: source client, destination client, task (rows)."""


def exchange_standbys(
    placement: Placement,
    clients: Sequence[int],
    traffic: IntArray,
    non_overlap_cost: int,
    flow: Flow,
    may_move: MayMoveStandby,
) -> None:
    """Solve one flow for each pair of clients in different racks, in the order of `clients`.

    Arguments as for `flows.move_actives`; `may_move` forbids single moves.

    Complexity: O(C²) a round, and a flow for each pair that may gain. With min_traffic a pair's only negative cycles
    are a task there and a task back; where the largest saving of any task of the one, and that of the other, do not pay
    for moving both, there is none, so the flow is what it was and need not be solved.
    """
    racks = placement.state.clients.rack.tolist()
    savings = _Savings(placement, traffic) if flow is min_traffic_flow else None
    for _ in range(ROUNDS):
        moved = False
        for first, second in combinations(clients, 2):
            if racks[first] == racks[second]:
                continue
            if savings is not None and not savings.may_pay(first, second, 2 * non_overlap_cost):
                continue
            pair = (min(first, second), max(first, second))
            if _exchange(placement, pair, traffic, non_overlap_cost, flow, may_move):
                moved = True
                if savings is not None:
                    savings.look_again(pair)
        if not moved:
            return


class _Savings:
    """The most traffic cost that moving any one standby of a client to another rack can save."""

    def __init__(self, placement: Placement, traffic: IntArray) -> None:
        racks, one_of = np.unique(placement.state.clients.rack, return_index=True)
        self._placement = placement
        self._in_rack = traffic[:, one_of]
        self._rack: list[int] = np.searchsorted(racks, placement.state.clients.rack).tolist()
        self._most: list[list[int] | None] = [None for _ in self._rack]
        self.look_again(range(len(self._rack)))

    def look_again(self, clients: Sequence[int]) -> None:
        """Work out the savings of clients whose standbys have changed."""
        for client in clients:
            held = self._in_rack[list(self._placement.standby[client])]
            here = held[:, self._rack[client], None]
            self._most[client] = (here - held).max(axis=0).tolist() if len(held) else None

    def may_pay(self, first: int, second: int, price: int) -> bool:
        """Whether an exchange between two clients might save more than it costs."""
        there, back = self._most[first], self._most[second]
        if there is None or back is None:
            return False
        return there[self._rack[second]] + back[self._rack[first]] > price


def _exchange(
    placement: Placement,
    pair: tuple[int, int],
    traffic: IntArray,
    non_overlap_cost: int,
    flow: Flow,
    may_move: MayMoveStandby,
) -> bool:
    first, second = pair
    from_first = _movable(placement, first, second, may_move)
    from_second = _movable(placement, second, first, may_move)
    if not from_first or not from_second:
        return False
    tasks = sorted(from_first + from_second)
    rows = np.array(tasks, dtype=np.intp)
    owner = np.array([0 if task in placement.standby[first] else 1 for task in tasks], dtype=np.intp)
    moved_to = flow(costs_of_moving(traffic[rows][:, pair], owner, non_overlap_cost), owner, rows)
    changed = np.flatnonzero(moved_to != owner).tolist()
    for position in changed:
        placement.unassign_standby(tasks[position], pair[owner[position]])
        placement.assign_standby(tasks[position], pair[moved_to[position]])
    return bool(changed)


def _movable(placement: Placement, source: int, destination: int, may_move: MayMoveStandby) -> list[int]:
    movable = placement.standby[source] - placement.standby[destination] - placement.active[destination]
    return [task for task in movable if may_move(source, destination, task)]
