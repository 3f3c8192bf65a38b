"""Damaged records: every segment gives a report or one clear error, whatever its bytes say."""

from __future__ import annotations

import random
import re
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from assignor_sim.api.incident import investigate
from scenarios.kafka.formats.record_batches import crc32c
from scenarios.kafka.incident.folder import read_incident
from scenarios.kafka.observation.observation import ObservationError
from scenarios.language.errors import ScenarioError
from tests.scenarios.kafka.incident.consumer_dump import DESCRIBED, GROUP, ClassicConsumers, CoordinatedGroup
from tests.scenarios.kafka.incident.recorded_segments import CLASSIC, STREAMS, segment

HEADER, CRC_POSITION, CRC_START = 61, 17, 21


def batches(data: bytes) -> Iterator[bytes]:
    """Yield the batches of a segment."""
    position = 0
    while position < len(data):
        end = position + 12 + struct.unpack_from(">i", data, position + 8)[0]
        yield data[position:end]
        position = end


def damaged_with_right_checksums(data: bytes, rng: random.Random, changes: int) -> bytes:
    """Return a segment in which some bytes of records differ, although every checksum is right."""
    result = [bytearray(batch) for batch in batches(data)]
    for _ in range(changes):
        batch = rng.choice(result)
        position = rng.randrange(HEADER, len(batch))
        batch[position] = rng.choice((0, 0xFF, batch[position] ^ 1 << rng.randrange(8), rng.randrange(256)))
        struct.pack_into(">I", batch, CRC_POSITION, crc32c(bytes(batch[CRC_START:])))
    return b"".join(map(bytes, result))


def message_of(folder: Path, group: str, *, whole: bool) -> str | None:
    """Return the error of a folder; None if it can be read."""
    try:
        if whole:
            investigate(folder, group)
        else:
            read_incident(folder, group, None, None)
    except (ObservationError, ScenarioError) as error:
        return str(error)
    return None


@pytest.mark.parametrize("group", [CLASSIC, STREAMS])
def test_wrong_content_with_right_checksums_is_read_or_rejected(tmp_path: Path, group: str) -> None:
    rng = random.Random(group)
    data = segment("4.3.1", group)
    messages = []
    for number in range(40):
        (tmp_path / "a.log").write_bytes(damaged_with_right_checksums(data, rng, rng.choice((1, 3, 30))))
        messages.append(message_of(tmp_path, group, whole=number % 10 == 0))
    rejected = [message for message in messages if message is not None]
    assert rejected
    assert all(message.strip() and len(message) < 600 for message in rejected)


def test_truncated_and_flipped_segments_are_read_or_rejected(tmp_path: Path) -> None:
    rng = random.Random(1)
    data = segment("3.9.2", CLASSIC)
    for _ in range(30):
        damaged = bytearray(data[: rng.randrange(1, len(data))])
        if rng.random() < 0.5:
            damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
        (tmp_path / "a.log").write_bytes(damaged)
        message = message_of(tmp_path, CLASSIC, whole=False)
        assert message is None or message.startswith(("a.log: ", f"'{tmp_path}' has neither records", "the records in"))


def test_random_bytes_are_no_segment(tmp_path: Path) -> None:
    rng = random.Random(1)
    for size in (0, 1, 60, 61, 5_000):
        (tmp_path / "a.log").write_bytes(rng.randbytes(size))
        assert "has neither records of groups nor logs" in (message_of(tmp_path, CLASSIC, whole=False) or "")


@pytest.mark.parametrize("length", [2**31 - 1, 2**30, 49])
def test_giant_length_is_an_incomplete_batch(tmp_path: Path, length: int) -> None:
    start = bytearray(segment("3.9.2", CLASSIC)[:200])
    struct.pack_into(">i", start, 8, length)
    (tmp_path / "a.log").write_bytes(start)
    assert message_of(tmp_path, CLASSIC, whole=False) is not None


def test_damaged_records_of_consumer_groups_are_read_or_rejected(tmp_path: Path) -> None:
    rng = random.Random(2)
    (tmp_path / "topics.txt").write_text(DESCRIBED)
    recorded = CoordinatedGroup()
    for name in ("a", "b", "c"):
        recorded.join(name, ("orders", "payments"))
    recorded.leave("b")
    classic = ClassicConsumers(assignor="cooperative-sticky")
    for name in ("a", "b"):
        classic.add(name, ("orders", "payments"))
        classic.rebalance()
    messages = []
    for number in range(60):
        text = (recorded if number % 2 else classic).text
        numbers = list(re.finditer(r'(?<=[ \[])\d+(?=[,\]}])|"[A-Za-z]*"(?=[,}\]])', text))
        for match in rng.sample(numbers, 3):
            replacement = rng.choice(("-1", "null", "99999999999", "[]", '""', '"x y"', "7"))
            text = text[: match.start()] + replacement + text[match.end() :] if rng.random() < 0.5 else text
            numbers = [other for other in numbers if other.end() <= len(text)]
        (tmp_path / "dump.txt").write_text(text)
        messages.append(message_of(tmp_path, GROUP, whole=number % 10 == 0))
    rejected = [message for message in messages if message is not None]
    assert rejected
    assert all(message.strip() and len(message) < 600 for message in rejected)
