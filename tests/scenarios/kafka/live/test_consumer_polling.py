"""Snapshots of consumer groups from recorded responses of Kafka 4.3.1."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import pytest

from assignors.model.ids import TopicPartition
from scenarios.kafka.live.group_polling import PolledObserver, TaskPartitions, poll_group
from scenarios.kafka.observation.observation import GroupKind, GroupPhase, GroupSnapshot, ObservationError
from tests.scenarios.kafka.live.recorded_cluster import Recorded

NONE = TaskPartitions()
REQUESTS = {"classic": "classic_group", "consumer": "consumer_group"}
FILES = {"billing": "consumers.jsonl", "default": "consumers_range.jsonl", "audit": "consumers_coordinator.jsonl"}


def response(group: str, protocol: str, **changes: Any) -> dict[str, Any]:
    return {**copy.deepcopy(Recorded(FILES[group]).responses(REQUESTS[protocol])[-1]), **changes}


def snapshot(group: str, protocol: str, changed: dict[str, Any] | None = None) -> GroupSnapshot:
    replaced = {} if changed is None else {REQUESTS[protocol]: [changed]}
    return poll_group(Recorded(FILES[group], **replaced), group, protocol, NONE).snapshot


def test_classic_group_has_what_its_members_reported_in_the_order_of_the_coordinator() -> None:
    polled = snapshot("billing", "classic")
    assert (polled.kind, polled.phase, polled.epoch) == (GroupKind.CONSUMERS, GroupPhase.STABLE, 4)
    listed = [member["member_id"] for member in response("billing", "classic")["members"]]
    assert [member.id for member in polled.members] == listed
    assert sum(len(member.active) for member in polled.members) == 17
    by_name = {member.client_id: member for member in polled.members}
    assert set(by_name) == {"consumer-billing-1-d00f5ff6", "consumer-billing-1-0de1b103", "web-47d99e2a", "billing-d"}
    web = by_name["web-47d99e2a"]
    assert (web.topics, web.owned, web.generation) == (("orders", "payments"), (TopicPartition("payments", 2),), 3)
    assert by_name["billing-d"].process_id == "billing-d"


def test_sticky_members_report_in_their_user_data() -> None:
    """Members of another assignor than sticky may have the same bytes; they mean nothing."""
    polled = snapshot("billing", "classic", response("billing", "classic", protocol_data="sticky"))
    assert {member.owned for member in polled.members} == {()}


def test_rebalancing_classic_group_does_not_show_its_kind() -> None:
    for state in ("PreparingRebalance", "CompletingRebalance", "Empty"):
        polled = snapshot("billing", "classic", response("billing", "classic", group_state=state))
        assert (polled.kind, polled.members) == (None, ())


def test_group_of_the_coordinator_has_targets_and_epoch() -> None:
    polled = snapshot("audit", "consumer")
    assert (polled.kind, polled.phase, polled.epoch) == (GroupKind.CONSUMERS, GroupPhase.STABLE, 5)
    assert polled.is_coordinated
    assert len(polled.target_actives()) == 17
    assert polled.target_actives() == polled.actives()


@pytest.mark.parametrize(
    ("state", "phase"),
    [("Assigning", GroupPhase.REBALANCING), ("Reconciling", GroupPhase.REBALANCING), ("Empty", GroupPhase.EMPTY)],
)
def test_states_of_a_coordinated_group_have_a_phase(state: str, phase: GroupPhase) -> None:
    assert snapshot("audit", "consumer", response("audit", "consumer", group_state=state)).phase is phase


def test_deleted_group_is_gone() -> None:
    assert snapshot("audit", "consumer", response("audit", "consumer", error_code=69)).phase is GroupPhase.GONE


def test_static_member_that_returns_makes_no_new_assignment() -> None:
    """It replaces what it reported, but the generation of the others remains."""
    polled = snapshot("billing", "classic")
    returned = tuple(
        replace(member, id=f"{member.id}-2", owned=(), generation=-1, joined="new") if member.instance_id else member
        for member in polled.members
    )
    assert replace(polled, members=returned).rebalance == polled.rebalance
    rejoined = tuple(replace(member, generation=4, joined="new") for member in polled.members)
    assert replace(polled, members=rejoined, epoch=5).rebalance != polled.rebalance


def test_damaged_metadata_name_the_member() -> None:
    changed = response("billing", "classic")
    changed["members"][0]["member_assignment"] = b"\x00"
    with pytest.raises(ObservationError, match=r"member consumer-billing-1-d00f5ff6.*ConsumerProtocolAssignment"):
        snapshot("billing", "classic", changed)


@pytest.mark.parametrize(("group", "protocol"), [("billing", "classic"), ("audit", "consumer")])
def test_polled_group_is_observed_with_its_partitions_as_tasks(group: str, protocol: str) -> None:
    cluster = Recorded(FILES[group])
    polled = poll_group(cluster, group, protocol, NONE)
    observation = PolledObserver(cluster, topology=None, configs={}, racks=()).observe(polled)
    partitions = TaskPartitions.of(observation)
    assert partitions.changelogs == {}
    assert partitions.sources["orders-3"] == (TopicPartition("orders", 3),)
    assert len(partitions.sources) == 17


def test_topology_of_a_consumer_group_is_an_error() -> None:
    cluster = Recorded(FILES["audit"])
    polled = poll_group(cluster, "audit", "consumer", NONE)
    observer = PolledObserver(cluster, topology="Topologies:", configs={}, racks=())
    with pytest.raises(ObservationError, match="group 'audit' is a consumer group, and has no topology"):
        observer.observe(polled)
