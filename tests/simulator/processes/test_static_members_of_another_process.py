"""Static members of a streams group that return with another process id get tasks on two threads of a process."""

from __future__ import annotations

from dataclasses import replace

import pytest

from assignors.tasks.streams_group_sticky import StreamsGroupSticky
from simulator.flows.task_states import TaskState
from simulator.results.trace import Trace
from simulator.world.changes import Disk
from simulator.world.disturbances import RollingBounce
from simulator.world.pod_events import Closing
from simulator.world.world import World
from tests.simulator.run_checks import check_run
from tests.simulator.small_world_runs import (
    SECOND,
    run,
    with_client,
    with_in_memory_store,
    with_streams_protocol,
)
from tests.simulator.world_builders import HOUR, with_clients, with_configs, with_group, world

pytestmark = pytest.mark.usefixtures("equal_phases")

BOUNCE = RollingBounce(HOUR, ("c0",), SECOND, 0, Disk.LOST, closing=Closing(leaves_group=False))
JOINED_MS = HOUR + SECOND
"""When the first thread joins; the second one follows 10 ms later."""


def static_members(clients: int, standbys: int) -> World:
    base = with_clients(with_streams_protocol(world(clients)), is_static=True)
    return with_configs(with_group(base, initial_rebalance_delay_ms=0), num_standby_replicas=standbys)


def begins_to_restore(trace: Trace) -> dict[int, list[int]]:
    """Return which tasks began to restore after the bounce, by time."""
    steps = [step for step in trace.task_states.transitions if step.at_ms >= HOUR and step.state is TaskState.RESTORING]
    return {step.at_ms: step.tasks.tolist() for step in steps}


def test_active_task_waits_until_another_thread_has_closed_its_standby() -> None:
    """The first thread gets standbys of what the other one had, and gets back.

    It closes them with its next heartbeat, after five seconds; the other thread tries again after 1, 3 and 7 seconds.
    """
    trace = run(static_members(1, 1), BOUNCE, assignor=StreamsGroupSticky())
    assert begins_to_restore(trace) == {JOINED_MS: [13, 15, 17], JOINED_MS + 10 + 7 * SECOND: [12, 14, 16]}


def test_active_task_in_memory_does_not_wait() -> None:
    trace = run(with_in_memory_store(static_members(1, 1)), BOUNCE, assignor=StreamsGroupSticky())
    assert begins_to_restore(trace) == {JOINED_MS: [13, 15, 17], JOINED_MS + 10: [12, 14, 16]}


@pytest.mark.parametrize("in_memory", [False, True])
def test_standby_that_one_thread_closes_remains_on_another_one(in_memory: bool) -> None:
    base = with_client(static_members(2, 2), 0, threads=3)
    base = with_in_memory_store(base) if in_memory else base
    check_run(replace(base, disturbances=(BOUNCE,)), StreamsGroupSticky())
