"""Consumer groups without Kafka Streams: their rebalances, clients and causes, and the recomputation."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from assignors.model.ids import TopicPartition
from scenarios.kafka.dumps.files import Dumps
from scenarios.kafka.formats.coordinator_records import (
    CONSUMER_CURRENT,
    CONSUMER_MEMBER,
    CONSUMER_PARTITIONS,
    CONSUMER_PATTERN,
    CONSUMER_TARGET_MEMBER,
    decode_record,
)
from scenarios.kafka.formats.record_batches import LogRecord
from scenarios.kafka.incident.causes import rebalance_causes
from scenarios.kafka.incident.classic_records import classic_consumer_rebalances
from scenarios.kafka.incident.consumer_night import (
    ConsumerStates,
    compare_partitions,
    find_recorded_assignor,
    observe_consumer_night,
    recompute_partitions,
)
from scenarios.kafka.incident.coordinated_records import coordinated_consumer_rebalances
from scenarios.kafka.incident.folder import read_incident
from scenarios.kafka.incident.night import NightOptions
from scenarios.kafka.incident.recomputation import Mismatch
from scenarios.kafka.incident.recorded import RecordedGroup
from scenarios.kafka.observation.observation import ObservationError
from tests.scenarios.kafka.incident.consumer_dump import (
    DESCRIBED,
    GROUP,
    TOPICS,
    ClassicConsumers,
    CoordinatedGroup,
    member_id,
)

BOTH = ("orders", "payments")
NAMES = {str(topic.id_or_default()): topic.name for topic in TOPICS}


def coordinated(recorded: CoordinatedGroup) -> RecordedGroup:
    return coordinated_consumer_rebalances(GROUP, recorded.records, NAMES)


def classic(recorded: ClassicConsumers) -> RecordedGroup:
    return classic_consumer_rebalances(GROUP, recorded.records)


def differences(group: RecordedGroup) -> list[Mismatch]:
    """Return the mismatches of all rebalances."""
    states = ConsumerStates({}, group.topic_ids)
    mismatches: list[Mismatch] = []
    for rebalance in group.rebalances:
        assignor = find_recorded_assignor(rebalance.assignor, group.protocol, None)
        assert assignor is not None
        mismatches += compare_partitions(
            rebalance, recompute_partitions(rebalance, states.recorded(rebalance), assignor)
        )
    return mismatches


def texts(group: RecordedGroup) -> list[str]:
    return ["; ".join(cause.text for cause in causes) for causes in rebalance_causes(group)]


def night(assignor: str = "uniform") -> CoordinatedGroup:
    """Return a group with two joins, a departure and a return."""
    recorded = CoordinatedGroup(assignor=assignor)
    recorded.join("a", BOTH)
    recorded.wait(20)
    recorded.join("b", BOTH)
    recorded.wait(30)
    recorded.join("c")
    recorded.wait(60)
    recorded.leave("b")
    recorded.wait(70)
    recorded.join("b-again", BOTH, client="b")
    return recorded


@pytest.mark.parametrize("assignor", ["uniform", "range"])
def test_every_target_of_a_coordinator_is_recomputed(assignor: str) -> None:
    group = coordinated(night(assignor))
    assert (group.protocol, group.has_consumers, len(group.rebalances)) == ("consumer", True, 5)
    assert {rebalance.assignor for rebalance in group.rebalances} == {assignor}
    assert group.rebalances[-1].partitions == {"orders": 8, "payments": 3}
    assert set(group.rebalances[-1].active()) == {f"orders-{n}" for n in range(8)} | {f"payments-{n}" for n in range(3)}
    assert differences(group) == []


def test_changes_of_consumers_are_the_causes() -> None:
    assert texts(coordinated(night())) == [
        "first recorded assignment",
        "b joined",
        "c joined",
        "b left or timed out",
        "b returned",
    ]


def test_many_members_are_in_the_order_of_the_coordinator() -> None:
    recorded = CoordinatedGroup()
    for number in range(14):
        recorded.join(f"m{number}", BOTH if number % 3 else ("orders",))
    for number in range(0, 14, 3):
        recorded.leave(f"m{number}")
    group = coordinated(recorded)
    for rebalance in group.rebalances:
        assert sorted(rebalance.coordinator_order) == [member.id for member in rebalance.members]
    assert group.rebalances[3].coordinator_order[-1] == member_id("m3")
    assert differences(group) == []


def test_static_member_that_returns_keeps_its_target() -> None:
    recorded = CoordinatedGroup()
    recorded.join("a", instance="one")
    recorded.wait(10)
    recorded.join("b")
    recorded.replace("a", "a-again")
    recorded.wait(10)
    recorded.join("c")
    group = coordinated(recorded)
    assert texts(group)[2] == "c joined"
    assert differences(group) == []


def test_stable_when_all_members_have_their_target() -> None:
    recorded = night()
    assert [rebalance.stable_at_ms for rebalance in coordinated(recorded).rebalances] == [
        rebalance.at_ms for rebalance in coordinated(recorded).rebalances
    ]
    recorded.lines = recorded.lines[:-1]  # The last member has not acknowledged its target.
    assert coordinated(recorded).rebalances[-1].stable_at_ms is None


def test_ids_of_topics_are_named_by_subscriptions_if_only_one_name_fits() -> None:
    recorded = CoordinatedGroup()
    recorded.join("a", ("orders",))
    recorded.join("b", BOTH)
    names = coordinated_consumer_rebalances(GROUP, recorded.records, {}).topic_ids
    assert {str(topic_id): name for name, topic_id in names.items()} == NAMES
    ambiguous = CoordinatedGroup()
    ambiguous.join("a", BOTH)
    with pytest.raises(ObservationError, match=r"several topics \(orders, payments\), .*kafka-topics.sh --describe"):
        coordinated_consumer_rebalances(GROUP, ambiguous.records, {})


def test_first_release_records_names_of_topics() -> None:
    recorded = night()
    topics = [
        {
            "topicId": str(topic.id_or_default()),
            "topicName": topic.name,
            "numPartitions": topic.partitions,
            "partitionMetadata": [],
        }
        for topic in TOPICS
    ]
    recorded.write(CONSUMER_PARTITIONS, {"topics": topics})
    assert coordinated_consumer_rebalances(GROUP, recorded.records, {}) == coordinated(night())


def test_topics_of_a_pattern_are_those_that_it_resolved_to() -> None:
    recorded = CoordinatedGroup()
    recorded.join("a", BOTH)
    text = recorded.text.replace('"subscribedTopicRegex": ""', '"subscribedTopicRegex": "p.*"')
    text = text.replace('["orders", "payments"]', '["orders"]')
    resolved = CoordinatedGroup()
    resolved.write(CONSUMER_PATTERN, {"topics": ["payments"], "version": 1, "timestamp": 1}, regularExpression="p.*")
    resolved.lines += text.splitlines()[1:]
    [rebalance] = coordinated(resolved).rebalances
    assert rebalance.members[0].topics == BOTH
    assert differences(coordinated(resolved)) == []


def test_moved_partition_is_a_mismatch() -> None:
    group = coordinated(night())
    last = group.rebalances[-1]
    [first, second, *others] = last.members
    partition = first.active[0]
    moved = (replace(first, active=first.active[1:]), replace(second, active=(*second.active, partition)), *others)
    changed = replace(group, rebalances=(*group.rebalances[:-1], replace(last, members=moved)))
    assert differences(changed) == [Mismatch(partition, "active", (second.process_id,), (first.process_id,))]


def test_assignor_that_is_not_of_kafka_is_not_found() -> None:
    assert find_recorded_assignor("com.example.Mine", "consumer", None) is None
    assert find_recorded_assignor("uniform", "consumer", "3.9") is None
    assert find_recorded_assignor("range", "classic", "3.9.1") is not None


def classic_night(assignor: str) -> ClassicConsumers:
    """Return a group with two joins and a departure, each with a follow-up if partitions are withheld."""
    recorded = ClassicConsumers(assignor=assignor)
    recorded.add("a", BOTH)
    recorded.rebalance()
    for name in ("b", "c"):
        recorded.wait(20)
        recorded.add(name, BOTH)
        if recorded.rebalance().withheld:
            recorded.wait(1)
            recorded.rebalance()
    recorded.wait(30)
    recorded.remove("a")
    recorded.rebalance()
    return recorded


@pytest.mark.parametrize("assignor", ["range", "roundrobin", "cooperative-sticky"])
def test_every_generation_of_a_classic_group_is_recomputed(assignor: str) -> None:
    group = classic(classic_night(assignor))
    assert (group.protocol, group.has_consumers) == ("classic", True)
    assert differences(group) == []


def test_cooperative_follow_ups_assign_what_was_withheld() -> None:
    group = classic(classic_night("cooperative-sticky"))
    follow_up = "follow-up: revoked partitions can be assigned"
    assert texts(group) == [
        "first recorded assignment",
        "b joined",
        follow_up,
        "c joined",
        follow_up,
        "a left or timed out",
    ]
    [_, joined, after, *_] = group.rebalances
    assert joined.withheld
    assert joined.active() == after.active()
    assert (joined.stable_at_ms, after.stable_at_ms) == (None, after.at_ms)


def test_missing_generation_leaves_the_cause_open() -> None:
    recorded = classic_night("range")
    group = classic_consumer_rebalances(GROUP, [*recorded.records[:1], *recorded.records[2:]])
    assert texts(group)[1] == "b joined; c joined"
    assert group.rebalances[1].missing == 1


def test_grown_topic_and_other_assignor_are_causes() -> None:
    recorded = CoordinatedGroup(topics=(replace(TOPICS[0], partitions=4),))
    recorded.join("a")
    recorded.topics = TOPICS
    recorded.assignor = "range"
    recorded._assign(member_id("a"))
    group = coordinated(recorded)
    assert [rebalance.partitions for rebalance in group.rebalances] == [{"orders": 4}, {"orders": 8}]
    assert texts(group)[1] == "orders has 8 partitions instead of 4"
    assert differences(group) == []


def test_consumer_that_returns_before_its_session_ends_has_restarted() -> None:
    recorded = CoordinatedGroup()
    recorded.join("x")
    recorded.join("a")
    recorded.wait(100)
    recorded.join("a-again", client="a")
    recorded.wait(30)
    recorded.leave("a")
    group = coordinated(recorded)
    assert texts(group)[2:] == ["a restarted (new member id)", "old session of a timed out"]
    changes = observe_consumer_night(group, Dumps(), NightOptions()).history.changes
    # The session of 45 s ended at 130 s, so the consumer was down from 85 s until 100 s.
    assert [(change.kind, change.at_ms, change.down_ms) for change in changes] == [
        ("join", 0, None),
        ("crash", 85_000, 15_000),
    ]


def test_consumers_with_equal_client_ids_are_numbered() -> None:
    recorded = CoordinatedGroup()
    recorded.join("a", client="app")
    recorded.wait(5)
    recorded.join("b", client="app")
    recorded.wait(200)
    group = coordinated(recorded)
    assert sorted(member.client_id for member in group.rebalances[-1].members) == ["app@10.0.0.1-1", "app@10.0.0.1-2"]


def test_folder_with_printed_records_is_read(tmp_path: Path) -> None:
    (tmp_path / "dump.txt").write_text(night().text)
    (tmp_path / "topics.txt").write_text(DESCRIBED)
    files = read_incident(tmp_path, GROUP, None, None)
    assert files.group == coordinated(night())
    assert dict(files.read) == {"dump.txt": "printed records", "topics.txt": "topics"}


def test_output_of_the_console_consumer_is_read(tmp_path: Path) -> None:
    recorded = classic_night("cooperative-sticky")
    values = [json.loads(line.partition(" payload: ")[2]) for line in recorded.lines]
    printed = [{"key": {"type": 2, "data": {"group": GROUP}}, "value": value} for value in values]
    (tmp_path / "console.txt").write_text("".join(json.dumps(entry, separators=(",", ":")) for entry in printed))
    group = read_incident(tmp_path, GROUP, None, None).group
    assert group == classic(recorded)


def test_migrated_group_has_the_protocol_of_its_last_records(tmp_path: Path) -> None:
    recorded = classic_night("range")
    upgraded = night()
    upgraded.lines = [
        *recorded.lines,
        *(line.replace("offset: ", "offset: 1000", 1) for line in upgraded.lines),
    ]
    (tmp_path / "dump.txt").write_text(upgraded.text)
    (tmp_path / "topics.txt").write_text(DESCRIBED)
    group = read_incident(tmp_path, GROUP, None, None).group
    assert group.protocol == "consumer"
    assert group.remarks == ("The group was migrated: its 4 records of the classic protocol are not shown.",)


def test_workers_of_kafka_connect_are_no_consumers() -> None:
    recorded = classic_night("range")
    recorded.lines = [
        line.replace('"protocolType": "consumer"', '"protocolType": "connect"') for line in recorded.lines
    ]
    with pytest.raises(ObservationError, match="protocol type 'connect' and assignor 'range' are not those of a cons"):
        classic(recorded)


def test_impossible_partition_is_rejected() -> None:
    recorded = classic_night("range")
    recorded.lines[0] = recorded.lines[0].replace('"partitions": [0, ', '"partitions": [-7, ', 1)
    with pytest.raises(ObservationError, match="partition -7 of topic 'payments' is impossible"):
        classic(recorded)


def uvarint_text(text: str) -> bytes:
    return bytes([len(text) + 1]) + text.encode()


def test_binary_records_of_the_consumer_protocol_are_decoded() -> None:
    """Compare with bytes written by hand after `ConsumerGroup*.json`."""
    key = b"\x00\x07" + len(GROUP).to_bytes(2) + GROUP.encode()
    member = b"\x00\x05" + key[2:] + b"\x00\x02m1"
    value = (
        b"\x00\x00"
        + b"\x00\x00"  # No instance id and no rack.
        + uvarint_text("app")
        + uvarint_text("/10.0.0.1")
        + b"\x02"
        + uvarint_text("orders")
        + uvarint_text("")
        + (300_000).to_bytes(4)
        + uvarint_text("range")
        + b"\x01\x00\x07\x01"  # The tagged metadata of a classic member.
        + (45_000).to_bytes(4)
        + b"\x01\x00"
    )
    decoded = decode_record(LogRecord(3, 99, member, value, 0))
    assert decoded is not None
    assert (decoded.type, decoded.member_id, decoded.offset) == (CONSUMER_MEMBER, "m1", 3)
    assert decoded.value == {
        "instanceId": None,
        "rackId": None,
        "clientId": "app",
        "clientHost": "/10.0.0.1",
        "subscribedTopicNames": ["orders"],
        "subscribedTopicRegex": "",
        "rebalanceTimeoutMs": 300_000,
        "serverAssignor": "range",
        "classicMemberMetadata": {"sessionTimeoutMs": 45_000, "supportedProtocols": []},
    }
    # Kafka writes a tagged structure even if it is null.
    of_consumer = decode_record(LogRecord(3, 99, member, value[: -len(b"\x07\x01....\x01\x00")] + b"\x01\x00", 0))
    assert of_consumer is not None
    assert of_consumer.value == {**decoded.value, "classicMemberMetadata": None}
    topic = TOPICS[0].id_or_default()
    bits = (topic.most_significant_bits % 2**64 << 64) | topic.least_significant_bits % 2**64
    entry = bits.to_bytes(16) + b"\x03" + (2).to_bytes(4) + (5).to_bytes(4) + b"\x00"
    target = decode_record(LogRecord(4, 99, key + b"\x00\x02m1", b"\x00\x00\x02" + entry + b"\x00", 0))
    assert target is not None
    assert (target.type, target.value) == (
        CONSUMER_TARGET_MEMBER,
        {"topicPartitions": [{"topicId": str(topic), "partitions": [2, 5]}]},
    )
    current = b"\x00\x00" + (7).to_bytes(4) + (6).to_bytes(4) + b"\x01" + b"\x02" + entry + b"\x01" + b"\x00"
    acknowledged = decode_record(LogRecord(5, 99, b"\x00\x08" + key[2:] + b"\x00\x02m1", current, 0))
    assert acknowledged is not None
    assert acknowledged.type == CONSUMER_CURRENT
    assert acknowledged.value is not None
    assert [entry["partitions"] for entry in acknowledged.value["assignedPartitions"]] == [[2, 5]]
    pattern = decode_record(LogRecord(6, 99, b"\x00\x10" + key[2:] + b"\x00\x03p.*", None, 0))
    assert pattern is not None
    assert (pattern.type, pattern.pattern, pattern.value) == (CONSUMER_PATTERN, "p.*", None)


def test_partitions_of_a_topic_with_dashes_are_ordered_by_number() -> None:
    assert sorted(map(TopicPartition.parse, ["a-b-10", "a-b-9"])) == [
        TopicPartition("a-b", 9),
        TopicPartition("a-b", 10),
    ]


def test_consumer_did_not_go_down_before_it_had_its_last_assignment() -> None:
    recorded = CoordinatedGroup()
    recorded.join("x")
    recorded.wait(10)
    recorded.join("a")
    recorded.wait(5)
    recorded.join("a-again", client="a")
    recorded.wait(5)
    recorded.leave("a")
    night_of_x = observe_consumer_night(coordinated(recorded), Dumps(), NightOptions())
    # A session of 45 s would have begun before a joined at 10 s; the real one was shorter.
    assert [(change.kind, change.at_ms, change.down_ms) for change in night_of_x.history.changes] == [
        ("join", 10_000, None),
        ("crash", 10_001, 4_999),
    ]
    [assumption] = [text for text in night_of_x.observation.assumptions if "session timeout of the consumer" in text]
    assert "45s is assumed; state another one with --config group.consumer.session.timeout.ms=" in assumption
