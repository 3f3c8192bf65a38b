"""Events in which a platform stops clients equal events that stop them in the same way at the same times."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from assignors.model.assignment import TaskAssignor
from simulator.world.changes import Disk
from simulator.world.disturbances import BrokerBounce, BrokerLoss, ConfigChange, Crash, Leave, RollingBounce
from simulator.world.group_configs import GroupProtocol
from simulator.world.pod_events import Closing, NodeDrain, SpotInterruption, StatefulSetUpdate, Volume
from simulator.world.world import World
from tests.relations.figures import EVENT_NUMBERS, TEXTS, check_same, figures, run
from tests.relations.relation import relation
from tests.relations.worlds import WorldLimits, assignors, worlds
from tests.simulator.random_worlds import closings, spans

pytestmark = pytest.mark.answers

CALM = WorldLimits(events=(BrokerLoss, BrokerBounce, ConfigChange))
QUIET = WorldLimits(events=(), has_state=False)
STREAMS = WorldLimits(events=(), protocols=(GroupProtocol.STREAMS,))
moments = st.integers(1, 1_200_000)


def clients_of(world: World) -> tuple[str, ...]:
    return tuple(client.name for client in world.clients if client.starts)


@relation(10)
@given(worlds(CALM), assignors(), moments, closings, spans, spans, st.sampled_from(Volume))
def test_rolling_update_equals_rolling_bounce(
    world: World, assignor: TaskAssignor, at_ms: int, closing: Closing, start_ms: int, ready_ms: int, volume: Volume
) -> None:
    """A rolling update of a StatefulSet, and a drain of one pod at a time, equal a rolling bounce with these times."""
    clients = clients_of(world)
    update = StatefulSetUpdate(at_ms, clients, closing, volume, start_ms=start_ms, ready_ms=ready_ms)
    disk = Disk.LOST if volume is Volume.NONE else Disk.KEPT
    bounce = RollingBounce(at_ms, clients[::-1], start_ms, ready_ms, disk, closing=closing)
    expected = figures(with_event(world, bounce), assignor)
    check_same(figures(with_event(world, update), assignor), expected, but=TEXTS)
    if volume is not Volume.LOCAL:
        drain = NodeDrain(
            at_ms, clients[::-1], closing, volume, start_ms=start_ms, ready_ms=ready_ms, max_unavailable=1
        )
        check_same(figures(with_event(world, drain), assignor), expected, but=TEXTS)


@relation(10)
@given(worlds(CALM), assignors(), moments, spans, st.booleans())
def test_kill_without_grace_equals_crash(
    world: World, assignor: TaskAssignor, at_ms: int, notice_ms: int, is_spot: bool
) -> None:
    """A client without time to close, or on a spot instance that stops before it closed, equals a crashed one."""
    clients = clients_of(world)[:2]
    if is_spot:
        event = SpotInterruption(at_ms, clients, notice_ms=notice_ms, reacts=False)
        crash = Crash(at_ms + notice_ms, clients, disk=Disk.LOST)
    else:
        event = Leave(at_ms, clients, closing=Closing(leaves_group=True, close_ms=1, grace_ms=0))
        crash = Crash(at_ms, clients, disk=Disk.UNFLUSHED_LOST)
    expected = figures(with_event(world, crash), assignor)
    # A spot instance gets its notice before other events that happen until it stops.
    check_same(figures(with_event(world, event), assignor), expected, but=(*TEXTS, *EVENT_NUMBERS), in_order=False)


@relation(15)
@given(worlds(QUIET), assignors(), st.integers(600_000, 1_200_000), spans)
def test_exceeded_grace_period_equals_crash_at_its_end(
    world: World, assignor: TaskAssignor, at_ms: int, grace_ms: int
) -> None:
    """A stable group sees a client that is killed at the end of its grace period like one that crashes then."""
    groups = dataclasses.replace(world.application.group_configs, leader_speed=1.0)
    world = dataclasses.replace(world, application=dataclasses.replace(world.application, group_configs=groups))
    clients = clients_of(world)[:2]
    killed = Leave(at_ms, clients, closing=Closing(leaves_group=True, close_ms=grace_ms + 1, grace_ms=grace_ms))
    rounds, expected = (
        [
            (round_.requested_at_ms, round_.members.tolist(), round_.reason)
            for round_ in run(with_event(world, event), assignor).rounds
        ]
        for event in (killed, Crash(at_ms + grace_ms, clients))
    )
    assert rounds == expected


@relation(10)
@given(worlds(STREAMS), assignors(), st.integers(600_000, 1_200_000), st.integers(1, 20_000))
def test_static_bounce_within_the_session_changes_no_task(
    world: World, assignor: TaskAssignor, at_ms: int, down_ms: int
) -> None:
    """A static member of a streams group that is back within its session gets its tasks back; no other task moves."""
    keeps_process_id = any(store.persistent for part in world.application.subtopologies for store in part.stores)
    clients = tuple(dataclasses.replace(client, is_static=True) for client in world.clients)
    groups = dataclasses.replace(world.application.group_configs, session_timeout_ms=120_000)
    application = dataclasses.replace(world.application, group_configs=groups)
    world = dataclasses.replace(world, application=application, clients=clients)
    assume(keeps_process_id)  # Otherwise, the process has another id, which requests a target.
    calm = run(world, assignor)
    bounced = run(with_event(world, RollingBounce(at_ms, clients_of(world)[:1], down_ms, 0)), assignor)
    assert len(bounced.rounds) == len(calm.rounds)
    for ours, theirs in zip(bounced.rounds, calm.rounds, strict=True):
        assert (ours.at_ms, ours.owner.tolist()) == (theirs.at_ms, theirs.owner.tolist())
    others = np.array([client.name not in clients_of(world)[:1] for client in clients])
    of_others = others[calm.rounds[-1].owner] if calm.rounds else np.array([], dtype=np.bool_)
    assert bounced.downtime_ms[of_others].tolist() == calm.downtime_ms[of_others].tolist()


def with_event(
    world: World, event: Leave | Crash | RollingBounce | StatefulSetUpdate | NodeDrain | SpotInterruption
) -> World:
    """Return the world with an additional event."""
    if not event.clients:
        return world
    return dataclasses.replace(world, disturbances=(*world.disturbances, event))
