"""`assignor-sim plan --from`: imported plans, evaluated and written like those of strategies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from assignor_sim.api.plan_comparison import PlanComparison, plan
from reports.analysis.plans.results import records
from scenarios.kafka.formats.reassignment import parse_reassignment
from tests.assignor_sim.commands.plan_commands import (
    ROUND_ROBIN,
    list_files,
    parse_json,
    plan_row,
    plan_three_brokers,
    run_plan,
)
from tests.assignor_sim.planners import RoundRobin

PLAN = [
    {"topic": "pay", "partition": 1, "replicas": [3, 1]},
    {"topic": "orders", "partition": 0, "replicas": [2, 1]},
    {"topic": "orders", "partition": 2, "replicas": [1, 2]},
]


def write_plan(folder: Path, entries: list[Any] | None = None, **fields: Any) -> str:
    """Write a reassignment file and return its name."""
    partitions = PLAN if entries is None else entries
    (folder / "imported.json").write_text(json.dumps({"partitions": partitions, **fields}, indent=1))
    return "imported.json"


def evaluate(file: str, **options: Any) -> PlanComparison:
    return plan("today.json", [], imported_plans=[file], brokers="brokers.csv", **options)


def parse_replicas(content: bytes) -> dict[str, tuple[int, ...]]:
    return {f"{move.topic}-{move.partition}": move.replicas for move in parse_reassignment(content.decode())}


@pytest.mark.parametrize(
    "options",
    [{}, {"batch_partitions": 3}, {"remove_brokers": [2], "rack_aware": False}],
    ids=["default", "batches", "decommissioned broker"],
)
def test_plan_of_a_strategy_is_the_same_when_imported(folder: Path, options: dict[str, Any]) -> None:
    cluster = {"brokers": "brokers.csv", "log_dirs": "sizes.json"}
    planned = plan("today.json", RoundRobin(), **cluster, **options)
    unsplit = plan("today.json", RoundRobin(), **cluster, **{**options, "batch_partitions": None}, num_orders=0)
    (folder / "plan.json").write_bytes(unsplit["RoundRobin"].files["reassignment.json"])
    imported = evaluate("plan.json", log_dirs="sizes.json", **options)
    assert dict(imported["plan.json"].files) == dict(planned["RoundRobin"].files)
    original, copy = records(planned.rows())[1], records(imported.rows())[1]
    of_strategies_only = {"strategy", "status", "notes", "objective", "value", "bound", "aims", "shuffles"}
    stability = {"rerun_replicas_moved", "rerun_leaders_changed", "distinct_plans"}
    assert {key for key in copy if copy[key] != original[key]} <= of_strategies_only | stability
    assert copy["status"] == "given"
    assert {copy[key] for key in stability} == {None}


def test_batches_keep_the_order_of_the_file_and_have_rollbacks(folder: Path) -> None:
    result = evaluate(write_plan(folder), batch_partitions=1)["imported.json"]
    assert "1 of 3 entries change nothing" in result.notes
    assert parse_replicas(result.files["batch-001/reassignment.json"]) == {"pay-1": (3, 1)}
    assert parse_replicas(result.files["batch-002/reassignment.json"]) == {"orders-0": (2, 1)}
    assert parse_replicas(result.files["batch-001/rollback.json"]) == {"pay-1": (1, 2)}
    assert json.loads(result.files["batch-002/election.json"])["partitions"] == [{"topic": "orders", "partition": 0}]


def test_log_directories_are_kept(folder: Path) -> None:
    entries = [
        {**PLAN[0], "log_dirs": ["/data/2", "any"]},
        {**PLAN[1], "log_dirs": ["any", "any"]},
        {**PLAN[2], "log_dirs": ["/data/1", "any"]},
    ]
    result = evaluate(write_plan(folder, entries))["imported.json"]
    pay, first_order, second_order = json.loads(result.files["reassignment.json"])["partitions"]
    assert pay == entries[0]
    assert "log_dirs" not in first_order
    assert second_order == entries[2]
    # Only the log directory of orders-2 changes.
    assert set(parse_replicas(result.files["rollback.json"])) == {"pay-1", "orders-0"}
    assert any("2 partitions get log directories" in note for note in result.notes)


def test_imported_plan_is_compared_with_strategies_and_shown_on_the_page(folder: Path) -> None:
    result = plan_three_brokers("--from", write_plan(folder), *ROUND_ROBIN, "--out", "out", "--format", "json")
    assert [row["strategy"] for row in parse_json(result)["plans"]][1] == "imported.json"
    assert plan_row(result, "imported.json")["replicas_moved"] == 1
    assert plan_row(result, "imported.json")["folder"] == "out/imported.json"
    assert "imported.json" in (folder / "out" / "report.html").read_text(encoding="utf-8")
    assert "imported.json/reassignment.json" in list_files(folder / "out")


def test_replication_factor_of_the_plan_is_valid_unless_one_is_requested(folder: Path) -> None:
    name = write_plan(folder, [{"topic": "pay", "partition": 0, "replicas": [1, 2, 3]}])
    row = plan_row(plan_three_brokers("--from", name, "--format", "json"), name)
    assert (row["broken_replication_factor"], row["replicas_moved"], row["replicas_moved_bound"]) == (0, 1, None)
    assert row["notes"] == ["the replication factor of 1 partition changes"]
    requested = plan_three_brokers("--from", name, "--replication-factor", "2", "--format", "json")
    assert plan_row(requested, name)["broken_replication_factor"] == 1


def test_broken_rules_are_counted_and_not_rejected(folder: Path) -> None:
    (folder / "brokers.csv").write_text("1,az1\n2,az1\n3,az2\n")
    row = plan_row(plan_three_brokers("--from", write_plan(folder, PLAN[1:2]), "--format", "json"), "imported.json")
    assert row["broken_rack"] == 6
    removed = plan_three_brokers("--from", write_plan(folder), "--remove-broker", "3", "--format", "json")
    assert plan_row(removed, "imported.json")["broken_forbidden_broker"] == 1


def test_entries_of_other_topics_are_skipped(folder: Path) -> None:
    result = evaluate(write_plan(folder), topics=["pay"])["imported.json"]
    assert parse_replicas(result.files["reassignment.json"]) == {"pay-1": (3, 1)}
    assert "2 entries of other topics skipped" in result.notes
    none = plan_three_brokers("--from", write_plan(folder, PLAN[1:]), "--topics", "pay")
    assert none.exit_code == 2
    assert none.stderr == "error: imported.json: no entry for the topics that may change (topics: pay)\n"


def test_all_mistakes_of_a_plan_are_reported_with_lines(folder: Path) -> None:
    entries = [
        {"topic": "ordres", "partition": 0, "replicas": [1]},
        {"topic": "pay", "partition": 2, "replicas": [1]},
        {"topic": "pay", "partition": 0, "replicas": [1, 9]},
    ]
    result = plan_three_brokers("--from", write_plan(folder, entries), "--out", "out")
    assert result.exit_code == 2
    assert result.stderr.splitlines() == [
        "error: imported.json:3: ordres-0: unknown topic 'ordres' (did you mean 'orders'?)",
        "error: imported.json:10: pay-2: unknown partition (partitions: 0, 1)",
        "error: imported.json:17: pay-0: unknown broker 9 (brokers: 1, 2, 3)",
    ]
    assert not (folder / "out").exists()


def test_added_broker_can_get_a_replica_and_unknown_broker_cannot(folder: Path) -> None:
    (folder / "brokers.csv").write_text("1,az1\n3,az3\n")
    assert "unknown broker 2 (brokers: 1, 3)" in plan_three_brokers("--from", write_plan(folder)).stderr
    name = write_plan(folder, [{"topic": "pay", "partition": 1, "replicas": [3, 7]}])
    assert plan_three_brokers("--from", name, "--add-broker", "7:az1").exit_code == 0


def test_generated_plans_and_cruise_control_proposals_are_imported(folder: Path) -> None:
    assignment = '{"version":1,"partitions":[{"topic":"pay","partition":1,"replicas":[%s],"log_dirs":["any","any"]}]}'
    (folder / "generated.txt").write_text(
        f"Current partition replica assignment\n{assignment % '1,2'}\n\n"
        f"Proposed partition reassignment configuration\n{assignment % '3,1'}\n"
    )
    proposal = {"topicPartition": {"topic": "pay", "partition": 1}, "oldReplicas": [1, 2], "newReplicas": [3, 1]}
    (folder / "proposals.json").write_text(json.dumps({"proposals": [proposal]}))
    for name in ("generated.txt", "proposals.json"):
        assert parse_replicas(evaluate(name)[name].files["reassignment.json"]) == {"pay-1": (3, 1)}


def test_missing_or_malformed_plan_is_rejected(folder: Path) -> None:
    assert "nowhere.json: no such file" in plan_three_brokers("--from", "nowhere.json").stderr
    assert "brokers.csv: no JSON" in plan_three_brokers("--from", "brokers.csv").stderr
    assert "version is not 1" in plan_three_brokers("--from", write_plan(folder, version=2)).stderr


def test_imported_plan_without_a_broker_has_its_own_replication_factor(folder: Path) -> None:
    """Topics of three brokers with three replicas keep two without broker 3, as the plan says."""
    now = [{"topic": "t", "partition": 0, "replicas": [1, 2, 3]}]
    (folder / "now.json").write_text(json.dumps({"version": 1, "partitions": now}), encoding="utf-8")
    name = write_plan(folder, [{"topic": "t", "partition": 0, "replicas": [1, 2]}])
    options = ("--brokers", "brokers.csv", "--remove-broker", "3")
    result = run_plan("now.json", *options, "--from", name, "--format", "json")
    row = plan_row(result, name)
    assert (row["broken_replication_factor"], row["broken_forbidden_broker"]) == (0, 0)
    planned = run_plan("now.json", *options)
    assert "replication factor 3 exceeds 2 allowed brokers" in planned.output
