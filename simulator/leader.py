"""The group leader: looks at the members, lets the assignor decide, and hands the tasks out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assignors.assignment import UNASSIGNED, AssignmentColumns, TaskAssignor
from assignors.columns import BoolArray, IntArray
from assignors.configs import AssignmentConfigs
from assignors.tasks.rack_aware import rack_costs
from simulator.group import ComputeAssignment
from simulator.layout import Brokers, Layout
from simulator.measures import measure
from simulator.rebalance import client_table, rebalance, snapshot
from simulator.restoration import Restoration
from simulator.trace import Round
from simulator.traffic import traffic
from simulator.world import World


@dataclass(frozen=True, slots=True, eq=False)
class Leader:
    """Whoever computes the group's assignment, with what it can see: the brokers, and what members report."""

    world: World
    layout: Layout
    brokers: Brokers
    restoration: Restoration
    assignor: TaskAssignor
    traffic_cost: int

    def decide(
        self, wanted: ComputeAssignment, now_ms: int, configs: AssignmentConfigs, restarted: frozenset[int]
    ) -> Round:
        """Assign the tasks, give them to the clients, and measure what was decided.

        Args:
            wanted: which members, in which generation, and why.
            now_ms: the time; restoration has come this far.
            configs: the assignment configs of this moment.
            restarted: the clients (rows of the world) that started since the last time; they run nothing yet.

        Raises:
            AssignorFailedError: the assignor threw, or its answer is not valid.
        """
        members = self._in_kafkas_order(wanted.members)
        placing = self.brokers.placing()
        state = snapshot(
            self.layout.tasks,
            client_table([self.world.clients[row] for row in members], self.layout.racks),
            placing.table,
            self.restoration.lags(members),
            self._previous(members, restarted),
            configs,
        )
        decided = rebalance(state, self.assignor)
        self._hand_out(members, decided.columns)
        if wanted.generation == 1 and self.world.starts_warm:
            self.restoration.fill()
        configured = configs.rack_aware_traffic_cost
        traffic_cost = self.traffic_cost if configured is None else configured
        nearest = self.world.cluster.reads_from_nearest_replica
        return Round(
            number=wanted.generation,
            at_ms=now_ms,
            reason=wanted.reason,
            decided=decided,
            members=members,
            costs=rack_costs(state, decided.columns, traffic_cost),
            measures=measure(decided),
            traffic=traffic(self.layout, placing, decided, from_nearest=nearest),
            restoring=int((~self.restoration.running).sum()),
        )

    def _in_kafkas_order(self, members: tuple[str, ...]) -> IntArray:
        wanted = set(members)
        rows = [row for row, client in enumerate(self.world.clients) if client.name in wanted]
        rows.sort(key=lambda row: self.world.clients[row].process_id)
        return np.array(rows, dtype=np.int64)

    def _previous(self, members: IntArray, restarted: frozenset[int]) -> tuple[BoolArray, BoolArray]:
        """What the members ran until now, and what else is on their disks."""
        active = self.restoration.active[:, members].copy()
        active[:, [row in restarted for row in members.tolist()]] = False
        return active, self.restoration.on_disk(members) & ~active

    def _hand_out(self, members: IntArray, columns: AssignmentColumns) -> None:
        owners = np.where(columns.active == UNASSIGNED, UNASSIGNED, members[columns.active])
        standbys = np.zeros((len(owners), len(self.world.clients)), dtype=np.bool_)
        standbys[:, members] = columns.standby
        self.restoration.assign(owners, standbys)
