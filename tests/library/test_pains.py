"""Each shipped scenario shows what it is named after, and what is said to cure it does."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest

from assignor_sim.api.running import run
from scenarios.load import load

LIBRARY = Path(__file__).parents[2] / "scenarios" / "library"
NEAREST = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
MINUTE, HOUR = 60_000, 3_600_000


@cache
def tables(name: str, *changes: tuple[str, str]) -> dict[str, Any]:
    return run(load(LIBRARY / f"{name}.yaml", changes), explain=False).tables


def runs(name: str, *changes: tuple[str, str]) -> dict[str, dict[str, Any]]:
    """The row of each assignor, of the first seed."""
    found: dict[str, dict[str, Any]] = {}
    for row in tables(name, *changes)["runs"].to_pylist():
        found.setdefault(row["assignor"], row)
    return found


def test_balance_returns_at_the_pace_of_warm_ups_and_probing() -> None:
    found = runs("slow_return_of_balance")
    took = {label: row["time_to_converge_ms"] for label, row in found.items()}
    assert took["Kafka's defaults"] > 4 * HOUR
    assert took["both"] < 15 * MINUTE
    assert took["both"] < took["10 warm-ups"] < took["Kafka's defaults"]
    assert all(row["moves_promoted"] == row["active_moves"] == 60 for row in found.values())


def test_probing_never_ends_while_a_warm_up_grows_as_fast_as_it_is_restored() -> None:
    row = runs("probing_never_ends")["high_availability"]
    assert row["verdict"] == "never"
    assert "small-" in row["cause"]
    assert "grows as fast as it is restored" in row["cause"]
    cured = runs("probing_never_ends", ("clients[1].restore", "80 MB/s"))["high_availability"]
    assert cured["verdict"] == "stable"


def test_more_warm_ups_shorten_the_wait_and_restore_more_at_once() -> None:
    found = runs("warmups_in_turn")
    took = [found[label]["time_to_converge_ms"] for label in ("1 warm-up", "2 warm-ups", "4 warm-ups", "16 warm-ups")]
    assert took == sorted(took, reverse=True)
    assert took[0] > 5 * took[-1]
    rounds = tables("warmups_in_turn")["rounds"].to_pylist()
    assert max(row["warming_up"] for row in rounds if row["assignor"] == "16 warm-ups") > 8


def test_what_was_restored_is_restored_again() -> None:
    found = runs("nobody_is_caught_up")
    assert found["high_availability"]["restored_again_bytes"] > 1e9
    assert found["high_availability"]["restored_bytes"] > 60e9, "more than all there is"


def test_the_streams_assignor_does_not_look_at_state() -> None:
    found = runs("stateful_imbalance")
    assert found["streams sticky"]["load_skew"] <= 1
    assert found["streams sticky"]["stateful_skew"] > 3
    assert found["classic HA"]["stateful_skew"] <= 1


def test_moving_between_threads_loses_what_is_in_memory() -> None:
    kept = ("application.subtopologies[0].stores[0].persistent", "true")
    lost, cured = runs("in_memory_stores_on_the_move"), runs("in_memory_stores_on_the_move", kept)
    assert lost["high_availability"]["restored_again_bytes"] > 5e9
    assert cured["high_availability"]["restored_again_bytes"] < lost["high_availability"]["restored_again_bytes"] / 5


def test_tags_keep_the_copies_of_a_task_out_of_one_zone() -> None:
    found = runs("standbys_in_one_zone")
    assert found["no tags"]["worst_rack_loss"] > 0
    assert found["min_traffic"]["worst_rack_loss"] > 0, "client.rack is about traffic"
    assert found["tags"]["worst_rack_loss"] == 0
    assert found["tags"]["unqueryable_ms"] < found["no tags"]["unqueryable_ms"]


def test_a_second_standby_survives_any_pair_of_clients() -> None:
    found = runs("correlated_loss")
    assert found["high_availability"]["worst_pair_loss"] > 4
    assert found["HA with two standbys"]["worst_pair_loss"] == 0


def test_each_broker_bounce_makes_two_rebalances_in_releases_with_the_bug() -> None:
    assert runs("broker_bounces")["high_availability"]["rebalances"] == 1 + 2 * 6
    for cure in (("application.rejoins_when_brokers_bounce", "false"), ("clients[0].client_rack", "false")):
        assert runs("broker_bounces", cure)["high_availability"]["rebalances"] == 1


def test_the_weights_decide_whether_state_follows_the_racks() -> None:
    found = runs("a_partition_changes_rack")
    assert found["10 to 1"]["active_moves"] > 5
    assert found["10 to 1"]["cross_rack_usd"] < found["1 to 10"]["cross_rack_usd"] / 2
    assert found["1 to 10"]["restored_bytes"] == 0


def test_less_traffic_costs_the_balance_of_subtopologies() -> None:
    found = runs("min_traffic_and_balance")
    assert found["min_traffic"]["cross_rack_usd"] < found["balance_subtopology"]["cross_rack_usd"]
    assert found["balance_subtopology"]["cross_rack_usd"] < found["none"]["cross_rack_usd"]
    assert found["min_traffic"]["subtopology_skew"] > found["balance_subtopology"]["subtopology_skew"]


def test_the_plan_that_evens_out_leaders_doubles_the_bill_of_one_that_lets_them_be() -> None:
    name, strategy = "a_better_plan_a_worse_bill", "events[0].reassignment.strategy"
    even = runs(name)["high_availability"]
    kept = runs(name, (strategy, "goal_chain"))["high_availability"]
    nearest = runs(name, ("cluster.configs.replica.selector.class", NEAREST))["high_availability"]
    assert even["cross_rack_bytes_per_s"] == pytest.approx(60e6 * 2 / 3)
    assert kept["cross_rack_bytes_per_s"] <= even["cross_rack_bytes_per_s"] / 2
    assert kept["cross_rack_usd"] < 0.7 * even["cross_rack_usd"]
    assert nearest["cross_rack_bytes_per_s"] == 0
    events = [row["event"] for row in tables(name)["events"].to_pylist()]
    assert events[0].startswith("reassignment of 23 partitions begins")
    assert "reassignment is done" in events[-1]


def test_reading_from_the_nearest_replica_is_what_cuts_the_bill() -> None:
    today = runs("cross_zone_bill")
    followers = runs("cross_zone_bill", ("cluster.configs.replica.selector.class", NEAREST))
    assert today["HA min_traffic"]["cross_rack_usd"] == pytest.approx(
        today["high_availability"]["cross_rack_usd"], rel=0.05
    )
    assert followers["HA min_traffic"]["cross_rack_usd"] < 0.75 * today["HA min_traffic"]["cross_rack_usd"]
    kinds = {row["kind"] for row in tables("cross_zone_bill")["traffic"].to_pylist()}
    assert {"source_read", "repartition_write", "result_write", "changelog_write", "replication"} <= kinds


def test_a_bounce_lasts_as_long_as_the_old_session_unless_membership_is_static() -> None:
    dynamic = runs("bounces_and_static_membership")["classic HA"]
    static = runs("bounces_and_static_membership", ("clients[0].static_membership", "true"))["classic HA"]
    assert dynamic["rebalances"] == 1 + 6
    assert static["rebalances"] == 1
    assert dynamic["worst_downtime_ms"] > 40_000
    assert static["worst_downtime_ms"] == 20_000


def test_a_longer_initial_delay_spares_a_cold_start_its_moves() -> None:
    today = runs("cold_start")["high_availability"]
    patient = runs("cold_start", ("cluster.configs.group.initial.rebalance.delay.ms", "1m"))["high_availability"]
    assert today["active_moves"] > 40
    assert patient["active_moves"] == 0
    assert patient["restored_bytes"] < today["restored_bytes"] / 2


def test_migration_warns_of_what_is_ignored_and_shows_both() -> None:
    comparison = run(load(LIBRARY / "migration_to_streams_groups.yaml"))
    [warning] = [line for line in comparison.warnings if "ignores" in line]
    for key in ("max.warmup.replicas", "acceptable.recovery.lag", "rack.aware.assignment.strategy"):
        assert key in warning
    found = runs("migration_to_streams_groups")
    assert found["streams sticky"]["rebalances"] < found["classic HA"]["rebalances"]
    assert found["streams sticky"]["mean_downtime_ms"] > found["classic HA"]["mean_downtime_ms"]
