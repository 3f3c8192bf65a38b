"""Options of `assignor-sim plan`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.assignor_sim.commands.plan_commands import (
    PLANNERS,
    ROUND_ROBIN,
    plan_row,
    plan_three_brokers,
    read_replicas,
    run_plan,
)
from tests.scenarios.ingested_folders import rate_row, write_ingested_folder

pytestmark = pytest.mark.answers


def test_brokers_are_removed_and_added(folder: Path) -> None:
    result = plan_three_brokers(
        *ROUND_ROBIN, "--remove-broker", "1", "--add-broker", "7:az1:2 TB", "--replication-factor", "3",
        "--topics", "pay", "--out", "out", "--no-racks",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert read_replicas(folder / "out" / "reassignment.json") == {"pay-0": (2, 3, 7), "pay-1": (3, 7, 2)}
    request = (
        "Requested: without broker 1; with broker 7:az1:2 TB; replication factor 3; topic pay only; not rack-aware."
    )
    assert request in result.stdout


def test_time_limit_and_seed_reach_strategies_that_support_them(folder: Path) -> None:
    result = plan_three_brokers(
        *ROUND_ROBIN, "--strategy", f"{PLANNERS}Seeded", "--time-limit", "5", "--seed", "1", "--out", "out"
    )
    assert "limit 5 s" in result.stdout
    seeded = folder / "out" / "tests.assignor_sim.planners_Seeded" / "reassignment.json"
    assert read_replicas(seeded)["orders-0"] == (2, 3)


def test_number_of_shuffled_inputs_is_an_option(folder: Path) -> None:
    default = plan_row(plan_three_brokers(*ROUND_ROBIN, "--format", "json"), "RoundRobin")
    assert (default["rerun_replicas_moved"], default["distinct_plans"], default["shuffles"]) == (0, 1, 20)
    three = plan_three_brokers("--strategy", f"{PLANNERS}Seeded", "--shuffles", "3", "--format", "json")
    seeded = plan_row(three, "Seeded")
    assert (seeded["distinct_plans"], seeded["shuffles"]) == (3, 3)
    untested = plan_row(plan_three_brokers(*ROUND_ROBIN, "--shuffles", "0", "--format", "json"), "RoundRobin")
    assert (untested["distinct_plans"], untested["shuffles"]) == (None, None)


def test_integer_program_covers_selected_topics_only(folder: Path) -> None:
    result = plan_three_brokers(
        *ROUND_ROBIN, "--strategy", f"{PLANNERS}Seeded", "--topics", "pay", "--write-lp", "pay.lp"
    )
    assert result.exit_code == 0, result.output
    assert (folder / "pay.lp").read_text() == "/* 2 partitions on 3 brokers */\n"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--replication-factor", "4"), "orders-0: replication factor 4 exceeds 3 allowed brokers"),
        (("--remove-broker", "9"), "--remove-broker 9: unknown broker (brokers: 1, 2, 3)"),
        (("--remove-broker", "1", "--remove-broker", "2"), "orders-0: replication factor 2 exceeds 1 allowed brokers"),
        (("--remove-broker", "1", "--remove-broker", "2", "--remove-broker", "3"), "no broker remains; keep one"),
        (("--add-broker", "3:az1"), "--add-broker 3:az1: broker 3 exists already (brokers: 1, 2, 3)"),
        (("--add-broker", "az1"), "--add-broker az1: 'az1' is not a broker id"),
        (("--add-broker", "7:az1:big"), "--add-broker 7:az1:big: capacity: 'big' is not a size"),
        (("--add-broker", "7:az1", "--add-broker", "7:az2"), "--add-broker: a broker occurs twice"),
        (("--topics", "pay,ordres"), "unknown topic 'ordres' (topics: orders, pay)"),
        (("--topics", " ,"), "--topics: empty list of topics"),
        (("--batch-bytes", "1 GB"), "--batch-bytes: partition sizes are unknown"),
        (("--batch-bytes", "much"), "--batch-bytes: 'much' is not a size"),
        (("--throttle", "fast"), "--throttle: 'fast' is not a rate"),
        (("--throttle", "0"), "--throttle: the rate must be positive"),
        (("--strategy", "exact"), "'exact' is not a replica assignor"),
        (("--strategy", "json:loads"), "'json:loads' is not a replica assignor"),
        (("--strategy", f"{PLANNERS}Unknown"), "cannot be imported"),
        (("--all",), "--all: cannot be combined with --strategy"),
        (("--write-lp", "no/x.lp"), "--write-lp no/x.lp: the folder no does not exist"),
        (("--log-dirs", "brokers.csv"), "brokers.csv: no line starts with a brace"),
        (("--brokers", "today.json"), "today.json:1: '{' is not a broker id"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)  # fmt: skip
def test_invalid_input_gives_one_message_and_no_files(folder: Path, options: tuple[str, ...], message: str) -> None:
    result = plan_three_brokers(*ROUND_ROBIN, "--out", "out", *options)
    assert result.exit_code == 2, result.output
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert not (folder / "out").exists()


@pytest.mark.parametrize(
    "options",
    [
        ("--time-limit", "5"),
        ("--write-lp", "x.lp"),
        ("--headroom", "0.2"),
        ("--goals", "RackAwareGoal"),
        ("--constraints", "own.txt"),
    ],
)
def test_option_that_no_strategy_supports_is_rejected(folder: Path, options: tuple[str, ...]) -> None:
    (folder / "own.txt").write_text("leaders(broker=1) <= 1\n")
    result = plan_three_brokers("--strategy", f"{PLANNERS}Seeded", *options)
    assert result.exit_code == 2
    assert f"{options[0]}: no strategy has" in result.stderr
    assert not (folder / "x.lp").exists()


def test_missing_or_binary_cluster_file_is_rejected(folder: Path) -> None:
    (folder / "binary").write_bytes(b"\xff\xfe\x00")
    assert "nowhere.json: no such file" in run_plan("nowhere.json", *ROUND_ROBIN).stderr
    for result in (run_plan("binary", *ROUND_ROBIN), run_plan("-", *ROUND_ROBIN, stdin=b"\xff\xfe\x00")):
        assert result.exit_code == 2
        assert "not UTF-8 text" in result.stderr


def test_rack_aware_strategies_require_racks_on_all_brokers(folder: Path) -> None:
    (folder / "brokers.csv").write_text("1,az1\n2,\n3,az3\n")
    names = (*ROUND_ROBIN, "--strategy", "exact_flow")
    assert "exact_flow: not applicable: broker 2 has no rack, others have one" in plan_three_brokers(*names).stdout
    assert "exact_flow: not applicable" not in plan_three_brokers(*names, "--no-racks").stdout


def test_strategy_name_takes_parameters() -> None:
    variants = ("leader_max_flow,pruning=none", "leader_max_flow", "exact_flow,keeps_replicas=true")
    chosen = [part for variant in variants for part in ("--strategy", variant)]
    result = run_plan("order_processing", *chosen, "--shuffles", "0", "--format", "json")
    assert result.exit_code == 0, result.output
    rows = {row["strategy"]: row for row in json.loads(result.stdout)["plans"]}
    assert set(variants) < set(rows)
    assert rows["exact_flow,keeps_replicas=true"]["replicas_moved"] == 0
    for wrong, message in (
        ("leader_max_flow,pruning", "'pruning' is not a parameter"),
        ("leader_max_flow,prune=none", "prune"),
        ("leader_max_flow,pruning=some", "some"),
    ):
        rejected = run_plan("order_processing", "--strategy", wrong)
        assert rejected.exit_code == 2
        assert message in rejected.stderr


def test_headroom_raises_the_number_of_brokers_needed(folder: Path) -> None:
    (folder / "brokers.csv").write_text("1,az1,16 kB\n2,az2,16 kB\n3,az1,16 kB\n4,az2,16 kB\n")
    packing = ("--strategy", "capacity_packing", "--log-dirs", "sizes.json", "--format", "json")
    assert plan_row(plan_three_brokers(*packing), "capacity_packing")["value"] == 2
    assert plan_row(plan_three_brokers(*packing, "--headroom", "0.7"), "capacity_packing")["value"] == 4


def test_goals_are_ordered_and_unknown_goal_is_rejected(folder: Path) -> None:
    chained = ("--strategy", "goal_chain", "--goals")
    result = plan_three_brokers(*chained, "RackAwareGoal,ReplicaDistributionGoal", "--format", "json")
    assert plan_row(result, "goal_chain")["aims"] == ["storage", "constraints", "determinism"]
    wrong = plan_three_brokers(*chained, "RackAwareGoal,RackGoal")
    assert wrong.exit_code == 2
    assert wrong.stderr.startswith("error: --goals: unknown goal 'RackGoal' (goals: RackAwareGoal, ")


def test_constraints_from_a_file_hold(folder: Path) -> None:
    (folder / "own.txt").write_text("# The old broker.\n\nleaders(broker=1) <= 1  # Leads at most one.\n")
    limits = "preferred_leader_ilp,min_leaders=0,max_leaders=9"
    result = plan_three_brokers("--strategy", limits, "--constraints", "own.txt", "--out", "plan", "--write-lp", "p.lp")
    assert result.exit_code == 0, result.stderr
    planned = read_replicas(folder / "today.json") | read_replicas(folder / "plan" / "reassignment.json")
    assert sum(brokers[0] == 1 for brokers in planned.values()) <= 1
    assert "// leaders(broker=1) <= 1" in (folder / "p.lp").read_text()


def test_invalid_constraints_are_reported_with_their_lines(folder: Path) -> None:
    (folder / "own.txt").write_text("leaders(broker=1) <= 1\nleaders(broker=1) < 1\nreplicas(host=2) <= 1\n")
    result = plan_three_brokers("--strategy", "preferred_leader_ilp", "--constraints", "own.txt")
    assert result.exit_code == 2
    assert result.stderr.splitlines() == [
        "error: own.txt:2: 'leaders(broker=1) < 1' is not a constraint: cannot parse '< 1' "
        "(example: leaders(topic=orders) per broker <= 2)",
        "error: own.txt:3: 'replicas(host=2) <= 1': 'host=2' is not a selector "
        "(selectors: topic, partition, broker, rack; example: broker=3)",
    ]
    (folder / "own.txt").write_text("# none\n")
    result = plan_three_brokers("--strategy", "preferred_leader_ilp", "--constraints", "own.txt")
    assert "own.txt: no constraint" in result.stderr


TOPICS = "".join(
    f"Topic: {topic}\tPartitionCount: 1\tReplicationFactor: 1\tConfigs: {configs}\n"
    f"\tTopic: {topic}\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1\n"
    for topic, configs in (("orders", "retention.ms=10000"), ("pay", "cleanup.policy=compact"))
)


def test_rates_follow_from_retention_or_measurements(folder: Path) -> None:
    (folder / "topics.txt").write_text(TOPICS)
    (folder / "brokers.csv").write_text("1,az1,1 TB,150 B/s\n2,az2,1 TB,150 B/s\n")
    sizes = json.dumps([{"partition": f"{topic}-0", "size": 1_000, "isFuture": False} for topic in ("orders", "pay")])
    (folder / "sizes.json").write_text(f'{{"brokers":[{{"broker":1,"logDirs":[{{"partitions":{sizes}}}]}}]}}\n')
    packing = ("--strategy", "capacity_packing", "--log-dirs", "sizes.json", "--format", "json", "--no-racks")
    unknown = plan_three_brokers(*packing, cluster="topics.txt")
    assert unknown.exit_code == 1
    assert "pay (compacted)" in plan_row(unknown, "capacity_packing")["reason"]
    write_ingested_folder(folder / "measured", [rate_row("pay", 0, 3, 100.0), rate_row("pay", 0, 4, 200.0)])
    measured = plan_row(plan_three_brokers(*packing, "--rates", "measured", cluster="topics.txt"), "capacity_packing")
    assert (measured["value"], measured["status"]) == (2, "optimal")
    rejected = plan_three_brokers(*packing, "--rates", "nowhere", cluster="topics.txt")
    assert (rejected.exit_code, rejected.stderr) == (2, "error: nowhere: no such folder\n")
