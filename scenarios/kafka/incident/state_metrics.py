"""Figures of assignments of one recorded state, for the comparison of assignors on the same states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assignors.model.state import ApplicationState


@dataclass(frozen=True, slots=True)
class StateMetrics:
    """Figures of one or several assignments.

    Attributes:
        active_moves: Active tasks that get another client than the recorded one before.
        new_standbys: Standbys on clients without a copy, which must restore it.
        follow_ups: Assignments that request a probing rebalance.
    """

    active_moves: int = 0
    new_standbys: int = 0
    follow_ups: int = 0

    def __add__(self, other: StateMetrics) -> StateMetrics:
        """Return the sums."""
        return StateMetrics(
            self.active_moves + other.active_moves,
            self.new_standbys + other.new_standbys,
            self.follow_ups + other.follow_ups,
        )


def measure_assignment(
    state: ApplicationState,
    owners: Mapping[str, str],
    active: Mapping[str, str],
    standby: Mapping[str, Sequence[str]],
    *,
    probes: bool,
) -> StateMetrics:
    """Return the figures of an assignment.

    `owners`: process to which each task was assigned before, as recorded; `active`: process of each active task;
    `probes` says whether it requests a probing rebalance.
    """
    held_by: dict[str, set[str]] = {}
    for client, actives, standbys in zip(
        map(str, state.clients.ids), state.previous_active, state.previous_standby, strict=True
    ):
        for task in map(str, (*actives, *standbys)):
            held_by.setdefault(task, set()).add(client)
    return StateMetrics(
        active_moves=sum(owners.get(task) != client for task, client in active.items()),
        new_standbys=sum(
            client not in held_by.get(task, ()) for task, clients in standby.items() for client in clients
        ),
        follow_ups=int(probes),
    )
