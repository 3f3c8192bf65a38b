"""The situations of a checkup of a consumer group: valid for shipped groups, and only about the group."""

from __future__ import annotations

import json

import pytest

from scenarios.checkup.situations import SLOWDOWN, Situation, deployment, group_document, group_situations
from scenarios.load import Scenario, load, loads

BOTH = """
name: both
cluster:
  brokers: {count: 3, racks: [az1, az2, az3]}
  topics: [{name: orders, partitions: 6, replication_factor: 3, bytes_per_s: 1 MB/s}]
application: {id: shop, subtopologies: [{sources: [orders]}]}
clients: [{name: shop, count: 2}]
consumers:
  - {group: audit, topics: [orders], clients: [{name: audit}]}
  - group: billing
    topics: [orders]
    clients:
      - {name: app, count: 3, racks: [az1, az2, az3], consumers: 2, records_per_s: 2000, static_membership: true}
      - {name: spare, starts: false}
events:
  - {at: 1h, rolling_bounce: {clients: audit, down: 1m}}
  - {at: 2h, rolling_bounce: {clients: shop, down: 2m}}
  - {at: 3h, rolling_bounce: {clients: [app-0, app-1], down: 3m}}
subject: billing
"""


def situations(scenario: Scenario, *, has_leader: bool = True) -> dict[str, Situation]:
    built, _ = group_situations(scenario, has_leader=has_leader)
    return {situation.key: situation for situation in built}


@pytest.mark.parametrize("text", [BOTH, None], ids=["with others", "shipped"])
def test_situations_are_valid_and_about_the_group(text: str | None) -> None:
    scenario = load("deploys_stop_the_consumer_group") if text is None else loads(text)
    for situation in situations(scenario).values():
        valid = loads(json.dumps(situation.document))
        assert valid.group is not None
        assert scenario.group is not None
        assert (valid.group.group, valid.neighbors) == (scenario.group.group, ())
        assert valid.blueprint.duration_ms == situation.duration_ms
        up = [client.name for client in valid.blueprint.clients if client.starts]
        assert up == [client.name for client in scenario.blueprint.clients if client.starts]


def test_there_is_no_state_to_lose() -> None:
    assert "lost_disk" not in situations(loads(BOTH))
    documents = [json.dumps(situation.document) for situation in situations(loads(BOTH)).values()]
    assert not any('"disk"' in document or '"restore"' in document for document in documents)


@pytest.mark.parametrize(("subject", "down"), [("billing", "3m"), ("audit", "1m"), ("shop", "2m")])
def test_the_deployment_is_that_of_the_subject(subject: str, down: str) -> None:
    own = deployment(loads(BOTH.replace("subject: billing", f"subject: {subject}")))
    assert own is not None
    assert own["rolling_bounce"]["down"] == down


def test_a_slow_instance_needs_its_speed() -> None:
    slow = situations(loads(BOTH))["slow"].document["consumers"][0]["clients"]
    assert [client["records_per_s"] for client in slow] == [2000, 2000, 2000 // SLOWDOWN]
    built, left_out = group_situations(loads(BOTH.replace("records_per_s: 2000, ", "")), has_leader=False)
    assert not {"slow", "leader"} & {situation.key for situation in built}
    assert [situation.title for situation in left_out] == [
        "1 instance of the scenario",
        "The group leader crashes",
        "An instance processes 4 times slower",
        "A day of traffic",
    ]


def test_the_running_assignment_is_kept_only_for_a_rollout() -> None:
    text = BOTH.replace("- group: billing", "- group: billing\n    starts: running").replace(
        "- {name: app, count: 3, racks: [az1, az2, az3], consumers: 2, records_per_s: 2000, static_membership: true}",
        "- {name: app-0, rack: az1, partitions: [orders-0, orders-1, orders-2]}\n"
        "      - {name: app-1, rack: az2, instance_id: one, partitions: [orders-3, orders-4, orders-5]}",
    )
    [started] = group_document(loads(text))["consumers"]
    assert "starts" not in started
    assert not any("partitions" in client for client in started["clients"])
    [running] = group_document(loads(text), is_running=True)["consumers"]
    assert running["starts"] == "running"
    assert [len(client["partitions"]) for client in running["clients"]] == [3, 3]
    new = situations(loads(text))["scale"].document["consumers"][0]["clients"][2:]
    assert [(client["name"], "instance_id" in client) for client in new] == [("checkup-new-0", False)]
