"""Records of brokers about groups."""

from __future__ import annotations

import pytest

from scenarios.kafka.formats.coordinator_records import (
    GROUP_METADATA,
    STREAMS_CURRENT,
    STREAMS_GROUP,
    STREAMS_MEMBER,
    STREAMS_TARGET,
    STREAMS_TARGET_MEMBER,
    STREAMS_TOPOLOGY,
    decode_record,
)
from scenarios.kafka.formats.lines import FormatError
from scenarios.kafka.formats.record_batches import LogRecord
from tests.scenarios.kafka.incident.recorded_segments import CLASSIC, FOLDERS, STREAMS, WITH_STREAMS, records


@pytest.mark.parametrize("release", FOLDERS)
def test_generations_of_a_classic_group_are_decoded(release: str) -> None:
    decoded = records(release, CLASSIC)
    assert {record.type for record in decoded} == {GROUP_METADATA}
    values = [record.value for record in decoded if record.value is not None and record.value["members"]]
    generations = [value["generation"] for value in values]
    assert generations == list(range(generations[0], generations[0] + len(generations)))
    members = [member for value in values for member in value["members"]]
    assert {member["sessionTimeout"] for member in members} == {10_000}
    assert all(member["memberId"].startswith(member["clientId"]) for member in members)


@pytest.mark.parametrize("release", WITH_STREAMS)
def test_records_of_a_streams_group_are_decoded(release: str) -> None:
    decoded = records(release, STREAMS)
    assert {record.type for record in decoded} == {
        STREAMS_GROUP,
        STREAMS_MEMBER,
        STREAMS_TARGET,
        STREAMS_TARGET_MEMBER,
        STREAMS_CURRENT,
        STREAMS_TOPOLOGY,
    }
    [topology] = [record.value for record in decoded if record.type == STREAMS_TOPOLOGY]
    assert topology is not None
    assert [entry["subtopologyId"] for entry in topology["subtopologies"]] == ["0", "1", "2", "3"]
    epochs = [record.value["assignmentEpoch"] for record in decoded if record.type == STREAMS_TARGET and record.value]
    assert epochs == sorted(set(epochs))


def test_committed_offsets_are_skipped() -> None:
    assert decode_record(LogRecord(0, 0, b"\x00\x01rest", b"", 0)) is None


def test_values_of_other_groups_are_not_decoded() -> None:
    unsupported = LogRecord(0, 0, b"\x00\x02\x00\x04shop", b"\x00\x63", 0)
    decoded = decode_record(unsupported, "kiosk")
    assert decoded is not None
    assert (decoded.group, decoded.value) == ("shop", None)
    with pytest.raises(FormatError):
        decode_record(unsupported, "shop")


def test_tombstone_has_no_value() -> None:
    decoded = decode_record(LogRecord(5, 9, b"\x00\x02\x00\x04shop", None, 5))
    assert decoded is not None
    assert (decoded.group, decoded.value, decoded.offset, decoded.at_ms) == ("shop", None, 5, 9)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        (None, b"", "offset 3: a record without a key; is this __consumer_offsets?"),
        (b"\x00", b"", "offset 3: a record without a key"),
        (b"\x00\x02\x00\x09shop", b"", "offset 3: GroupMetadataKey version 0: group at byte 2 needs 9 bytes"),
        (b"\x00\x02\x00\x04shop", b"", "offset 3: GroupMetadataValue: no version"),
        (b"\x00\x02\x00\x04shop", b"\x00\x09", "GroupMetadataValue version 9: unsupported version (supported: 0 to 4)"),
    ],
)
def test_malformed_record_is_located(key: bytes | None, value: bytes, message: str) -> None:
    with pytest.raises(FormatError) as error:
        decode_record(LogRecord(3, 0, key, value, 3))
    assert message in str(error.value)
