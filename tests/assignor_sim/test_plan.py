"""`assignor-sim plan`: reads a cluster, prints a comparison, writes files for Kafka's tools."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from assignor_sim.cli import app
from assignors.replicas.registry import built_in
from scenarios.kafka.formats.reassignment import parse_reassignment
from tests.assignor_sim.conftest import SMALL, Shell
from tests.scenarios.ingested_folders import rate_row, write_ingested_folder

HERE = "tests.assignor_sim.planners:"
IN_TURN = ("--strategy", f"{HERE}InTurn")
ASSIGNMENT = {
    "version": 1,
    "partitions": [
        {"topic": topic, "partition": partition, "replicas": [1, 2]}
        for topic, count in (("orders", 4), ("pay", 2))
        for partition in range(count)
    ],
}
BROKERS = "id,rack,capacity\n1,az1,1 TB\n2,az2,1 TB\n3,az3,1 TB\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "today.json").write_text(json.dumps(ASSIGNMENT, indent=1), encoding="utf-8")
    (tmp_path / "brokers.csv").write_text(BROKERS, encoding="utf-8")
    (tmp_path / "small.yaml").write_text(SMALL, encoding="utf-8")
    sizes = ",".join(
        json.dumps({"partition": f"{entry['topic']}-{entry['partition']}", "size": 1000, "isFuture": False})
        for entry in ASSIGNMENT["partitions"]  # type: ignore[attr-defined]
    )
    (tmp_path / "sizes.json").write_text(f'{{"brokers":[{{"broker":1,"logDirs":[{{"partitions":[{sizes}]}}]}}]}}\n')
    return tmp_path


def plan(*arguments: str, stdin: str | bytes = "", width: int = 120) -> Result:
    return CliRunner().invoke(app, ["plan", *arguments], input=stdin, env={"COLUMNS": str(width)})


def of_three(*arguments: str, cluster: str = "today.json", **more: Any) -> Result:
    return plan(cluster, "--brokers", "brokers.csv", *arguments, **more)


def told(ended: Result) -> Any:
    assert ended.exit_code in (0, 1), ended.output
    return json.loads(ended.stdout)


def row(ended: Result, name: str) -> Any:
    return next(each for each in told(ended)["plans"] if each["strategy"].endswith(name))


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def for_kafka(folder: Path) -> list[str]:
    """Return the files other than those of the page."""
    return [name for name in files(folder) if not name.endswith((".parquet", ".png", "report.html"))]


def folders(folder: Path) -> list[str]:
    """Return the folders of strategies."""
    return sorted(path.name for path in folder.iterdir() if path.is_dir() and path.name != "figures")


def replicas(path: Path) -> dict[str, tuple[int, ...]]:
    return {f"{move.topic}-{move.partition}": move.replicas for move in parse_reassignment(path.read_text())}


def test_the_comparison_begins_with_the_cluster_as_it_stands(folder: Path) -> None:
    ended = of_three(*IN_TURN, "--strategy", f"{HERE}Drawn")
    assert ended.exit_code == 0, ended.output
    lines = ended.stdout.splitlines()
    assert lines[0] == "today.json: 3 brokers, 3 racks, 2 topics, 6 partitions, 12 replicas"
    names = [line.split()[0] for line in lines if line.startswith(("today ", "…"))]
    assert names == ["today", *(f"…{f'{HERE}{name}'[-23:]}" for name in ("InTurn", "Drawn"))]
    assert "replicas out of turn: 0, proven optimal" in ended.stdout


def test_a_plan_is_a_reassignment_an_election_and_a_rollback(folder: Path) -> None:
    ended = of_three(*IN_TURN, "--out", "out/plan")
    assert ended.exit_code == 0, ended.output
    out = folder / "out" / "plan"
    assert for_kafka(out) == ["election.json", "manifest.json", "reassignment.json", "rollback.json"]
    assert replicas(out / "reassignment.json") == {
        "orders-1": (2, 3), "orders-2": (3, 1), "pay-0": (2, 3), "pay-1": (3, 1),
    }  # fmt: skip
    assert set(replicas(out / "rollback.json").values()) == {(1, 2)}
    elected = json.loads((out / "election.json").read_text())["partitions"]
    assert [(each["topic"], each["partition"]) for each in elected] == [
        ("orders", 1), ("orders", 2), ("pay", 0), ("pay", 1),
    ]  # fmt: skip
    assert "4 partitions, 4 elections in out/plan" in ended.stdout
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["plans"][1]["status"] == "optimal"


def test_several_strategies_have_a_folder_each_and_who_has_no_plan_has_none(folder: Path) -> None:
    ended = of_three(*IN_TURN, "--strategy", f"{HERE}Impossible", "--strategy", f"{HERE}Drawn", "--out", "out")
    assert ended.exit_code == 0, ended.output
    assert folders(folder / "out") == ["tests.assignor_sim.planners_Drawn", "tests.assignor_sim.planners_InTurn"]
    assert "Impossible: infeasible: orders-0: no room" in ended.stdout


def test_without_any_plan_nothing_is_written_and_it_ends_with_1(folder: Path) -> None:
    ended = of_three("--strategy", f"{HERE}Impossible", "--out", "out")
    assert ended.exit_code == 1
    assert "no plan found; nothing written" in ended.stderr
    assert not (folder / "out").exists()
    assert row(of_three("--strategy", f"{HERE}Impossible", "--format", "json"), "Impossible")["status"] == "infeasible"


def test_what_there_is_nothing_to_change_about_is_said(folder: Path) -> None:
    of_three(*IN_TURN, "--out", "first")
    after = {**ASSIGNMENT, "partitions": []}
    new = replicas(folder / "first" / "reassignment.json")
    for entry in ASSIGNMENT["partitions"]:  # type: ignore[attr-defined]
        name = f"{entry['topic']}-{entry['partition']}"
        after["partitions"].append({**entry, "replicas": new.get(name, entry["replicas"])})  # type: ignore[attr-defined]
    ended = of_three(*IN_TURN, "--out", "second", cluster="-", stdin=json.dumps(after))
    assert ended.exit_code == 0
    assert "nothing to change" in ended.stdout
    assert for_kafka(folder / "second") == ["manifest.json"]


def test_batches_have_their_own_folders_and_keep_to_their_size(folder: Path) -> None:
    ended = of_three(*IN_TURN, "--out", "out", "--batch-partitions", "3")
    assert "4 partitions, 4 elections, 2 batches in out" in ended.stdout
    assert [len(replicas(folder / "out" / f"batch-00{n}" / "reassignment.json")) for n in (1, 2)] == [3, 1]
    ended = of_three(*IN_TURN, "--out", "out", "--batch-bytes", "1 kB", "--log-dirs", "sizes.json")
    assert "4 partitions, 4 elections, 4 batches in out" in ended.stdout
    assert "batch-004/rollback.json" in files(folder / "out")


def test_a_scenario_is_asked_with_its_sizes_and_racks(folder: Path) -> None:
    ended = plan("small.yaml", *IN_TURN, "--topics", "orders", "--format", "json")
    assert told(ended)["cluster"] == {
        "source": "small.yaml", "brokers": 3, "racks": 3, "topics": 2, "partitions": 12, "replicas": 18,
    }  # fmt: skip
    found = row(ended, "InTurn")
    assert found["replicas_moved_bound"] == 0
    assert found["bytes_moved"] == found["replicas_moved"] * 1_000_000_000
    assert told(ended)["request"]["topics"] == ["orders"]


def test_a_description_is_read_from_standard_input(folder: Path) -> None:
    text = "Topic: t\tPartition: 0\tLeader: 2\tReplicas: 1,2\tIsr: 1,2\n"
    ended = plan("-", *IN_TURN, "--out", "out", stdin=text)
    assert ended.exit_code == 0, ended.output
    assert for_kafka(folder / "out") == ["election.json", "manifest.json"]
    assert "racks and brokers without replicas are unknown" in ended.stderr


def test_brokers_are_removed_and_added(folder: Path) -> None:
    ended = of_three(
        *IN_TURN, "--remove-broker", "1", "--add-broker", "7:az1:2 TB", "--replication-factor", "3",
        "--topics", "pay", "--out", "out", "--no-racks",
    )  # fmt: skip
    assert ended.exit_code == 0, ended.output
    assert replicas(folder / "out" / "reassignment.json") == {"pay-0": (2, 3, 7), "pay-1": (3, 7, 2)}
    asked = "Requested: without broker 1; with broker 7:az1:2 TB; replication factor 3; topic pay only; not rack-aware."
    assert asked in ended.stdout


def test_a_time_limit_and_a_seed_reach_the_strategies_that_have_them(folder: Path) -> None:
    ended = of_three(*IN_TURN, "--strategy", f"{HERE}Drawn", "--time-limit", "5", "--seed", "1", "--out", "out")
    assert "limit 5 s" in ended.stdout
    drawn = folder / "out" / "tests.assignor_sim.planners_Drawn" / "reassignment.json"
    assert replicas(drawn)["orders-0"] == (2, 3)


def test_steadiness_is_asked_as_often_as_one_wants(folder: Path) -> None:
    steady = row(of_three(*IN_TURN, "--format", "json"), "InTurn")
    assert (steady["rerun_replicas_moved"], steady["distinct_plans"], steady["shuffles"]) == (0, 1, 20)
    drawn = row(of_three("--strategy", f"{HERE}Drawn", "--shuffles", "3", "--format", "json"), "Drawn")
    assert (drawn["distinct_plans"], drawn["shuffles"]) == (3, 3)
    unasked = row(of_three(*IN_TURN, "--shuffles", "0", "--format", "json"), "InTurn")
    assert (unasked["distinct_plans"], unasked["shuffles"]) == (None, None)


def test_every_built_in_strategy_is_asked_and_each_says_how_it_came_out(folder: Path) -> None:
    ended = plan("small.yaml", "--all", "--add-broker", "7:az1", "--shuffles", "2", "--out", "out", "--format", "json")
    found = {each["strategy"]: each for each in told(ended)["plans"]}
    assert list(found) == ["today", *(info.name for info in built_in())]
    planned = [name for name, each in found.items() if each["status"] in ("optimal", "feasible")]
    assert "exact_flow" in planned
    assert found["exact_flow"]["replicas_moved"] == found["exact_flow"]["replicas_moved_bound"] == 4
    assert all(each["reason"] for name, each in found.items() if name not in (*planned, "today"))
    for name in planned:
        file = folder / "out" / name / "reassignment.json"
        assert found[name]["changes"] == (len(replicas(file)) if file.exists() else 0)


def test_the_least_is_left_out_where_it_takes_too_long(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scenarios.planning.strategy_results._MAX_PROVABLE_REPLICAS", 11)
    assert row(of_three(*IN_TURN, "--format", "json"), "InTurn")["replicas_moved_bound"] is None
    few = row(of_three(*IN_TURN, "--topics", "pay", "--format", "json"), "InTurn")
    assert few["replicas_moved_bound"] == 1


def test_the_integer_programme_is_of_the_topics_that_may_change(folder: Path) -> None:
    ended = of_three(*IN_TURN, "--strategy", f"{HERE}Drawn", "--topics", "pay", "--write-lp", "pay.lp")
    assert ended.exit_code == 0, ended.output
    assert (folder / "pay.lp").read_text() == "/* 2 partitions on 3 brokers */\n"


def test_what_a_strategy_cannot_do_is_not_applicable_with_its_reason(folder: Path) -> None:
    found = row(of_three("--strategy", f"{HERE}Sized", "--format", "json"), "Sized")
    assert (found["status"], found["reason"]) == ("not_applicable", "requires partition sizes")
    assert found["replicas_moved"] is None
    able = of_three("--strategy", f"{HERE}Sized", "--log-dirs", "sizes.json")
    assert able.exit_code == 0


def test_a_failing_strategy_does_not_stop_others(folder: Path) -> None:
    names = ("Broken", "Liar", "Late", "InTurn")
    ended = of_three(*(word for name in names for word in ("--strategy", f"{HERE}{name}")), "--out", "out")
    assert ended.exit_code == 0, ended.output
    assert "Broken: failed: ZeroDivisionError: nothing\\nleft" in ended.stdout
    assert "Liar: failed: Liar breaks duplicate at orders-0" in ended.stdout
    assert "Late: fails when run again: nothing\\nleft" in ended.stdout
    assert [name.rpartition("_")[2] for name in folders(folder / "out")] == ["InTurn", "Late"]


def test_more_replicas_than_racks_give_a_warning(folder: Path) -> None:
    (folder / "brokers.csv").write_text("1,az1\n2,az1\n3,az2\n4,az2\n")
    ended = of_three(*IN_TURN, "--replication-factor", "3")
    assert ended.exit_code == 0
    assert "warning: 3 replicas over 2 racks: up to 2 replicas of a partition per rack" in ended.stderr


def test_plans_that_are_there_are_replaced_and_anything_else_is_refused(folder: Path) -> None:
    assert of_three(*IN_TURN, "--out", "out", "--batch-partitions", "1").exit_code == 0
    assert of_three(*IN_TURN, "--out", "out").exit_code == 0
    assert "batch-001/reassignment.json" not in files(folder / "out")
    for name, content, what in (
        ("notes.txt", "mine", "is not a result directory"),
        ("manifest.json", '{"scenario": {}}', "contains runs"),
        ("manifest.json", '{"kind": "sweep"}', "contains a sweep"),
    ):
        other = folder / f"of {what}"
        other.mkdir()
        (other / name).write_text(content)
        refused = of_three(*IN_TURN, "--out", str(other))
        assert refused.exit_code == 2
        assert f"{other}: exists and {what}; choose another --out" in refused.stderr
        assert (other / name).read_text() == content


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
        (("--strategy", f"{HERE}Nobody"), "cannot be imported"),
        (("--all",), "--all: cannot be combined with --strategy"),
        (("--write-lp", "no/x.lp"), "--write-lp no/x.lp: the folder no does not exist"),
        (("--log-dirs", "brokers.csv"), "brokers.csv: no line starts with a brace"),
        (("--brokers", "today.json"), "today.json:1: '{' is not a broker id"),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, tuple) else "",
)  # fmt: skip
def test_invalid_input_gives_one_message_and_no_files(folder: Path, options: tuple[str, ...], message: str) -> None:
    ended = of_three(*IN_TURN, "--out", "out", *options)
    assert ended.exit_code == 2, ended.output
    assert message in ended.stderr
    assert len(ended.stderr.splitlines()) == 1
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
def test_an_option_that_no_strategy_supports_is_rejected(folder: Path, options: tuple[str, ...]) -> None:
    (folder / "own.txt").write_text("leaders(broker=1) <= 1\n")
    ended = of_three("--strategy", f"{HERE}Drawn", *options)
    assert ended.exit_code == 2
    assert f"{options[0]}: no strategy has" in ended.stderr
    assert not (folder / "x.lp").exists()


def test_a_cluster_that_is_not_there_or_not_text_is_refused(folder: Path) -> None:
    (folder / "binary").write_bytes(b"\xff\xfe\x00")
    assert "nowhere.json: no such file" in plan("nowhere.json", *IN_TURN).stderr
    for ended in (plan("binary", *IN_TURN), plan("-", *IN_TURN, stdin=b"\xff\xfe\x00")):
        assert ended.exit_code == 2
        assert "not UTF-8 text" in ended.stderr


def test_rack_aware_strategies_require_racks_on_all_brokers(folder: Path) -> None:
    (folder / "brokers.csv").write_text("1,az1\n2,\n3,az3\n")
    names = (*IN_TURN, "--strategy", "exact_flow")
    assert "exact_flow: not applicable: broker 2 has no rack, others have one" in of_three(*names).stdout
    assert "exact_flow: not applicable" not in of_three(*names, "--no-racks").stdout


def test_the_same_command_gives_the_same_bytes_whatever_the_hash_seed(shell: Shell) -> None:
    shell.write("today.json", json.dumps(ASSIGNMENT))
    outs = []
    for seed in ("1", "2"):
        ended = shell(
            "plan", "today.json", *IN_TURN, "--out", "out", PYTHONHASHSEED=seed,
            PYTHONPATH=str(Path(__file__).parents[2]),
        )  # fmt: skip
        assert ended.code == 0, ended.err
        outs.append(
            (ended.out, {name: (shell.folder / "out" / name).read_bytes() for name in files(shell.folder / "out")})
        )
    assert outs[0] == outs[1]


def test_a_strategy_takes_parameters_behind_its_name() -> None:
    variants = ("leader_max_flow,pruning=none", "leader_max_flow", "exact_flow,keeps_replicas=true")
    chosen = [part for variant in variants for part in ("--strategy", variant)]
    ended = CliRunner().invoke(app, ["plan", "order_processing", *chosen, "--shuffles", "0", "--format", "json"])
    assert ended.exit_code == 0, ended.output
    rows = {row["strategy"]: row for row in json.loads(ended.stdout)["plans"]}
    assert set(variants) < set(rows)
    assert rows["exact_flow,keeps_replicas=true"]["replicas_moved"] == 0
    for wrong, message in (
        ("leader_max_flow,pruning", "'pruning' is not a parameter"),
        ("leader_max_flow,prune=none", "prune"),
        ("leader_max_flow,pruning=some", "some"),
    ):
        refused = CliRunner().invoke(app, ["plan", "order_processing", "--strategy", wrong])
        assert refused.exit_code == 2
        assert message in refused.stderr


def test_log_dirs_of_the_assignment_survive_into_the_files(folder: Path) -> None:
    text = json.dumps(ASSIGNMENT).replace('"replicas": [1, 2]', '"replicas": [1, 2], "log_dirs": ["/one", "/two"]')
    (folder / "today.json").write_text(text, encoding="utf-8")
    assert of_three("--remove-broker", "2", "--out", "plan").exit_code == 0
    for move in parse_reassignment((folder / "plan" / "reassignment.json").read_text()):
        assert dict(zip(move.replicas, move.log_dirs, strict=True)) == {1: "/one", 3: "any"}
    for move in parse_reassignment((folder / "plan" / "rollback.json").read_text()):
        assert dict(zip(move.replicas, move.log_dirs, strict=True)) == {1: "/one", 2: "/two"}


def test_headroom_is_kept_free_by_the_strategies_that_know_capacities(folder: Path) -> None:
    (folder / "brokers.csv").write_text("1,az1,16 kB\n2,az2,16 kB\n3,az1,16 kB\n4,az2,16 kB\n")
    packing = ("--strategy", "capacity_packing", "--log-dirs", "sizes.json", "--format", "json")
    assert row(of_three(*packing), "capacity_packing")["value"] == 2
    assert row(of_three(*packing, "--headroom", "0.7"), "capacity_packing")["value"] == 4


def test_goals_are_given_in_order_and_an_unknown_one_is_named_with_the_list(folder: Path) -> None:
    chained = ("--strategy", "goal_chain", "--goals")
    ended = of_three(*chained, "RackAwareGoal,ReplicaDistributionGoal", "--format", "json")
    assert row(ended, "goal_chain")["aims"] == ["storage", "constraints", "determinism"]
    wrong = of_three(*chained, "RackAwareGoal,RackGoal")
    assert wrong.exit_code == 2
    assert wrong.stderr.startswith("--goals: unknown goal 'RackGoal' (goals: RackAwareGoal, ")


def test_constraints_are_read_from_a_file_and_hold(folder: Path) -> None:
    (folder / "own.txt").write_text("# the old one\n\nleaders(broker=1) <= 1  # leads hardly anything\n")
    limits = "preferred_leader_ilp,min_leaders=0,max_leaders=9"
    ended = of_three("--strategy", limits, "--constraints", "own.txt", "--out", "plan", "--write-lp", "p.lp")
    assert ended.exit_code == 0, ended.stderr
    now = replicas(folder / "today.json") | replicas(folder / "plan" / "reassignment.json")
    assert sum(brokers[0] == 1 for brokers in now.values()) <= 1
    assert "// leaders(broker=1) <= 1" in (folder / "p.lp").read_text()


def test_invalid_constraints_are_reported_with_their_lines(folder: Path) -> None:
    (folder / "own.txt").write_text("leaders(broker=1) <= 1\nleaders(broker=1) < 1\nreplicas(host=2) <= 1\n")
    ended = of_three("--strategy", "preferred_leader_ilp", "--constraints", "own.txt")
    assert ended.exit_code == 2
    assert ended.stderr.splitlines() == [
        "own.txt:2: 'leaders(broker=1) < 1' is not a constraint: cannot parse '< 1' "
        "(example: leaders(topic=orders) per broker <= 2)",
        "own.txt:3: 'replicas(host=2) <= 1': 'host=2' is not a selector "
        "(selectors: topic, partition, broker, rack; example: broker=3)",
    ]
    (folder / "own.txt").write_text("# none\n")
    assert "own.txt: no constraint" in of_three("--strategy", "preferred_leader_ilp", "--constraints", "own.txt").stderr


DESCRIBED = "".join(
    f"Topic: {topic}\tPartitionCount: 1\tReplicationFactor: 1\tConfigs: {configs}\n"
    f"\tTopic: {topic}\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1\n"
    for topic, configs in (("orders", "retention.ms=10000"), ("pay", "cleanup.policy=compact"))
)


def test_rates_follow_from_the_retention_of_each_topic_or_are_measured(folder: Path) -> None:
    (folder / "topics.txt").write_text(DESCRIBED)
    (folder / "brokers.csv").write_text("1,az1,1 TB,150 B/s\n2,az2,1 TB,150 B/s\n")
    sized = json.dumps([{"partition": f"{topic}-0", "size": 1_000, "isFuture": False} for topic in ("orders", "pay")])
    (folder / "sizes.json").write_text(f'{{"brokers":[{{"broker":1,"logDirs":[{{"partitions":{sized}}}]}}]}}\n')
    packing = ("--strategy", "capacity_packing", "--log-dirs", "sizes.json", "--format", "json", "--no-racks")
    unknown = of_three(*packing, cluster="topics.txt")
    assert unknown.exit_code == 1
    assert "pay (compacted)" in row(unknown, "capacity_packing")["reason"]
    write_ingested_folder(folder / "measured", [rate_row("pay", 0, 3, 100.0), rate_row("pay", 0, 4, 200.0)])
    measured = row(of_three(*packing, "--rates", "measured", cluster="topics.txt"), "capacity_packing")
    assert (measured["value"], measured["status"]) == (2, "optimal")
    refused = of_three(*packing, "--rates", "nowhere", cluster="topics.txt")
    assert (refused.exit_code, refused.stderr) == (2, "nowhere: no such folder\n")
