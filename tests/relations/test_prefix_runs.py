"""Two runs with the same rebalances: cut in two, with more bandwidth, or with a later end."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from assignors.model.assignment import TaskAssignor
from simulator.flows.execution import Execution
from simulator.group.heartbeats import Heartbeats
from simulator.results.trace import INITIAL_ROUND, Trace
from simulator.timeline import timeline
from simulator.world.changes import Disk, Disturbance
from simulator.world.disturbances import Crash, Join, Leave, RackOutage, RollingBounce, TrafficChange
from simulator.world.group_configs import GroupProtocol
from simulator.world.pod_events import AT_ONCE, PodEvent, Volume
from simulator.world.world import OffsetReports, Start, World
from tests.relations.figures import figures_of, run
from tests.relations.relation import relation
from tests.relations.worlds import (
    CLIENT_EVENTS,
    DURATION_MS,
    WorldLimits,
    assignors,
    disturbances,
    with_one_thread,
    worlds,
)
from tests.simulator.snapshots import decisions, held_tasks
from tests.simulator.world_builders import HOUR, MINUTE

pytestmark = pytest.mark.answers


class RestoredBytes:
    """Adds up the bytes that copies restore while they are assigned to a client."""

    def __init__(self) -> None:
        self.read = 0.0
        self._since: dict[tuple[int, int], float] = {}

    def __call__(self, execution: Execution) -> None:
        restoration = execution.restoration
        copies = restoration.copies
        assigned = dict.fromkeys(zip(copies.task.tolist(), copies.client.tolist(), strict=True), 0.0)
        for copy in assigned:
            assigned[copy] = self._since.get(copy, float(restoration.held_bytes[copy]))
        for copy in self._since.keys() - assigned.keys():
            self.read += float(restoration.held_bytes[copy]) - self._since[copy]
        self._since = assigned
        self.execution = execution

    def total(self) -> float:
        """Return the sum up to the end of the run."""
        held_bytes = self.execution.restoration.held_bytes
        return self.read + sum(float(held_bytes[copy]) - initial_bytes for copy, initial_bytes in self._since.items())


def with_kept_state(world: World) -> World:
    """Keep disks and persistent stores, let all processes close, and disable cleanup."""
    events = tuple(_with_kept_disk(event) for event in world.disturbances)
    parts = tuple(
        dataclasses.replace(part, stores=tuple(dataclasses.replace(store, persistent=True) for store in part.stores))
        for part in world.application.subtopologies
    )
    groups = dataclasses.replace(world.application.group_configs, state_cleanup_delay_ms=10 * HOUR)
    application = dataclasses.replace(world.application, subtopologies=parts, group_configs=groups)
    return dataclasses.replace(world, disturbances=events, application=application)


def _with_kept_disk(event: Disturbance) -> Disturbance:
    closing = getattr(event, "closing", None)
    if closing is not None:  # A process that is killed before it has closed loses what is not on disk.
        event = dataclasses.replace(event, closing=dataclasses.replace(closing, grace_ms=None))
    if isinstance(event, Crash | RackOutage | RollingBounce):
        return dataclasses.replace(event, disk=Disk.KEPT)
    return dataclasses.replace(event, volume=Volume.ZONAL) if isinstance(event, PodEvent) else event


@relation(40)
@given(worlds(WorldLimits(grows=False)), assignors())
def test_restored_bytes_are_those_that_assigned_copies_lacked(world: World, assignor: TaskAssignor) -> None:
    """If changelogs do not grow and no state is lost, restored bytes equal the bytes that assigned copies lacked."""
    world = with_kept_state(world)
    restored = RestoredBytes()
    trace = run(without_source_changelogs(world), assignor, restored)
    if trace.rounds:
        assert trace.final_totals.restored_bytes == pytest.approx(restored.total(), rel=1e-9, abs=5)
        assert trace.final_totals.restored_again_bytes == 0


def without_source_changelogs(world: World) -> World:
    """Drop stores whose changelog is a source topic, which grows with the produced bytes."""
    parts = tuple(
        dataclasses.replace(
            part, stores=tuple(store for store in part.stores if store.changelog not in part.source_topics)
        )
        for part in world.application.subtopologies
    )
    return dataclasses.replace(world, application=dataclasses.replace(world.application, subtopologies=parts))


def timed_decisions(trace: Trace) -> list[tuple[Any, ...]]:
    """Return the decision and the time of each rebalance."""
    return [
        (
            round_.at_ms,
            round_.members.tolist(),
            round_.owner.tolist(),
            round_.standby.tolist(),
            round_.withheld.tolist(),
        )
        for round_ in trace.rounds
    ]


@relation(43)
@given(worlds(WorldLimits(grows=False)), assignors(), st.sampled_from((2, 100)))
def test_more_bandwidth_restores_no_later(world: World, assignor: TaskAssignor, factor: int) -> None:
    """If changelogs do not grow, k times the client bandwidth lengthens no downtime with the same rebalances."""
    world = with_kept_state(without_source_changelogs(world))
    brokers = tuple(dataclasses.replace(broker, restore_bytes_per_s=None) for broker in world.cluster.brokers)
    slow = dataclasses.replace(world, cluster=dataclasses.replace(world.cluster, brokers=brokers))
    clients = tuple(
        dataclasses.replace(client, restore_bytes_per_s=client.restore_bytes_per_s * factor) for client in slow.clients
    )
    traces = [run(variant, assignor) for variant in (dataclasses.replace(slow, clients=clients), slow)]
    if timed_decisions(traces[0]) == timed_decisions(traces[1]):
        assert (traces[0].downtime_ms <= traces[1].downtime_ms + 2 * len(traces[1].rounds)).all()
        assert (traces[0].unqueryable_ms <= traces[1].unqueryable_ms + 2 * len(traces[1].rounds)).all()


STEADY = WorldLimits(events=(*CLIENT_EVENTS, TrafficChange), is_limited=False)


@relation(43)
@given(worlds(STEADY), assignors())
def test_steady_state_bytes_are_rate_times_duration(world: World, assignor: TaskAssignor) -> None:
    """Once all tasks run and all standbys keep up, cross-rack bytes grow at the rate of the last rebalance."""
    check_steady_state(world, assignor)


def check_steady_state(world: World, assignor: TaskAssignor) -> None:
    """Check the figures that one more minute adds to a run that ends in a steady state, at the usual traffic."""
    last = TrafficChange(DURATION_MS - MINUTE, 1.0)
    others = [event for event in world.disturbances if not isinstance(event, TrafficChange) or event.at_ms < last.at_ms]
    world = dataclasses.replace(world, disturbances=(*others, last))
    restored = RestoredBytes()
    short = run(world, assignor, restored)
    more = dataclasses.replace(world, duration_ms=world.duration_ms + MINUTE)
    # The preferred leader of a partition may not be back yet.
    assume(all(timed.at_ms < world.duration_ms for timed in timeline(more)))
    longer = run(more, assignor)
    assume(short.rounds and short.rounds[-1].reconciled_at_ms is not None and len(short.rounds) == len(longer.rounds))
    is_caught_up = restored.execution.restoration.caught_up()
    assume(is_caught_up.all() and restored.execution.running.all() and short.final_totals.backlog_s.max() < 1e-6)
    [before], [after] = figures_of(short)["runs"], figures_of(longer)["runs"]
    if before["cross_rack_bytes"] is not None:
        added_bytes = after["cross_rack_bytes"] - before["cross_rack_bytes"]
        assert added_bytes == pytest.approx(60 * before["cross_rack_bytes_per_s"], rel=1e-6, abs=1)


BEFORE_MS, BETWEEN_MS = 10 * MINUTE, 20 * MINUTE


class Snapshot:
    """Records the state at one time as the start of another world."""

    def __init__(self, world: World, at_ms: int) -> None:
        self._world = world
        self._at_ms = at_ms
        self.captured: World | None = None
        self.is_caught_up = False
        self.downtime_ms = np.zeros(0)

    def __call__(self, execution: Execution) -> None:
        if execution.now_ms == self._at_ms and self.captured is None:
            self.captured = self._take(execution)
            self.downtime_ms = execution.totals().downtime_ms
            self.is_caught_up = bool(execution.restoration.caught_up().all())

    def _take(self, execution: Execution) -> World:
        fleet, ids = execution.fleet, execution.layout.tasks.ids
        end = {ids[row]: round(size) for row, size in enumerate(execution.restoration.end_bytes.tolist())}
        topics = dict(self._world.cluster.topics)
        for part in self._world.application.subtopologies:
            for store in part.stores:
                assert store.changelog is not None
                topic = topics[store.changelog]
                sizes = tuple(end[type(ids[0])(part.id, row)] for row in range(topic.num_partitions))
                topics[store.changelog] = dataclasses.replace(topic, size_bytes=sizes)
        clients = tuple(
            dataclasses.replace(
                client,
                starts=fleet.up[row],
                tasks=held_tasks(execution, row),
                process_id=fleet.announcement(row)[0],
            )
            for row, client in enumerate(self._world.clients)
        )
        cluster = dataclasses.replace(self._world.cluster, topics=topics)
        return dataclasses.replace(self._world, cluster=cluster, clients=clients, start=Start.RUNNING)


def with_one_store(world: World) -> World:
    """Keep one persistent store of each subtopology, because sizes are known for each task."""
    parts = tuple(
        dataclasses.replace(part, stores=tuple(dataclasses.replace(s, persistent=True) for s in part.stores[:1]))
        for part in world.application.subtopologies
    )
    return dataclasses.replace(world, application=dataclasses.replace(world.application, subtopologies=parts))


RESTARTABLE = WorldLimits(
    events=(Join, Leave, Crash),
    starts=(Start.WARM, Start.COLD),
    protocols=(GroupProtocol.CLASSIC,),
    has_hours=False,
)


def at_once(events: Sequence[Disturbance]) -> list[Disturbance]:
    """Return the events with clients that close in no time and keep their disks."""
    closed = [dataclasses.replace(e, closing=AT_ONCE) if isinstance(e, Leave) else e for e in events]
    return [dataclasses.replace(e, disk=Disk.KEPT) if isinstance(e, Crash) else e for e in closed]


def sparing(names: Collection[str], events: Sequence[Disturbance]) -> list[Disturbance]:
    """Return the events in which the given clients neither leave nor crash; those of no other clients are left out."""
    spared = [
        dataclasses.replace(e, clients=tuple(c for c in e.clients if c not in names))
        if isinstance(e, Leave | Crash)
        else e
        for e in events
    ]
    return [e for e in spared if not isinstance(e, Leave | Crash) or e.clients]


@relation(43)
@given(worlds(RESTARTABLE), assignors(), st.data())
def test_restarted_run_equals_uninterrupted_run(world: World, assignor: TaskAssignor, data: st.DataObject) -> None:
    """A stable classic group with caught-up copies, saved and continued, makes the same decisions at the same times."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Heartbeats, "draw", lambda *_: 0.0)  # The phases of a group that was saved are unknown.
        check_restart(world, assignor, data)


def check_restart(world: World, assignor: TaskAssignor, data: st.DataObject) -> None:
    """Check that a run that is saved and continued equals the uninterrupted one."""
    groups = dataclasses.replace(world.application.group_configs, state_cleanup_delay_ms=10 * HOUR)
    world = with_one_store(without_source_changelogs(world))
    world = dataclasses.replace(world, application=dataclasses.replace(world.application, group_configs=groups))
    clients = tuple(
        dataclasses.replace(with_one_thread(client), reports=OffsetReports.CURRENT, records_per_s=None)
        for client in world.clients
    )
    # What a killed process has flushed depends on the history before the cut, and closing may last beyond it. Nor is it
    # known who leads, and when static members returned without a rebalance: before the cut, the first client starts
    # first, and it and the static ones stay.
    clients = (dataclasses.replace(clients[0], starts=True), *clients[1:])
    stays = {clients[0].name, *(client.name for client in clients if client.is_static)}
    early = tuple(
        dataclasses.replace(event, at_ms=event.at_ms % BEFORE_MS)
        for event in sparing(stays, at_once(world.disturbances))
    )
    world = dataclasses.replace(world, clients=clients, disturbances=early, duration_ms=BETWEEN_MS)
    first = run(world, assignor)
    assume(first.rounds and not first.unfinished)
    last = first.rounds[-1]
    heartbeat_ms = groups.heartbeat_interval_ms
    cut_ms = last.at_ms + (BETWEEN_MS - last.at_ms) // heartbeat_ms * heartbeat_ms
    if cut_ms == BETWEEN_MS:
        cut_ms -= heartbeat_ms
    changed_ms = max((timed.at_ms for timed in timeline(world)), default=0)
    assume(last.reconciled_at_ms is not None and cut_ms > max(last.reconciled_at_ms, changed_ms))
    later = at_once(data.draw(st.lists(disturbances(world, RESTARTABLE), min_size=1, max_size=3)))
    if groups.protocol is GroupProtocol.CLASSIC:
        # While a static member is down, the leader knows what it had when it joined last, which was before the cut.
        later = sparing({client.name for client in clients if client.is_static}, later)
    snapshot = Snapshot(world, cut_ms)
    shifted = tuple(dataclasses.replace(event, at_ms=event.at_ms % BEFORE_MS + cut_ms) for event in later)
    whole = dataclasses.replace(
        world, disturbances=(*early, TrafficChange(cut_ms, 1.0), *shifted), duration_ms=DURATION_MS
    )
    uninterrupted = run(whole, assignor, snapshot)
    assert snapshot.captured is not None
    assume(snapshot.is_caught_up and any(client.starts for client in snapshot.captured.clients))
    due_ms = None if last.followup_delay_ms is None else last.at_ms + last.followup_delay_ms - cut_ms
    restarted_events = tuple(dataclasses.replace(event, at_ms=event.at_ms % BEFORE_MS) for event in later)
    restarted = run(
        dataclasses.replace(
            snapshot.captured, disturbances=restarted_events, next_rebalance_ms=due_ms, duration_ms=DURATION_MS - cut_ms
        ),
        assignor,
    )
    assert decisions(restarted, INITIAL_ROUND, 0) == decisions(uninterrupted, last.number, cut_ms)
    downtime_ms = uninterrupted.final_totals.downtime_ms - snapshot.downtime_ms
    assert restarted.final_totals.downtime_ms == pytest.approx(downtime_ms, abs=1_000 + 0.01 * DURATION_MS)
