"""The tables of docs/explanation/kip-925-alternatives.md that compare assignors show current figures."""

from __future__ import annotations

from pathlib import Path

import pytest

from assignor_sim.api.loading import load
from assignor_sim.api.running import run
from reports.analysis.metrics import ALL_METRICS
from tests.assignors.tasks.subtopology_skew import skew_table
from tools.examples import first_runs, show

pytestmark = pytest.mark.answers

PAGE = (Path(__file__).parents[2] / "docs" / "explanation" / "kip-925-alternatives.md").read_text(encoding="utf-8")
TEXT = " ".join(PAGE.split())
STRATEGY = "application.configs.rack.aware.assignment.strategy"


def figures(
    scenario: str, assignors: list[str], keys: tuple[str, ...], *overrides: tuple[str, str]
) -> dict[str, list[str]]:
    result = run(load(scenario, overrides), assignors, explain=False, ranges=False)
    rows = first_runs(result.tables["runs"].to_pylist())
    return {
        label: [show(row, key) if key in ALL_METRICS else str(row[key]) for key in keys] for label, row in rows.items()
    }


def row(label: str, values: list[str]) -> str:
    return f"| {label} | {' | '.join(values)} |\n"


def test_standbys_are_current() -> None:
    keys = ("tasks_without_rack_redundancy", "cross_rack_bytes_per_s", "active_moves", "worst_downtime_ms")
    names = ["no tags", "min_traffic", "tags", "ha_reliable_standbys", "incremental"]
    warmups = ("application.configs.max.warmup.replicas", "10")
    current = figures("standbys_in_one_zone", names, (*keys, "time_to_converge_ms"), warmups)
    for name in names[:4]:
        assert row(f"`{name}`" if name.startswith("ha_") else name, current[name][:4]) in PAGE
    (_, _, moves_of_kafka, _, time_of_kafka), (_, _, moves, _, time) = current["min_traffic"], current["incremental"]
    assert f"it moves {moves} tasks instead of {moves_of_kafka} with Kafka's" in TEXT
    assert f"but converges after {time} instead of {time_of_kafka}," in TEXT


def test_tags_converge_with_the_default_number_of_warmups() -> None:
    names = ["no tags", "min_traffic", "tags", "ha_reliable_standbys", "incremental"]
    current = figures("standbys_in_one_zone", names, ("not_converged", "tasks_without_rack_redundancy"))
    assert {name for name in names if current[name][0] == "stable"} == {"tags"}
    assert {name for name in names if current[name][1] == "0"} == {"tags", "incremental"}


@pytest.mark.slow
def test_moves_are_current() -> None:
    keys = ("active_moves", "restored_bytes", "time_to_converge_ms")
    names = ["high_availability", "ha_current_overlap", "incremental"]
    returned = figures("slow_return_of_balance", names, keys, (STRATEGY, "min_traffic"))
    names = ["HA min_traffic", "ha_current_overlap", "incremental", "ha_subtopology_balance"]
    others = ("cross_rack_standby_partitions", "rebalances_to_converge", "subtopology_skew")
    joined = figures("order_processing", names, (*keys, *others))
    assert row("*slow_return_of_balance*: Kafka", returned["high_availability"]) in PAGE
    assert row("*order_processing*: Kafka, min_traffic", joined["HA min_traffic"][:3]) in PAGE
    for name in ("ha_current_overlap", "incremental"):
        assert row(f"`{name}`", returned[name]) in PAGE
        assert row(f"`{name}`", joined[name][:3]) in PAGE
    read_by_kafka, read = joined["HA min_traffic"][3], joined["incremental"][3]
    assert f"are read across racks: {read} in *order_processing*, {read_by_kafka} with Kafka's `min_traffic`" in TEXT
    assert f"their skew in *order_processing* is {joined['incremental'][-1]}." in TEXT
    (*_, rebalances, skew), (*_, rebalances_of_kafka, skew_of_kafka) = (
        joined["ha_current_overlap"],
        joined["HA min_traffic"],
    )
    assert f"takes {rebalances} rebalances instead of {rebalances_of_kafka}" in TEXT
    assert f"(skew {skew} instead of {skew_of_kafka})" in TEXT
    [[moves]] = figures(
        "order_processing", ["high_availability"], ("active_moves",), (STRATEGY, "balance_subtopology")
    ).values()
    exact = joined["ha_subtopology_balance"][0]
    assert f"in *order_processing* it takes {exact} moves, Kafka's variant {moves}" in TEXT


def test_balance_is_current() -> None:
    keys = ("subtopology_skew", "cross_rack_source_partitions", "cross_rack_bytes_per_s")
    names = ["min_traffic", "balance_subtopology", "ha_subtopology_balance", "ha_min_bytes"]
    current = figures("min_traffic_and_balance", names, keys, ("clients[0].count", "5"))
    for name in names[:3]:
        assert row(f"`{name}`" if name.startswith("ha_") else name, current[name]) in PAGE
    (_, partitions, by_bytes), (_, _, by_partitions) = current["ha_min_bytes"], current["min_traffic"]
    assert f"Both read {partitions} partitions across racks" in TEXT
    assert f"but `ha_min_bytes` {by_bytes} and `min_traffic` {by_partitions}" in TEXT


def test_bytes_and_partitions_agree_with_six_clients() -> None:
    keys = ("cross_rack_source_partitions", "cross_rack_bytes_per_s", "active_moves")
    current = figures("min_traffic_and_balance", ["ha_min_bytes", "min_traffic"], keys)
    assert current["ha_min_bytes"] == current["min_traffic"]


@pytest.mark.slow
def test_skew_of_random_problems_is_current() -> None:
    assert skew_table() in PAGE
