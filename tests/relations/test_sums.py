"""Sums of figures of one run."""

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

pytestmark = pytest.mark.answers

READS = (TrafficKind.SOURCE_READ, TrafficKind.REPARTITION_READ)
GIGABYTE = 1_000_000_000
UNCHAINED = WorldLimits(has_chains=False)
WITHOUT_BROKER_EVENTS = WorldLimits(events=(*CLIENT_EVENTS, *OTHER_EVENTS))


def traffic_bytes(trace: Trace, *kinds: TrafficKind) -> float:
    """Return the bytes of some kinds of traffic; of all kinds if none is given."""
    return math.fsum(float(round_.traffic[kind].sum()) for round_ in trace.rounds for kind in kinds or TrafficKind)


class LastExecution:
    """Keeps the execution of a run."""

    execution: Execution

    def __call__(self, execution: Execution) -> None:
        self.execution = execution


def produced_bytes(trace: Trace) -> np.ndarray:
    """Return the bytes that are produced to the sources of each task, from the scenario's rates only."""
    world, layout = trace.world, trace.layout
    begins_ms = trace.rounds[0].at_ms if world.start is Start.WARM else 0
    changes = [(timed.at_ms, timed.change) for timed in trace.changes if isinstance(timed.change, TrafficScaled)]
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
    """Return the rate of a partition in an hour of the day, or its usual rate."""
    rates = topic.bytes_per_s if hour is None or not topic.hourly_bytes_per_s else topic.hourly_bytes_per_s[hour]
    return rates[partition]


@relation(37)
@given(worlds(UNCHAINED), assignors())
def test_produced_bytes_are_processed_or_wait(world: World, assignor: TaskAssignor) -> None:
    """Bytes read from sources plus bytes of lag equal the bytes produced, in each hour of the day."""
    trace = run(world, assignor)
    if trace.rounds:
        waiting = trace.final_totals.backlog_s * trace.layout.input_bytes_per_s
        processed = traffic_bytes(trace, *READS)
        assert processed + waiting.sum() == pytest.approx(produced_bytes(trace).sum(), rel=1e-9, abs=1)


@relation(37)
@given(worlds(), assignors())
def test_changelogs_grow_by_written_bytes(world: World, assignor: TaskAssignor) -> None:
    """Changelogs grow by the bytes written to them, and by those of source topics that serve as changelogs."""
    last = LastExecution()
    trace = run(world, assignor, last)
    if not trace.rounds:
        return
    changelogs = {store.changelog for part in world.application.subtopologies for store in part.stores}
    sources = {name for part in world.application.subtopologies for name in part.source_topics}
    grown_bytes = float((last.execution.restoration.end_bytes - trace.layout.state_bytes).sum())
    written_bytes = traffic_bytes(trace, TrafficKind.CHANGELOG_WRITE)
    if changelogs & sources:
        assert grown_bytes >= written_bytes - 1
        assert grown_bytes <= written_bytes + traffic_bytes(trace, *READS) + 1
    else:
        assert grown_bytes == pytest.approx(written_bytes, rel=1e-9, abs=1)


@relation(32)
@given(worlds(), assignors())
def test_restored_bytes_equal_restore_and_warmup_traffic(world: World, assignor: TaskAssignor) -> None:
    """Restored bytes equal the traffic of restorations and warm-ups, in the run and in each rebalance."""
    trace = run(world, assignor)
    tables = figures_of(trace)
    [run_row] = tables["runs"]
    kinds = ("restore_read", "warmup_read")
    of_round: dict[int, float] = defaultdict(float)
    for row in tables["traffic"]:
        of_round[row["round"]] += row["bytes"] * (row["kind"] in kinds)
    assert run_row["restored_bytes"] == pytest.approx(sum(of_round.values()), rel=1e-9, abs=2)
    for row in tables["rounds"]:
        assert row["restored_bytes"] == pytest.approx(of_round[row["round"]], rel=1e-9, abs=2)
    assert 0 <= run_row["restored_again_bytes"] <= run_row["restored_bytes"]


@relation(32)
@given(worlds(WITHOUT_BROKER_EVENTS), assignors(), st.integers(1, 3))
def test_replication_traffic_is_proportional_to_followers(world: World, assignor: TaskAssignor, replicas: int) -> None:
    """With r replicas of each partition, replication traffic is r - 1 times the bytes that tasks write."""
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
    assert traffic_bytes(trace, TrafficKind.REPLICATION) == pytest.approx(
        (replicas - 1) * traffic_bytes(trace, *writes), abs=1e-3
    )


@relation(37)
@given(worlds(), assignors())
def test_cross_rack_bytes_and_dollars_add_up(world: World, assignor: TaskAssignor) -> None:
    """Traffic between racks adds up to the cross-rack bytes of rebalances and of the run; dollars are their price."""
    tables = figures(world, assignor)
    [run_row] = tables["runs"]
    cross_rack_bytes: dict[int, float] = defaultdict(float)
    for row in tables["traffic"]:
        assert row["bytes"] > 0
        if row["from_rack"] is not None and row["to_rack"] is not None and row["from_rack"] != row["to_rack"]:
            cross_rack_bytes[row["round"]] += row["bytes"]
    bytes_of_rounds = [row["cross_rack_bytes"] for row in tables["rounds"]]
    for row in tables["rounds"]:
        if row["cross_rack_bytes"] is not None:
            assert row["cross_rack_bytes"] == pytest.approx(cross_rack_bytes[row["round"]], rel=1e-9, abs=1e-3)
    if None in bytes_of_rounds:
        assert run_row["cross_rack_bytes"] is None
    else:
        assert run_row["cross_rack_bytes"] == pytest.approx(sum(bytes_of_rounds), rel=1e-9, abs=1e-3)
    if world.price is None or run_row["cross_rack_bytes"] is None:
        assert run_row["cross_rack_usd"] is None
    else:
        dollars = run_row["cross_rack_bytes"] / GIGABYTE * world.price.usd_per_gb
        assert run_row["cross_rack_usd"] == pytest.approx(dollars, rel=1e-9)
    if world.price is None or run_row["cross_rack_bytes_per_s"] is None:
        assert run_row["cross_rack_usd_per_day"] is None
    else:
        dollars = 86_400 * run_row["cross_rack_bytes_per_s"] / GIGABYTE * world.price.usd_per_gb
        assert run_row["cross_rack_usd_per_day"] == pytest.approx(dollars, rel=1e-9)


def intervals(steps: list[Row], until_ms: int) -> list[tuple[str, str | None, int, int]]:
    """Return the state, client, start and end of each interval of one task's states."""
    ends = [*(step["at_ms"] for step in steps), until_ms][1:] if steps else []
    return [(step["state"], step["client"], step["at_ms"], end) for step, end in zip(steps, ends, strict=True)]


def longest_outage_ms(states: list[tuple[str, str | None, int, int]], begins_ms: int, ends_ms: int) -> int:
    """Return the longest time between two intervals in which a task ran, or before the first or after the last."""
    longest, down_since = 0, begins_ms
    for state, _, since, until in states:
        if state == "running" and until > max(since, begins_ms):
            longest = max(longest, since - down_since)
            down_since = until
    return max(longest, ends_ms - down_since)


@relation(40)
@given(worlds(), assignors())
def test_task_states_fill_the_run(world: World, assignor: TaskAssignor) -> None:
    """The intervals of a task's states fill the run, and its downtime is the time in which it is not `running`."""
    trace = run(world, assignor)
    tables = figures_of(trace)
    begins_ms = trace.rounds[0].at_ms if trace.rounds else world.duration_ms
    steps: dict[str, list[Row]] = defaultdict(list)
    for row in tables["task_states"]:
        steps[row["task"]].append(row)
    for task in tables["tasks"]:
        task_intervals = intervals(steps[task["task"]], world.duration_ms)
        assert all(since <= until for _, _, since, until in task_intervals)
        running = sum(
            max(0, until - max(since, begins_ms)) for state, _, since, until in task_intervals if state == "running"
        )
        assert task["downtime_ms"] == world.duration_ms - begins_ms - running
        assert task["longest_downtime_ms"] == longest_outage_ms(task_intervals, begins_ms, world.duration_ms)
        assert all((client is None) == (state == "unassigned") for state, client, _, _ in task_intervals), (
            task_intervals
        )
    [run_row] = tables["runs"]
    downtimes_ms = [task["downtime_ms"] for task in tables["tasks"]]
    assert run_row["downtime_ms"] == sum(downtimes_ms) == total(tables["rounds"], "downtime_ms")
    assert run_row["worst_downtime_ms"] == max(downtimes_ms)
    assert run_row["longest_downtime_ms"] == max(task["longest_downtime_ms"] for task in tables["tasks"])
    assert run_row["mean_downtime_ms"] == pytest.approx(sum(downtimes_ms) / len(downtimes_ms))
    assert run_row["mean_downtime_ms"] <= run_row["worst_downtime_ms"]
    assert run_row["p99_downtime_ms"] == pytest.approx(np.percentile(downtimes_ms, 99))
    assert run_row["max_processing_delay_ms"] == max(task["max_processing_delay_ms"] for task in tables["tasks"])


def up_intervals(trace: Trace) -> dict[str, list[tuple[int, int]]]:
    """Return the intervals in which each client is up, from the run's events."""
    world = trace.world
    since: dict[str, int] = {client.name: 0 for client in world.clients if client.starts}
    result: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for timed in trace.changes:
        client = getattr(timed.change, "client", None)
        if client is None:
            continue
        if "starts" in str(timed.change):
            since.setdefault(client, timed.at_ms)
        elif client in since:
            result[client].append((since.pop(client), timed.at_ms))
    for client, at_ms in since.items():
        result[client].append((at_ms, world.duration_ms))
    return result


@relation(40)
@given(worlds(), assignors())
def test_tasks_run_only_on_clients_that_are_up(world: World, assignor: TaskAssignor) -> None:
    """A task is assigned, restoring or running only while its client is up."""
    trace = run(world, assignor)
    up = up_intervals(trace)
    steps: dict[str, list[Row]] = defaultdict(list)
    for row in figures_of(trace)["task_states"]:
        steps[row["task"]].append(row)
    for task_steps in steps.values():
        for state, client, since, until in intervals(task_steps, world.duration_ms):
            if state in ("assigned", "restoring", "running", "blocked"):
                assert any(begin <= since and until <= end for begin, end in up[client]), (client, since, until, up)


@relation(40)
@given(worlds(), assignors())
def test_figures_are_not_negative_and_times_are_ordered(world: World, assignor: TaskAssignor) -> None:
    """Bytes, downtime and moves of each rebalance are at least 0; rebalances, events and states are ordered in time."""
    tables = figures(world, assignor)
    for row in tables["rounds"]:
        assert min(row["restored_bytes"], row["downtime_ms"], row["withheld_tasks"], row["thread_moves"]) >= 0
        assert row["requested_at_ms"] <= row["at_ms"] <= row["until_ms"]
    for before, after in pairwise(tables["rounds"]):
        assert before["until_ms"] == after["at_ms"]
        assert before["round"] < after["round"]
    for name in ("events", "task_states"):
        moments = [row["at_ms"] for row in tables[name]]
        assert moments == sorted(moments)
        assert not moments or moments[-1] < world.duration_ms or moments[-1] == tables["rounds"][-1]["until_ms"]
