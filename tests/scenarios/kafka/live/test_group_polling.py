"""Snapshots of groups from recorded responses of real clusters."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from assignors.model.ids import TopicPartition
from scenarios.kafka.live.group_polling import (
    PolledObserver,
    TaskPartitions,
    TransientError,
    find_protocol,
    poll_group,
    with_offsets,
)
from scenarios.kafka.observation.observation import GroupPhase, ObservationError
from tests.scenarios.kafka.live.recorded_cluster import Recorded

NONE = TaskPartitions()


def response(name: str = "classic.jsonl", request: str = "classic_group", **changes: Any) -> dict[str, Any]:
    return {**copy.deepcopy(Recorded(name).responses(request)[-1]), **changes}


def test_classic_group_has_its_members_and_generation() -> None:
    snapshot = poll_group(Recorded("classic.jsonl"), "shop", "classic", NONE).snapshot
    assert (snapshot.phase, snapshot.state, snapshot.epoch) == (GroupPhase.STABLE, "Stable", 2)
    assert (len(snapshot.members), len(snapshot.clients())) == (6, 3)
    assert len(snapshot.actives()) == 16
    assert snapshot.next_rebalance_at_ms is None
    assert {member.rack for member in snapshot.members} == {"az1", "az2", "az3"}
    assert sum(len(member.standby) for member in snapshot.members) == 7
    assert snapshot.target_actives() == snapshot.actives()


def test_rebalancing_classic_group_has_member_ids_only() -> None:
    """The coordinator returns no metadata in this state."""
    snapshot = poll_group(Recorded("warming_up.jsonl"), "shop", "classic", NONE).snapshot
    assert (snapshot.phase, snapshot.state) == (GroupPhase.REBALANCING, "PreparingRebalance")
    assert snapshot.members == ()
    assert len(snapshot.member_ids) == 6


def test_follow_up_of_a_warming_group_is_scheduled() -> None:
    cluster = Recorded("warming_up.jsonl", classic_group=[response("warming_up.jsonl")])
    snapshot = poll_group(cluster, "shop", "classic", NONE).snapshot
    assert snapshot.next_rebalance_at_ms == 1_795_295_707_781
    assert {member.instance_id for member in snapshot.members} == {None, "third-1", "third-2"}


def test_streams_group_has_targets_and_epoch() -> None:
    snapshot = poll_group(Recorded("streams.jsonl"), "kiosk", "streams", NONE).snapshot
    assert (snapshot.phase, snapshot.epoch) == (GroupPhase.STABLE, 7)
    assert len(snapshot.target_actives()) == 16
    assert snapshot.target_actives() == snapshot.actives()
    listed = [member["member_id"] for member in response("streams.jsonl", "streams_group")["members"]]
    assert [member.id for member in snapshot.members] == listed


@pytest.mark.parametrize(
    ("state", "phase"),
    [
        ("Assigning", GroupPhase.REBALANCING),
        ("Reconciling", GroupPhase.REBALANCING),
        ("NotReady", GroupPhase.REBALANCING),
        ("Empty", GroupPhase.EMPTY),
        ("Dead", GroupPhase.GONE),
    ],
)
def test_states_of_a_streams_group_have_a_phase(state: str, phase: GroupPhase) -> None:
    changed = response("streams.jsonl", "streams_group", group_state=state)
    assert (
        poll_group(Recorded("streams.jsonl", streams_group=[changed]), "kiosk", "streams", NONE).snapshot.phase is phase
    )


@pytest.mark.parametrize(
    ("state", "phase"),
    [("CompletingRebalance", GroupPhase.REBALANCING), ("Empty", GroupPhase.EMPTY), ("Dead", GroupPhase.GONE)],
)
def test_states_of_a_classic_group_have_a_phase(state: str, phase: GroupPhase) -> None:
    cluster = Recorded("classic.jsonl", classic_group=[response(group_state=state)])
    assert poll_group(cluster, "shop", "classic", NONE).snapshot.phase is phase


def test_offsets_are_summed_by_task() -> None:
    ends_once = [Recorded("classic.jsonl").responses("end_offsets")[0]]
    cluster = Recorded("classic.jsonl", end_offsets=ends_once)
    polled = poll_group(cluster, "shop", "classic", NONE)
    observation = PolledObserver(cluster, topology=None, configs={}, racks=()).observe(polled)
    partitions = TaskPartitions.of(observation)
    assert len(partitions.sources) == 16
    assert len(partitions.changelogs) == 7
    sources = sorted({name for of_task in partitions.sources.values() for name in of_task})
    ends = cluster.end_offsets(sources)
    committed = [[name.topic, name.partition, ends[name] - 2] for name in sources if name.topic != "views"]
    repeated = Recorded("classic.jsonl", end_offsets=ends_once, committed_offsets=[committed])
    snapshot = with_offsets(polled.snapshot, repeated, partitions)
    assert set(snapshot.changelog_ends) == set(partitions.changelogs)
    assert {task for task in partitions.sources if task not in snapshot.progress} == {"2_0", "2_1", "2_2"}
    behind = {task: progress.end - progress.committed for task, progress in snapshot.progress.items()}
    assert behind["0_0"] == 4, "two sources"
    assert behind["3_0"] == 2


def test_offsets_that_cannot_be_read_leave_the_rest() -> None:
    class WithoutLeader(Recorded):
        def end_offsets(self, partitions: Any) -> Any:
            raise ObservationError("no response on offsets: partition clicks-0 has no leader")

    cluster = WithoutLeader("classic.jsonl")
    partitions = TaskPartitions({"0_0": (TopicPartition("clicks", 0),)}, {})
    snapshot = poll_group(cluster, "shop", "classic", partitions).snapshot
    assert len(snapshot.members) == 6
    assert snapshot.progress == {}
    assert snapshot.offsets_error is not None
    assert "no leader" in snapshot.offsets_error


@pytest.mark.parametrize("code", [14, 15, 16])
def test_coordinator_that_moves_is_a_transient_error(code: int) -> None:
    cluster = Recorded("classic.jsonl", classic_group=[response(error_code=code)])
    with pytest.raises(TransientError, match="COORDINATOR"):
        poll_group(cluster, "shop", "classic", NONE)


def test_deleted_group_is_gone_and_other_errors_are_reported() -> None:
    cluster = Recorded("streams.jsonl", streams_group=[response("streams.jsonl", "streams_group", error_code=69)])
    assert poll_group(cluster, "kiosk", "streams", NONE).snapshot.phase is GroupPhase.GONE
    cluster = Recorded("classic.jsonl", classic_group=[response(error_code=30, error_message="Not authorized.")])
    with pytest.raises(ObservationError, match="cannot be described: Not authorized"):
        poll_group(cluster, "shop", "classic", NONE)


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ({"group_type": "classic"}, "classic"),
        ({"group_type": "Streams"}, "streams"),
        ({}, "classic"),
        ({"group_type": "consumer"}, "consumer"),
        ({"group_type": "share"}, "its type is share"),
    ],
)
def test_group_of_another_type_is_rejected(entry: dict[str, str], expected: str) -> None:
    groups = [{"group_id": "other", "group_type": "share"}, {"group_id": "shop", **entry}]
    if expected in ("classic", "streams", "consumer"):
        assert find_protocol(groups, "shop") == expected
    else:
        with pytest.raises(ObservationError, match=f"group 'shop' cannot be watched: .*{expected}"):
            find_protocol(groups, "shop")
    assert find_protocol(groups, "unknown") is None


def test_classic_group_of_another_protocol_type_is_rejected() -> None:
    cluster = Recorded("classic.jsonl", classic_group=[response(protocol_type="connect")])
    expected = "its protocol type is connect. watch supports Kafka Streams applications and consumer groups"
    with pytest.raises(ObservationError, match=expected):
        poll_group(cluster, "shop", "classic", NONE)


def test_damaged_metadata_name_the_member() -> None:
    changed = response()
    changed["members"][0]["member_metadata"] = b"\x00\x01damaged"
    with pytest.raises(ObservationError, match=r"member .*shop-"):
        poll_group(Recorded("classic.jsonl", classic_group=[changed]), "shop", "classic", NONE)


def test_metadata_of_another_rebalance_make_another_assignment() -> None:
    """Members send a new unique field whenever they join, even if their tasks stay."""
    before = poll_group(Recorded("classic.jsonl"), "shop", "classic", NONE).snapshot
    again = poll_group(Recorded("classic.jsonl", classic_group=[response()]), "shop", "classic", NONE).snapshot
    assert again.rebalance == before.rebalance
    other = response()
    members = other["members"]
    members[0]["member_metadata"], members[1]["member_metadata"] = (
        members[1]["member_metadata"],
        members[0]["member_metadata"],
    )
    after = poll_group(Recorded("classic.jsonl", classic_group=[other]), "shop", "classic", NONE).snapshot
    assert after.rebalance != before.rebalance


def test_seldom_changing_responses_are_requested_once() -> None:
    counted: dict[str, int] = {}

    class Counting(Recorded):
        def _next(self, request: str) -> Any:
            counted[request] = counted.get(request, 0) + 1
            return super()._next(request)

    cluster = Counting("classic.jsonl")
    polled = poll_group(cluster, "shop", "classic", NONE)
    observer = PolledObserver(cluster, topology=None, configs={}, racks=())
    first = observer.observe(polled)
    counted.clear()
    assert observer.observe(polled).subtopologies == first.subtopologies
    assert set(counted) <= {"topics", "brokers", "end_offsets", "now_ms"}


def test_group_that_must_rejoin_at_once_is_not_observed() -> None:
    cluster = Recorded("warming_up.jsonl")
    polled = poll_group(cluster, "shop", "classic", NONE)
    with pytest.raises(TransientError):
        PolledObserver(cluster, topology=None, configs={}, racks=()).observe(polled)
