"""The execution changes only inside `changing`, and reports violated invariants."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.brokers.partition_locations import ClusterMetadata
from simulator.errors import InvalidStateError
from simulator.flows.execution import Execution
from simulator.group.fleet import Fleet
from simulator.group.reconciliation import Reconciliation
from simulator.world.group_assignment import GroupAssignment
from simulator.world.layout import lay_out
from tests.simulator.invariants import check_execution
from tests.simulator.world_builders import world


def make_execution(changes: list[int] | None = None) -> Execution:
    base = world()
    layout = lay_out(base)
    fleet = Fleet(base, layout.racks)
    change_times = changes if changes is not None else []
    execution = Execution(
        base, layout, ClusterMetadata(base, layout), fleet, lambda: change_times.append(execution.now_ms)
    )
    return execution


def test_change_advances_first_and_notifies_at_its_end() -> None:
    changes: list[int] = []
    execution = make_execution(changes)
    with execution.changing(1_000):
        assert execution.now_ms == 1_000
        assert changes == []
        execution.set_traffic(2.0)
    assert changes == [1_000]


def test_change_outside_of_changing_is_rejected() -> None:
    execution = make_execution()
    with pytest.raises(InvalidStateError, match=r"^at 0 ms: changed outside of `with execution\.changing"):
        execution.set_traffic(2.0)


def test_failed_change_is_not_notified() -> None:
    changes: list[int] = []
    execution = make_execution(changes)
    with pytest.raises(ZeroDivisionError), execution.changing(0):
        raise ZeroDivisionError
    assert changes == []
    with pytest.raises(InvalidStateError):
        execution.update_rates()


def test_task_on_stopped_client_violates_an_invariant() -> None:
    execution = make_execution()
    empty = execution.assignment
    check_execution(execution)
    target = GroupAssignment(np.zeros_like(empty.owner), empty.standby, empty.thread)
    with execution.changing(0):
        execution.assign(Reconciliation.without_moves(target))
    with pytest.raises(AssertionError, match="a client that is down owns a task"):
        check_execution(execution)


def test_queries_do_not_change_the_state() -> None:
    execution = make_execution()
    clients = np.arange(4)
    before = execution.restoration.lags(clients, execution.running)
    execution.restoration.caught_up()
    execution.outages()
    assert (execution.restoration.lags(clients, execution.running) == before).all()
