"""The page, tables and scripts of `assignor-sim plan --out`, and Kafka's file of topics to move."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from assignor_sim.api.plan_comparison import folder_names, plan
from assignor_sim.cli import app
from tests.assignor_sim.commands.plan_commands import (
    PLANNERS,
    ROUND_ROBIN,
    list_files,
    parse_json,
    plan_three_brokers,
    read_replicas,
)
from tests.assignor_sim.planners import RoundRobin

pytestmark = pytest.mark.answers


def report(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["report", *arguments])


@pytest.mark.slow
def test_report_recreates_the_page_of_a_plan(folder: Path) -> None:
    result = plan_three_brokers(
        *ROUND_ROBIN, "--strategy", f"{PLANNERS}Seeded", "--log-dirs", "sizes.json", "--out", "out"
    )
    assert result.exit_code == 0, result.output
    assert "Page: out/report.html" in result.stdout
    again = report("out", "-o", "-")
    assert again.exit_code == 0, again.output
    assert again.stdout == (folder / "out" / "report.html").read_text(encoding="utf-8")


def test_incomplete_plan_directory_is_rejected(folder: Path) -> None:
    plan_three_brokers(*ROUND_ROBIN, "--out", "out")
    moves = (folder / "out" / "moves.parquet").rename(folder / "moves.parquet")
    result = report("out")
    assert result.exit_code == 2
    assert result.stderr == "error: out/moves.parquet: No such file or directory; plan again with this version\n"
    (folder / "out" / "manifest.json").write_text('{"kind": "plan", "plans": [{}]}')
    moves.rename(folder / "out" / "moves.parquet")
    result = report("out")
    assert result.exit_code == 2
    assert "out/manifest.json: not a result directory: title: field required" in result.stderr


def test_folder_names_are_unique() -> None:
    names = (f"{PLANNERS}Seeded,seed=1", f"{PLANNERS}Seeded,seed=1 ", f"{PLANNERS}Seeded;seed=1")
    assert len(set(folder_names(names))) == len(names)
    assert folder_names(["exact_flow", "kafka_generate"]) == ["exact_flow", "kafka_generate"]


def topics_option(folder: Path, *names: str) -> tuple[str, str]:
    topics = {"version": 1, "topics": [{"topic": name} for name in names]}
    (folder / "topics-to-move.json").write_text(json.dumps(topics, indent=1))
    return "--topics-to-move-json-file", "topics-to-move.json"


def test_only_topics_to_move_change(folder: Path) -> None:
    result = plan_three_brokers(*ROUND_ROBIN, *topics_option(folder, "pay"), "--out", "out")
    assert result.exit_code == 0, result.output
    assert {name.split("-")[0] for name in read_replicas(folder / "out" / "reassignment.json")} == {"pay"}
    assert "Requested: topic pay only." in result.stdout
    same = plan("today.json", RoundRobin(), brokers="brokers.csv", topics=["pay"])["RoundRobin"]
    assert (folder / "out" / "reassignment.json").read_bytes() == same.files["reassignment.json"]


def test_topics_of_file_and_option_are_combined(folder: Path) -> None:
    topics = (*topics_option(folder, "pay"), "--topics", "orders,pay")
    result = plan_three_brokers(*ROUND_ROBIN, *topics, "--format", "json")
    assert parse_json(result)["request"]["topics"] == ["orders", "pay"]


def test_unknown_topics_to_move_are_reported_with_lines(folder: Path) -> None:
    result = plan_three_brokers(*ROUND_ROBIN, *topics_option(folder, "pya", "orders", "logs"), "--out", "out")
    assert result.exit_code == 2
    assert result.stderr.splitlines() == [
        "error: topics-to-move.json:4: unknown topic 'pya' (did you mean 'pay'?)",
        "error: topics-to-move.json:10: unknown topic 'logs' (topics: orders, pay)",
    ]
    assert not (folder / "out").exists()


def test_throttle_writes_scripts_for_every_batch(folder: Path) -> None:
    batches = ("--batch-partitions", "3", "--log-dirs", "sizes.json")
    assert plan_three_brokers(*ROUND_ROBIN, *batches, "--throttle", "100", "--out", "out").exit_code == 0
    assert [name for name in list_files(folder / "out") if name.endswith(".sh")] == [
        f"batch-00{number}/{name}.sh" for number in (1, 2) for name in ("execute", "rollback")
    ]
    text = (folder / "out" / "batch-001" / "execute.sh").read_text()
    # Of three partitions with 1,000 bytes each, broker 3 gets one replica of each.
    assert "# Execute batch 1 of 2: 3 partitions, 3,000 bytes to copy; at least 30s at 100 bytes/s per broker." in text
    assert "--execute --throttle 100 ;;" in text
    rows = pq.read_table(folder / "out" / "batches.parquet").to_pylist()
    assert [tuple(row.values()) for row in rows] == [
        (f"{PLANNERS}RoundRobin", 1, 3, 3, 3_000, 3, 30_000),
        (f"{PLANNERS}RoundRobin", 2, 1, 1, 1_000, 1, 10_000),
    ]
    page = (folder / "out" / "report.html").read_text(encoding="utf-8")
    assert "Batches (2):" in page
    assert '<td data-v="30000">30 s</td>' in page
    unthrottled = plan("today.json", RoundRobin(), brokers="brokers.csv", log_dirs="sizes.json", batch_partitions=3)
    assert not [name for name in unthrottled["RoundRobin"].files if name.endswith(".sh")]


def test_offline_partitions_are_noted(folder: Path) -> None:
    (folder / "topics.txt").write_text(
        "Topic: t\tPartition: 0\tLeader: none\tReplicas: 9\tIsr: 9\n"
        "Topic: t\tPartition: 1\tLeader: 2\tReplicas: 2\tIsr: 2\n"
    )
    note = "1 partition is offline; new replicas cannot be copied until a broker with a replica is back"
    assert note in plan_three_brokers("--strategy", "exact_flow", cluster="topics.txt").stdout
    (folder / "imported.json").write_text('{"partitions": [{"topic": "t", "partition": 0, "replicas": [1]}]}')
    assert note in plan_three_brokers("--from", "imported.json", cluster="topics.txt").stdout
    (folder / "imported.json").write_text('{"partitions": [{"topic": "t", "partition": 1, "replicas": [1]}]}')
    assert "offline" not in plan_three_brokers("--from", "imported.json", cluster="topics.txt").stdout
