"""Members rejoin, or apply a target, once their threads have opened the stores of new tasks."""

from __future__ import annotations

import dataclasses

import pytest

from assignors.tasks.streams_group_sticky import StreamsGroupSticky
from simulator.flows.task_states import TaskState
from simulator.results.trace import Trace
from simulator.world.disturbances import Join
from simulator.world.group_configs import GroupProtocol
from simulator.world.world import ClientTimes, Start, World
from tests.simulator.small_world_runs import run
from tests.simulator.world_builders import HOUR, client, with_configs, with_group, world

HEARTBEAT_MS, JOINS_MS = 3_000, HOUR
LATE = 1


def group_of_two(times: ClientTimes, state_bytes: int = 1_000_000, **configs: int) -> World:
    """Return a world in which a second client joins after an hour; its six stateful tasks do not grow."""
    base = with_configs(world(1), acceptable_recovery_lag=10, **configs)
    topics = {
        name: dataclasses.replace(
            topic,
            size_bytes=tuple(state_bytes if "changelog" in name else 0 for _ in topic.size_bytes),
            bytes_per_s=tuple(0 if "changelog" in name else rate for rate in topic.bytes_per_s),
        )
        for name, topic in base.cluster.topics.items()
    }
    return dataclasses.replace(
        base,
        cluster=dataclasses.replace(base.cluster, topics=topics),
        application=dataclasses.replace(base.application, times=times),
        clients=tuple(client(name, "az1", threads=1, starts=name == "c0") for name in ("c0", "c1")),
        duration_ms=2 * HOUR,
    )


def rounds_after_join(trace: Trace) -> list[tuple[int, int]]:
    return [(row.requested_at_ms, row.at_ms) for row in trace.rounds if row.requested_at_ms >= JOINS_MS]


def joined(times: ClientTimes, **configs: int) -> Trace:
    return run(group_of_two(times, **configs), Join(JOINS_MS, ("c1",)))


def test_members_rejoin_after_the_rejoin_time() -> None:
    instant, late = (rounds_after_join(joined(ClientTimes(rejoin_ms=ms))) for ms in (0, 400))
    assert late[0][1] == instant[0][1] + 400
    assert late[1] == (late[0][1] + 400, late[0][1] + 400)


def test_member_that_waits_for_tasks_opens_its_stores_first() -> None:
    """c0 revokes stateless tasks and requests the follow-up at once; c1 first opens two warm-ups."""
    first, followup, *_ = rounds_after_join(joined(ClientTimes(open_store_ms=1_000)))
    assert followup[0] == first[1]
    assert followup[1] == first[1] + 2 * 1_000


def test_heartbeat_does_not_make_a_member_rejoin_before_its_stores_are_open() -> None:
    first, followup, *_ = rounds_after_join(joined(ClientTimes(open_store_ms=7_000)))
    assert followup[1] == first[1] + 14_000


def test_warmup_that_has_read_nothing_when_its_client_rejoins_waits_for_a_probing_rebalance() -> None:
    trace = joined(ClientTimes(open_store_ms=10, restore_start_ms=100))
    _, followup, probing, *_ = rounds_after_join(trace)
    assert probing[0] == followup[1] + trace.world.application.assignment_configs.probing_rebalance_interval_ms


def test_warmup_that_is_restored_while_another_store_opens_is_in_time() -> None:
    """The first of six warm-ups is restored within 5 s of opening, and reported when c1 rejoins."""
    trace = joined(ClientTimes(open_store_ms=1_000, restore_start_ms=100), max_warmup_replicas=6)
    followup = next(row for row in trace.rounds if row.requested_at_ms > JOINS_MS and "revoked" in row.reason)
    stateful = trace.layout.tasks.stateful
    assert (followup.owner[stateful] == LATE).any()


@pytest.mark.parametrize("rejoin_ms", [0, 400])
def test_member_of_a_streams_group_applies_its_target_in_its_next_poll(rejoin_ms: int) -> None:
    base = with_group(group_of_two(ClientTimes(rejoin_ms=rejoin_ms)), protocol=GroupProtocol.STREAMS)
    trace = run(base, Join(JOINS_MS, ("c1",)), assignor=StreamsGroupSticky())
    revoked = [t.at_ms for t in trace.task_states.transitions if t.state is TaskState.REVOKED and t.at_ms >= JOINS_MS]
    instant = with_group(group_of_two(ClientTimes()), protocol=GroupProtocol.STREAMS)
    reference = run(instant, Join(JOINS_MS, ("c1",)), assignor=StreamsGroupSticky())
    expected = [t.at_ms for t in reference.task_states.transitions if t.state is TaskState.REVOKED]
    assert revoked == [at_ms + rejoin_ms for at_ms in expected]


def test_warm_start_is_instantaneous() -> None:
    times = ClientTimes(0, 5_000, 5_000, 5_000)
    trace = run(group_of_two(times))
    assert trace.downtime_ms.sum() == 0


def test_cold_start_opens_stores() -> None:
    times = ClientTimes(open_store_ms=1_000)
    trace = run(dataclasses.replace(group_of_two(times), start=Start.COLD))
    assert trace.downtime_ms[~trace.layout.tasks.stateful].tolist() == [6_000] * 12
