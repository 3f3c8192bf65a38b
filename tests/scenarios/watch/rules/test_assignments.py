"""Causes of new assignments."""

from __future__ import annotations

from dataclasses import replace

from scenarios.watch.rules import rebalance_cause
from tests.scenarios.watch.watched_groups import recorded_consumers, recorded_group


def test_cause_is_what_the_members_show() -> None:
    snapshot = replace(recorded_group()[1], at_ms=10_000)
    members = snapshot.members
    first = members[0].process_id
    fewer = replace(snapshot, members=tuple(member for member in members if member.process_id != first))
    ids = tuple(sorted(member.id for member in members))
    one_less = replace(snapshot, member_ids=ids[1:])
    assert rebalance_cause(snapshot, fewer) == "1 client left"
    assert rebalance_cause(fewer, snapshot) == "1 client joined"
    assert rebalance_cause(snapshot, one_less) == "1 thread left"
    assert rebalance_cause(one_less, snapshot) == "1 thread joined"
    assert rebalance_cause(replace(snapshot, next_rebalance_at_ms=0), snapshot) == "follow-up, after tasks were revoked"
    assert rebalance_cause(replace(snapshot, next_rebalance_at_ms=9_000), snapshot) == "probing"
    assert rebalance_cause(replace(snapshot, next_rebalance_at_ms=11_000), snapshot) == "requested by a member"
    assert rebalance_cause(snapshot, snapshot) == "requested by a member"


def test_cause_in_a_consumer_group_is_what_the_members_show() -> None:
    _, snapshot = recorded_consumers("billing")
    first, *others = snapshot.members
    fewer = replace(snapshot, members=tuple(others), member_ids=tuple(member.id for member in others))
    assert rebalance_cause(snapshot, fewer) == "1 member left"
    assert rebalance_cause(fewer, snapshot) == "1 member joined"
    assert rebalance_cause(snapshot, snapshot) == "requested by a member"
    revoked = replace(snapshot, members=(replace(first, active=first.active[1:]), *others))
    assert str(first.owned[0]) == first.active[0]
    assert rebalance_cause(revoked, snapshot) == "follow-up, after partitions were revoked"
    ids = tuple("billing-d-2" if name.startswith("billing-d") else name for name in snapshot.member_ids)
    assert rebalance_cause(snapshot, replace(snapshot, member_ids=ids)) == "1 static member returned"
    _, coordinated = recorded_consumers("audit")
    assert rebalance_cause(coordinated, coordinated) == "subscriptions or topics changed"
    assert rebalance_cause(replace(coordinated, state="Assigning"), coordinated) == "members had changed again"
