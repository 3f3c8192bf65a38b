"""`assignor-sim plan`: reads a cluster, prints a comparison, writes files for Kafka's tools."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assignor_sim.api.plan_comparison import plan
from scenarios.kafka.formats.reassignment import parse_reassignment
from tests.assignor_sim.commands.plan_commands import (
    ASSIGNMENT,
    PLANNERS,
    ROUND_ROBIN,
    kafka_files,
    list_files,
    parse_json,
    plan_columns,
    plan_row,
    plan_three_brokers,
    read_replicas,
    run_plan,
    strategy_folders,
)
from tests.assignor_sim.planners import RoundRobin

pytestmark = pytest.mark.answers


def test_comparison_starts_with_current_placement(folder: Path) -> None:
    result = plan_three_brokers(*ROUND_ROBIN, "--strategy", f"{PLANNERS}Seeded")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("today.json: 3 brokers, 3 racks, 2 topics, 6 partitions, 12 replicas\n")
    assert list(plan_columns(result.stdout)) == ["today", f"{PLANNERS}RoundRobin", f"{PLANNERS}Seeded"]
    assert "misplaced replicas: 0, proven optimal" in result.stdout


def test_plan_is_written_as_reassignment_election_and_rollback(folder: Path) -> None:
    result = plan_three_brokers(*ROUND_ROBIN, "--out", "out/plan")
    assert result.exit_code == 0, result.output
    out = folder / "out" / "plan"
    assert kafka_files(out) == ["election.json", "manifest.json", "reassignment.json", "rollback.json"]
    assert read_replicas(out / "reassignment.json") == {
        "orders-1": (2, 3), "orders-2": (3, 1), "pay-0": (2, 3), "pay-1": (3, 1),
    }  # fmt: skip
    assert set(read_replicas(out / "rollback.json").values()) == {(1, 2)}
    elected = json.loads((out / "election.json").read_text())["partitions"]
    assert [(entry["topic"], entry["partition"]) for entry in elected] == [
        ("orders", 1), ("orders", 2), ("pay", 0), ("pay", 1),
    ]  # fmt: skip
    assert "4 partitions, 4 elections in out/plan" in result.stdout
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["plans"][1]["status"] == "optimal"


def test_each_strategy_with_a_plan_has_its_folder(folder: Path) -> None:
    result = plan_three_brokers(
        *ROUND_ROBIN, "--strategy", f"{PLANNERS}Infeasible", "--strategy", f"{PLANNERS}Seeded", "--out", "out"
    )
    assert result.exit_code == 0, result.output
    assert strategy_folders(folder / "out") == [
        "tests.assignor_sim.planners_RoundRobin",
        "tests.assignor_sim.planners_Seeded",
    ]
    assert "Infeasible: infeasible: orders-0: no room" in result.stdout


def test_no_plan_exits_with_1_and_writes_nothing(folder: Path) -> None:
    result = plan_three_brokers("--strategy", f"{PLANNERS}Infeasible", "--out", "out")
    assert result.exit_code == 1
    assert "no plan found; nothing written" in result.stderr
    assert not (folder / "out").exists()
    result = plan_three_brokers("--strategy", f"{PLANNERS}Infeasible", "--format", "json")
    assert plan_row(result, "Infeasible")["status"] == "infeasible"


def test_balanced_cluster_has_nothing_to_change(folder: Path) -> None:
    balanced = plan("today.json", RoundRobin(), brokers="brokers.csv").replicas("RoundRobin")
    partitions = [
        {"topic": topic, "partition": partition, "replicas": replicas}
        for (topic, partition), replicas in balanced.items()
    ]
    assignment = json.dumps({**ASSIGNMENT, "partitions": partitions})
    result = plan_three_brokers(*ROUND_ROBIN, "--out", "out", cluster="-", stdin=assignment)
    assert result.exit_code == 0
    assert "nothing to change" in result.stdout
    assert kafka_files(folder / "out") == ["manifest.json"]


def test_batches_have_folders_and_respect_their_limits(folder: Path) -> None:
    result = plan_three_brokers(*ROUND_ROBIN, "--out", "out", "--batch-partitions", "3")
    assert "4 partitions, 4 elections, 2 batches in out" in result.stdout
    assert [len(read_replicas(folder / "out" / f"batch-00{n}" / "reassignment.json")) for n in (1, 2)] == [3, 1]
    limits = ("--batch-bytes", "1 kB", "--log-dirs", "sizes.json")
    assert plan_row(plan_three_brokers(*ROUND_ROBIN, *limits, "--format", "json"), "RoundRobin")["batches"] == 4


def test_scenario_is_planned_with_its_sizes_and_racks(folder: Path) -> None:
    result = run_plan("small.yaml", *ROUND_ROBIN, "--topics", "orders", "--format", "json")
    assert parse_json(result)["cluster"] == {
        "source": "small.yaml", "brokers": 3, "racks": 3, "topics": 2, "partitions": 12, "replicas": 18,
    }  # fmt: skip
    row = plan_row(result, "RoundRobin")
    assert row["replicas_moved_bound"] == 0
    assert row["bytes_moved"] == row["replicas_moved"] * 1_000_000_000
    assert parse_json(result)["request"]["topics"] == ["orders"]


def test_topic_description_is_read_from_standard_input(folder: Path) -> None:
    text = "Topic: t\tPartition: 0\tLeader: 2\tReplicas: 1,2\tIsr: 1,2\n"
    result = run_plan("-", *ROUND_ROBIN, "--out", "out", stdin=text)
    assert result.exit_code == 0, result.output
    assert kafka_files(folder / "out") == ["election.json", "manifest.json"]
    assert "racks and brokers without replicas are unknown" in result.stderr


def test_inapplicable_strategy_states_its_reason(folder: Path) -> None:
    strategy = ("--strategy", f"{PLANNERS}NeedsSizes")
    row = plan_row(plan_three_brokers(*strategy, "--format", "json"), "NeedsSizes")
    assert (row["status"], row["reason"]) == ("not_applicable", "requires partition sizes")
    assert row["replicas_moved"] is None
    assert plan_three_brokers(*strategy, "--log-dirs", "sizes.json").exit_code == 0


def test_failing_strategy_does_not_stop_others(folder: Path) -> None:
    names = ("Failing", "DuplicateBroker", "Exiting", "ExitingAtOnce", "FailingWhenRerun", "RoundRobin")
    result = plan_three_brokers(
        *(word for name in names for word in ("--strategy", f"{PLANNERS}{name}")), "--out", "out"
    )
    assert result.exit_code == 0, result.output
    assert "Failing: failed: ZeroDivisionError: nothing\\nleft" in result.stdout
    assert "Exiting: failed: called sys.exit(0)" in result.stdout
    assert "ExitingAtOnce: failed: called os._exit(0)" in result.stdout
    assert "DuplicateBroker: failed: DuplicateBroker breaks duplicate at orders-0" in result.stdout
    assert "FailingWhenRerun: fails when run again: nothing\\nleft" in result.stdout
    assert [name.rpartition("_")[2] for name in strategy_folders(folder / "out")] == ["FailingWhenRerun", "RoundRobin"]


def test_more_replicas_than_racks_give_a_warning(folder: Path) -> None:
    (folder / "brokers.csv").write_text("1,az1\n2,az1\n3,az2\n4,az2\n")
    result = plan_three_brokers(*ROUND_ROBIN, "--replication-factor", "3")
    assert result.exit_code == 0
    assert "warning: 3 replicas over 2 racks: up to 2 replicas of a partition per rack" in result.stderr


def test_out_directory_with_plans_is_replaced_and_any_other_is_rejected(folder: Path) -> None:
    assert plan_three_brokers(*ROUND_ROBIN, "--out", "out", "--batch-partitions", "1").exit_code == 0
    assert plan_three_brokers(*ROUND_ROBIN, "--out", "out").exit_code == 0
    assert "batch-001/reassignment.json" not in list_files(folder / "out")
    for name, content, reason in (
        ("notes.txt", "mine", "is not a result directory"),
        ("manifest.json", '{"scenario": {}}', "contains runs"),
        ("manifest.json", '{"kind": "sweep"}', "contains a sweep"),
    ):
        other = folder / reason
        other.mkdir()
        (other / name).write_text(content)
        rejected = plan_three_brokers(*ROUND_ROBIN, "--out", str(other))
        assert rejected.exit_code == 2
        assert f"{other}: exists and {reason}; choose another --out" in rejected.stderr
        assert (other / name).read_text() == content


def test_sizes_over_several_lines_give_the_same_plan(folder: Path) -> None:
    expected = plan_three_brokers("--log-dirs", "sizes.json", "--format", "json").stdout
    (folder / "sizes.json").write_text(json.dumps(json.loads((folder / "sizes.json").read_text()), indent=2))
    assert plan_three_brokers("--log-dirs", "sizes.json", "--format", "json").stdout == expected


def test_log_dirs_of_the_assignment_are_kept_in_the_files(folder: Path) -> None:
    text = json.dumps(ASSIGNMENT).replace('"replicas": [1, 2]', '"replicas": [1, 2], "log_dirs": ["/one", "/two"]')
    (folder / "today.json").write_text(text, encoding="utf-8")
    assert plan_three_brokers("--remove-broker", "2", "--out", "plan").exit_code == 0
    for move in parse_reassignment((folder / "plan" / "reassignment.json").read_text()):
        assert dict(zip(move.replicas, move.log_dirs, strict=True)) == {1: "/one", 3: "any"}
    for move in parse_reassignment((folder / "plan" / "rollback.json").read_text()):
        assert dict(zip(move.replicas, move.log_dirs, strict=True)) == {1: "/one", 2: "/two"}


def test_factors_and_racks_of_topics_that_stay_are_not_judged(folder: Path) -> None:
    partitions = [
        {"topic": "a", "partition": 0, "replicas": [1]},
        {"topic": "b", "partition": 0, "replicas": [1, 2, 3]},
    ]
    (folder / "now.json").write_text(json.dumps({"version": 1, "partitions": partitions}), encoding="utf-8")
    for racks in ("xyz", "xxx"):
        lines = [f"{broker},{rack}" for broker, rack in enumerate(racks, 1)]
        (folder / "brokers.csv").write_text("\n".join(["id,rack", *lines, ""]), encoding="utf-8")
        options = ("--topics", "a", "--replication-factor", "2", "--format", "json")
        result = run_plan("now.json", "--brokers", "brokers.csv", *options)
        row = plan_row(result, "exact_flow")
        assert not row["broken_replication_factor"]
        assert not row["broken_rack"]


def test_strategy_that_cannot_be_built_states_its_reason(folder: Path) -> None:
    result = plan_three_brokers("--strategy", f"{PLANNERS}Unbuildable")
    assert result.exit_code == 2
    assert result.stderr.endswith("Unbuildable' cannot be built: OverflowError: no license\n")
