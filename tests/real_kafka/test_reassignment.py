"""Replica plans that Kafka's own tools execute lead to the planned cluster."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from assignors.model.ids import TopicPartition
from assignors.replicas import planning, registry
from assignors.replicas.plan import PlanRequest
from assignors.replicas.state import ClusterState
from scenarios.clusters.cluster_reader import read_cluster
from scenarios.kafka.formats.reassignment import parse_reassignment, reassignment_json
from scenarios.kafka.plan_files import REASSIGNMENT, partitions_to_elect, plan_files, replica_changes
from scenarios.load import load
from simulator.timeline import timeline
from simulator.world.changes import ReplicationStep
from tests.assignor_sim.conftest import Shell
from tests.kafka_cluster.cluster import ClusterSpec, KafkaCluster
from tests.real_kafka.reassigning import RECORDS, Operator, ReplicasAndLeader, replicas_and_leaders
from tools.java import find_main_class

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

CROWDED = {"orders": [(1, 2)] * 9, "clicks": [(2, 1), (2, 1), (1, 2), (1, 2)]}
"""Two topics whose replicas are all on two brokers, most of them led by the first."""

SCENARIO = """\
name: copying
cluster:
  from: {topics: topics.txt, brokers: brokers.txt, log_dirs: sizes.txt}
application: {id: app, subtopologies: [{id: 0, sources: [timed-orders]}]}
clients: [{name: app, count: 1}]
events: [{at: 1m, reassignment: {plan: plan.json, throttle: 4 MB/s}}]
duration: 10m
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[KafkaCluster]:
    with KafkaCluster(ClusterSpec(brokers=4)) as running:
        yield running


@pytest.fixture(scope="module")
def brokers(cluster: KafkaCluster, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file with the output of `kafka-broker-api-versions.sh`."""
    path = tmp_path_factory.mktemp("brokers") / "brokers.txt"
    path.write_text(cluster.run_tool("BrokerApiVersionsCommand"), encoding="utf-8")
    return path


def make_plan(strategy: str, state: ClusterState, request: PlanRequest) -> tuple[ClusterState, Mapping[str, bytes]]:
    """Return the cluster after the plan of a strategy, and the files of the plan."""
    plan = planning.plan(registry.make(registry.find_strategy(strategy)), state, request)
    assert plan.replicas is not None, plan.reason
    changes = replica_changes(state, plan.replicas)
    assert changes
    return state.with_replicas(plan.replicas), plan_files(changes, partitions_to_elect(state, plan.replicas))


def test_leader_strategy_elects_planned_leaders(cluster: KafkaCluster, brokers: Path, tmp_path: Path) -> None:
    operator = Operator(cluster, "led", tmp_path)
    operator.create(CROWDED)
    goal, files = make_plan("leader_max_flow", operator.read_cluster_state(brokers), PlanRequest())
    operator.execute(operator.write(files))
    assert replicas_and_leaders(operator.read_cluster_state(brokers)) == replicas_and_leaders(goal)
    assert operator.throttles() == []


def test_replication_factor_is_raised_and_rolled_back(cluster: KafkaCluster, brokers: Path, tmp_path: Path) -> None:
    operator = Operator(cluster, "grown", tmp_path)
    operator.create(CROWDED)
    offsets = operator.end_offsets()
    before = operator.read_cluster_state(brokers)
    goal, files = make_plan("greedy_per_topic", before, PlanRequest(replication_factor=3))
    plan = operator.write(files)
    operator.execute(plan)
    assert replicas_and_leaders(operator.read_cluster_state(brokers)) == replicas_and_leaders(goal)
    operator.roll_back(plan)
    assert replicas_and_leaders(operator.read_cluster_state(brokers)) == replicas_and_leaders(before)
    assert operator.end_offsets() == offsets
    assert set(offsets.values()) == {RECORDS}
    assert operator.throttles() == []


def target_replicas(plan: Path) -> ReplicasAndLeader:
    """Return the target replicas in the batches of a plan, led by the first."""
    files = [path.read_text(encoding="utf-8") for path in sorted(plan.glob(f"batch-*/{REASSIGNMENT}"))]
    moves = [move for text in files for move in parse_reassignment(text)]
    return {f"{move.topic}-{move.partition}": (move.replicas, move.replicas[0]) for move in moves}


def test_broker_is_decommissioned_as_in_the_how_to(cluster: KafkaCluster, brokers: Path, tmp_path: Path) -> None:
    operator = Operator(cluster, "typed", tmp_path)
    operator.create(CROWDED)
    shell = Shell(tmp_path)
    described = shell.write("topics.txt", operator.describe())
    before = replicas_and_leaders(read_cluster("topics.txt", described.read_text(encoding="utf-8")).state)
    shell.write("sizes.txt", cluster.run_tool("LogDirsCommand", "--describe"))
    arguments = ["--strategy", "exact_flow", "--remove-broker", "2", "--out", "plan", "--batch-partitions", "8"]
    result = shell("plan", "topics.txt", "--brokers", str(brokers), "--log-dirs", "sizes.txt", *arguments)
    assert (result.code, result.err) == (0, "")
    assert len(list(tmp_path.glob("plan/batch-*"))) == 2

    operator.execute(tmp_path / "plan")
    after = replicas_and_leaders(operator.read_cluster_state(brokers))
    assert all(2 not in replicas and leader == replicas[0] for replicas, leader in after.values())
    assert after == {**before, **target_replicas(tmp_path / "plan")}
    assert operator.throttles() == []


def test_running_cluster_is_planned_like_the_output_of_the_tools(
    cluster: KafkaCluster, brokers: Path, tmp_path: Path
) -> None:
    operator = Operator(cluster, "live", tmp_path)
    operator.create(CROWDED)
    shell = Shell(tmp_path)
    shell.write("topics.txt", cluster.run_tool("TopicCommand", "--describe"))
    shell.write("sizes.txt", cluster.run_tool("LogDirsCommand", "--describe"))
    request = ["--remove-broker", "2", "--topics", "live-orders,live-clicks", "--shuffles", "0", "--quiet"]
    live = ["--bootstrap", cluster.bootstrap_servers, *request]
    result = shell("plan", *live, "--format", "json")
    assert (result.code, result.err) == (0, "")
    dumps = ["topics.txt", "--brokers", str(brokers), "--log-dirs", "sizes.txt", *request]
    expected = shell("plan", *dumps, "--format", "json")
    assert (expected.code, expected.err) == (0, "")
    assert json.loads(result.out)["changes"] == json.loads(expected.out)["changes"]

    result = shell("plan", *live, "--out", "plan")
    assert (result.code, result.err) == (0, "")
    operator.execute(tmp_path / "plan")
    after = replicas_and_leaders(operator.read_cluster_state(brokers))
    listed = json.loads(expected.out)["changes"]["exact_flow"]["partitions"]
    assert listed
    for change in listed:
        assert after[f"{change['topic']}-{change['partition']}"] == (tuple(change["after"]), change["new_leader"])
    result = shell("plan", *live, "--format", "json")
    assert json.loads(result.out)["changes"]["exact_flow"]["partitions"] == []


def tools_of(cluster: KafkaCluster, folder: Path) -> Path:
    """Write shell scripts with the names of a Kafka installation's tools; return their folder."""
    folder.mkdir()
    for script, name in (
        ("kafka-reassign-partitions.sh", "ReassignPartitionsCommand"),
        ("kafka-leader-election.sh", "LeaderElectionCommand"),
    ):
        main_class = find_main_class(cluster.classpath, name)
        (folder / script).write_text(f"#!/bin/sh\nexec java -Xmx128m -cp '{cluster.classpath}' {main_class} \"$@\"\n")
        (folder / script).chmod(0o755)
    return folder


def test_scripts_execute_and_roll_back_an_imported_plan(cluster: KafkaCluster, brokers: Path, tmp_path: Path) -> None:
    operator = Operator(cluster, "given", tmp_path)
    operator.create(CROWDED)
    before = replicas_and_leaders(operator.read_cluster_state(brokers))
    sizes = cluster.run_tool("LogDirsCommand", "--describe")
    described = json.loads(next(line for line in sizes.splitlines() if line.startswith("{")))
    [log_dir] = [broker["logDirs"][0]["logDir"] for broker in described["brokers"] if broker["broker"] == 3]
    entries = [
        {"topic": "given-orders", "partition": n, "replicas": [3, 1], "log_dirs": [log_dir, "any"]} for n in range(3)
    ] + [{"topic": "given-clicks", "partition": 0, "replicas": [4, 2]}]
    shell = Shell(tmp_path)
    shell.write("external.json", json.dumps({"partitions": entries}))
    shell.write("topics.txt", operator.describe())
    shell.write("sizes.txt", sizes)
    arguments = ["--from", "external.json", "--throttle", "20 MB/s", "--batch-partitions", "3", "--out", "plan"]
    result = shell("plan", "topics.txt", "--brokers", str(brokers), "--log-dirs", "sizes.txt", *arguments)
    assert (result.code, result.err) == (0, "")
    settings = {"KAFKA_BIN": str(tools_of(cluster, tmp_path / "bin")), "INTERVAL": "0.2"}
    environment = {**os.environ, **settings, "BOOTSTRAP": cluster.bootstrap_servers}

    def run(script: Path) -> str:
        completed = subprocess.run(["sh", str(script)], env=environment, capture_output=True, text=True, timeout=120)
        assert completed.returncode == 0, completed.stdout + completed.stderr
        return completed.stdout

    batches = sorted((tmp_path / "plan").glob("batch-*"))
    for batch in batches:
        assert "is completed." in run(batch / "execute.sh")
    assert replicas_and_leaders(operator.read_cluster_state(brokers)) == {
        **before,
        **target_replicas(tmp_path / "plan"),
    }
    assert operator.throttles() == []
    assert "is completed." in run(batches[0] / "execute.sh")
    for batch in reversed(batches):
        run(batch / "rollback.sh")
    after = replicas_and_leaders(operator.read_cluster_state(brokers))
    assert {key: replicas for key, (replicas, _) in after.items()} == {
        key: replicas for key, (replicas, _) in before.items()
    }
    assert operator.throttles() == []


def test_throttled_reassignment_takes_predicted_time(cluster: KafkaCluster, brokers: Path, tmp_path: Path) -> None:
    operator = Operator(cluster, "timed", tmp_path)
    operator.create({"orders": [(1,), (2,)]}, record_bytes=200_000)
    shell = Shell(tmp_path)
    shell.write("topics.txt", operator.describe())
    shell.write("brokers.txt", brokers.read_text(encoding="utf-8"))
    shell.write("sizes.txt", cluster.run_tool("LogDirsCommand", "--describe"))
    keys = [TopicPartition("timed-orders", partition) for partition in (0, 1)]
    plan = shell.write("plan.json", reassignment_json(zip(keys, [(3,), (3,)], strict=True)))
    world = load(shell.write("copying.yaml", SCENARIO)).world(1)
    steps = [timed.at_ms for timed in timeline(world) if isinstance(timed.change, ReplicationStep)]
    predicted_s = (max(steps) - min(steps)) / 1_000
    assert predicted_s == pytest.approx(10, rel=0.02)
    assert operator.time(plan, 4_000_000) == pytest.approx(predicted_s, rel=0.25)
