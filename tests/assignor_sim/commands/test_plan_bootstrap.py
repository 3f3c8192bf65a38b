"""`assignor-sim plan --bootstrap`: recorded responses of a cluster, and the output of Kafka's tools on the same one."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from assignor_sim.api.plan_comparison import plan
from assignors.replicas.planning import PlanError
from scenarios.clusters.cluster_reader import LoadedCluster, read_cluster, read_running_cluster
from scenarios.kafka.formats.reassignment import parse_reassignment
from scenarios.kafka.live import connection
from scenarios.kafka.live.client_properties import ClientSettings
from tests.assignor_sim.commands.plan_commands import run_plan
from tests.scenarios.kafka.live.recorded_cluster import FOLDER, Recorded

DUMPS = FOLDER / "plan"
FILES = ("--brokers", str(DUMPS / "brokers.txt"), "--log-dirs", str(DUMPS / "log_dirs.txt"))
LIVE = ("--bootstrap", "broker:9092")
ONCE = ("--shuffles", "0")

Connect = Callable[..., list[ClientSettings]]


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> Connect:
    """Return a function that replaces the connection by a recorded cluster, and returns the settings it gets."""

    def install(**replaced: list[Any]) -> list[ClientSettings]:
        seen = []

        @contextlib.contextmanager
        def connect(bootstrap: str, settings: ClientSettings) -> Iterator[Recorded]:
            assert bootstrap == LIVE[1]
            seen.append(settings)
            yield Recorded("plan.jsonl", **replaced)

        monkeypatch.setattr(connection, "connect", connect)
        return seen

    return install


def partitions(loaded: LoadedCluster) -> dict[str, Any]:
    """Return everything that strategies see of each partition, by name."""
    state = loaded.state
    ids = state.ids.tolist()
    assert state.size_bytes is not None
    assert state.retention is not None
    return {
        state.name(row): (
            [ids[broker] for broker in state.replicas[row].tolist() if broker >= 0],
            ids[int(state.leader[row])],
            int(state.size_bytes[row]),
            state.retention[int(state.topic[row])],
            None if state.in_sync is None else state.in_sync[row].tolist(),
        )
        for row in range(state.num_partitions)
    }


def dumped() -> LoadedCluster:
    text = (DUMPS / "topics.txt").read_text()
    return read_cluster("topics.txt", text, brokers=DUMPS / "brokers.txt", log_dirs=DUMPS / "log_dirs.txt")


def responses(request: str) -> Any:
    return json.loads(json.dumps(Recorded("plan.jsonl").responses(request)[0]))


def as_json(result: Result) -> Any:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_running_cluster_is_the_cluster_of_the_tools(recorded: Connect) -> None:
    recorded()
    live = read_running_cluster("broker:9092", {})
    assert partitions(live) == partitions(dumped())
    assert sorted(live.state.brokers, key=lambda broker: broker.id) == sorted(
        dumped().state.brokers, key=lambda broker: broker.id
    )
    assert live.remarks == ()


def test_plan_of_running_cluster_is_that_of_the_files(recorded: Connect, folder: Path) -> None:
    recorded()
    request = (*ONCE, "--remove-broker", "2")
    live = as_json(run_plan(*LIVE, *request, "--format", "json"))
    files = as_json(run_plan(str(DUMPS / "topics.txt"), *FILES, *request, "--format", "json"))
    assert live["cluster"].pop("source") == "cluster broker:9092"
    files["cluster"].pop("source")
    for output in (live, files):
        output.pop("title")
    assert live == files
    assert live["changes"]["exact_flow"]["partitions"]


def test_python_plans_a_running_cluster(recorded: Connect) -> None:
    recorded()
    comparison = plan(bootstrap="broker:9092", remove_brokers=[2], num_orders=0)
    moves = parse_reassignment(comparison["exact_flow"].files["reassignment.json"].decode())
    assert {(move.topic, move.partition) for move in moves} == {
        (change.topic, change.partition) for change in comparison.changes("exact_flow")
    }
    assert all(2 not in move.replicas for move in moves)
    with pytest.raises(PlanError, match="give either a cluster"):
        plan()


def test_client_properties_reach_the_connection(recorded: Connect, folder: Path) -> None:
    seen = recorded()
    (folder / "client.properties").write_text("security.protocol=SSL\nmade.up=1\n")
    result = run_plan(*LIVE, *ONCE, "--command-config", "client.properties")
    assert result.exit_code == 0, result.output
    assert seen[0].arguments["security_protocol"] == "SSL"
    assert "warning: client properties made.up are not supported and ignored" in result.stderr


def test_broker_that_is_down_is_named(recorded: Connect, folder: Path) -> None:
    recorded(brokers=[responses("brokers")[1:]])
    result = run_plan(*LIVE, *ONCE)
    assert "warning: assumed decommissioned, as they are down: 1 (broker ids)" in result.stderr


def test_cluster_without_visible_topics_is_one_error(recorded: Connect, folder: Path) -> None:
    recorded(topics=[[]])
    result = run_plan(*LIVE, *ONCE)
    assert result.exit_code == 2
    assert "the cluster has no topics, or none is visible (required: the operation Describe on topics)" in result.stderr


def test_capacities_come_from_a_file(recorded: Connect, folder: Path) -> None:
    recorded()
    (folder / "capacities.csv").write_text("1,az1,1 TB\n2,az2,1 TB\n3,az3,1 TB\n4,az1,2 TB\n")
    loaded = read_running_cluster("broker:9092", {}, brokers=folder / "capacities.csv")
    assert [broker.capacity_bytes for broker in loaded.state.brokers] == [10**12, 10**12, 10**12, 2 * 10**12]


def test_invisible_sizes_and_configs_are_remarks(recorded: Connect, folder: Path) -> None:
    recorded(log_dirs=[[]], topic_configs=[{topic: {} for topic in responses("topic_configs")}])
    result = run_plan(*LIVE, *ONCE)
    assert result.exit_code == 0, result.output
    assert "warning: partition sizes are not visible" in result.stderr
    assert "warning: configs of some topics are not visible" in result.stderr
    assert "copy" not in result.stdout.partition("Changes by")[2].partition("broker ")[2]


def test_local_retention_counts_with_remote_storage(recorded: Connect) -> None:
    tiered = {"remote.storage.enable": "true", "local.retention.ms": "3600000", "retention.ms": "86400000"}
    recorded(topic_configs=[dict.fromkeys(responses("topic_configs"), tiered)])
    retention = read_running_cluster("broker:9092", {}).state.retention
    assert retention is not None
    assert [topic.ms for topic in retention if topic is not None] == [3_600_000] * 3


def test_cluster_that_is_being_reassigned_is_rejected(recorded: Connect, folder: Path) -> None:
    recorded(moving_partitions=[[["shop-orders", 3]]])
    result = run_plan(*LIVE)
    assert result.exit_code == 2
    assert result.stderr == (
        "error: cluster broker:9092: shop-orders-3 is being reassigned; describe it again after the reassignment\n"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "give either CLUSTER (a scenario or file) or --bootstrap HOST:PORT (a running cluster)"),
        (("today.json", *LIVE), "give either CLUSTER (a scenario or file) or --bootstrap HOST:PORT"),
        (("today.json", "--command-config", "x"), "--command-config requires --bootstrap"),
        ((*LIVE, "--command-config", "missing"), "'missing': no such file"),
        (("--bootstrap", " , "), "no cluster given; pass HOST:PORT of a broker"),
    ],
)
def test_contradicting_options_are_rejected(folder: Path, arguments: tuple[str, ...], message: str) -> None:
    result = run_plan(*arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"error: {message}")
