"""Whether a closing client leaves the group, for every event in which clients close."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.timeline import timeline
from simulator.world.changes import ClientDown, Disk
from simulator.world.disturbances import Crash, Join, Leave, RollingBounce
from simulator.world.group_configs import GroupProtocol
from simulator.world.pod_events import Closing
from simulator.world.world import Start, World
from tests.simulator.random_worlds import disturbed_worlds
from tests.simulator.small_world_runs import SECOND, members, run, tasks_on
from tests.simulator.world_builders import HOUR, MINUTE, with_clients, with_group, world

pytestmark = pytest.mark.usefixtures("equal_phases")

CLASSIC, STREAMS = GroupProtocol.CLASSIC, GroupProtocol.STREAMS


def first_down(base: World, disturbance: Leave | RollingBounce) -> ClientDown:
    changes = timeline(dataclasses.replace(base, disturbances=(disturbance,)))
    return next(timed.change for timed in changes if isinstance(timed.change, ClientDown))


@pytest.mark.parametrize("is_static", [False, True])
@pytest.mark.parametrize(
    ("protocol", "leave_group_on_close", "leaves_group", "expected"),
    [
        (CLASSIC, False, None, False),
        (CLASSIC, True, None, "unless static"),
        (CLASSIC, False, True, True),
        (CLASSIC, True, False, False),
        (STREAMS, False, None, "unless static"),
        (STREAMS, False, False, "unless static"),
        (STREAMS, False, True, True),
    ],
)
def test_event_configs_and_protocol_decide_whether_a_client_leaves(
    protocol: GroupProtocol,
    leave_group_on_close: bool,
    leaves_group: bool | None,
    expected: bool | str,
    is_static: bool,
) -> None:
    base = with_group(world(), protocol=protocol, leave_group_on_close=leave_group_on_close)
    base = with_clients(base, is_static=is_static)
    leaves = not is_static if expected == "unless static" else expected
    for event in (
        Leave(HOUR, ("c1",), closing=Closing(leaves_group=leaves_group)),
        RollingBounce(HOUR, ("c1",), MINUTE, 0, closing=Closing(leaves_group=leaves_group)),
    ):
        assert first_down(base, event).leaves_group is leaves, event


def test_crashed_client_does_not_leave_the_group() -> None:
    base = with_group(world(), protocol=STREAMS, leave_group_on_close=True)
    changes = timeline(dataclasses.replace(base, disturbances=(Crash(HOUR, ("c0",), disk=Disk.KEPT),)))
    assert [timed.change for timed in changes] == [ClientDown("c0", leaves_group=False, disk=Disk.KEPT, crashes=True)]
    assert str(changes[0].change) == "c0 goes down"


@pytest.mark.parametrize("is_static", [False, True])
def test_scale_in_without_leave_group_waits_for_the_session_timeout(is_static: bool) -> None:
    trace = run(with_clients(world(), is_static=is_static), Leave(HOUR, ("c1",)))
    second = trace.rounds[1]
    assert (second.requested_at_ms, second.reason) == (HOUR + 45 * SECOND, "c1: session timed out")
    assert members(trace)[1] == [0, 2, 3]
    stateless = [task for task in tasks_on(trace, 1).tolist() if not trace.layout.tasks.stateful[task]]
    assert trace.downtime_ms[stateless].min() >= 45 * SECOND


def test_scale_in_with_leave_group_causes_immediate_rebalance() -> None:
    trace = run(with_clients(world(), is_static=True), Leave(HOUR, ("c1",), closing=Closing(leaves_group=True)))
    assert (trace.rounds[1].requested_at_ms, trace.rounds[1].reason) == (HOUR, "c1 left")


def test_dynamic_member_that_restarts_is_a_new_member() -> None:
    trace = run(world(), Leave(HOUR, ("c1",)), Join(HOUR + 20 * SECOND, ("c1",)))
    assert trace.rounds[1].at_ms == HOUR + 45 * SECOND, "the group waits for the session of the member that closed"
    static = run(with_clients(world(), is_static=True), Leave(HOUR, ("c1",)), Join(HOUR + 20 * SECOND, ("c1",)))
    assert len(static.rounds) == 1, "a static member keeps its membership"


@pytest.mark.parametrize("start", [Start.WARM, Start.COLD])
def test_client_that_closes_at_the_start_never_joins(start: Start) -> None:
    trace = run(dataclasses.replace(world(), start=start), Leave(0, ("c1",)))
    assert members(trace)[0] == [0, 2, 3]
    assert trace.rounds[0].requested_at_ms == 0


@settings(max_examples=30)
@given(disturbed_worlds(), st.integers(1, HOUR), st.sampled_from([None, True, False]), st.data())
def test_leave_and_bounce_treat_the_group_alike(
    base: World, at_ms: int, leaves_group: bool | None, data: st.DataObject
) -> None:
    client = data.draw(
        st.sampled_from([client.name for client in base.clients if client.starts] or [base.clients[0].name])
    )
    all_started = dataclasses.replace(
        base, clients=tuple(dataclasses.replace(client, starts=True) for client in base.clients)
    )
    leaving = first_down(all_started, Leave(at_ms, (client,), closing=Closing(leaves_group=leaves_group)))
    bouncing = first_down(
        all_started, RollingBounce(at_ms, (client,), 1_000, 0, closing=Closing(leaves_group=leaves_group))
    )
    assert leaving == bouncing
