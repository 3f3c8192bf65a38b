"""Import of consumer groups from recorded responses of Kafka 4.3.1: members with different topics, racks and ids."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from assignors.model.ids import TopicPartition
from scenarios.kafka.live.observe import is_consumer_group, observe_consumer_group, observe_consumers
from scenarios.kafka.observation.consumer_scenario_writer import (
    consumer_assumptions,
    consumer_scenario_text,
    consumer_warnings,
)
from scenarios.kafka.observation.observation import Observation, ObservationError
from scenarios.load import Scenario, loads
from tests.scenarios.kafka.consumer_assignments import current_and_next
from tests.scenarios.kafka.live.recorded_cluster import Recorded

FILES = {"billing": "consumers.jsonl", "default": "consumers_range.jsonl", "audit": "consumers_coordinator.jsonl"}
CLASSIC_RESPONSE = {
    "error_code": 0,
    "error_message": "",
    "group_id": "billing",
    "protocol_type": "consumer",
    "members": [],
}


def observed(group: str, **replaced: list[Any]) -> Observation:
    return observe_consumers(Recorded(FILES[group], **replaced), group, seconds=1, configs={})


def scenario_of(observation: Observation) -> Scenario:
    return loads(consumer_scenario_text(observation))


def response(group: str, request: str, change: Any) -> list[Any]:
    """Return a recorded response with a change of each member."""
    [changed] = copy.deepcopy(Recorded(FILES[group]).responses(request)[:1])
    for member in changed["members"]:
        change(member)
    return [changed]


@pytest.mark.parametrize("group", FILES)
def test_group_of_consumers_is_recognized(group: str) -> None:
    assert is_consumer_group(Recorded(FILES[group]), group)


@pytest.mark.parametrize("file", ["classic.jsonl", "streams.jsonl"])
def test_application_of_kafka_streams_is_no_consumer_group(file: str) -> None:
    groups = [{"group_id": "shop", "group_type": file.removesuffix(".jsonl")}]
    assert not is_consumer_group(Recorded(file, groups=[groups]), "shop")


def test_waits_until_the_assignor_is_chosen() -> None:
    pending = {
        **CLASSIC_RESPONSE,
        "group_state": "PreparingRebalance",
        "protocol_type": "consumer",
        "protocol_data": "",
    }
    stable = {**pending, "group_state": "Stable", "protocol_data": "range"}
    recorded = Recorded("consumers.jsonl", classic_group=[pending, stable])
    assert is_consumer_group(recorded, "billing")
    assert recorded.waited_s > 0


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"group_state": "Empty", "protocol_data": "range"}, False),
        ({"group_state": "Stable", "protocol_type": "connect", "protocol_data": "sessioned"}, False),
    ],
)
def test_other_groups_are_no_consumer_groups(changes: dict[str, str], expected: bool) -> None:
    recorded = Recorded("consumers.jsonl", classic_group=[{**CLASSIC_RESPONSE, **changes}])
    assert is_consumer_group(recorded, "billing") is expected


def test_members_have_their_ids_racks_subscriptions_and_partitions() -> None:
    observation = observed("billing")
    assert observation.consumers is not None
    assert (observation.protocol, observation.consumers.assignor) == ("classic", "cooperative-sticky")
    members = {
        member.instance_id or member.rack or member.client_id: member for member in observation.consumers.members
    }
    assert set(members) == {"billing-d", "az1", "az2", "web"}
    assert members["az1"].topics == ("orders",)
    assert members["az2"].topics == ("orders", "payments")
    assert members["web"].partitions[-1] == TopicPartition("payments", 2)
    assert {member.host for member in members.values()} == {"127.0.0.1"}
    assert observation.broker_configs["group.initial.rebalance.delay.ms"] == "1000"


@pytest.mark.parametrize("group", FILES)
def test_assignor_keeps_the_imported_assignment(group: str) -> None:
    """A rebalance of the same members assigns what they own: ids, racks, subscriptions and topic ids are right."""
    current, following = current_and_next(scenario_of(observed(group)))
    assert current == following
    assert None not in current.values()


@pytest.mark.parametrize("group", FILES)
def test_scenario_starts_with_the_observed_state(group: str) -> None:
    observation = observed(group)
    scenario = scenario_of(observation)
    world = scenario.world(1, scenario.assignors[0])
    assert observation.consumers is not None
    owned = {member.partitions for member in observation.consumers.members}
    assert {
        tuple(TopicPartition(task.topic, task.partition) for task in client.tasks.active[0]) for client in world.clients
    } == owned
    assert {str(topic.topic_id) for topic in world.cluster.topics.values()} == {
        str(topic.topic_id) for topic in observation.topics
    }
    assert sum(client.is_static for client in world.clients) == 1
    assert scenario.warnings == ()


def test_group_of_the_coordinator_has_its_protocol_and_intervals() -> None:
    overrides = {"consumer.heartbeat.interval.ms": "2000", "consumer.session.timeout.ms": "60000"}
    scenario = scenario_of(observed("audit", group_configs=[overrides]))
    configs = scenario.world(1, scenario.assignors[0]).application.group_configs
    assert (configs.streams_heartbeat_interval_ms, configs.session_timeout_ms) == (2_000, 60_000)
    assert scenario.assignors[0].label == "uniform"


def test_assumptions_name_what_kafka_does_not_expose() -> None:
    text = " ".join(consumer_assumptions(observed("billing")))
    for expected in ("session.timeout.ms (45s)", "poll_interval", "share a process", "list only cooperative-sticky"):
        assert expected in text
    of_coordinator = " ".join(consumer_assumptions(observed("audit")))
    assert "session.timeout.ms" not in of_coordinator
    assert "max.poll.interval.ms (5m)" in of_coordinator


def test_unknown_assignor_is_simulated_as_the_default_with_a_warning() -> None:
    [described] = copy.deepcopy(Recorded("consumers.jsonl").responses("classic_group")[:1])
    observation = observed("billing", classic_group=[{**described, "protocol_data": "my-assignor"}])
    assert scenario_of(observation).assignors[0].label == "range"
    assert consumer_warnings(observation) == (
        "The assignor my-assignor is not Kafka's: the group is simulated with range, whose assignments differ.",
    )


def test_subscription_by_pattern_is_that_to_matching_topics() -> None:
    def by_pattern(member: dict[str, Any]) -> None:
        member.update(subscribed_topic_names=[], subscribed_topic_regex="(orders|payments|_.*)")

    observation = observed("audit", consumer_group=response("audit", "consumer_group", by_pattern))
    assert observation.consumers is not None
    assert {member.topics for member in observation.consumers.members} == {("orders", "payments")}
    assert "Subscriptions by pattern are those to the topics that match now: (orders|payments|_.*)." in (
        observation.assumptions
    )


def test_pattern_subscribes_to_internal_topics_that_the_group_reads() -> None:
    def by_pattern(member: dict[str, Any]) -> None:
        member.update(subscribed_topic_names=[], subscribed_topic_regex="(orders|_.*)")
        member["assignment"]["topic_partitions"][0].update(topic_name="__consumer_offsets", partitions=[0])

    recorded = Recorded(FILES["audit"], consumer_group=response("audit", "consumer_group", by_pattern))
    members = observe_consumer_group(recorded, "audit").consumers.members
    assert {member.topics for member in members} == {("__consumer_offsets", "orders")}


@pytest.mark.parametrize("pattern", ["(o+)+(r+)+z", "(?i)ORDERS|payments"])
def test_subscription_by_a_complex_pattern_is_that_to_topics_of_the_group(pattern: str) -> None:
    def by_pattern(member: dict[str, Any]) -> None:
        member.update(subscribed_topic_names=[], subscribed_topic_regex=pattern)

    observation = observed("audit", consumer_group=response("audit", "consumer_group", by_pattern))
    assert observation.consumers is not None
    assert {member.topics for member in observation.consumers.members} == {("orders", "payments")}
    assert (
        "Subscriptions by a pattern that is too complex to match are those to the topics that the group reads: "
        f"{pattern}."
    ) in observation.assumptions


def test_topics_that_do_not_exist_are_omitted() -> None:
    def subscribes_to_more(member: dict[str, Any]) -> None:
        member["subscribed_topic_names"].append("gone")

    observation = observed("audit", consumer_group=response("audit", "consumer_group", subscribes_to_more))
    assert observation.warnings == ("Subscribed topics that do not exist or are not visible are omitted: gone.",)
    assert scenario_of(observation).assignors


def test_members_without_visible_topics_are_an_error() -> None:
    def forget(member: dict[str, Any]) -> None:
        member["subscribed_topic_names"] = ["gone"]
        member["assignment"] = {"topic_partitions": []}

    with pytest.raises(ObservationError, match="group 'audit' subscribes to no topic that exists or is visible"):
        observed("audit", consumer_group=response("audit", "consumer_group", forget))


def test_group_without_members_is_an_error() -> None:
    empty = {**CLASSIC_RESPONSE, "group_state": "Empty", "protocol_data": "range"}
    with pytest.raises(ObservationError, match="group 'billing' has no members"):
        observed("billing", classic_group=[empty])


def test_racks_that_members_do_not_report() -> None:
    observation = observe_consumers(
        Recorded("consumers.jsonl"), "billing", seconds=0, configs={}, racks=[("web", "az3"), ("billing-d", "az1")]
    )
    world = scenario_of(observation).world(1)
    assert {client.name: (client.rack, client.announces_rack) for client in world.clients if client.rack != "az2"} == {
        "billing-d": ("az1", False),
        "web": ("az3", False),
        "consumer-billing-1@127.0.0.1-2": ("az1", True),
    }
