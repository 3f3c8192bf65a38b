"""The situations of a checkup: valid for every shipped scenario, and what their titles say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from scenarios.checkup.situations import SLOWDOWN, Situation, base_document, deployment, standard_situations
from scenarios.load import Scenario, load, loads
from scenarios.run import run
from scenarios.shipped import list_applications
from simulator.assignment.leader import Leader

SHOP = """
name: shop
cluster:
  brokers: {count: 3, racks: [az1, az2, az3]}
  topics: [{name: orders, partitions: 6, replication_factor: 3, bytes_per_s: 1 MB/s}]
application:
  id: shop
  configs: {num.standby.replicas: 1}
  subtopologies: [{sources: [orders], stores: [{name: totals, size: 1 GB, bytes_per_s: 1 MB/s}]}]
clients:
  - {name: app, count: 3, racks: [az1, az2, az3], threads: 2, restore: 80 MB/s, records_per_s: 2000}
  - {name: spare, starts: false}
events:
  - {at: 1h, crash: {clients: app-0, down: 5m}}
"""


def situations(scenario: Scenario) -> dict[str, Situation]:
    built, _ = standard_situations(scenario, has_leader=True)
    return {situation.key: situation for situation in built}


def loaded(situation: Situation, **changes: Any) -> Scenario:
    return loads(json.dumps({**situation.document, "assignors": ["high_availability"], **changes}))


@pytest.mark.parametrize("file", list_applications(), ids=lambda file: file.stem)
def test_situations_of_shipped_scenarios_are_valid(file: Path) -> None:
    scenario = load(file)
    for situation in situations(scenario).values():
        document = json.dumps({**situation.document, "assignors": [scenario.assignors[0].info.name]})
        valid = loads(document, file.stem, folder=file.parent)
        assert valid.blueprint.duration_ms == situation.duration_ms
        up = [client.name for client in valid.blueprint.clients if client.starts]
        assert up == [client.name for client in scenario.blueprint.clients if client.starts]


def test_own_events_and_spare_clients_do_not_take_part() -> None:
    shop = loads(SHOP)
    by_key = situations(shop)
    assert "events" not in base_document(shop)
    assert by_key["steady"].document["events"] == []
    assert [client["name"] for client in by_key["crash"].document["clients"]] == ["app-0", "app-1", "app-2"]
    assert list(by_key["crash"].document["events"][0]["crash"]["clients"]) == ["app-0", "app-1", "app-2"]


def test_overrides_take_part() -> None:
    document = base_document(loads(SHOP, overrides=[("clients[0].count", "2")]))
    assert [(client["name"], client["rack"]) for client in document["clients"]] == [("app-0", "az1"), ("app-1", "az2")]


def test_the_running_assignment_is_kept_only_for_a_rollout() -> None:
    text = SHOP.replace("id: shop", "id: shop\n  starts: running").replace(
        "  - {name: app, count: 3, racks: [az1, az2, az3], threads: 2, restore: 80 MB/s, records_per_s: 2000}",
        "  - {name: app, rack: az1, tasks: {active: ['0_0', '0_1', '0_2', '0_3', '0_4', '0_5']}}",
    )
    shop = loads(text.replace("app-0", "app"))
    assert "starts" not in base_document(shop)["application"]
    assert "tasks" not in base_document(shop)["clients"][0]
    running = base_document(shop, is_running=True)
    assert running["application"]["starts"] == "running"
    assert len(running["clients"][0]["tasks"]["active"]) == 6


def test_the_scenarios_own_update_is_the_deployment() -> None:
    update = "  - {at: 2h, rolling_update: {clients: app, kind: stateful_set, volume: local, ready_after: 1m}}\n"
    shop = loads(SHOP + update)
    assert deployment(loads(SHOP)) is None
    [event] = situations(shop)["deploy"].document["events"]
    assert event["rolling_update"]["volume"] == "local"
    assert event["rolling_update"]["clients"] == ["app-0", "app-1", "app-2"]
    [event] = situations(loads(SHOP))["deploy"].document["events"]
    assert event["rolling_bounce"]["pause"] == "1m"


def test_the_leader_is_the_client_that_crashes() -> None:
    situation = situations(loads(SHOP))["leader"]
    leaders = []
    decide = Leader.decide

    def observed(self: Leader, instruction: Any, *others: Any) -> Any:
        leaders.append(instruction.leader.client)
        return decide(self, instruction, *others)

    with patch.object(Leader, "decide", observed):
        run(loaded(situation), "high_availability", 1)
    assert leaders[0] == situation.document["events"][0]["crash"]["clients"]
    assert len(leaders) > 1


def test_half_as_many_clients_join_and_leave() -> None:
    trace = run(loaded(situations(loads(SHOP))["scale"]), "high_availability", 1)
    names = {client.name for client in trace.world.clients}
    assert names == {"app-0", "app-1", "app-2", "checkup-new-0", "checkup-new-1"}
    assert {client.rack for client in trace.world.clients if client.name.startswith("checkup")} == {"az1", "az2"}


def test_the_slow_instance_is_slow_and_loses_its_disk() -> None:
    situation = situations(loads(SHOP))["slow"]
    *others, slow = situation.document["clients"]
    assert slow["restore"] * SLOWDOWN == 80_000_000
    assert slow["records_per_s"] * SLOWDOWN == others[0]["records_per_s"] == 2000
    assert situation.document["events"][0]["crash"] == {"clients": "app-2", "down": "5m", "disk": "lost"}


def test_impossible_situations_are_left_out_with_a_reason() -> None:
    text = SHOP.replace("racks: [az1, az2, az3]", "").replace("count: 3, }", "count: 1}").replace(", ,", ",")
    scenario = loads(text.replace("replication_factor: 3", "replication_factor: 1"))
    possible, left_out = standard_situations(scenario, has_leader=False)
    assert not {"leader", "zone", "broker", "peak"} & {situation.key for situation in possible}
    assert [situation.title for situation in left_out] == [
        "1 instance of the scenario",
        "The group leader crashes",
        "One zone fails and returns",
        "One broker fails and returns",
        "A day of traffic",
    ]


def test_the_failing_zone_has_the_most_clients() -> None:
    text = SHOP.replace("racks: [az1, az2, az3], threads", "racks: [az3, az3, az2], threads")
    assert situations(loads(text))["zone"].document["events"][0]["rack_outage"]["rack"] == "az3"
