"""Two runs of one course: cut in two, with more bandwidth, or with a longer end."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from assignors.model.assignment import TaskAssignor
from simulator.flows.execution import Execution
from simulator.results.trace import INITIAL_ROUND, Trace
from simulator.timeline import timeline
from simulator.world.disturbances import Crash, Join, Leave, RollingBounce, TrafficChange
from simulator.world.world import GroupProtocol, OffsetReports, Start, World
from tests.relations.figures import figures_of, run
from tests.relations.relation import relation
from tests.relations.worlds import (
    CLIENT_EVENTS,
    DURATION_MS,
    WorldLimits,
    assignors,
    disturbances,
    worlds,
)
from tests.simulator.processes.test_running_start import held, told
from tests.simulator.world_builders import HOUR, MINUTE


class Sums:
    """Add up what copies read from when a client is given one until it is not any more."""

    def __init__(self) -> None:
        self.read = 0.0
        self._since: dict[tuple[int, int], float] = {}

    def __call__(self, execution: Execution) -> None:
        restoration = execution.restoration
        copies = restoration.copies
        now = dict.fromkeys(zip(copies.task.tolist(), copies.client.tolist(), strict=True), 0.0)
        for place in now:
            now[place] = self._since.get(place, float(restoration.held_bytes[place]))
        for place in self._since.keys() - now.keys():
            self.read += float(restoration.held_bytes[place]) - self._since[place]
        self._since = now
        self.last = execution

    def total(self) -> float:
        """Return the sum up to the end of the run."""
        held = self.last.restoration.held_bytes
        return self.read + sum(float(held[place]) - since for place, since in self._since.items())


def keeping_state(world: World) -> World:
    """Keep disks and stores on disk, and clean nothing up."""
    events = tuple(
        dataclasses.replace(each, keeps_state=True) if isinstance(each, Crash | RollingBounce) else each
        for each in world.disturbances
    )
    parts = tuple(
        dataclasses.replace(part, stores=tuple(dataclasses.replace(store, persistent=True) for store in part.stores))
        for part in world.application.subtopologies
    )
    groups = dataclasses.replace(world.application.group_configs, state_cleanup_delay_ms=10 * HOUR)
    application = dataclasses.replace(world.application, subtopologies=parts, group_configs=groups)
    return dataclasses.replace(world, disturbances=events, application=application)


@relation(60)
@given(worlds(WorldLimits(grows=False)), assignors())
def test_restored_bytes_are_what_copies_lacked_when_they_were_given(world: World, assignor: TaskAssignor) -> None:
    """Where changelogs do not grow and nothing is lost, restored bytes are the sum of what given copies lacked."""
    world = keeping_state(world)
    sums = Sums()
    trace = run(without_tables(world), assignor, sums)
    if trace.rounds:
        assert trace.final_totals.restored_bytes == pytest.approx(sums.total(), rel=1e-9, abs=5)
        assert trace.final_totals.restored_again_bytes == 0


def without_tables(world: World) -> World:
    """Drop stores whose changelog is a source, which grows with what is produced."""
    parts = tuple(
        dataclasses.replace(
            part, stores=tuple(each for each in part.stores if each.changelog not in part.source_topics)
        )
        for part in world.application.subtopologies
    )
    return dataclasses.replace(world, application=dataclasses.replace(world.application, subtopologies=parts))


def course(trace: Trace) -> list[tuple[Any, ...]]:
    """Return what each round decided, and when."""
    return [
        (each.at_ms, each.members.tolist(), each.owner.tolist(), each.standby.tolist(), each.withheld.tolist())
        for each in trace.rounds
    ]


@relation(60)
@given(worlds(WorldLimits(grows=False)), assignors(), st.sampled_from((2, 100)))
def test_more_bandwidth_restores_no_later(world: World, assignor: TaskAssignor, factor: int) -> None:
    """Where changelogs do not grow, clients that read k times as fast have no task down longer on the same course."""
    world = keeping_state(without_tables(world))
    brokers = tuple(dataclasses.replace(each, restore_bytes_per_s=None) for each in world.cluster.brokers)
    slow = dataclasses.replace(world, cluster=dataclasses.replace(world.cluster, brokers=brokers))
    clients = tuple(
        dataclasses.replace(each, restore_bytes_per_s=each.restore_bytes_per_s * factor) for each in slow.clients
    )
    traces = [run(each, assignor) for each in (dataclasses.replace(slow, clients=clients), slow)]
    if course(traces[0]) == course(traces[1]):
        assert (traces[0].downtime_ms <= traces[1].downtime_ms + 2 * len(traces[1].rounds)).all()
        assert (traces[0].unqueryable_ms <= traces[1].unqueryable_ms + 2 * len(traces[1].rounds)).all()


AT_REST = WorldLimits(events=(*CLIENT_EVENTS, TrafficChange), is_limited=False)


@relation(60)
@given(worlds(AT_REST), assignors())
def test_at_rest_bytes_are_the_rate_times_the_time(world: World, assignor: TaskAssignor) -> None:
    """Once every task runs and every standby keeps up, cross-rack bytes grow by the rate that the last round states."""
    check_at_rest(world, assignor)


def check_at_rest(world: World, assignor: TaskAssignor) -> None:
    """Check what a minute more adds to a run that ends at rest, at the usual traffic."""
    events = (*world.disturbances, TrafficChange(DURATION_MS - MINUTE, 1.0))
    world = dataclasses.replace(world, disturbances=events)
    sums = Sums()
    short = run(world, assignor, sums)
    longer = run(dataclasses.replace(world, duration_ms=world.duration_ms + MINUTE), assignor)
    assume(short.rounds and short.rounds[-1].reconciled_at_ms is not None and len(short.rounds) == len(longer.rounds))
    level = sums.last.restoration.caught_up()
    assume(level.all() and sums.last.running.all() and short.final_totals.backlog_s.max() < 1e-6)
    [before], [after] = figures_of(short)["runs"], figures_of(longer)["runs"]
    if before["cross_rack_bytes"] is not None:
        grown = after["cross_rack_bytes"] - before["cross_rack_bytes"]
        assert grown == pytest.approx(60 * before["cross_rack_bytes_per_s"], rel=1e-6, abs=1)


BEFORE_MS, BETWEEN_MS = 10 * MINUTE, 20 * MINUTE


class Photograph:
    """Write down what there is at one moment as the start of another world."""

    def __init__(self, world: World, at_ms: int) -> None:
        self._world = world
        self._at_ms = at_ms
        self.captured: World | None = None
        self.is_level = False
        self.downtime_ms = np.zeros(0)

    def __call__(self, execution: Execution) -> None:
        if execution.now_ms == self._at_ms and self.captured is None:
            self.captured = self._take(execution)
            self.downtime_ms = execution.totals().downtime_ms
            self.is_level = bool(execution.restoration.caught_up().all())

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
                each, starts=fleet.up[row], tasks=held(execution, row), process_id=fleet._process_ids[row]
            )
            for row, each in enumerate(self._world.clients)
        )
        cluster = dataclasses.replace(self._world.cluster, topics=topics)
        return dataclasses.replace(self._world, cluster=cluster, clients=clients, start=Start.RUNNING)


def with_one_store(world: World) -> World:
    """Keep one store of each subtopology, on disk, as sizes are known task by task."""
    parts = tuple(
        dataclasses.replace(part, stores=tuple(dataclasses.replace(s, persistent=True) for s in part.stores[:1]))
        for part in world.application.subtopologies
    )
    return dataclasses.replace(world, application=dataclasses.replace(world.application, subtopologies=parts))


CUT = WorldLimits(
    events=(Join, Leave, Crash),
    starts=(Start.WARM, Start.COLD),
    protocols=(GroupProtocol.CLASSIC,),
    has_hours=False,
)


@relation(80)
@given(worlds(CUT), assignors(), st.data())
def test_a_run_cut_in_two_is_one_run(world: World, assignor: TaskAssignor, data: st.DataObject) -> None:
    """A classic group at rest with level copies, written down and continued, decides the same at the same times."""
    groups = dataclasses.replace(world.application.group_configs, state_cleanup_delay_ms=10 * HOUR)
    world = with_one_store(without_tables(world))
    world = dataclasses.replace(world, application=dataclasses.replace(world.application, group_configs=groups))
    clients = tuple(
        dataclasses.replace(each, reports=OffsetReports.CURRENT, records_per_s=None) for each in world.clients
    )
    early = tuple(dataclasses.replace(each, at_ms=each.at_ms % BEFORE_MS) for each in world.disturbances)
    world = dataclasses.replace(world, clients=clients, disturbances=early, duration_ms=BETWEEN_MS)
    first = run(world, assignor)
    assume(first.rounds and not first.unfinished)
    last = first.rounds[-1]
    beat_ms = groups.heartbeat_interval_ms
    cut_ms = last.at_ms + (BETWEEN_MS - last.at_ms) // beat_ms * beat_ms
    if cut_ms == BETWEEN_MS:
        cut_ms -= beat_ms
    changed_ms = max((each.at_ms for each in timeline(world)), default=0)
    assume(last.reconciled_at_ms is not None and cut_ms > max(last.reconciled_at_ms, changed_ms))
    later = data.draw(st.lists(disturbances(world, CUT), min_size=1, max_size=3))
    photograph = Photograph(world, cut_ms)
    then = tuple(dataclasses.replace(each, at_ms=each.at_ms % BEFORE_MS + cut_ms) for each in later)
    one = dataclasses.replace(world, disturbances=(*early, TrafficChange(cut_ms, 1.0), *then), duration_ms=DURATION_MS)
    went_on = run(one, assignor, photograph)
    assert photograph.captured is not None
    assume(photograph.is_level and any(each.starts for each in photograph.captured.clients))
    due_ms = None if last.followup_delay_ms is None else last.at_ms + last.followup_delay_ms - cut_ms
    again = tuple(dataclasses.replace(each, at_ms=each.at_ms % BEFORE_MS) for each in later)
    other = run(
        dataclasses.replace(
            photograph.captured, disturbances=again, next_rebalance_ms=due_ms, duration_ms=DURATION_MS - cut_ms
        ),
        assignor,
    )
    assert told(other, INITIAL_ROUND, 0) == told(went_on, last.number, cut_ms)
    downtime_ms = went_on.final_totals.downtime_ms - photograph.downtime_ms
    assert other.final_totals.downtime_ms == pytest.approx(downtime_ms, abs=1_000 + 0.01 * DURATION_MS)
