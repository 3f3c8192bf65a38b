"""Every shipped scenario reproduces the problem in its description, and the described config change fixes it.

The metrics of an unchanged scenario are read from its stored results, which `test_stored.py` compares with a run.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest

from assignor_sim.api.running import run
from reports.analysis.stored.results import read_stored
from scenarios.load import load

LIBRARY = Path(__file__).parents[2] / "scenarios" / "library"
NEAREST = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
MINUTE, HOUR = 60_000, 3_600_000


@cache
def tables(name: str, *changes: tuple[str, str]) -> dict[str, Any]:
    return run(load(LIBRARY / f"{name}.yaml", changes), explain=False, ranges=False).tables


def runs(name: str, *changes: tuple[str, str]) -> dict[str, dict[str, Any]]:
    """Return the metrics of the first seed by label of the assignor."""
    rows: dict[str, dict[str, Any]] = {}
    if changes:
        for row in tables(name, *changes)["runs"].to_pylist():
            rows.setdefault(row["assignor"], row)
    else:
        text = (LIBRARY / f"{name}.expected.json").read_text(encoding="utf-8")
        for (assignor, _), stored in read_stored(text, name).runs.items():
            rows.setdefault(assignor, dict(stored.figures))
    return rows


def test_more_warm_ups_and_shorter_probing_restore_balance_faster() -> None:
    rows = runs("slow_return_of_balance")
    times_ms = {label: row["time_to_converge_ms"] for label, row in rows.items()}
    assert times_ms["Kafka's defaults"] > 4 * HOUR
    assert times_ms["both"] < 15 * MINUTE
    assert times_ms["both"] < times_ms["10 warm-ups"] < times_ms["Kafka's defaults"]
    assert all(row["moves_promoted"] == row["active_moves"] == 60 for row in rows.values())


def test_probing_never_ends_if_a_changelog_grows_as_fast_as_it_is_restored() -> None:
    row = runs("probing_never_ends")["high_availability"]
    assert row["verdict"] == "never"
    assert "small-" in row["cause"]
    assert "grows as fast as it is restored" in row["cause"]
    persistent = runs("probing_never_ends", ("clients[1].restore", "80 MB/s"))["high_availability"]
    assert persistent["verdict"] == "stable"


def test_more_warm_ups_converge_faster_and_restore_more_at_once() -> None:
    rows = runs("warmups_in_turn")
    times_ms = [
        rows[label]["time_to_converge_ms"] for label in ("1 warm-up", "2 warm-ups", "4 warm-ups", "16 warm-ups")
    ]
    assert times_ms == sorted(times_ms, reverse=True)
    assert times_ms[0] > 5 * times_ms[-1]
    rounds = tables("warmups_in_turn")["rounds"].to_pylist()
    assert max(row["warming_up"] for row in rounds if row["assignor"] == "16 warm-ups") > 8


def test_state_is_restored_repeatedly_if_no_client_is_caught_up() -> None:
    rows = runs("nobody_is_caught_up")
    assert rows["high_availability"]["restored_again_bytes"] > 1e9
    assert rows["high_availability"]["restored_bytes"] > 60e9, "more than the total state"


def test_streams_group_assignor_ignores_state() -> None:
    rows = runs("stateful_imbalance")
    assert rows["streams sticky"]["load_skew"] <= 1
    assert rows["streams sticky"]["stateful_skew"] >= 3
    assert rows["classic HA"]["stateful_skew"] <= 1


def test_in_memory_stores_are_restored_after_a_move_between_threads() -> None:
    persistent_override = ("application.subtopologies[0].stores[0].persistent", "true")
    in_memory, persistent = (
        runs("in_memory_stores_on_the_move"),
        runs("in_memory_stores_on_the_move", persistent_override),
    )
    assert in_memory["high_availability"]["restored_again_bytes"] > 5e9
    assert (
        persistent["high_availability"]["restored_again_bytes"]
        < in_memory["high_availability"]["restored_again_bytes"] / 5
    )


def test_tags_spread_the_copies_of_a_task_over_zones() -> None:
    rows = runs("standbys_in_one_zone")
    assert rows["no tags"]["worst_rack_loss"] > 0
    assert rows["min_traffic"]["worst_rack_loss"] > 0, "client.rack does not place standbys"
    assert rows["tags"]["worst_rack_loss"] == 0
    assert rows["tags"]["unqueryable_ms"] < rows["no tags"]["unqueryable_ms"]


def test_second_standby_survives_any_pair_of_clients() -> None:
    rows = runs("correlated_loss")
    assert rows["high_availability"]["worst_pair_loss"] > 4
    assert rows["HA with two standbys"]["worst_pair_loss"] == 0


def test_broker_bounce_causes_two_rebalances_in_affected_releases() -> None:
    assert runs("broker_bounces")["high_availability"]["rebalances"] == 1 + 2 * 6
    for fix in (("application.rejoins_when_brokers_bounce", "false"), ("clients[0].client_rack", "false")):
        assert runs("broker_bounces", fix)["high_availability"]["rebalances"] == 1


def test_cost_weights_decide_whether_state_moves_after_a_rack_change() -> None:
    rows = runs("a_partition_changes_rack")
    assert rows["10 to 1"]["active_moves"] > 5
    assert rows["10 to 1"]["cross_rack_usd_per_day"] < rows["1 to 10"]["cross_rack_usd_per_day"] / 2
    assert rows["1 to 10"]["restored_bytes"] == 0


def test_min_traffic_reduces_cost_but_unbalances_subtopologies() -> None:
    rows = runs("min_traffic_and_balance")
    assert rows["min_traffic"]["cross_rack_usd_per_day"] < rows["balance_subtopology"]["cross_rack_usd_per_day"]
    assert rows["balance_subtopology"]["cross_rack_usd_per_day"] < rows["none"]["cross_rack_usd_per_day"]
    assert rows["min_traffic"]["subtopology_skew"] > rows["balance_subtopology"]["subtopology_skew"]


def test_plan_that_balances_leaders_doubles_cross_rack_traffic() -> None:
    name, strategy = "a_better_plan_a_worse_bill", "events[0].reassignment.strategy"
    even = runs(name)["high_availability"]
    persistent_override = runs(name, (strategy, "goal_chain"))["high_availability"]
    nearest = runs(name, ("cluster.configs.replica.selector.class", NEAREST))["high_availability"]
    assert even["cross_rack_bytes_per_s"] == pytest.approx(60e6 * 2 / 3)
    assert persistent_override["cross_rack_bytes_per_s"] <= even["cross_rack_bytes_per_s"] / 2
    assert persistent_override["cross_rack_usd_per_day"] < 0.7 * even["cross_rack_usd_per_day"]
    assert nearest["cross_rack_bytes_per_s"] == 0
    events = [row["event"] for row in tables(name)["events"].to_pylist()]
    assert events[0].startswith("reassignment of 23 partitions begins")
    assert "reassignment is done" in events[-1]


def test_fetching_from_the_nearest_replica_cuts_the_bill() -> None:
    default = runs("cross_zone_bill")
    followers = runs("cross_zone_bill", ("cluster.configs.replica.selector.class", NEAREST))
    assert default["HA min_traffic"]["cross_rack_usd_per_day"] == pytest.approx(
        default["high_availability"]["cross_rack_usd_per_day"], rel=0.05
    )
    assert (
        followers["HA min_traffic"]["cross_rack_usd_per_day"]
        < 0.75 * default["HA min_traffic"]["cross_rack_usd_per_day"]
    )
    kinds = {row["kind"] for row in tables("cross_zone_bill")["traffic"].to_pylist()}
    assert {"source_read", "repartition_write", "result_write", "changelog_write", "replication"} <= kinds


def test_static_members_do_not_wait_for_the_session_timeout_in_a_bounce() -> None:
    dynamic = runs("bounces_and_static_membership")["classic HA"]
    static = runs("bounces_and_static_membership", ("clients[0].static_membership", "true"))["classic HA"]
    assert dynamic["rebalances"] == 1 + 6
    assert static["rebalances"] == 1
    assert dynamic["worst_downtime_ms"] > 40_000
    assert 20_000 <= static["worst_downtime_ms"] < 21_000


def test_longer_initial_rebalance_delay_avoids_moves_in_a_cold_start() -> None:
    default = runs("cold_start")["high_availability"]
    delayed = runs("cold_start", ("cluster.configs.group.initial.rebalance.delay.ms", "1m"))["high_availability"]
    assert default["active_moves"] > 40
    assert delayed["active_moves"] == 0
    assert delayed["restored_bytes"] < default["restored_bytes"] / 2


def test_migration_warns_about_ignored_configs_and_compares_protocols() -> None:
    comparison = run(load(LIBRARY / "migration_to_streams_groups.yaml"))
    [warning] = [line for line in comparison.warnings if "ignores" in line]
    for key in ("max.warmup.replicas", "acceptable.recovery.lag", "rack.aware.assignment.strategy"):
        assert key in warning
    rows = runs("migration_to_streams_groups")
    assert rows["streams sticky"]["rebalances"] < rows["classic HA"]["rebalances"]
    assert rows["streams sticky"]["mean_downtime_ms"] > rows["classic HA"]["mean_downtime_ms"]


def test_volumes_and_static_members_make_rolling_updates_cheap() -> None:
    update = "events[0].rolling_update."
    zonal, static = (update + "volume", "zonal"), ("clients[0].static_membership", "true")
    without, leaving, with_both = (
        runs("kubernetes_rolling_update", *changes)["high_availability"]
        for changes in ((), (zonal, (update + "leaves_group", "true")), (zonal, static))
    )
    assert without["restored_bytes"] > 3 * 24e9
    assert with_both["restored_bytes"] < 1e9
    assert with_both["rebalances"] == 1
    assert 18_000 <= with_both["worst_downtime_ms"] < 19_000, "8 s to close and 10 s to start"
    assert with_both["downtime_ms"] < leaving["downtime_ms"] < without["downtime_ms"] / 2
