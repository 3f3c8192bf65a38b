"""A simulated run, written as tool output and leader log, is imported and replayed."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from assignors.model.assignment import UNASSIGNED
from scenarios.kafka.dumps.observe import DumpOptions, ObservedDumps, observe_dumps
from scenarios.kafka.observation.observation import ObservedRebalance
from scenarios.kafka.observation.scenario_writer import COLUMNS, rebalances_csv, scenario_text
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
    (folder / "log").write_text("".join(text for round_ in trace.rounds for text in _log_lines(trace, round_)))


def _topics(world: World) -> Iterator[str]:
    for topic in world.cluster.topics.values():
        yield f"Topic: {topic.name}\tPartitionCount: {topic.num_partitions}\tReplicationFactor: 2\tConfigs: \n"
        for i, (replicas, leader) in enumerate(zip(topic.replicas, topic.leaders, strict=True)):
            listed = ",".join(map(str, replicas))
            yield f"\tTopic: {topic.name}\tPartition: {i}\tLeader: {leader}\tReplicas: {listed}\tIsr: {listed}\n"


def _log_lines(trace: Trace, round_: Round) -> Iterator[str]:
    seconds, ms = divmod(round_.at_ms, 1_000)
    time = f"{datetime.fromtimestamp(TEN_O_CLOCK_S + seconds, UTC):%Y-%m-%d %H:%M:%S},{ms:03}"
    clients = [trace.world.clients[n] for n in round_.members]
    consumers = "\n".join(
        f"{client.process_id}: [{', '.join(f'{client.name}-StreamThread-{i}' for i in range(client.threads))}]"
        for client in clients
    )
    yield f"[{time}] INFO {len(clients)} client nodes participating in this rebalance: \n{consumers}.\n"
    tasks = "\n".join(
        f"{trace.world.clients[n].process_id}=[activeTasks: ({_names(trace, np.flatnonzero(round_.owner == n))}) "
        f"standbyTasks: ({_names(trace, round_.standby[round_.standby[:, 1] == n, 0])})]"
        for n in round_.members
    )
    yield f"[{time}] INFO Assignment of tasks to nodes: {tasks}\n"
    verdict = "stable" if round_.followup_delay_ms is None and not len(round_.withheld) else "unstable"
    yield f"[{time}] INFO Finished {verdict} assignment of tasks.\n"


def _names(trace: Trace, rows: np.ndarray) -> str:
    return "[" + ", ".join(str(trace.layout.tasks.ids[row]) for row in rows) + "]"


def _simulated_assignment(trace: Trace, round_: Round) -> tuple[dict[str, str], dict[str, tuple[str, ...]]]:
    process = [str(client.process_id) for client in trace.world.clients]
    tasks = list(map(str, trace.layout.tasks.ids))
    active = {tasks[row]: process[n] for row, n in enumerate(round_.owner) if n != UNASSIGNED}
    standby: dict[str, tuple[str, ...]] = {}
    for row, n in round_.standby:
        standby[tasks[row]] = tuple(sorted((*standby.get(tasks[row], ()), process[n])))
    return active, standby


def _logged_assignment(rebalance: ObservedRebalance) -> tuple[dict[str, str], dict[str, tuple[str, ...]]]:
    return rebalance.active, rebalance.standby


@pytest.fixture(params=["none", "min_traffic"])
def trace(request: pytest.FixtureRequest) -> Trace:
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


def test_imported_history_equals_the_logged_assignments(tmp_path: Path, trace: Trace) -> None:
    imported = _import(tmp_path, trace)
    assert imported.history is not None
    assert [_logged_assignment(rebalance) for rebalance in imported.history.rebalances] == [
        _simulated_assignment(trace, round_) for round_ in trace.rounds
    ]
    assert [rebalance.at_ms for rebalance in imported.history.rebalances] == [
        round_.at_ms - trace.rounds[0].at_ms for round_ in trace.rounds
    ]


def test_replay_reproduces_every_logged_assignment(tmp_path: Path, trace: Trace) -> None:
    imported = _import(tmp_path, trace)
    assert imported.history is not None
    replayed = run(loads(scenario_text(imported.observation, imported.history)), "high_availability")
    assert len(trace.rounds) > 8
    assert [_simulated_assignment(replayed, round_) for round_ in replayed.rounds] == [
        _logged_assignment(rebalance) for rebalance in imported.history.rebalances
    ]


@pytest.mark.parametrize("client_id", ["=1+1", "+1", "-1+1", "@SUM(A1)", '=HYPERLINK("http://a","b")'])
def test_client_that_is_named_like_a_formula_is_text_in_the_csv(tmp_path: Path, trace: Trace, client_id: str) -> None:
    imported = _import(tmp_path, trace)
    assert imported.history is not None
    observation = imported.observation
    processes = tuple(replace(process, client_id=client_id) for process in observation.processes)
    table = rebalances_csv(replace(observation, processes=processes), imported.history)
    rows = list(csv.DictReader(io.StringIO(table)))
    assert any(row["client"].startswith(f"'{client_id}-") for row in rows)
    assert not [cell for row in rows for cell in row.values() if cell.startswith(("=", "+", "-", "@"))]


def test_rebalances_csv_has_a_row_per_assigned_task_copy(tmp_path: Path, trace: Trace) -> None:
    imported = _import(tmp_path, trace)
    assert imported.history is not None
    head, *lines = rebalances_csv(imported.observation, imported.history).splitlines()
    assert head.split(",") == list(COLUMNS)
    num_copies = sum((round_.owner != UNASSIGNED).sum() + len(round_.standby) for round_ in trace.rounds)
    assert len(lines) == num_copies
    last = [line.split(",") for line in lines if line.startswith(f"{len(trace.rounds) - 1},")]
    assert {task: process for _, _, task, _, process, role in last if role == "active"} == _simulated_assignment(
        trace, trace.rounds[-1]
    )[0]


STORM = Path(__file__).parents[4] / "docs" / "examples" / "rebalance-storm"


def _storm(folder: Path, **replacements: str) -> ObservedDumps:
    """Observe the logs of a real rebalance storm, with parts of the leaders' logs replaced."""
    for path in STORM.iterdir():
        text = path.read_text()
        for old, new in replacements.items():
            text = text.replace(old, new)
        if path.suffix in {".txt", ".log"}:
            (folder / path.name).write_text(text)
    racks = [("shop-one*", "az1"), ("shop-two*", "az2"), ("shop-three*", "az3")]
    return observe_dumps(folder, "shop", DumpOptions({"num.standby.replicas": "1"}, racks))


def test_replay_contains_the_restarts_of_a_client_that_keeps_its_process_id(tmp_path: Path) -> None:
    storm = _storm(tmp_path)
    assert storm.history is not None
    crashes = [change for change in storm.history.changes if change.kind == "crash"]
    assert [change.at_ms for change in crashes] == [68_902, 146_670, 221_726, 296_900, 372_017]
    assert {change.process_ids for change in crashes} == {("bc57003f-c7ac-55cd-8d6d-d1caed58d908",)}
    assert {change.down_ms for change in crashes} == {22_500}
    replayed = run(loads(scenario_text(storm.observation, storm.history)), "high_availability")
    logged_ms = [rebalance.at_ms for rebalance in storm.history.rebalances[2:]]
    simulated_ms = [round_.at_ms for round_ in replayed.rounds[1:]]
    assert [abs(logged - simulated) < 3_000 for logged, simulated in zip(logged_ms, simulated_ms, strict=True)] == (
        [True] * 5
    )
    assert any(
        sentence.startswith("5 client restarts (1m8s902ms to 6m12s17ms") for sentence in storm.observation.assumptions
    )


def test_import_names_logged_rebalances_without_a_cause(tmp_path: Path) -> None:
    """The count is that of the file with the logged rebalances, which includes the first."""
    storm = _storm(tmp_path)
    assert storm.history is not None
    assert len(storm.history.rebalances) == 7
    [warning] = storm.observation.warnings
    assert warning.startswith("Not in the scenario: 1 of 7 logged rebalances (5s681ms after the first rebalance), ")


def test_restarts_of_static_members_are_named_and_not_replayed(tmp_path: Path) -> None:
    """The restart of a static member causes no rebalance, so its new member id does not say when it stopped."""
    static = _storm(tmp_path, **{"-StreamThread-1-consumer-": "-1-", "-StreamThread-2-consumer-": "-2-"})
    assert static.history is not None
    assert not static.history.changes
    [warning] = static.observation.warnings
    assert warning.startswith("Not in the scenario: 6 of 7 logged rebalances (5s681ms to 6m57s17ms after the first ")


def test_replay_with_all_causes_has_no_warning(tmp_path: Path, trace: Trace) -> None:
    assert not _import(tmp_path, trace).observation.warnings
