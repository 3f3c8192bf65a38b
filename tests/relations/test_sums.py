"""Figures of one run that must add up."""

from __future__ import annotations

import dataclasses
import math
from collections import defaultdict
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assignors.model.assignment import TaskAssignor
from simulator.flows.execution import Execution
from simulator.flows.traffic import TrafficKind
from simulator.results.trace import Trace
from simulator.world.changes import TrafficScaled
from simulator.world.world import Start, Topic, World
from tests.relations.figures import Row, figures, figures_of, run, total
from tests.relations.relation import relation
from tests.relations.worlds import CLIENT_EVENTS, OTHER_EVENTS, WorldLimits, assignors, worlds

READS = (TrafficKind.SOURCE_READ, TrafficKind.REPARTITION_READ)
GIGABYTE = 1_000_000_000
UNCHAINED = WorldLimits(has_chains=False)
STILL_BROKERS = WorldLimits(events=(*CLIENT_EVENTS, *OTHER_EVENTS))


def carried(trace: Trace, *kinds: TrafficKind) -> float:
    """Add up the bytes of some kinds, of all if none is named."""
    return math.fsum(float(each.traffic[kind].sum()) for each in trace.rounds for kind in kinds or TrafficKind)


class Last:
    """Keep the execution of a run."""

    execution: Execution

    def __call__(self, execution: Execution) -> None:
        self.execution = execution


def produced_bytes(trace: Trace) -> np.ndarray:
    """Add up what is produced to the sources of each task, from the scenario's rates alone."""
    world, layout = trace.world, trace.layout
    begins_ms = trace.rounds[0].at_ms if world.start is Start.WARM else 0
    changes = [(each.at_ms, each.change) for each in trace.changes if isinstance(each.change, TrafficScaled)]
    bounds = [(0, TrafficScaled(1.0)), *changes, (world.duration_ms, TrafficScaled(0.0))]
    produced = np.zeros(len(layout.tasks))
    for (since_ms, traffic), (until_ms, _) in pairwise(bounds):
        seconds = max(0, until_ms - max(since_ms, begins_ms)) / 1000
        for task in range(len(layout.tasks)):
            partitions = [layout.partitions[row] for row in layout.tasks.source.row(task)]
            rates = [rate_of(world.cluster.topics[name.topic], name.partition, traffic.hour) for name in partitions]
            produced[task] += traffic.factor * seconds * sum(rates)
    return produced


def rate_of(topic: Topic, partition: int, hour: int | None) -> int:
    """Return what is produced to a partition per second in an hour of the day, or usually."""
    rates = topic.bytes_per_s if hour is None or not topic.hourly_bytes_per_s else topic.hourly_bytes_per_s[hour]
    return rates[partition]


@relation(60)
@given(worlds(UNCHAINED), assignors())
def test_what_is_produced_is_processed_or_waits(world: World, assignor: TaskAssignor) -> None:
    """Bytes read from sources plus bytes that wait are the bytes produced, in any hour of the day."""
    trace = run(world, assignor)
    if trace.rounds:
        waiting = trace.final_totals.backlog_s * trace.layout.input_bytes_per_s
        processed = carried(trace, *READS)
        assert processed + waiting.sum() == pytest.approx(produced_bytes(trace).sum(), rel=1e-9, abs=1)


@relation(60)
@given(worlds(), assignors())
def test_changelogs_grow_by_what_is_written(world: World, assignor: TaskAssignor) -> None:
    """Changelogs grow by the bytes written to them, and by those of sources that serve as changelogs."""
    last = Last()
    trace = run(world, assignor, last)
    if not trace.rounds:
        return
    own = {store.changelog for part in world.application.subtopologies for store in part.stores}
    sources = {name for part in world.application.subtopologies for name in part.source_topics}
    grown = float((last.execution.restoration.end_bytes - trace.layout.state_bytes).sum())
    written = carried(trace, TrafficKind.CHANGELOG_WRITE)
    if own & sources:
        assert grown >= written - 1
        assert grown <= written + carried(trace, *READS) + 1
    else:
        assert grown == pytest.approx(written, rel=1e-9, abs=1)


@relation(40)
@given(worlds(), assignors())
def test_restored_bytes_are_those_read_to_catch_up(world: World, assignor: TaskAssignor) -> None:
    """Restored bytes are the traffic of restorations and warm-ups, in the run and in each round."""
    trace = run(world, assignor)
    tables = figures_of(trace)
    [row] = tables["runs"]
    kinds = ("restore_read", "warmup_read")
    of_round: dict[int, float] = defaultdict(float)
    for each in tables["traffic"]:
        of_round[each["round"]] += each["bytes"] * (each["kind"] in kinds)
    assert row["restored_bytes"] == pytest.approx(sum(of_round.values()), rel=1e-9, abs=2)
    for each in tables["rounds"]:
        assert each["restored_bytes"] == pytest.approx(of_round[each["round"]], rel=1e-9, abs=2)
    assert 0 <= row["restored_again_bytes"] <= row["restored_bytes"]


@relation(40)
@given(worlds(STILL_BROKERS), assignors(), st.integers(1, 3))
def test_each_follower_copies_what_is_written(world: World, assignor: TaskAssignor, replicas: int) -> None:
    """With r replicas of every partition, replication is r - 1 times what tasks write."""
    count = len(world.cluster.brokers)
    topics = {
        name: dataclasses.replace(
            topic,
            replicas=tuple(tuple((row[0] + r) % count for r in range(replicas)) for row in topic.replicas),
            leaders=tuple(row[0] for row in topic.replicas),
        )
        for name, topic in world.cluster.topics.items()
    }
    trace = run(dataclasses.replace(world, cluster=dataclasses.replace(world.cluster, topics=topics)), assignor)
    writes = (TrafficKind.REPARTITION_WRITE, TrafficKind.RESULT_WRITE, TrafficKind.CHANGELOG_WRITE)
    assert carried(trace, TrafficKind.REPLICATION) == pytest.approx((replicas - 1) * carried(trace, *writes), abs=1e-3)


@relation(60)
@given(worlds(), assignors())
def test_bytes_between_racks_and_their_price_add_up(world: World, assignor: TaskAssignor) -> None:
    """Traffic between racks adds up to the cross-rack bytes of each round and of the run; dollars are these priced."""
    tables = figures(world, assignor)
    [row] = tables["runs"]
    crossed: dict[int, float] = defaultdict(float)
    for each in tables["traffic"]:
        assert each["bytes"] > 0
        if each["from_rack"] is not None and each["to_rack"] is not None and each["from_rack"] != each["to_rack"]:
            crossed[each["round"]] += each["bytes"]
    known = [each["cross_rack_bytes"] for each in tables["rounds"]]
    for each in tables["rounds"]:
        if each["cross_rack_bytes"] is not None:
            assert each["cross_rack_bytes"] == pytest.approx(crossed[each["round"]], rel=1e-9, abs=1e-3)
    if None in known:
        assert row["cross_rack_bytes"] is None
    else:
        assert row["cross_rack_bytes"] == pytest.approx(sum(known), rel=1e-9, abs=1e-3)
    if world.price is None or row["cross_rack_bytes"] is None:
        assert row["cross_rack_usd"] is None
    else:
        paid = row["cross_rack_bytes"] / GIGABYTE * world.price.usd_per_gb
        assert row["cross_rack_usd"] == pytest.approx(paid, rel=1e-9)


def intervals(steps: list[Row], until_ms: int) -> list[tuple[str, str | None, int, int]]:
    """Return the state, client, beginning and end of each interval of one task's states."""
    ends = [*(each["at_ms"] for each in steps), until_ms][1:] if steps else []
    return [(each["state"], each["client"], each["at_ms"], end) for each, end in zip(steps, ends, strict=True)]


@relation(60)
@given(worlds(), assignors())
def test_the_states_of_a_task_divide_its_time(world: World, assignor: TaskAssignor) -> None:
    """A task's intervals of states fill the run, and its downtime is what of them is not `running`."""
    trace = run(world, assignor)
    tables = figures_of(trace)
    begins_ms = trace.rounds[0].at_ms if trace.rounds else world.duration_ms
    steps: dict[str, list[Row]] = defaultdict(list)
    for each in tables["task_states"]:
        steps[each["task"]].append(each)
    for task in tables["tasks"]:
        found = intervals(steps[task["task"]], world.duration_ms)
        assert all(since <= until for _, _, since, until in found)
        running = sum(max(0, until - max(since, begins_ms)) for state, _, since, until in found if state == "running")
        assert task["downtime_ms"] == world.duration_ms - begins_ms - running
        assert all((client is None) == (state == "unassigned") for state, client, _, _ in found), found
    [row] = tables["runs"]
    down = [task["downtime_ms"] for task in tables["tasks"]]
    assert row["downtime_ms"] == sum(down) == total(tables["rounds"], "downtime_ms")
    assert row["worst_downtime_ms"] == max(down)
    assert row["mean_downtime_ms"] == pytest.approx(sum(down) / len(down))
    assert row["mean_downtime_ms"] <= row["worst_downtime_ms"]
    assert row["p99_downtime_ms"] == pytest.approx(np.percentile(down, 99))
    assert row["max_processing_delay_ms"] == max(task["max_processing_delay_ms"] for task in tables["tasks"])


def alive(trace: Trace) -> dict[str, list[tuple[int, int]]]:
    """Return the intervals in which each client is up, from the run's events."""
    world = trace.world
    since: dict[str, int] = {each.name: 0 for each in world.clients if each.starts}
    found: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for timed in trace.changes:
        client = getattr(timed.change, "client", None)
        if client is None:
            continue
        if "starts" in str(timed.change):
            since.setdefault(client, timed.at_ms)
        elif client in since:
            found[client].append((since.pop(client), timed.at_ms))
    for client, at_ms in since.items():
        found[client].append((at_ms, world.duration_ms))
    return found


@relation(40)
@given(worlds(), assignors())
def test_tasks_run_on_clients_that_are_up(world: World, assignor: TaskAssignor) -> None:
    """A task is assigned, restoring or running only while its client is up."""
    trace = run(world, assignor)
    up = alive(trace)
    steps: dict[str, list[Row]] = defaultdict(list)
    for each in figures_of(trace)["task_states"]:
        steps[each["task"]].append(each)
    for listed in steps.values():
        for state, client, since, until in intervals(listed, world.duration_ms):
            if state in ("assigned", "restoring", "running", "blocked"):
                assert any(begin <= since and until <= end for begin, end in up[client]), (client, since, until, up)


@relation(40)
@given(worlds(), assignors())
def test_counters_never_fall(world: World, assignor: TaskAssignor) -> None:
    """Bytes, downtime and moves of each round are at least 0, and rounds, events and states follow in time."""
    tables = figures(world, assignor)
    for each in tables["rounds"]:
        assert min(each["restored_bytes"], each["downtime_ms"], each["withheld_tasks"], each["thread_moves"]) >= 0
        assert each["requested_at_ms"] <= each["at_ms"] <= each["until_ms"]
    for before, after in pairwise(tables["rounds"]):
        assert before["until_ms"] == after["at_ms"]
        assert before["round"] < after["round"]
    for name in ("events", "task_states"):
        moments = [each["at_ms"] for each in tables[name]]
        assert moments == sorted(moments)
        assert not moments or moments[-1] < world.duration_ms or moments[-1] == tables["rounds"][-1]["until_ms"]
