"""A simulated run, written as tool output and leader log, is imported and replayed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from assignors.model.assignment import UNASSIGNED
from scenarios.kafka.dumps.observe import DumpOptions, ObservedDumps, observe_dumps
from scenarios.kafka.observation.history import ObservedRebalance
from scenarios.kafka.observation.rebalances_csv import COLUMNS, rebalances_csv
from scenarios.kafka.observation.scenario_writer import scenario_text
from scenarios.load import loads
from scenarios.run import run
from simulator.results.trace import Round, Trace
from simulator.world.world import World

TEN_O_CLOCK_S = 1_769_940_000

SCENARIO = """\
cluster:
  brokers: {count: 3, racks: [az1, az2, az3]}
  topics:
    - {name: orders, partitions: 12, replication_factor: 2}
application:
  id: shop
  configs: {num.standby.replicas: 1, probing.rebalance.interval.ms: 5m, rack.aware.assignment.strategy: STRATEGY}
  subtopologies:
    - id: 0
      sources: [orders]
      stores: [{name: totals, size: 240 GB}]
clients:
  - {name: app, count: 3, racks: [az1, az2, az3], threads: 2}
  - {name: late, count: 2, racks: [az1, az2], threads: 2, starts: false}
events:
  - {at: 30m, join: {clients: late}}
  - {at: 3h, leave: {clients: app-1}}
duration: 6h
"""
TOPOLOGY = """\
Topologies:
   Sub-topology: 0
    Source: S (topics: [orders])
      --> A
    Processor: A (stores: [totals])
      --> none
      <-- S
"""


def _write(folder: Path, trace: Trace) -> None:
    world = trace.world
    (folder / "topics").write_text("".join(_topics(world)))
    (folder / "brokers").write_text(
        "".join(f"b:9092 (id: {broker.id} rack: {broker.rack}) -> (\n)\n" for broker in world.cluster.brokers)
    )
    sizes = [
        {"partition": f"{topic.name}-{partition}", "size": size}
        for topic in world.cluster.topics.values()
        for partition, size in enumerate(topic.size_bytes)
    ]
    (folder / "sizes").write_text(json.dumps({"brokers": [{"broker": 0, "logDirs": [{"partitions": sizes}]}]}))
    (folder / "topology").write_text(TOPOLOGY)
    (folder / "log").write_text("".join(text for each in trace.rounds for text in _logged(trace, each)))


def _topics(world: World) -> Iterator[str]:
    for topic in world.cluster.topics.values():
        yield f"Topic: {topic.name}\tPartitionCount: {topic.num_partitions}\tReplicationFactor: 2\tConfigs: \n"
        for i, (replicas, leader) in enumerate(zip(topic.replicas, topic.leaders, strict=True)):
            listed = ",".join(map(str, replicas))
            yield f"\tTopic: {topic.name}\tPartition: {i}\tLeader: {leader}\tReplicas: {listed}\tIsr: {listed}\n"


def _logged(trace: Trace, each: Round) -> Iterator[str]:
    seconds, ms = divmod(each.at_ms, 1_000)
    time = f"{datetime.fromtimestamp(TEN_O_CLOCK_S + seconds, UTC):%Y-%m-%d %H:%M:%S},{ms:03}"
    clients = [trace.world.clients[n] for n in each.members]
    consumers = "\n".join(
        f"{client.process_id}: [{', '.join(f'{client.name}-StreamThread-{i}' for i in range(client.threads))}]"
        for client in clients
    )
    yield f"[{time}] INFO {len(clients)} client nodes participating in this rebalance: \n{consumers}.\n"
    tasks = "\n".join(
        f"{trace.world.clients[n].process_id}=[activeTasks: ({_names(trace, np.flatnonzero(each.owner == n))}) "
        f"standbyTasks: ({_names(trace, each.standby[each.standby[:, 1] == n, 0])})]"
        for n in each.members
    )
    yield f"[{time}] INFO Assignment of tasks to nodes: {tasks}\n"
    verdict = "stable" if each.followup_delay_ms is None and not len(each.withheld) else "unstable"
    yield f"[{time}] INFO Finished {verdict} assignment of tasks.\n"


def _names(trace: Trace, rows: np.ndarray) -> str:
    return "[" + ", ".join(str(trace.layout.tasks.ids[row]) for row in rows) + "]"


def _given(trace: Trace, each: Round) -> tuple[dict[str, str], dict[str, tuple[str, ...]]]:
    process = [str(client.process_id) for client in trace.world.clients]
    tasks = list(map(str, trace.layout.tasks.ids))
    active = {tasks[row]: process[n] for row, n in enumerate(each.owner) if n != UNASSIGNED}
    standby: dict[str, tuple[str, ...]] = {}
    for row, n in each.standby:
        standby[tasks[row]] = tuple(sorted((*standby.get(tasks[row], ()), process[n])))
    return active, standby


def _seen(one: ObservedRebalance) -> tuple[dict[str, str], dict[str, tuple[str, ...]]]:
    return one.active, one.standby


@pytest.fixture(params=["none", "min_traffic"])
def first(request: pytest.FixtureRequest) -> Trace:
    return run(loads(SCENARIO.replace("STRATEGY", request.param)), "high_availability")


def _import(folder: Path, trace: Trace) -> ObservedDumps:
    _write(folder, trace)
    strategy = trace.world.application.assignment_configs.rack_aware_assignment_strategy.value
    configs = {
        "num.standby.replicas": "1",
        "probing.rebalance.interval.ms": "300000",
        "rack.aware.assignment.strategy": strategy,
    }
    racks = [(str(client.process_id), client.rack) for client in trace.world.clients]
    return observe_dumps(folder, "shop", DumpOptions(configs, racks))


def test_what_was_logged_is_what_was_assigned(tmp_path: Path, first: Trace) -> None:
    found = _import(tmp_path, first)
    assert found.history is not None
    assert [_seen(one) for one in found.history.rebalances] == [_given(first, each) for each in first.rounds]
    assert [one.at_ms for one in found.history.rebalances] == [
        each.at_ms - first.rounds[0].at_ms for each in first.rounds
    ]


def test_a_replayed_trace_makes_every_assignment_again_that_was_logged(tmp_path: Path, first: Trace) -> None:
    found = _import(tmp_path, first)
    assert found.history is not None
    again = run(loads(scenario_text(found.observation, found.history)), "high_availability")
    assert len(first.rounds) > 8
    assert [_given(again, each) for each in again.rounds] == [_seen(one) for one in found.history.rebalances]


def test_the_table_of_rounds_has_a_line_for_each_task_that_was_given(tmp_path: Path, first: Trace) -> None:
    found = _import(tmp_path, first)
    assert found.history is not None
    head, *lines = rebalances_csv(found.observation, found.history).splitlines()
    assert head.split(",") == list(COLUMNS)
    given = sum((each.owner != UNASSIGNED).sum() + len(each.standby) for each in first.rounds)
    assert len(lines) == given
    last = [line.split(",") for line in lines if line.startswith(f"{len(first.rounds) - 1},")]
    assert {task: process for _, _, task, _, process, role in last if role == "active"} == _given(
        first, first.rounds[-1]
    )[0]
