"""Causes of recorded rebalances."""

from __future__ import annotations

from dataclasses import replace

from scenarios.kafka.incident.causes import ChangeKind, client_changes, rebalance_causes
from scenarios.kafka.incident.recorded import Protocol, RecordedGroup, RecordedMember, RecordedRebalance
from tests.scenarios.kafka.incident.test_recomputation import classic, streams

ONE = "00000000-0000-0000-0000-000000000001"
TWO = "00000000-0000-0000-0000-000000000002"


def member(name: str, process: str = ONE, client: str = "app", **fields: object) -> RecordedMember:
    base = RecordedMember(name, process, client, f"{client}-StreamThread-1")
    return replace(base, **fields)  # type: ignore[arg-type]


def group(*rebalances: RecordedRebalance, protocol: Protocol = "classic") -> RecordedGroup:
    return RecordedGroup("g", protocol, rebalances, {}, frozenset(), has_records=True)


def rebalance(number: int, *members: RecordedMember, **fields: object) -> RecordedRebalance:
    return replace(RecordedRebalance(number, number * 60_000, members), **fields)  # type: ignore[arg-type]


def texts(recorded: RecordedGroup) -> list[str]:
    return ["; ".join(cause.text for cause in causes) for causes in rebalance_causes(recorded)]


def test_night_of_a_classic_group_is_explained() -> None:
    recorded = classic("4.3.1")
    with_members = replace(recorded, rebalances=tuple(r for r in recorded.rebalances if r.members))
    follow_up = "follow-up: revoked tasks can be assigned"
    restarted = "shop-three restarted (2 threads, same process id)"
    assert texts(with_members) == [
        "first recorded assignment",
        "shop-two joined (2 threads)",
        follow_up,
        "shop-three joined (2 threads)",
        follow_up,
        restarted,
        restarted,
        restarted,
        "shop-two left (2 threads)",
        follow_up,
        "shop-two restarted (2 threads, new process id)",
        follow_up,
        "shop-four joined (2 threads)",
        follow_up,
        "shop-one left (2 threads)",
        follow_up,
    ]


def test_threads_of_a_streams_group_change_one_by_one() -> None:
    kinds = [(change.client_id, str(change.kind)) for change in client_changes(streams("4.2.2").rebalances)]
    assert kinds.count(("kiosk-three", "restarted")) >= 3
    assert ("kiosk-three", "expired") in kinds
    assert ("kiosk-two", "new_process_id") in kinds
    assert kinds[-1] == ("kiosk-one", "left")


def test_restart_is_not_a_return() -> None:
    restarted = group(rebalance(1, member("a")), rebalance(2, member("b")))
    returned = group(rebalance(1, member("a"), member("x", TWO, "other")), rebalance(2, member("x", TWO, "other")))
    returned = replace(
        returned, rebalances=(*returned.rebalances, rebalance(3, member("b"), member("x", TWO, "other")))
    )
    new = group(rebalance(1, member("a")), rebalance(2, member("b", TWO)))
    assert [change.kind for change in client_changes(restarted.rebalances)] == [ChangeKind.RESTARTED]
    assert [change.kind for change in client_changes(returned.rebalances)] == [ChangeKind.LEFT, ChangeKind.RETURNED]
    assert [change.kind for change in client_changes(new.rebalances)] == [ChangeKind.NEW_PROCESS]


def test_old_session_times_out_after_the_return() -> None:
    both = rebalance(2, member("a"), member("b"))
    changes = client_changes((rebalance(1, member("a")), both, rebalance(3, member("b"))))
    assert [change.kind for change in changes] == [ChangeKind.RESTARTED, ChangeKind.EXPIRED]


def test_rebalance_that_the_previous_one_scheduled_probes() -> None:
    due = member("a", next_rebalance_at_ms=120_000)
    assert texts(group(rebalance(1, due), rebalance(2, member("a"))))[1].startswith("probing")
    assert texts(group(rebalance(1, member("a", next_rebalance_at_ms=600_000)), rebalance(2, member("a"))))[1] == (
        "a member joined again; its log has the reason"
    )


def test_reason_of_a_log_is_the_cause_without_any_other() -> None:
    stated = rebalance(2, member("a"), stated_causes=("app: cached metadata has changed",))
    assert texts(group(rebalance(1, member("a")), stated))[1] == "app: cached metadata has changed"


def test_changed_topics_and_configs_are_causes() -> None:
    topics = group(rebalance(1, member("a", topics=("x",))), rebalance(2, member("a", topics=("x", "y"))))
    configs = group(rebalance(1, member("a")), rebalance(2, member("a"), configs={"k": "v"}), protocol="streams")
    assert texts(topics)[1] == "the subscribed topics changed"
    assert texts(configs)[1] == "configs of the group changed"
    assert texts(group(rebalance(1, member("a")), rebalance(2, member("a")), protocol="streams"))[1] == (
        "topics or the topology changed"
    )


def test_missing_rebalances_leave_the_cause_open() -> None:
    later = rebalance(9, member("a"), missing=7)
    assert texts(group(rebalance(1, member("a")), later))[1] == "unknown: 7 rebalances before it were not recorded"
