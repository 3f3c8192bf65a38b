"""Warnings about configs that Kafka accepts but that have no or an unexpected effect."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from scenarios.load import loads
from scenarios.run import run
from simulator.results.tabulation import tabulate
from tests.scenarios.scenario_texts import SMALL, load_text, mistakes_in

LAST = "duration: 2h\n"
"""The end of the small scenario."""


def warnings(text: str, *overrides: tuple[str, str]) -> list[str]:
    return list(load_text(text, *overrides).warnings)


def choosing(*assignors: str, text: str = SMALL) -> str:
    lines = "".join(f"  - {entry}\n" for entry in assignors)
    return text.replace("assignors: [high_availability]\n", f"assignors:\n{lines}")


def test_a_scenario_whose_settings_do_what_they_say_has_no_warnings() -> None:
    assert warnings(SMALL) == []


COSTS = "rack.aware.assignment.traffic_cost and rack.aware.assignment.non_overlap_cost"
PLACE = "s.yaml:22: assignors[0].configs.rack.aware.assignment.strategy: mine"


def assignor_entry(assignor: str, strategy: str) -> str:
    return f"{{assignor: {assignor}, label: mine, configs: {{rack.aware.assignment.strategy: {strategy}}}}}"


@pytest.mark.parametrize("strategy", ["min_traffic", "balance_subtopology"])
def test_the_sticky_assignors_own_costs_move_no_stateful_task(strategy: str) -> None:
    [legacy] = warnings(choosing(assignor_entry("legacy_sticky", strategy)))
    assert legacy == (
        f"{PLACE}: a cross-rack partition costs 1, a move 10, and stateful tasks read at most 2 partitions, so "
        f"{strategy} moves none of them; set {COSTS}"
    )
    [public] = warnings(choosing(assignor_entry("sticky_task_assignor", strategy)))
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
def test_costs_that_are_stated_or_let_tasks_move_are_not_warned_of(entry: str) -> None:
    assert warnings(choosing(entry)) == []


def test_the_warning_is_true_no_stateful_task_moves_for_traffic() -> None:
    none, traffic = (
        "{assignor: legacy_sticky, label: none}",
        "{assignor: legacy_sticky, label: traffic, configs: {rack.aware.assignment.strategy: min_traffic}}",
    )
    scenario = loads(choosing(none, traffic), "s.yaml")
    for seed in range(1, 6):
        one, other = (run(scenario, label, seed) for label in ("none", "traffic"))
        stateful = one.layout.tasks.stateful
        assert one.rounds[0].owner[stateful].tolist() == other.rounds[0].owner[stateful].tolist()
        assert one.rounds[0].owner[~stateful].tolist() != other.rounds[0].owner[~stateful].tolist()


def test_the_warning_is_true_sticky_task_assignor_ignores_the_strategy_without_costs() -> None:
    text = choosing(
        "{assignor: sticky_task_assignor, label: none}", assignor_entry("sticky_task_assignor", "min_traffic")
    )
    scenario = loads(text, "s.yaml")
    for seed in range(1, 4):
        owners = [[round_.owner.tolist() for round_ in run(scenario, label, seed).rounds] for label in ("none", "mine")]
        assert owners[0] == owners[1]


def test_more_standbys_than_clients_can_take_are_warned_of_wherever_they_are_set() -> None:
    place = "num.standby.replicas"
    assert warnings(SMALL, ("application.configs.num.standby.replicas", "3")) == [], "four clients, late included"
    text = SMALL.replace("num.standby.replicas: 1", "num.standby.replicas: 7")
    seven = "7 standbys and the active task need 8 clients; with 4 clients, a task has at most 3"
    assert warnings(text) == [f"s.yaml:10: application.configs.{place}: {seven}"]
    own = choosing("{assignor: high_availability, configs: {num.standby.replicas: 7}}")
    assert warnings(own) == [f"s.yaml:22: assignors[0].configs.{place}: {seven}"]
    event = SMALL.replace("assignors:", "  - {at: 1h, config_change: {configs: {num.standby.replicas: 7}}}\nassignors:")
    assert warnings(event) == [f"s.yaml:21: events[1].config_change.configs.{place}: {seven}"]
    stateless = text.replace("      stores: [{name: totals, size: 1 GB}]\n", "")
    assert warnings(stateless) == []


def test_the_warning_of_standbys_is_true() -> None:
    scenario = loads(SMALL, "s.yaml", [("application.configs.num.standby.replicas", "7")])
    trace = run(scenario, "high_availability", 1)
    copies = np.bincount(trace.rounds[-1].standby[:, 0], minlength=len(trace.layout.tasks.ids))
    assert copies[trace.layout.tasks.stateful].tolist() == [3] * 4


TAGGED = SMALL.replace("threads: 2}\n", "threads: 2, tags: {zone: az1}}\n").replace(
    "{name: late, rack: az1, ", "{name: late, rack: az1, tags: {zone: az1}, "
)
TAGS = ("application.configs.rack.aware.assignment.tags", "[zone]")


def test_tags_and_client_rack_together_are_warned_of_and_who_differs_is_named() -> None:
    assert warnings(TAGGED) == [], "tags that no config names"
    text = TAGGED.replace("num.standby.replicas: 1", "num.standby.replicas: 1, rack.aware.assignment.tags: [zone]")
    both = "clients also set client.rack, but standbys are distributed over tags (zone)"
    assert warnings(text) == [
        f"s.yaml:10: application.configs.rack.aware.assignment.tags: {both}; no tag equals client.rack of: app-1, app-2"
    ]
    silent = text.replace("racks: [az1, az2, az3], threads", "racks: [az1, az2, az3], client_rack: false, threads")
    assert warnings(silent) == [f"s.yaml:10: application.configs.rack.aware.assignment.tags: {both}"]
    nobody = silent.replace("rack: az1, tags", "rack: az1, client_rack: false, tags")
    assert warnings(nobody) == []


STREAMS = choosing("{assignor: streams_group_sticky, configs: {group.protocol: streams}}", "high_availability")


@pytest.mark.parametrize("kind", ["leave", "rolling_bounce"])
def test_members_of_a_streams_group_that_are_to_remain_are_warned_of(kind: str) -> None:
    def text(said: str, base: str) -> str:
        return base.replace(
            "assignors:", f"  - {{at: 1h, {kind}: {{clients: app-0, leaves_group: {said}}}}}\nassignors:"
        )

    assert warnings(text("false", SMALL)) == warnings(text("true", STREAMS)) == []
    assert warnings(text("false", STREAMS)) == [
        f"s.yaml:21: events[1].{kind}.leaves_group: has no effect with group.protocol: streams, whose members always "
        "leave on close"
    ]


ELSEWHERE = SMALL.replace("{name: late, rack: az1, starts: false}", "{name: late, rack: az9, threads: 2}").replace(
    "  - {at: 30m, scale_out: {clients: late}}", "  - {at: 1h, rack_outage: {rack: az9, down: 10m}}"
)


def test_a_client_may_be_in_a_rack_without_brokers() -> None:
    assert mistakes_in(ELSEWHERE) == []
    assert warnings(ELSEWHERE) == [
        "s.yaml:18: clients[1].rack: no broker is in rack 'az9' (racks of brokers: az1, az2, az3), so all traffic "
        "of its clients is cross-rack"
    ]
    racks = SMALL.replace("count: 3, racks: [az1, az2, az3], threads", "count: 3, racks: [az1, az7, az3], threads")
    assert [warning.partition(" no ")[0] for warning in warnings(racks)] == ["s.yaml:17: clients[0].racks[1]:"]


def test_all_that_it_reads_and_writes_crosses_racks() -> None:
    scenario = loads(ELSEWHERE, "s.yaml", [("application.configs.rack.aware.assignment.strategy", "min_traffic")])
    for seed in (1, 2, 3):
        trace = run(scenario, "high_availability", seed)
        rows = tabulate(trace, "ha", seed)["traffic"].to_pylist()
        its = [row for row in rows if "az9" in (row["from_rack"], row["to_rack"]) and row["bytes"]]
        kinds = {row["kind"] for row in its}
        assert {"source_read", "repartition_read", "repartition_write"} <= kinds
        assert all(row["from_rack"] != row["to_rack"] for row in its)
        racks = trace.layout.racks.index("az9")
        assert all(round_.costs.active is not None for round_ in trace.rounds), (
            "Kafka does not check the names of racks"
        )
        assert (trace.client_racks == racks).sum() == 1


def test_racks_of_clients_are_accepted_where_no_broker_has_one(tmp_path: Path) -> None:
    text = SMALL.replace("{count: 3, racks: [az1, az2, az3]}\n", "{count: 3}\n", 1)
    assert warnings(text) == [
        "s.yaml:17: clients[0].racks[0]: no broker has a rack, so rack-aware assignment is disabled, and all "
        "traffic is cross-rack"
    ]
    trace = run(loads(text, "s.yaml"), "high_availability", 1)
    assert all(round_.costs.active is None for round_ in trace.rounds)


def test_a_rack_in_which_nobody_is_cannot_fail() -> None:
    assert mistakes_in(ELSEWHERE.replace("rack_outage: {rack: az9", "rack_outage: {rack: az8")) == [
        "s.yaml:20: events[0].rack_outage.rack: unknown rack 'az8' (racks: az1, az2, az3, az9)"
    ]


def test_keys_of_kip_drafts_are_refused_with_the_key_that_was_released() -> None:
    text = SMALL.replace("num.standby.replicas: 1", "rack.aware.assignment.enabled: true")
    advice = (
        "proposed in KIP-925, but never released; rack.aware.assignment.strategy: min_traffic or balance_subtopology "
        "enables rack-aware assignment"
    )
    assert mistakes_in(text) == [
        f"s.yaml:10: application.configs.rack.aware.assignment.enabled: unknown or misplaced config ({advice})"
    ]
