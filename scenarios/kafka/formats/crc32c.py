"""CRC-32C (Castagnoli), the checksum of Kafka's record batches."""

from __future__ import annotations

import sys
from array import array
from functools import cache
from typing import Final

_POLYNOMIAL: Final = 0x82F63B78
_MASK: Final = 0xFFFFFFFF


@cache
def _tables() -> tuple[array[int], array[int]]:
    """Return the table for one byte, and the table for two bytes."""
    of_byte = array("L")
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (_POLYNOMIAL if value & 1 else 0)
        of_byte.append(value)
    of_pair = array("L")
    for pair in range(65_536):
        one = of_byte[pair & 0xFF]
        of_pair.append(of_byte[(one ^ pair >> 8) & 0xFF] ^ one >> 8)
    return of_byte, of_pair


def crc32c(data: bytes | memoryview) -> int:
    """Return the checksum of bytes.

    Complexity: linear, two bytes for each step.

    Examples:
        >>> hex(crc32c(b"123456789"))
        '0xe3069283'
    """
    of_byte, of_pair = _tables()
    crc = _MASK
    pairs = array("H", bytes(data[: len(data) & ~1]))
    if sys.byteorder == "big":
        pairs.byteswap()
    for pair in pairs:
        crc = of_pair[(crc ^ pair) & 0xFFFF] ^ crc >> 16
    if len(data) & 1:
        crc = of_byte[(crc ^ data[-1]) & 0xFF] ^ crc >> 8
    return crc ^ _MASK
