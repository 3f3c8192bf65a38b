"""Records of real groups of plain consumers, by `python -m tests.kafka_cluster consumers`, Kafka 4.3.1."""

from __future__ import annotations

import pytest

from scenarios.kafka.incident.causes import rebalance_causes
from scenarios.kafka.incident.consumer_night import (
    ConsumerStates,
    compare_partitions,
    find_recorded_assignor,
    recompute_partitions,
)
from scenarios.kafka.incident.folder import read_incident
from scenarios.kafka.incident.recorded import RecordedGroup
from tests.kafka_cluster.consumer_night import GROUPS
from tests.scenarios.kafka.incident.recorded_segments import CONSUMER_FOLDER


def recorded(group: str) -> RecordedGroup:
    """Return the rebalances of a group that have members."""
    return read_incident(CONSUMER_FOLDER, group, None, None).group


@pytest.mark.parametrize("group", GROUPS)
def test_every_recorded_assignment_is_recomputed(group: str) -> None:
    night = recorded(group)
    with_members = [rebalance for rebalance in night.rebalances if rebalance.members]
    assert len(with_members) >= 5
    for rebalance in with_members:
        assignor = find_recorded_assignor(rebalance.assignor, night.protocol, "4.3")
        assert assignor is not None
        answer = recompute_partitions(rebalance, ConsumerStates({}, night.topic_ids).recorded(rebalance), assignor)
        assert compare_partitions(rebalance, answer) == (), rebalance.number


@pytest.mark.parametrize("group", GROUPS)
def test_joins_and_the_departure_are_the_causes(group: str) -> None:
    kinds = {(cause.client, cause.kind) for causes in rebalance_causes(recorded(group)) for cause in causes}
    assert {
        (f"{group}-b", "joined"),
        (f"{group}-c", "joined"),
        (f"{group}-d", "joined"),
        (f"{group}-b", "left"),
    } <= kinds


def test_other_assignor_does_not_return_the_recorded_targets() -> None:
    night = recorded("coordinator")
    last = night.rebalances[-1]
    assignor = find_recorded_assignor("range", night.protocol, "4.3")
    assert assignor is not None
    assert compare_partitions(
        last, recompute_partitions(last, ConsumerStates({}, night.topic_ids).recorded(last), assignor)
    )


@pytest.mark.parametrize("group", ["coordinator", "mixed-coordinator", "coordinator-range"])
def test_members_reach_their_targets_within_some_heartbeats(group: str) -> None:
    for rebalance in recorded(group).rebalances[:4]:  # c goes down after the fifth.
        assert rebalance.stable_at_ms is not None
        assert 0 <= rebalance.stable_at_ms - rebalance.at_ms < 3_000


def test_member_that_synced_late_rejoins_with_what_it_had_before() -> None:
    """As docs/how-to/explain-a-past-night.md says of `cooperative-b`: the cause of a second follow-up rebalance."""
    [rebalance] = [rebalance for rebalance in recorded("cooperative").rebalances if rebalance.number == 7]
    reported = {member.client_id: member.consumer.reported for member in rebalance.members if member.consumer}
    assert {client: own.user_data_generation for client, own in reported.items()} == {
        "cooperative-a": 6,
        "cooperative-b": 5,
        "cooperative-c": 6,
        "cooperative-d": 6,
    }
    assert {own.generation for own in reported.values()} == {6}
