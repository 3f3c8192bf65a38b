"""Partitions that are added to a topic while a group runs."""

from __future__ import annotations

import numpy as np
import pytest

from assignors.model.assignment import UNASSIGNED
from scenarios.load import loads
from scenarios.run import run_world
from simulator.assignment.explanation import ExplanationRequest
from simulator.processes.run_options import RunOptions
from simulator.results.convergence import convergence
from simulator.results.run_summary import round_moves
from simulator.results.tabulation import tabulate
from simulator.results.trace import Trace
from simulator.results.verdict import Verdict
from tests.simulator.invariants import check_execution

MINUTE = 60_000
GROUP = """
cluster:
  brokers: {count: 3, racks: [az1, az2, az3]}
  topics:
    - {name: orders, partitions: 4, replication_factor: 2, bytes_per_s: 6 MB/s}
    - {name: other, partitions: 2, replication_factor: 1, bytes_per_s: 1 MB/s}
consumers:
  - group: billing
    topics: [orders, other]
    configs: {CONFIGS}
    clients:
      - {name: c, count: 3, racks: [az1, az2, az3]}
      - {name: late, count: 1, racks: [az1], starts: false}
duration: 1h
events:
  - {at: 10m, partitions_added: {topic: orders, partitions: 9}}
"""
STREAMS = """
cluster:
  brokers: {count: 3, racks: [az1, az2, az3]}
  topics:
    - {name: orders, partitions: 4, replication_factor: 2, bytes_per_s: 6 MB/s}
    - {name: clicks, partitions: 4, replication_factor: 2, bytes_per_s: 1 MB/s}
application:
  id: shop
  configs: {group.protocol: PROTOCOL}
  subtopologies:
    - sources: [orders]
    - sources: [clicks]
      stores: [{name: totals, size: 1 GB, bytes_per_s: 1 MB/s}]
clients:
  - {name: app, count: 3, racks: [az1, az2, az3]}
duration: 1h
events:
  - {at: 10m, partitions_added: {topic: orders, partitions: 9}}
"""


def trace_of(text: str) -> Trace:
    """Run the first assignor of a scenario, and check the invariants after each change."""
    scenario = loads(text)
    [spec, *_] = scenario.assignors
    return run_world(
        scenario,
        scenario.world(1, spec),
        spec,
        1,
        options=RunOptions(observe=check_execution, explain=ExplanationRequest()),
    )


def added(trace: Trace) -> list[int]:
    return np.flatnonzero(trace.added_at_ms).tolist()


def test_leader_of_a_classic_group_notices_them_when_it_refreshes_its_metadata() -> None:
    ends = set()
    for age_s in (20, 50):
        trace = trace_of(
            GROUP.replace("CONFIGS", f"metadata.max.age.ms: {age_s}s, partition.assignment.strategy: sticky")
        )
        first, second = trace.rounds
        assert second.reason == "partitions added to orders"
        assert 10 * MINUTE < second.requested_at_ms <= 10 * MINUTE + age_s * 1_000
        assert [cause.at_ms for cause in second.causes] == [10 * MINUTE]
        assert (first.owner[added(trace)] == UNASSIGNED).all()
        assert (second.owner != UNASSIGNED).all()
        ends.add(second.requested_at_ms)
        assert convergence(trace).verdict is Verdict.STABLE
    assert len(ends) == 2


def test_leader_that_starts_later_knows_them() -> None:
    join = "events:\n  - {at: 11m, join: {clients: late}}"
    text = GROUP.replace("CONFIGS", "metadata.max.age.ms: 30m").replace("events:", join)
    others = "\n".join(f"  - {{at: {10 + 2 * n}m, leave: {{clients: c-{n}}}}}" for n in range(1, 3))
    trace = trace_of(text + others + "\n  - {at: 20m, leave: {clients: c-0}}\n")
    last = trace.rounds[-1]
    assert (last.owner == 3).all()
    assert last.at_ms < 21 * MINUTE


@pytest.mark.parametrize(
    "text", [GROUP.replace("CONFIGS", "group.protocol: consumer"), STREAMS.replace("PROTOCOL", "streams")]
)
def test_coordinator_notices_them_with_the_next_heartbeat(text: str) -> None:
    trace = trace_of(text)
    reached = next(round_ for round_ in trace.rounds if round_.reason == "partitions added to orders")
    assert 10 * MINUTE < reached.at_ms <= 10 * MINUTE + 5_000
    assert (trace.rounds[-1].owner != UNASSIGNED).all()
    assert convergence(trace).verdict is Verdict.STABLE


def test_downtime_counts_from_when_they_exist() -> None:
    trace = trace_of(STREAMS.replace("PROTOCOL", "classic"))
    tasks = added(trace)
    assert len(tasks) == 5
    reached = next(round_ for round_ in trace.rounds if (round_.owner[tasks] != UNASSIGNED).all())
    assert (trace.downtime_ms[tasks] >= reached.at_ms - 10 * MINUTE).all()
    assert (trace.downtime_ms[tasks] < 6 * MINUTE).all()
    assert (trace.longest_downtime_ms == trace.downtime_ms)[tasks].all()
    assert (trace.max_processing_delay_s[tasks] > 0).all()


def test_new_tasks_do_not_move() -> None:
    trace = trace_of(STREAMS.replace("PROTOCOL", "classic"))
    assert not {task for moves in round_moves(trace) for task in moves.tasks.tolist()} & set(added(trace))


def test_rate_of_a_topic_stays_the_same() -> None:
    trace = trace_of(STREAMS.replace("PROTOCOL", "streams"))
    first, last = trace.rounds[0], trace.rounds[-1]
    read = [
        sum(matrix.sum() for kind, matrix in round_.steady_state.items() if "source" in kind)
        for round_ in (first, last)
    ]
    assert read == pytest.approx([7_000_000, 7_000_000])


def test_results_have_tables() -> None:
    tables = tabulate(trace_of(STREAMS.replace("PROTOCOL", "classic")), "high_availability", 1)
    assert "orders has 9 partitions" in tables["events"]["event"].to_pylist()
    assert "increase of orders from 4 to 9 partitions" in tables["convergence"]["event"].to_pylist()
    assert tables["rounds"]["displaced_tasks"].to_pylist()[-1] == 0


def test_several_increases_add_up() -> None:
    more = "events:\n  - {at: 20m, partitions_added: {topic: orders, partitions: 12, replicas: [[0, 1], [1], [2]]}}"
    trace = trace_of(STREAMS.replace("PROTOCOL", "streams").replace("events:", more))
    assert sorted(trace.added_at_ms.tolist()) == [0] * 8 + [10 * MINUTE] * 5 + [20 * MINUTE] * 3
    assert (trace.rounds[-1].owner != UNASSIGNED).all()
    assert trace.world.cluster.topics["orders"].replicas[-3:] == ((0, 1), (1,), (2,))
