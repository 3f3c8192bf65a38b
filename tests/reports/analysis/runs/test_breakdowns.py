"""Breakdowns of moves, traffic and downtime by assignor."""

from __future__ import annotations

import pytest

from reports.analysis.runs.breakdowns import (
    DOWN_CLASSES,
    MOVE_REASONS,
    TRAFFIC_KINDS,
    cross_rack_by_kind,
    moves_by_reason,
    tasks_by_downtime,
)
from simulator.flows.traffic import TrafficKind
from simulator.results.tables import SCHEMAS
from tests.reports.sample_runs import tables


def test_every_move_reason_and_traffic_kind_has_a_label() -> None:
    assert set(MOVE_REASONS) == {name for name in SCHEMAS["runs"].names if name.startswith("moves_")}
    assert list(TRAFFIC_KINDS) == [str(kind) for kind in TrafficKind]


def test_bar_has_one_value_per_move_reason() -> None:
    [bar] = moves_by_reason(tables()).bars
    assert bar.values == (6, 8, 1, 0, 3)


def test_values_are_means_over_seeds() -> None:
    runs = [{"seed": seed, "moves_returned": seed} for seed in (1, 2)]
    tasks = [{"seed": seed, "task": task, "downtime_ms": 0 if seed == 1 else 5_000} for seed in (1, 2) for task in "ab"]
    traffic = [{"seed": seed, "bytes": 1e9 * seed} for seed in (1, 2)]
    results = tables(runs, tasks=tasks, traffic=traffic)
    assert [breakdown.bars[0].values for breakdown in (moves_by_reason(results), tasks_by_downtime(results))] == [
        (6, 8, 1.5, 0, 3),
        (1, 0, 1, 0, 0, 0),
    ]
    [bar] = cross_rack_by_kind(results).bars
    assert bar.values
    assert bar.values[0] == 1.5e9


@pytest.mark.parametrize(
    ("downtime_ms", "name"),
    [
        (0, "none"),
        (1, "up to 1 s"),
        (1_000, "up to 1 s"),
        (1_001, "up to 10 s"),
        (60_000, "up to 1 min"),
        (600_000, "up to 10 min"),
        (600_001, "longer"),
    ],
)
def test_downtime_has_one_class(downtime_ms: int, name: str) -> None:
    [bar] = tasks_by_downtime(tables(tasks=[{"downtime_ms": downtime_ms}])).bars
    assert bar.values
    assert [DOWN_CLASSES[part] for part, count in enumerate(bar.values) if count] == [name]


def test_traffic_within_a_rack_or_without_rack_is_not_cross_rack() -> None:
    traffic = [{"from_rack": source, "to_rack": target} for source in ("az1", None) for target in ("az1", "az2", None)]
    [bar] = cross_rack_by_kind(tables(traffic=traffic)).bars
    assert bar.values
    assert sum(bar.values) == 1e9


def test_labels_contain_scenario_if_there_are_several() -> None:
    results = tables([{"scenario": "one"}, {"scenario": "two"}])
    assert [bar.label for bar in moves_by_reason(results).bars] == ["one: sticky", "two: sticky"]
