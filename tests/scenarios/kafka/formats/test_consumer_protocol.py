"""Member metadata and assignments of a classic group, encoded by released jars of Kafka."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from assignors.model.ids import TopicPartition
from scenarios.kafka.formats.binary_messages import (
    LATEST_OFFSET,
    UNKNOWN_OFFSET_SUM,
    AssignmentInfo,
    SubscriptionInfo,
    decode_assignment,
    decode_assignment_info,
    decode_subscription,
    decode_subscription_info,
)
from scenarios.kafka.formats.lines import FormatError

ENCODED = {
    name: bytes.fromhex(digits)
    for name, digits in (
        line.split()
        for line in Path(__file__).with_name("dialects").joinpath("member_bytes.txt").read_text().splitlines()
        if not line.startswith("#")
    )
}
PROCESS = "8f3b2c1d-0a4e-4b6f-9c7d-1e2f3a4b5c6d"
OWNED = (TopicPartition("orders", 3), TopicPartition("orders", 10), TopicPartition("payments", 3))
OFFSET_SUMS = {"0_3": LATEST_OFFSET, "0_10": LATEST_OFFSET, "1_2": 0, "2_0": 5_000_000_000}
COPIES_WITHOUT_OFFSETS = {**OFFSET_SUMS, "1_2": UNKNOWN_OFFSET_SUM, "2_0": UNKNOWN_OFFSET_SUM}
STANDBYS = {
    "1_2": (TopicPartition("app-counts-changelog", 2),),
    "2_0": (TopicPartition("app-b-changelog", 0), TopicPartition("app-seen-changelog", 0)),
}


@pytest.mark.parametrize("version", range(1, 12))
def test_subscriptions_are_decoded_in_every_version(version: int) -> None:
    assert decode_subscription_info(ENCODED[f"subscription_info_{version}"]) == SubscriptionInfo(
        version=version,
        latest_supported_version=-1 if version < 3 else 11,
        process_id=PROCESS,
        offset_sums=COPIES_WITHOUT_OFFSETS if version < 7 else OFFSET_SUMS,
        client_tags={} if version < 11 else {"zone": "az1", "cluster": "k8s-ü"},
    )


def test_subscription_without_tasks_endpoint_and_tags_is_decoded() -> None:
    assert decode_subscription_info(ENCODED["subscription_info_empty"]) == SubscriptionInfo(11, 11, PROCESS, {})


def test_tasks_of_a_named_topology_keep_its_name() -> None:
    subscription = decode_subscription_info(ENCODED["subscription_info_named"])
    assert subscription.offset_sums == {"billing__0_1": 42, "billing__1_1": LATEST_OFFSET}
    assignment = decode_assignment_info(ENCODED["assignment_info_named"])
    assert assignment.active_tasks == ("billing__0_1", "0_1")
    assert assignment.standby_tasks == {"billing__1_1": ()}


@pytest.mark.parametrize("version", range(4))
def test_member_metadata_is_decoded_in_every_version(version: int) -> None:
    member = decode_subscription(ENCODED[f"subscription_{version}"])
    assert member.version == version
    assert member.topics == ("orders", "payments")
    assert member.owned == (() if version < 1 else OWNED)
    assert member.generation == (-1 if version < 2 else 5)
    assert member.rack == (None if version < 3 else "az1")
    assert member.streams.offset_sums == OFFSET_SUMS


@pytest.mark.parametrize("version", range(1, 12))
def test_assignments_are_decoded_in_every_version(version: int) -> None:
    assert decode_assignment_info(ENCODED[f"assignment_info_{version}"]) == AssignmentInfo(
        version=version,
        active_tasks=("0_3", "0_10", "0_3"),
        standby_tasks=STANDBYS,
        error_code=0 if version < 4 else 1,
        next_rebalance_at_ms={8: 0, 9: 1_800_000_000_123}.get(version),
    )


@pytest.mark.parametrize("version", range(4))
def test_active_tasks_are_paired_with_sorted_partitions(version: int) -> None:
    member = decode_assignment(ENCODED[f"assignment_{version}"])
    assert member.version == version
    assert member.partitions == OWNED
    assert member.active == {"0_3": (OWNED[0], OWNED[2]), "0_10": (OWNED[1],)}
    assert member.streams.standby_tasks == STANDBYS


def test_newer_consumer_protocol_version_is_decoded() -> None:
    newer = b"\0\x07" + ENCODED["assignment_3"][2:] + b"more"
    assert decode_assignment(newer).active == decode_assignment(ENCODED["assignment_3"]).active


DECODERS: dict[str, Callable[[bytes], object]] = {
    "subscription_info_11": decode_subscription_info,
    "subscription_info_6": decode_subscription_info,
    "subscription_3": decode_subscription,
    "assignment_info_11": decode_assignment_info,
    "assignment_info_4": decode_assignment_info,
    "assignment_3": decode_assignment,
}


@pytest.mark.parametrize(("name", "decode"), DECODERS.items())
def test_truncated_bytes_are_rejected(name: str, decode: Callable[[bytes], object]) -> None:
    for length in range(len(ENCODED[name])):
        with pytest.raises(FormatError):
            decode(ENCODED[name][:length])


@pytest.mark.parametrize(("name", "decode"), DECODERS.items())
def test_corrupted_byte_is_rejected_or_decoded_without_other_errors(
    name: str, decode: Callable[[bytes], object]
) -> None:
    for at in range(len(ENCODED[name])):
        for value in (0x00, 0x7F, 0x80, 0xFF):
            garbled = ENCODED[name][:at] + bytes([value]) + ENCODED[name][at + 1 :]
            with contextlib.suppress(FormatError):
                decode(garbled)


@pytest.mark.parametrize(
    ("decode", "data", "message"),
    [
        (decode_subscription, b"", "ConsumerProtocolSubscription: version at byte 0 needs 2 bytes, but 0 are left"),
        (decode_subscription, b"\xff\xff", "ConsumerProtocolSubscription: invalid version -1"),
        (
            decode_subscription,
            ENCODED["subscription_plain"],
            "SubscriptionInfo: no bytes: the member sent no metadata or does not run Kafka Streams",
        ),
        (
            decode_assignment,
            ENCODED["assignment_plain"],
            "AssignmentInfo: no bytes: the member sent no metadata or does not run Kafka Streams",
        ),
        (
            decode_subscription_info,
            b"\0\0\0\x0c\0\0\0\x0c",
            "SubscriptionInfo: unsupported version 12 (supported: 1 to 11); is this a Kafka Streams application?",
        ),
        (
            decode_subscription_info,
            ENCODED["subscription_info_11"] + b"\0",
            "SubscriptionInfo version 11: 1 byte follows the last field",
        ),
        (
            decode_assignment_info,
            ENCODED["assignment_info_7"][:-1],
            "AssignmentInfo version 7: nextRebalanceMs at byte 255 needs 8 bytes, but 7 are left",
        ),
        (
            decode_assignment_info,
            ENCODED["assignment_info_11"][:8] + b"\x7f" + ENCODED["assignment_info_11"][9:],
            "AssignmentInfo version 11: activeTasks before byte 12 cannot have 2130706435 elements",
        ),
        (
            decode_assignment,
            ENCODED["assignment_3"].replace(b"\0\0\0\x02\0\0\0\x0a\0\0\0\x03", b"\0\0\0\x01\0\0\0\x0a", 1),
            "ConsumerProtocolAssignment version 3: 3 active tasks, but 2 partitions",
        ),
    ],
)
def test_errors_name_the_field_and_the_version(decode: Callable[[bytes], object], data: bytes, message: str) -> None:
    with pytest.raises(FormatError, match="^" + re.escape(message)):
        decode(data)
