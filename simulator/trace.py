"""What happened in a run: its rounds, its changes, and the life of each task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assignors.assignment import UNASSIGNED
from assignors.columns import BoolArray, IntArray
from assignors.ids import TaskId
from assignors.tasks.rack_aware import RackCosts
from simulator.layout import Layout
from simulator.measures import Measures
from simulator.rebalance import Rebalance
from simulator.timeline import TimedChange
from simulator.traffic import Traffic
from simulator.world import World


@dataclass(frozen=True, slots=True, eq=False)
class Round:
    """One rebalance of a run.

    Attributes:
        number: 1 for the first; Kafka's generation.
        at_ms: when.
        reason: what called for it.
        decided: the input and the answer.
        members: the clients along the columns of the answer, rows of the world's clients.
        costs: Kafka's own costs of the answer.
        measures: what is measured of it.
        traffic: what the network carries from here on.
        restoring: how many tasks were not running right after it.
    """

    number: int
    at_ms: int
    reason: str
    decided: Rebalance
    members: IntArray
    costs: RackCosts
    measures: Measures
    traffic: Traffic
    restoring: int

    def owners(self) -> IntArray:
        """Shape (T,); the client (row of the world) that runs each task, UNASSIGNED if none."""
        active = self.decided.columns.active
        owners: IntArray = np.where(active == UNASSIGNED, UNASSIGNED, self.members[active])
        return owners

    def standbys(self, num_clients: int) -> BoolArray:
        """Shape (T, N); who holds a standby of what, along the world's clients."""
        standbys = np.zeros((len(self.decided.columns.active), num_clients), dtype=np.bool_)
        standbys[:, self.members] = self.decided.columns.standby
        return standbys


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """A finished run.

    Attributes:
        world: what was simulated.
        layout: the rows.
        rounds: the rebalances, in order.
        changes: what the scenario did, in order.
        restored_bytes: what all clients read to catch up.
        down_ms: shape (T,); for how long each task was not processed.
        failure: why the run ended early, if an assignor failed.
    """

    world: World
    layout: Layout
    rounds: Sequence[Round]
    changes: Sequence[TimedChange]
    restored_bytes: int
    down_ms: IntArray
    failure: str | None = None

    def story(self, task: str) -> list[str]:
        """Tell one task's life: where it ran and stood by, round by round, as far as that changed.

        Raises:
            KeyError: the application has no such task.
        """
        try:
            row = self.layout.tasks.ids.index(TaskId.parse(task))
        except ValueError:
            raise KeyError(f"'{task}' is not a task of {self.world.application.id}") from None
        told: list[str] = []
        before = ""
        for each in self.rounds:
            now = self._whereabouts(each, row)
            if now != before:
                told.append(f"{each.at_ms / 1000:.0f} s, round {each.number} ({each.reason}): {now}")
            before = now
        return told

    def _whereabouts(self, each: Round, row: int) -> str:
        clients = self.world.clients
        owner = int(each.owners()[row])
        runs = "nobody runs it" if owner == UNASSIGNED else f"runs on {clients[owner].name}"
        standbys = [clients[n].name for n in np.flatnonzero(each.standbys(len(clients))[row])]
        return runs + (f", standby on {', '.join(standbys)}" if standbys else "")
