"""Predictions for consumer groups from recorded responses of real ones, and from changed ones."""

from __future__ import annotations

from dataclasses import replace

import pytest

from assignors.errors import UnknownAssignorError
from scenarios.kafka.observation.observation import GroupPhase, GroupSnapshot, ObservationError
from scenarios.watch.prediction import ComparedPrediction, PredictionVerdict, compare_assignment
from scenarios.watch.watched_group import WatchedConsumers
from tests.scenarios.kafka.live.test_consumer_group import observed
from tests.scenarios.watch.test_prediction import exchange
from tests.scenarios.watch.watched_groups import CONSUMERS, recorded_consumers


def compare(group: str, snapshot: GroupSnapshot | None = None, **changes: object) -> ComparedPrediction:
    """Compare with a prediction from the recorded target."""
    watched, recorded = recorded_consumers(group)
    snapshot = recorded if snapshot is None else snapshot
    assert snapshot.epoch is not None
    changed = replace(snapshot, **{"epoch": snapshot.epoch + 1, **changes})  # type: ignore[arg-type]
    return compare_assignment(watched, changed, recorded, recorded)


@pytest.mark.parametrize("group", CONSUMERS)
def test_assignment_of_a_real_group_is_predicted(group: str) -> None:
    compared = compare(group)
    assert (compared.verdict, compared.differences) == (PredictionVerdict.MATCHED, ())
    assert compared.predicted is not None
    assert len(compared.predicted.active) == len(compared.predicted.tasks) == 17


@pytest.mark.parametrize("group", CONSUMERS)
def test_exchanged_partitions_differ(group: str) -> None:
    first, second, *_ = recorded_consumers(group)[1].members
    compared = compare(group, exchange(recorded_consumers(group)[1], "active"))
    assert compared.verdict is PredictionVerdict.DIFFERS
    assert {difference.task for difference in compared.differences} == {*first.active, *second.active}


def test_partition_that_another_member_owns_is_withheld() -> None:
    """The members report an earlier assignment: one of them had everything."""
    _, snapshot = recorded_consumers("billing")
    all_owned = tuple(name for member in snapshot.members for name in member.owned)
    owner = next(member for member in snapshot.members if len(member.topics) == 2)
    members = tuple(replace(member, owned=all_owned if member is owner else ()) for member in snapshot.members)
    compared = compare("billing", replace(snapshot, members=members))
    assert compared.predicted is not None
    assert compared.predicted.withheld
    assert compared.predicted.withheld.isdisjoint(compared.predicted.active)
    assert compared.predicted.withheld <= set(map(str, all_owned))


def test_custom_assignor_is_not_compared_unless_one_of_kafka_is_given() -> None:
    _, snapshot = recorded_consumers("billing")
    observation = observed("billing")
    assert observation.consumers is not None
    custom = replace(observation, consumers=replace(observation.consumers, assignor="com.example.Custom"))
    watched = WatchedConsumers.of(custom)
    compared = compare_assignment(watched, snapshot, None, None)
    assert (watched.assignor_name, compared.verdict) == ("com.example.Custom", PredictionVerdict.UNKNOWN)
    assert compared.reason == "assignor 'com.example.Custom' is not Kafka's"
    known = WatchedConsumers.of(custom, "cooperative-sticky")
    assert known.assignor_name == "cooperative-sticky"
    assert compare_assignment(known, snapshot, None, None).verdict is PredictionVerdict.MATCHED
    other = WatchedConsumers.of(custom, "range")
    assert compare_assignment(other, snapshot, None, None).verdict is PredictionVerdict.DIFFERS
    with pytest.raises(UnknownAssignorError, match="not an assignor of consumer groups"):
        WatchedConsumers.of(custom, "high_availability")


@pytest.mark.parametrize(
    ("configs", "expected_ms"),
    [({}, 5_000), ({"auto.commit.interval.ms": " 60000 "}, 60_000), ({"auto.commit.interval.ms": ""}, 5_000)],
)
def test_commit_interval_is_that_of_the_configs(configs: dict[str, str], expected_ms: int) -> None:
    assert WatchedConsumers.of(replace(observed("billing"), configs=configs)).commit_interval_ms == expected_ms


def test_commit_interval_that_is_no_number_is_an_error() -> None:
    with pytest.raises(ObservationError, match=r"auto\.commit\.interval\.ms=5s: expected a number of milliseconds"):
        WatchedConsumers.of(replace(observed("billing"), configs={"auto.commit.interval.ms": "5s"}))


def test_target_before_must_be_that_of_the_same_protocol() -> None:
    watched, snapshot = recorded_consumers("audit")
    for before in (None, replace(snapshot, protocol="classic"), replace(snapshot, epoch=None)):
        compared = compare_assignment(watched, snapshot, before, before)
        assert compared.reason == "the target before it was not seen"


def test_difference_after_several_targets_or_other_changes_is_unknown() -> None:
    snapshot = exchange(recorded_consumers("audit")[1], "active")
    assert snapshot.epoch is not None
    several = compare("audit", snapshot, epoch=snapshot.epoch + 2)
    assert several.reason == "2 targets since the last poll; shorten the interval"
    changed = compare("audit", snapshot, state="Assigning", phase=GroupPhase.REBALANCING)
    assert changed.reason == "members have changed since the target was computed"
    assert compare("audit", state="Assigning", phase=GroupPhase.REBALANCING).verdict is PredictionVerdict.MATCHED


def test_topics_that_change_before_the_group_is_stable_again_are_not_compared() -> None:
    _, snapshot = recorded_consumers("audit")
    changes = {
        "grown": replace(snapshot.members[0], target_active=(*snapshot.members[0].target_active, "orders-12")),
        "deleted": replace(snapshot.members[3], target_active=()),
    }
    assert {name.rpartition("-")[0] for name in snapshot.members[3].target_active} == {"payments"}
    for what, changed in changes.items():
        members = tuple(changed if member.id == changed.id else member for member in snapshot.members)
        compared = compare(
            "audit", replace(snapshot, members=members), phase=GroupPhase.REBALANCING, state="Reconciling"
        )
        assert compared.reason == "topics or partitions have changed since the group was stable", what


def test_static_member_that_returns_keeps_its_target() -> None:
    _, snapshot = recorded_consumers("audit")
    members = tuple(
        replace(member, id="AAAAAAAAAAAAAAAAAAAAAA") if member.instance_id else member for member in snapshot.members
    )
    assert compare("audit", replace(snapshot, members=members)).verdict is PredictionVerdict.MATCHED


def test_member_may_subscribe_by_pattern() -> None:
    _, snapshot = recorded_consumers("audit")
    members = tuple(
        replace(member, topics=(), pattern="orders|paym.*") if len(member.topics) == 2 else member
        for member in snapshot.members
    )
    assert compare("audit", replace(snapshot, members=members)).verdict is PredictionVerdict.MATCHED
    unreadable = tuple(replace(member, pattern="(o+)+(r+)+z") for member in snapshot.members)
    assert compare("audit", replace(snapshot, members=unreadable)).reason.endswith("too complex to match: (o+)+(r+)+z")
