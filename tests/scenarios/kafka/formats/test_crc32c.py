"""Checksums of record batches."""

from __future__ import annotations

import random

import pytest

from scenarios.kafka.formats.record_batches import crc32c


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", 0),
        (b"123456789", 0xE3069283),
        (bytes(32), 0x8A9136AA),
        (b"\xff" * 32, 0x62A8AB43),
        (bytes(range(32)), 0x46DD794E),
    ],
)
def test_checksum_is_that_of_rfc_3720(data: bytes, expected: int) -> None:
    assert crc32c(data) == expected


def test_every_flipped_bit_changes_the_checksum() -> None:
    data = random.Random(1).randbytes(63)
    checksums = {crc32c(data)}
    for bit in range(8 * len(data)):
        damaged = bytearray(data)
        damaged[bit // 8] ^= 1 << bit % 8
        checksums.add(crc32c(memoryview(damaged)))
    assert len(checksums) == 8 * len(data) + 1
