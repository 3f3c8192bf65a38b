"""Plans of other tools are checked against the cluster and evaluated like those of strategies."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assignors.model.ids import TopicPartition
from scenarios.kafka.plan_files import BatchLimits
from scenarios.language.errors import ScenarioError
from scenarios.planning.plan_input import PlanInput, PlanOptions, build_plan_input
from scenarios.planning.strategy_results import (
    IMPORTED_STATUS,
    StrategyResult,
    evaluate_imported_plan,
    read_imported_plan,
)
from tests.scenarios.planning.clusters import REPLICAS, build_cluster, build_input


def entry(topic: str, partition: int, *replicas: int, **more: Any) -> dict[str, Any]:
    return {"topic": topic, "partition": partition, "replicas": list(replicas), **more}


def write_plan(folder: Path, entries: Sequence[Mapping[str, Any]]) -> Path:
    lines = ",\n".join(map(json.dumps, entries))
    path = folder / "plan.json"
    path.write_text(f'{{"version": 1, "partitions": [\n{lines}\n]}}')
    return path


def evaluate(folder: Path, *entries: Mapping[str, Any], plan_input: PlanInput | None = None) -> StrategyResult:
    plan_input = plan_input or build_input()
    return evaluate_imported_plan(
        read_imported_plan(write_plan(folder, entries), plan_input), plan_input, BatchLimits()
    )


def test_changes_keep_the_order_of_the_file(tmp_path: Path) -> None:
    result = evaluate(tmp_path, entry("payments", 0, 3, 1), entry("orders", 0, 1, 3))
    assert result.strategy == str(tmp_path / "plan.json")
    assert result.status == IMPORTED_STATUS
    assert [change.key for change in result.changes] == [TopicPartition("payments", 0), TopicPartition("orders", 0)]
    assert (result.figures["replicas_moved"], result.figures["replicas_moved_bound"]) == (2, 2)
    assert set(result.files) == {"reassignment.json", "election.json", "rollback.json"}
    assert result.notes == ()


def test_entries_of_other_topics_are_skipped_with_a_note(tmp_path: Path) -> None:
    plan_input = build_input(PlanOptions(topics=["orders"]))
    result = evaluate(tmp_path, entry("payments", 0, 3, 1), entry("orders", 0, 1, 3), plan_input=plan_input)
    assert [change.key.topic for change in result.changes] == ["orders"]
    assert result.notes == ("1 entry of other topics skipped",)


def test_entries_without_effect_are_noted(tmp_path: Path) -> None:
    result = evaluate(tmp_path, entry("orders", 0, 1, 2), entry("orders", 1, 1, 3))
    assert len(result.changes) == 1
    assert result.notes == ("1 of 2 entries change nothing",)


def test_plan_may_change_the_replication_factor(tmp_path: Path) -> None:
    result = evaluate(tmp_path, entry("orders", 0, 1, 2, 3))
    assert result.notes == ("the replication factor of 1 partition changes",)
    assert result.figures["replicas_moved_bound"] is None
    assert result.figures["broken_replication_factor"] == 0
    requested = build_input(PlanOptions(replication_factor=2))
    assert evaluate(tmp_path, entry("orders", 0, 1, 2, 3), plan_input=requested).figures["broken_replication_factor"]


def test_move_between_log_directories_is_a_change_without_rollback(tmp_path: Path) -> None:
    result = evaluate(tmp_path, entry("orders", 0, 1, 2, log_dirs=["/data/1", "any"]))
    [change] = result.changes
    assert (change.old, change.new, change.new_log_dirs) == ((1, 2), (1, 2), ("/data/1", "any"))
    [note] = result.notes
    assert note == "1 partition gets log directories; a rollback restores the brokers, not the directories"
    assert list(result.files) == ["reassignment.json"]


def test_known_log_directories_are_rolled_back(tmp_path: Path) -> None:
    log_dirs = {("orders", 0): {1: "/data/0"}}
    plan_input = build_plan_input(build_cluster(), PlanOptions(), log_dirs)
    result = evaluate(tmp_path, entry("orders", 0, 1, 2, log_dirs=["/data/1", "any"]), plan_input=plan_input)
    assert result.changes[0].old_log_dirs == ("/data/0", "any")
    assert "rollback.json" in result.files
    assert result.notes == ()


def test_unknown_partitions_and_brokers_are_rejected_together(tmp_path: Path) -> None:
    path = write_plan(tmp_path, [entry("order", 0, 1), entry("orders", 7, 1), entry("orders", 0, 1, 9)])
    with pytest.raises(ScenarioError) as raised:
        read_imported_plan(path, build_input())
    assert str(raised.value).splitlines() == [
        f"{path}:2: order-0: unknown topic 'order' (did you mean 'orders'?)",
        f"{path}:3: orders-7: unknown partition (partitions: 0, 1, 2)",
        f"{path}:4: orders-0: unknown broker 9 (brokers: 1, 2, 3)",
    ]


def test_plan_without_entries_of_the_selected_topics_is_rejected(tmp_path: Path) -> None:
    path = write_plan(tmp_path, [entry("orders", 0, 1, 3)])
    with pytest.raises(ScenarioError, match="no entry for the topics that may change"):
        read_imported_plan(path, build_input(PlanOptions(topics=["payments"])))


@pytest.mark.parametrize("options", [PlanOptions(), PlanOptions(replication_factor=2)])
def test_leaders_out_of_sync_are_those_of_all_partitions(tmp_path: Path, options: PlanOptions) -> None:
    """Broker 1 lags and is the preferred leader of three partitions."""
    in_sync = np.array([[broker != 1 for broker in brokers] for brokers in REPLICAS.values()])
    plan_input = build_input(options, replace(build_cluster(), in_sync=in_sync))
    unchanged = evaluate(tmp_path, entry("payments", 1, 3, 2), plan_input=plan_input)
    assert unchanged.figures["leaders_out_of_sync"] == 3
    assert evaluate(tmp_path, entry("orders", 1, 3, 2), plan_input=plan_input).figures["leaders_out_of_sync"] == 2
