"""`assignor-sim plan --from`: plans made elsewhere, judged and written like those of strategies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from assignors.replicas.registry import built_in
from tests.assignor_sim.test_plan import IN_TURN, files, folder, for_kafka, of_three, plan, replicas, row, told

__all__ = ["folder"]

PLAN = [
    {"topic": "pay", "partition": 1, "replicas": [3, 1]},
    {"topic": "orders", "partition": 0, "replicas": [2, 1]},
    {"topic": "orders", "partition": 2, "replicas": [1, 2]},
]


def given(folder: Path, entries: list[Any] | None = None, name: str = "theirs.json", **more: Any) -> str:
    (folder / name).write_text(json.dumps({"partitions": PLAN if entries is None else entries, **more}, indent=1))
    return name


@pytest.mark.parametrize("options", [(), ("--batch-partitions", "3"), ("--remove-broker", "2", "--no-racks")])
def test_the_plan_of_a_strategy_given_back_is_the_same_plan(folder: Path, options: tuple[str, ...]) -> None:
    options = (*options, "--log-dirs", "sizes.json")
    theirs = of_three(*IN_TURN, *options, "--out", "theirs", "--format", "json")
    whole = of_three(*IN_TURN, "--log-dirs", "sizes.json", *options[:-2], "--out", "whole", "--batch-partitions", "99")
    assert whole.exit_code == 0, whole.output
    ours = of_three("--from", "whole/batch-001/reassignment.json", *options, "--out", "ours", "--format", "json")
    assert ours.exit_code == 0, ours.output
    assert for_kafka(folder / "ours") == for_kafka(folder / "theirs")
    for name in for_kafka(folder / "ours"):
        if name != "manifest.json":
            assert (folder / "ours" / name).read_bytes() == (folder / "theirs" / name).read_bytes(), name
    unequal = {"strategy", "status", "notes", "objective", "value", "bound", "aims", "folder", "shuffles"}
    steady = {"rerun_replicas_moved", "rerun_leaders_changed", "distinct_plans"}
    mine, his = row(ours, "reassignment.json"), row(theirs, "InTurn")
    assert {key for key in mine if mine[key] != his[key]} <= unequal | steady
    assert mine["status"] == "given"
    assert {mine[key] for key in steady} == {None}


def test_every_plan_of_every_strategy_can_be_given_back(folder: Path) -> None:
    asked = ("small.yaml", "--add-broker", "7:az1", "--shuffles", "0")
    ended = plan(*asked, "--all", "--out", "out", "--format", "json")
    written = [info.name for info in built_in() if (folder / "out" / info.name / "reassignment.json").exists()]
    assert len(written) > 5
    theirs = {name: f"out/{name}/reassignment.json" for name in written}
    again = plan(*asked, *(word for path in theirs.values() for word in ("--from", path)), "--format", "json")
    for name, path in theirs.items():
        mine, his = row(again, path), row(ended, f"{name}")
        for figure in ("replicas_moved", "bytes_moved", "leaders_range", "replicas_range", "broken_rack", "changes"):
            assert mine[figure] == his[figure], (name, figure)


def test_batches_keep_the_order_of_the_file_and_its_rollback_undoes_it(folder: Path) -> None:
    ended = of_three("--from", given(folder), "--out", "out", "--batch-partitions", "1")
    assert ended.exit_code == 0, ended.output
    assert "theirs.json: 1 of 3 entries change nothing" in ended.stdout
    out = folder / "out"
    assert replicas(out / "batch-001" / "reassignment.json") == {"pay-1": (3, 1)}
    assert replicas(out / "batch-002" / "reassignment.json") == {"orders-0": (2, 1)}
    assert replicas(out / "batch-001" / "rollback.json") == {"pay-1": (1, 2)}
    assert json.loads((out / "batch-002" / "election.json").read_text())["partitions"] == [
        {"topic": "orders", "partition": 0}
    ]


def test_log_directories_are_kept(folder: Path) -> None:
    entries = [
        {**PLAN[0], "log_dirs": ["/data/2", "any"]},
        {**PLAN[1], "log_dirs": ["any", "any"]},
        {**PLAN[2], "log_dirs": ["/data/1", "any"]},
    ]
    ended = of_three("--from", given(folder, entries), "--out", "out")
    assert ended.exit_code == 0, ended.output
    out = folder / "out"
    written = {each["topic"]: each for each in json.loads((out / "reassignment.json").read_text())["partitions"]}
    assert written["pay"] == entries[0]
    assert written["orders"] == entries[2]
    assert "log_dirs" not in json.loads((out / "reassignment.json").read_text())["partitions"][1]
    # Nothing of orders-2 but its directory changes.
    assert set(replicas(out / "rollback.json")) == {"pay-1", "orders-0"}
    assert "2 partitions get log directories" in ended.stdout


def test_a_plan_is_judged_beside_strategies_and_shown_on_the_page(folder: Path) -> None:
    ended = of_three("--from", given(folder), *IN_TURN, "--out", "out", "--format", "json")
    assert [each["strategy"] for each in told(ended)["plans"]][1] == "theirs.json"
    assert row(ended, "theirs.json")["replicas_moved"] == 1
    assert row(ended, "theirs.json")["folder"] == "out/theirs.json"
    assert "theirs.json" in (folder / "out" / "report.html").read_text(encoding="utf-8")
    assert "theirs.json/reassignment.json" in files(folder / "out")


def test_its_own_replication_factor_is_right_unless_another_is_asked(folder: Path) -> None:
    name = given(folder, [{"topic": "pay", "partition": 0, "replicas": [1, 2, 3]}])
    found = row(of_three("--from", name, "--format", "json"), name)
    assert (found["broken_replication_factor"], found["replicas_moved"], found["replicas_moved_bound"]) == (0, 1, None)
    assert found["notes"] == ["the replication factor of 1 partitions changes"]
    asked = row(of_three("--from", name, "--replication-factor", "2", "--format", "json"), name)
    assert asked["broken_replication_factor"] == 1


def test_rules_that_a_plan_breaks_are_counted_not_refused(folder: Path) -> None:
    (folder / "brokers.csv").write_text("1,az1\n2,az1\n3,az2\n")
    found = row(of_three("--from", given(folder, PLAN[1:2]), "--format", "json"), "theirs.json")
    assert found["broken_rack"] == 6
    removed = row(of_three("--from", given(folder), "--remove-broker", "3", "--format", "json"), "theirs.json")
    assert removed["broken_forbidden_broker"] == 1


def test_only_the_topics_that_may_change_are_taken_from_it(folder: Path) -> None:
    ended = of_three("--from", given(folder), "--topics", "pay", "--out", "out")
    assert ended.exit_code == 0, ended.output
    assert replicas(folder / "out" / "reassignment.json") == {"pay-1": (3, 1)}
    assert "2 entries of other topics skipped" in ended.stdout
    none = of_three("--from", given(folder, PLAN[1:]), "--topics", "pay")
    assert none.exit_code == 2
    assert none.stderr == "theirs.json: no entry for the topics that may change (topics: pay)\n"


def test_every_mistake_of_a_plan_is_named_with_its_line(folder: Path) -> None:
    entries = [
        {"topic": "ordres", "partition": 0, "replicas": [1]},
        {"topic": "pay", "partition": 2, "replicas": [1]},
        {"topic": "pay", "partition": 0, "replicas": [1, 9]},
    ]
    ended = of_three("--from", given(folder, entries), "--out", "out")
    assert ended.exit_code == 2
    assert ended.stderr.splitlines() == [
        "theirs.json:3: ordres-0: unknown topic 'ordres' (did you mean 'orders'?)",
        "theirs.json:10: pay-2: unknown partition (partitions: 0, 1)",
        "theirs.json:17: pay-0: unknown broker 9 (brokers: 1, 2, 3)",
    ]
    assert not (folder / "out").exists()


def test_a_broker_that_is_gone_cannot_get_a_replica_and_one_that_comes_can(folder: Path) -> None:
    (folder / "brokers.csv").write_text("1,az1\n3,az3\n")
    assert "unknown broker 2 (brokers: 1, 3)" in of_three("--from", given(folder)).stderr
    name = given(folder, [{"topic": "pay", "partition": 1, "replicas": [3, 7]}])
    assert of_three("--from", name, "--add-broker", "7:az1").exit_code == 0


def test_what_generate_prints_and_cruise_control_answers_can_be_given(folder: Path) -> None:
    assignment = '{"version":1,"partitions":[{"topic":"pay","partition":1,"replicas":[%s],"log_dirs":["any","any"]}]}'
    (folder / "generated.txt").write_text(
        f"Current partition replica assignment\n{assignment % '1,2'}\n\n"
        f"Proposed partition reassignment configuration\n{assignment % '3,1'}\n"
    )
    proposal = {"topicPartition": {"topic": "pay", "partition": 1}, "oldReplicas": [1, 2], "newReplicas": [3, 1]}
    (folder / "proposals.json").write_text(json.dumps({"proposals": [proposal]}))
    for name in ("generated.txt", "proposals.json"):
        ended = of_three("--from", name, "--out", "out")
        assert ended.exit_code == 0, ended.output
        assert replicas(folder / "out" / "reassignment.json") == {"pay-1": (3, 1)}


def test_a_file_that_is_no_plan_is_refused(folder: Path) -> None:
    assert "nowhere.json: no such file" in of_three("--from", "nowhere.json").stderr
    assert "brokers.csv: no JSON" in of_three("--from", "brokers.csv").stderr
    assert "version is not 1" in of_three("--from", given(folder, version=2)).stderr
