"""Partitions without a live leader, and steady-state bytes after brokers left and returned."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from assignors.model.assignment import TaskAssignor
from assignors.model.ids import TopicPartition
from simulator.flows.execution import Execution
from simulator.timeline import timeline
from simulator.world.changes import BrokersDown, BrokersUp
from simulator.world.disturbances import BrokerBounce, BrokerLoss, RackOutage
from simulator.world.world import World
from tests.relations.figures import run
from tests.relations.relation import relation
from tests.relations.test_prefix_runs import check_steady_state
from tests.relations.worlds import CLIENT_EVENTS, WorldLimits, assignors, worlds

pytestmark = pytest.mark.answers

LOSSES = WorldLimits(events=(BrokerLoss, BrokerLoss, BrokerBounce, RackOutage, *CLIENT_EVENTS))


class OfflineChecker:
    """Check that nothing is processed or read while all replicas of a partition are on lost brokers."""

    def __init__(self, world: World) -> None:
        self._changes = [timed for timed in timeline(world) if isinstance(timed.change, BrokersDown | BrokersUp)]
        self._topics = world.cluster.topics

    def __call__(self, execution: Execution) -> None:
        layout, copies = execution.layout, execution.restoration.copies
        offline = np.array([self._is_offline(name, execution.now_ms) for name in layout.partitions], dtype=np.bool_)
        for task in range(len(layout.tasks)):
            reads, logs = layout.tasks.source.row(task), layout.tasks.changelog.row(task)
            if offline[reads].any() or offline[logs].any():
                assert execution.processing.rate[task] == 0, layout.tasks.ids[task]
            if offline[logs].any():
                assert not execution.restoration.rate[copies.task == task].any(), layout.tasks.ids[task]

    def _is_offline(self, name: TopicPartition, now_ms: int) -> bool:
        """Return whether all replicas are lost; at the time of a change, the result depends on the order of changes."""
        lost: set[int] = set()
        for timed in self._changes:
            if timed.at_ms == now_ms:
                return False
            if timed.at_ms < now_ms:
                brokers = set(timed.change.brokers)
                lost = lost | brokers if isinstance(timed.change, BrokersDown) else lost - brokers
        return set(self._topics[name.topic].replicas[name.partition]) <= lost


@relation(43)
@given(worlds(LOSSES), assignors())
def test_offline_partitions_are_not_processed_or_restored(world: World, assignor: TaskAssignor) -> None:
    """No task is processed or restored, and no standby catches up, while a necessary partition has no live leader."""
    run(world, assignor, OfflineChecker(world))


@relation(40)
@given(worlds(WorldLimits(events=(BrokerLoss, BrokerBounce, RackOutage), is_limited=False)), assignors())
def test_steady_state_bytes_after_brokers_return(world: World, assignor: TaskAssignor) -> None:
    """Cross-rack bytes grow at the rate of the last rebalance, also after brokers left and returned."""
    check_steady_state(world, assignor)
