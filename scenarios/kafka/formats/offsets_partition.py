"""The partition of `__consumer_offsets` that has the records of a group."""

from __future__ import annotations

from typing import Final

from assignors.java.hash_order import string_hash

DEFAULT_PARTITIONS: Final = 50
"""Default of `offsets.topic.num.partitions`."""

_MIN_VALUE: Final = 2**31


def partition_of_group(group: str, partitions: int = DEFAULT_PARTITIONS) -> int:
    """Return the partition that has the records of a group.

    Source: `GroupCoordinatorService.partitionFor` and `Utils.abs`, for which the least integer counts as 0.

    Examples:
        >>> partition_of_group("shop")
        12
    """
    hashed = string_hash(group)
    if hashed == _MIN_VALUE:
        return 0
    return min(hashed, 2**32 - hashed) % partitions
