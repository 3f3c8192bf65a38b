"""Warnings about configs that Kafka accepts but that have no or an unexpected effect."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from scenarios.load import loads
from scenarios.run import run
from simulator.results.tabulation import tabulate
from tests.scenarios.scenario_texts import SMALL, load_text, mistakes_in


def warnings(text: str, *overrides: tuple[str, str]) -> list[str]:
    return list(load_text(text, *overrides).warnings)


def with_assignors(*assignors: str, text: str = SMALL) -> str:
    lines = "".join(f"  - {entry}\n" for entry in assignors)
    return text.replace("assignors: [high_availability]\n", f"assignors:\n{lines}")


def test_effective_configs_cause_no_warnings() -> None:
    assert warnings(SMALL) == []


COSTS = "rack.aware.assignment.traffic_cost and rack.aware.assignment.non_overlap_cost"
PLACE = "s.yaml:22: assignors[0].configs.rack.aware.assignment.strategy: mine"


def assignor_entry(assignor: str, strategy: str) -> str:
    return f"{{assignor: {assignor}, label: mine, configs: {{rack.aware.assignment.strategy: {strategy}}}}}"


@pytest.mark.parametrize("strategy", ["min_traffic", "balance_subtopology"])
def test_default_costs_of_sticky_assignors_cause_a_warning(strategy: str) -> None:
    [legacy] = warnings(with_assignors(assignor_entry("legacy_sticky", strategy)))
    assert legacy == (
        f"{PLACE}: a cross-rack partition costs 1, a move 10, and stateful tasks read at most 2 partitions, so "
        f"{strategy} moves none of them; set {COSTS}"
    )
    [public] = warnings(with_assignors(assignor_entry("sticky_task_assignor", strategy)))
    assert public == f"{PLACE} is rack-aware only if {COSTS} are both set, so {strategy} has no effect"


@pytest.mark.parametrize(
    "entry",
    [
        "{assignor: high_availability, configs: {rack.aware.assignment.strategy: min_traffic}}",
        "{assignor: legacy_sticky, configs: {rack.aware.assignment.strategy: none}}",
        "{assignor: legacy_sticky, configs: {rack.aware.assignment.strategy: min_traffic, "
        "rack.aware.assignment.traffic_cost: 1, rack.aware.assignment.non_overlap_cost: 10}}",
        "{assignor: legacy_sticky, configs: {rack.aware.assignment.strategy: min_traffic, "
        "rack.aware.assignment.traffic_cost: 6}}",
    ],
)
def test_set_or_effective_costs_cause_no_warning(entry: str) -> None:
    assert warnings(with_assignors(entry)) == []


def test_no_stateful_task_moves_with_default_costs_of_legacy_sticky() -> None:
    without_strategy, traffic = (
        "{assignor: legacy_sticky, label: none}",
        "{assignor: legacy_sticky, label: traffic, configs: {rack.aware.assignment.strategy: min_traffic}}",
    )
    scenario = loads(with_assignors(without_strategy, traffic), "s.yaml")
    for seed in range(1, 6):
        first, other = (run(scenario, label, seed) for label in ("none", "traffic"))
        stateful = first.layout.tasks.stateful
        assert first.rounds[0].owner[stateful].tolist() == other.rounds[0].owner[stateful].tolist()
        assert first.rounds[0].owner[~stateful].tolist() != other.rounds[0].owner[~stateful].tolist()


def test_sticky_task_assignor_ignores_the_strategy_without_costs() -> None:
    text = with_assignors(
        "{assignor: sticky_task_assignor, label: none}", assignor_entry("sticky_task_assignor", "min_traffic")
    )
    scenario = loads(text, "s.yaml")
    for seed in range(1, 4):
        owners = [[round_.owner.tolist() for round_ in run(scenario, label, seed).rounds] for label in ("none", "mine")]
        assert owners[0] == owners[1]


def test_more_standbys_than_clients_cause_a_warning() -> None:
    place = "num.standby.replicas"
    assert warnings(SMALL, ("application.configs.num.standby.replicas", "3")) == [], "four clients, late included"
    text = SMALL.replace("num.standby.replicas: 1", "num.standby.replicas: 7")
    seven = "7 standbys and the active task need 8 clients; with 4 clients, a task has at most 3"
    assert warnings(text) == [f"s.yaml:10: application.configs.{place}: {seven}"]
    own_entry = with_assignors("{assignor: high_availability, configs: {num.standby.replicas: 7}}")
    assert warnings(own_entry) == [f"s.yaml:22: assignors[0].configs.{place}: {seven}"]
    event = SMALL.replace("assignors:", "  - {at: 1h, config_change: {configs: {num.standby.replicas: 7}}}\nassignors:")
    assert warnings(event) == [f"s.yaml:21: events[1].config_change.configs.{place}: {seven}"]
    stateless = text.replace("      stores: [{name: totals, size: 1 GB}]\n", "")
    assert warnings(stateless) == []


def test_excess_standbys_are_not_placed() -> None:
    scenario = loads(SMALL, "s.yaml", [("application.configs.num.standby.replicas", "7")])
    trace = run(scenario, "high_availability", 1)
    copies = np.bincount(trace.rounds[-1].standby[:, 0], minlength=len(trace.layout.tasks.ids))
    assert copies[trace.layout.tasks.stateful].tolist() == [3] * 4


TAGGED = SMALL.replace("threads: 2}\n", "threads: 2, tags: {zone: az1}}\n").replace(
    "{name: late, rack: az1, ", "{name: late, rack: az1, tags: {zone: az1}, "
)
TAGS = ("application.configs.rack.aware.assignment.tags", "[zone]")


def test_tags_together_with_client_rack_cause_a_warning() -> None:
    assert warnings(TAGGED) == [], "tags that no config names"
    text = TAGGED.replace("num.standby.replicas: 1", "num.standby.replicas: 1, rack.aware.assignment.tags: [zone]")
    conflict = "clients also set client.rack, but standbys are distributed over tags (zone)"
    assert warnings(text) == [
        f"s.yaml:10: application.configs.rack.aware.assignment.tags: {conflict}; no tag equals client.rack of: app-1, "
        "app-2"
    ]
    silent = text.replace("racks: [az1, az2, az3], threads", "racks: [az1, az2, az3], client_rack: false, threads")
    assert warnings(silent) == [f"s.yaml:10: application.configs.rack.aware.assignment.tags: {conflict}"]
    without_racks = silent.replace("rack: az1, tags", "rack: az1, client_rack: false, tags")
    assert warnings(without_racks) == []


EXACTLY_ONCE = SMALL.replace("num.standby.replicas: 1", "processing.guarantee: exactly_once_v2")


def with_recovery_lag(lag: int, text: str = EXACTLY_ONCE) -> str:
    return text.replace("configs: {processing", f"configs: {{acceptable.recovery.lag: {lag}, processing")


def test_recovery_lag_below_the_commit_markers_causes_a_warning() -> None:
    reason = (
        "the lag of a caught-up copy in subtopology 1: it has {}, and with processing.guarantee: exactly_once_v2, a "
        "commit marker ends each changelog. Warm-ups and clients that return never count as caught up"
    )
    place = "acceptable.recovery.lag"
    assert warnings(with_recovery_lag(0)) == [
        f"s.yaml:10: application.configs.{place}: 0 is less than 1, {reason.format('1 changelog')}"
    ]
    two_stores = EXACTLY_ONCE.replace("{name: totals, size: 1 GB}", "{name: totals, size: 1 GB}, {name: counts}")
    assert warnings(with_recovery_lag(1, two_stores)) == [
        f"s.yaml:10: application.configs.{place}: 1 is less than 2, {reason.format('2 changelogs')}"
    ]
    own_entry = with_assignors(
        "high_availability", f"{{assignor: high_availability, label: b, configs: {{{place}: 0}}}}", text=EXACTLY_ONCE
    )
    assert [warning.partition(": 0")[0] for warning in warnings(own_entry)] == [
        f"s.yaml:23: assignors[1].configs.{place}"
    ]
    event = EXACTLY_ONCE.replace(
        "assignors:", f"  - {{at: 1h, config_change: {{configs: {{{place}: 0}}}}}}\nassignors:"
    )
    assert [warning.partition(": 0")[0] for warning in warnings(event)] == [
        f"s.yaml:21: events[1].config_change.configs.{place}"
    ]


def test_recovery_lag_that_copies_reach_causes_no_warning() -> None:
    at_least_once = with_recovery_lag(0).replace("exactly_once_v2", "at_least_once")
    stateless = with_recovery_lag(0).replace("      stores: [{name: totals, size: 1 GB}]\n", "")
    unlogged = with_recovery_lag(0).replace("{name: totals, size: 1 GB}", "{name: totals, logged: false}")
    source_changelog = with_recovery_lag(0).replace("{name: totals, size: 1 GB}", "{name: totals, changelog: payments}")
    streams = with_assignors(
        "{assignor: streams_group_sticky, configs: {group.protocol: streams}}", text=with_recovery_lag(0)
    )
    for text in (with_recovery_lag(1), at_least_once, stateless, unlogged, source_changelog, streams):
        assert warnings(text) == []


def test_group_with_an_accepted_lag_below_the_commit_markers_never_converges() -> None:
    """A warm-up for the late client never counts as caught up, so probing rebalances continue to the end."""
    text = with_recovery_lag(0).replace("duration: 2h", "duration: 4h")
    endless, settled = (
        run(loads(version, "s.yaml"), "high_availability", 1) for version in (text, text.replace("lag: 0", "lag: 1"))
    )
    assert len(endless.rounds) > len(settled.rounds) + 5


STREAMS = with_assignors("{assignor: streams_group_sticky, configs: {group.protocol: streams}}", "high_availability")


@pytest.mark.parametrize("kind", ["leave", "rolling_bounce"])
def test_leaves_group_false_causes_a_warning_in_a_streams_group(kind: str) -> None:
    def text(leaves_group: str, base: str) -> str:
        return base.replace(
            "assignors:", f"  - {{at: 1h, {kind}: {{clients: app-0, leaves_group: {leaves_group}}}}}\nassignors:"
        )

    assert warnings(text("false", SMALL)) == warnings(text("true", STREAMS)) == []
    older = text("false", STREAMS).replace("application:", "application:\n  kafka: '4.3'")
    assert warnings(older) == [
        f"s.yaml:22: events[1].{kind}.leaves_group: has no effect with group.protocol: streams before Kafka 4.4: "
        "dynamic members always leave on close (application.kafka: 4.3)"
    ]
    assert warnings(text("false", STREAMS)) == []


ELSEWHERE = SMALL.replace("{name: late, rack: az1, starts: false}", "{name: late, rack: az9, threads: 2}").replace(
    "  - {at: 30m, scale_out: {clients: late}}", "  - {at: 1h, rack_outage: {rack: az9, down: 10m}}"
)


def test_client_rack_without_brokers_causes_a_warning() -> None:
    assert mistakes_in(ELSEWHERE) == []
    assert warnings(ELSEWHERE) == [
        "s.yaml:18: clients[1].rack: no broker is in rack 'az9' (racks of brokers: az1, az2, az3), so all traffic "
        "of its clients is cross-rack"
    ]
    racks = SMALL.replace("count: 3, racks: [az1, az2, az3], threads", "count: 3, racks: [az1, az7, az3], threads")
    assert [warning.partition(" no ")[0] for warning in warnings(racks)] == ["s.yaml:17: clients[0].racks[1]:"]


def test_all_traffic_of_a_rack_without_brokers_is_cross_rack() -> None:
    scenario = loads(ELSEWHERE, "s.yaml", [("application.configs.rack.aware.assignment.strategy", "min_traffic")])
    for seed in (1, 2, 3):
        trace = run(scenario, "high_availability", seed)
        rows = tabulate(trace, "ha", seed)["traffic"].to_pylist()
        rack_rows = [row for row in rows if "az9" in (row["from_rack"], row["to_rack"]) and row["bytes"]]
        kinds = {row["kind"] for row in rack_rows}
        assert {"source_read", "repartition_read", "repartition_write"} <= kinds
        assert all(row["from_rack"] != row["to_rack"] for row in rack_rows)
        racks = trace.layout.racks.index("az9")
        assert all(round_.costs.active is not None for round_ in trace.rounds), (
            "Kafka does not check the names of racks"
        )
        assert (trace.client_racks == racks).sum() == 1


def test_strategy_without_client_racks_causes_a_warning_and_has_no_effect() -> None:
    strategy = ("application.configs.rack.aware.assignment.strategy", "min_traffic")
    silent = ("clients[0].client_rack", "false")
    [warning] = [text for text in loads(SMALL, "s.yaml", [strategy, silent]).warnings if "client.rack" in text]
    assert "has an effect only while every client of the group sets client.rack" in warning
    assert "(without it: app-0, app-1, app-2)" in warning
    assert not [text for text in loads(SMALL, "s.yaml", [strategy]).warnings if "client.rack" in text]
    assert not [text for text in loads(SMALL, "s.yaml", [silent]).warnings if "client.rack" in text]
    runs = [
        run(loads(SMALL, "s.yaml", overrides), "high_availability", 1) for overrides in ([silent], [silent, strategy])
    ]
    plain, rack_aware = ([round_.owner.tolist() for round_ in trace.rounds] for trace in runs)
    assert plain == rack_aware


def test_client_racks_are_accepted_if_no_broker_has_a_rack(tmp_path: Path) -> None:
    text = SMALL.replace("{count: 3, racks: [az1, az2, az3]}\n", "{count: 3}\n", 1)
    assert warnings(text) == [
        "s.yaml:17: clients[0].racks[0]: no broker has a rack, so rack-aware assignment is disabled, and all "
        "traffic is cross-rack"
    ]
    trace = run(loads(text, "s.yaml"), "high_availability", 1)
    assert all(round_.costs.active is None for round_ in trace.rounds)


def test_outage_of_an_empty_rack_is_rejected() -> None:
    assert mistakes_in(ELSEWHERE.replace("rack_outage: {rack: az9", "rack_outage: {rack: az8")) == [
        "s.yaml:20: events[0].rack_outage.rack: unknown rack 'az8' (racks: az1, az2, az3, az9)"
    ]


def test_keys_of_kip_drafts_are_rejected_with_the_released_key() -> None:
    text = SMALL.replace("num.standby.replicas: 1", "rack.aware.assignment.enabled: true")
    advice = (
        "proposed in KIP-925, but never released; rack.aware.assignment.strategy: min_traffic or balance_subtopology "
        "enables rack-aware assignment"
    )
    assert mistakes_in(text) == [
        f"s.yaml:10: application.configs.rack.aware.assignment.enabled: unknown or misplaced config ({advice})"
    ]


ALL_STREAMS = ("application.configs.group.protocol", "streams")


def test_client_timeouts_of_streams_groups_have_no_effect() -> None:
    configs = (("application.configs.session.timeout.ms", "20s"), ("application.configs.heartbeat.interval.ms", "5s"))
    [warning] = warnings(SMALL, ALL_STREAMS, *configs, ("assignors", "[streams_group_sticky]"))
    assert warning.endswith(
        "application.configs.session.timeout.ms: has no effect with group.protocol: streams: "
        "group.streams.session.timeout.ms (45s) holds; set streams.session.timeout.ms under application.group_configs"
    )
    own = ("application.group_configs.streams.session.timeout.ms", "50s")
    assert "(50s) holds" in " ".join(
        warnings(SMALL, ALL_STREAMS, *configs, own, ("assignors", "[streams_group_sticky]"))
    )


def test_client_timeouts_have_an_effect_if_any_assignor_is_compared_in_a_classic_group() -> None:
    classic = ("assignors", "[{assignor: high_availability, configs: {group.protocol: classic}}]")
    assert warnings(SMALL, ALL_STREAMS, classic, ("application.configs.session.timeout.ms", "20s")) == []


ONE_REPLICA = "default.replication.factor is not set (Kafka's default: 1), so these topics have one replica"
DEFAULTED = """
name: s
cluster:
  brokers: {count: 3, racks: [a, b, c]}
  topics: [{name: in, partitions: 6, replication_factor: 3}, {name: other, partitions: 6}]
application: {id: app, subtopologies: [{sources: [in], stores: [{name: s, size: 1 GB}]}]}
clients: [{name: pod, count: 3, racks: [a, b, c]}]
duration: 1h
"""
FAILURE = "events: [{at: 10m, broker_loss: {brokers: [0], down: 5m}}]\n"
RACK_AWARE = "assignors: [{assignor: high_availability, configs: {rack.aware.assignment.strategy: min_traffic}}]\n"


@pytest.mark.parametrize(
    "course",
    [
        FAILURE,
        "events: [{at: 10m, broker_bounce: {brokers: [0]}}]\n",
        "events: [{at: 10m, rack_outage: {rack: a, down: 5m}}]\n",
        RACK_AWARE,
    ],
)
def test_one_replica_by_default_causes_a_warning_where_it_decides(course: str) -> None:
    """The changelog has the brokers' default; topic `other` too, but no task uses it."""
    consequence = "any broker's failure stops tasks, and few clients have a replica in their rack"
    [warning] = warnings(DEFAULTED + course)
    assert warning.endswith(f"cluster.configs: {ONE_REPLICA}: app-s-changelog; {consequence}")
    assert warnings(DEFAULTED + course, ("cluster.configs", "{default.replication.factor: 1}")) == [], "it is meant"
    assert warnings(DEFAULTED + course, ("application.configs", "{replication.factor: 3}")) == []
    [both] = warnings(DEFAULTED.replace(", replication_factor: 3", "") + course)
    assert f"{ONE_REPLICA}: in, app-s-changelog; " in both


def test_one_replica_by_default_causes_no_warning_where_it_decides_nothing() -> None:
    assert warnings(DEFAULTED) == []
    crash = "events: [{at: 10m, crash: {clients: pod-0, down: 5m}}]\n"
    assert warnings(DEFAULTED + crash) == []
    one_broker = DEFAULTED.replace(", racks: [a, b, c]", "").replace("brokers: {count: 3}", "brokers: {count: 1}")
    one_broker = one_broker.replace("factor: 3", "factor: 1")
    assert warnings(one_broker + FAILURE) == []


@pytest.mark.parametrize(
    ("course", "figure", "difference"),
    [(FAILURE, "worst_downtime_ms", 240_000), (RACK_AWARE, "cross_rack_source_partitions", 1)],
)
def test_one_replica_by_default_decides_what_the_warning_says(course: str, figure: str, difference: int) -> None:
    text = DEFAULTED.replace(", replication_factor: 3", "") + course
    value, replicated = (
        tabulate(run(load_text(text, *overrides), "high_availability", 1), "a", 1)["runs"].to_pylist()[0][figure]
        for overrides in ([], [("cluster.configs", "{default.replication.factor: 3}")])
    )
    assert value >= replicated + difference


WIDE = """
name: s
cluster:
  brokers: {count: 1}
  topics:
    - {name: busy, partitions: 3, bytes_per_s: 4800 kB/s}
    - {name: quiet, partitions: 9, bytes_per_s: 900 kB/s}
application: {id: app, subtopologies: [{sources: [busy]}, {sources: [quiet]}]}
clients: [{name: pod, count: 3, threads: 4}]
events: []
duration: 10m
"""
UNLIMITED = "records_per_s is not set, so it is not modeled"


def test_busy_tasks_on_threads_without_limit_cause_a_warning() -> None:
    """Nothing happens in the run, so only the load of the threads could be its result."""
    [warning] = warnings(WIDE)
    figures = "gets 1,600 records/s, 3.4 times an even share of 12"
    assert warning.endswith(f"clients: {UNLIMITED} whether threads keep up: task 0_0 {figures} threads")
    group = WIDE.replace("application: {id: app, subtopologies: [{sources: [busy]}, {sources: [quiet]}]}\n", "")
    group = group.replace("clients: [", "consumers: [{group: app, topics: [busy, quiet], clients: [")
    group = group.replace("threads: 4}]", "consumers: 4}]}]")
    [warning] = warnings(group)
    assert warning.endswith(f"{UNLIMITED} whether consumers keep up: partition busy-0 {figures} consumers")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("threads: 4", "threads: 4, records_per_s: 1000"),  # The run says which threads cannot keep up.
        ("threads: 4", "threads: 1"),  # 1,600 of 5,700 records/s for each of three threads.
        ("4800 kB/s", "300 kB/s"),
        ("4800 kB/s", "0 B/s"),
        ("{count: 1}", "{count: 2, racks: [a, b]}"),  # The run has cross-rack traffic.
        ("events: []", "events: [{at: 1m, crash: {clients: pod-0, down: 5m}}]"),
    ],
)
def test_threads_without_limit_cause_no_warning_where_something_else_happens(old: str, new: str) -> None:
    assert not any(UNLIMITED in warning for warning in warnings(WIDE.replace(old, new)))


def test_busy_tasks_fall_behind_once_the_limit_is_set() -> None:
    text = WIDE.replace("threads: 4", "threads: 4, records_per_s: 1000")
    rows = tabulate(run(load_text(text), "high_availability", 1), "a", 1)["thread_loads"].to_pylist()
    assert [row["input_records_per_s"] for row in rows if row["behind_since_ms"] is not None] == [1_600] * 3
