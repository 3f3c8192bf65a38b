"""The verdicts of runs of a small world, and descriptions of tasks."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import pytest

from assignors.model.assignment import KafkaStreamsAssignment, TaskAssignment, TaskType
from assignors.model.state import ApplicationState
from assignors.tasks.streams_group_sticky import StreamsGroupSticky
from simulator.results.convergence import Verdict, convergence
from simulator.world.changes import Disk
from simulator.world.disturbances import Crash, Join, Leave
from simulator.world.group_configs import GroupProtocol
from simulator.world.pod_events import Closing
from tests.simulator.small_world_runs import SECOND, run, tasks_on
from tests.simulator.world_builders import (
    HOUR,
    MINUTE,
    client,
    with_clients,
    with_configs,
    with_group,
    with_late_clients,
    world,
)


@dataclass(frozen=True)
class AlternatingAssignor:
    """Assigns all tasks to the client with the fewest, and always requests a follow-up rebalance."""

    def assign(self, state: ApplicationState) -> TaskAssignment:
        num_previous = [len(tasks) for tasks in state.previous_active]
        target = num_previous.index(min(num_previous))
        return TaskAssignment(
            tuple(
                KafkaStreamsAssignment(
                    process_id, dict.fromkeys(state.tasks.ids, TaskType.ACTIVE) if c == target else {}, 10 * MINUTE
                )
                for c, process_id in enumerate(state.clients.ids)
            )
        )


def test_repeated_assignments_are_a_cycle() -> None:
    trace = run(world(2), assignor=AlternatingAssignor())
    verdict = convergence(trace)
    assert verdict.verdict is Verdict.CYCLING
    assert verdict.round is not None
    assert verdict.repeats is not None
    by_number = {round_.number: round_ for round_ in trace.rounds}
    repeated, between, repeats = (by_number[number] for number in (verdict.repeats, verdict.round - 1, verdict.round))
    assert repeats.decides_like(repeated)
    assert not repeats.decides_like(between)


def test_run_that_ends_during_probing_has_verdict_probing() -> None:
    base = dataclasses.replace(with_late_clients(world(), "late"), duration_ms=HOUR + 11 * MINUTE)
    assert convergence(run(base, Join(HOUR, ("late",)))).verdict is Verdict.PROBING


@pytest.mark.parametrize("protocol", GroupProtocol)
def test_run_that_ends_before_the_session_timeout_is_not_stable(protocol: GroupProtocol) -> None:
    base = dataclasses.replace(with_group(world(), protocol=protocol), duration_ms=HOUR + 30 * SECOND)
    verdict = convergence(run(base, Crash(HOUR, ("c1",), disk=Disk.KEPT), assignor=StreamsGroupSticky()))
    assert verdict.verdict is Verdict.REBALANCING


@dataclass(frozen=True)
class EmptyAssignor:
    """Returns an assignment without clients."""

    def assign(self, state: ApplicationState) -> TaskAssignment:
        return TaskAssignment(())


def test_invalid_assignment_ends_the_run_with_its_cause() -> None:
    trace = run(world(2), assignor=EmptyAssignor())
    assert trace.failure is not None
    assert trace.failure.startswith("round 1: EmptyAssignor: MISSING_PROCESS_ID")
    assert trace.failure.count("MISSING_PROCESS_ID") == 2
    verdict = convergence(trace)
    assert (verdict.verdict, verdict.cause) == (Verdict.FAILED, trace.failure)


@pytest.mark.parametrize("protocol", GroupProtocol)
def test_run_without_clients_is_empty(protocol: GroupProtocol) -> None:
    trace = run(with_group(with_clients(world(), starts=False), protocol=protocol))
    assert trace.rounds == ()
    assert convergence(trace).verdict is Verdict.EMPTY


def test_task_description_lists_its_clients() -> None:
    trace = run(world(), Leave(HOUR, ("c1",), closing=Closing(leaves_group=True)))
    task = int(tasks_on(trace, 1)[0])
    lines = trace.describe_task(str(trace.layout.tasks.ids[task]))
    assert lines[0].endswith("runs on c1")
    assert "(c1 left): " in lines[1]
    with pytest.raises(KeyError, match="unknown task '9_9' of app"):
        trace.describe_task("9_9")


def test_task_description_lists_its_standbys() -> None:
    trace = run(with_configs(world(), num_standby_replicas=1))
    [task, standby_client] = trace.rounds[0].standby[0].tolist()
    [line] = trace.describe_task(str(trace.layout.tasks.ids[task]))
    assert f"standby on {trace.world.clients[standby_client].name}" in line


def test_order_of_clients_does_not_change_the_assignment() -> None:
    base = world()
    reversed_clients = dataclasses.replace(base, clients=base.clients[::-1])
    names = [
        [trace.world.clients[row].name for row in trace.rounds[0].owner.tolist()]
        for trace in (run(base), run(reversed_clients))
    ]
    assert names[0] == names[1], "clients are ordered by process id"
    assert client("c0", "az1").process_id == base.clients[0].process_id
