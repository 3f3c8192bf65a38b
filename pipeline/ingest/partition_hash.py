"""The Spark partition of a topic and partition after `repartition(tasks, "topic", "partition")`; does not import Spark.

Source:
    Spark's `Murmur3_x86_32` and `HashPartitioning`: MurmurHash3 (Austin Appleby, public domain), but bytes after the
    last whole word are mixed one by one, as signed integers.
"""

from __future__ import annotations

from functools import lru_cache

_SEED = 42
_WORD = 0xFFFF_FFFF


@lru_cache(maxsize=65_536)
def hash_of(topic: str, partition: int) -> int:
    """Return Spark's hash of a topic and the number of a partition; its Spark partition is the hash modulo `tasks`.

    Args:
        topic: the topic.
        partition: a signed 32-bit integer.

    Returns:
        A signed 32-bit integer.
    """
    text = topic.encode()
    whole = len(text) - len(text) % 4
    mixed = _SEED
    for start in range(0, whole, 4):
        mixed = _mix(mixed, int.from_bytes(text[start : start + 4], "little"))
    for byte in text[whole:]:
        mixed = _mix(mixed, byte if byte < 128 else byte - 256)
    mixed = _finish(mixed, len(text))
    mixed = _finish(_mix(mixed, partition), 4)
    return mixed - (mixed >> 31 << 32)


def _mix(mixed: int, word: int) -> int:
    word = (word & _WORD) * 0xCC9E_2D51 & _WORD
    mixed ^= _rotate(word, 15) * 0x1B87_3593 & _WORD
    return (_rotate(mixed, 13) * 5 + 0xE654_6B64) & _WORD


def _rotate(word: int, bits: int) -> int:
    return (word << bits | word >> (32 - bits)) & _WORD


def _finish(mixed: int, length: int) -> int:
    mixed ^= length
    mixed = (mixed ^ mixed >> 16) * 0x85EB_CA6B & _WORD
    mixed = (mixed ^ mixed >> 13) * 0xC2B2_AE35 & _WORD
    return mixed ^ mixed >> 16
