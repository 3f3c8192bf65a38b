"""A client that closes leaves the group if Kafka's client would: the same for every event in which clients close."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assignors.model.assignment import TaskAssignor
from simulator.results.tabulation import tabulate
from simulator.run import simulate
from simulator.timeline import timeline
from simulator.world.changes import ClientDown
from simulator.world.disturbances import Crash, Join, Leave, RollingBounce
from simulator.world.world import GroupProtocol, Start, World
from tests.simulator.random_worlds import assignors, disturbed_worlds
from tests.simulator.small_world_runs import SECOND, members, ran_on, run
from tests.simulator.world_builders import HOUR, MINUTE, with_clients, with_group, world

CLASSIC, STREAMS = GroupProtocol


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
        (STREAMS, False, None, True),
        (STREAMS, False, False, True),
        (STREAMS, True, True, True),
    ],
)
def test_events_configs_and_the_protocol_decide_whether_a_client_leaves(
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
        Leave(HOUR, ("c1",), leaves_group=leaves_group),
        RollingBounce(HOUR, ("c1",), MINUTE, 0, leaves_group=leaves_group),
    ):
        assert first_down(base, event).leaves_group is leaves, event


def test_a_crash_never_leaves() -> None:
    base = with_group(world(), protocol=STREAMS, leave_group_on_close=True)
    changes = timeline(dataclasses.replace(base, disturbances=(Crash(HOUR, ("c0",)),)))
    assert [timed.change for timed in changes] == [ClientDown("c0", leaves_group=False, keeps_state=True, crashes=True)]
    assert str(changes[0].change) == "c0 goes down"


@pytest.mark.parametrize("is_static", [False, True])
def test_a_scale_in_with_kafkas_defaults_leaves_tasks_unassigned_for_the_session_timeout(is_static: bool) -> None:
    trace = run(with_clients(world(), is_static=is_static), Leave(HOUR, ("c1",)))
    second = trace.rounds[1]
    assert (second.requested_at_ms, second.reason) == (HOUR + 45 * SECOND, "c1: session timed out")
    assert members(trace)[1] == [0, 2, 3]
    stateless = [task for task in ran_on(trace, 1).tolist() if not trace.layout.tasks.stateful[task]]
    assert trace.downtime_ms[stateless].min() >= 45 * SECOND


def test_a_scale_in_that_leaves_the_group_is_noticed_at_once() -> None:
    trace = run(with_clients(world(), is_static=True), Leave(HOUR, ("c1",), leaves_group=True))
    assert (trace.rounds[1].requested_at_ms, trace.rounds[1].reason) == (HOUR, "c1 left")


def test_a_dynamic_member_that_closes_and_comes_back_joins_as_another() -> None:
    trace = run(world(), Leave(HOUR, ("c1",)), Join(HOUR + 20 * SECOND, ("c1",)))
    assert trace.rounds[1].at_ms == HOUR + 45 * SECOND, "the group waits for the session of the member that closed"
    static = run(with_clients(world(), is_static=True), Leave(HOUR, ("c1",)), Join(HOUR + 20 * SECOND, ("c1",)))
    assert len(static.rounds) == 1, "a static member takes the place that it had"


@pytest.mark.parametrize("start", [Start.WARM, Start.COLD])
def test_a_client_that_closes_as_the_run_starts_has_never_joined(start: Start) -> None:
    trace = run(dataclasses.replace(world(), start=start), Leave(0, ("c1",)))
    assert members(trace)[0] == [0, 2, 3]
    assert trace.rounds[0].requested_at_ms == 0


LABELS = ("event", "slowest_event")
"""Columns that name what happened."""


@given(disturbed_worlds(), assignors(), st.integers(1, HOUR), st.data())
def test_closing_without_leaving_the_group_is_what_a_crash_is_to_the_others(
    base: World, assignor: TaskAssignor, at_ms: int, data: st.DataObject
) -> None:
    base = with_group(base, protocol=CLASSIC, leave_group_on_close=False)
    names = st.lists(st.sampled_from([each.name for each in base.clients]), min_size=1, unique=True).map(tuple)
    clients = data.draw(names)
    tables = [
        tabulate(simulate(dataclasses.replace(base, disturbances=(*base.disturbances, each)), assignor), "assignor", 1)
        for each in (Leave(at_ms, clients), Crash(at_ms, clients))
    ]
    assert tables[0].keys() == tables[1].keys()
    for name in tables[0].keys() - {"events"}:
        left, crashed = (
            table[name].select([c for c in table[name].column_names if c not in LABELS]) for table in tables
        )
        assert left.equals(crashed), name


@given(disturbed_worlds(), st.integers(1, HOUR), st.sampled_from([None, True, False]), st.data())
def test_whoever_closes_for_whatever_reason_leaves_or_not_alike(
    base: World, at_ms: int, leaves_group: bool | None, data: st.DataObject
) -> None:
    client = data.draw(st.sampled_from([each.name for each in base.clients if each.starts] or [base.clients[0].name]))
    there = dataclasses.replace(base, clients=tuple(dataclasses.replace(each, starts=True) for each in base.clients))
    for_good = first_down(there, Leave(at_ms, (client,), leaves_group=leaves_group))
    for_a_while = first_down(there, RollingBounce(at_ms, (client,), 1_000, 0, leaves_group=leaves_group))
    assert for_good == for_a_while
