"""Rates of partitions derived from their sizes, for topics in which retention by time limits the size.

In a steady state a partition holds what is produced to it within `retention.ms`, so its rate is its size divided by its
retention. This holds only while time alone deletes records. It does not hold for a partition that has reached
`retention.bytes`, for one without a limit in time, or for a compacted topic: their sizes say nothing about their rates.

Source: "Constraint Based Kafka Partition Balancing" (retention and disk capacity of a replica give its throughput);
`org.apache.kafka.storage.internals.log.UnifiedLog` (`deleteOldSegments`: retention by size keeps at least
`retention.bytes`); `org.apache.kafka.common.config.TopicConfig` and `LogConfig` for keys and defaults.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from assignors.model.columns import IntArray
from assignors.replicas.state import UNKNOWN_RATE, ClusterState, TopicRetention

RETENTION_MS: Final = "retention.ms"
RETENTION_BYTES: Final = "retention.bytes"
CLEANUP_POLICY: Final = "cleanup.policy"
REMOTE_STORAGE: Final = "remote.storage.enable"
LOCAL_RETENTION_MS: Final = "local.retention.ms"
LOCAL_RETENTION_BYTES: Final = "local.retention.bytes"

_UNLIMITED: Final = -1
_AS_THE_WHOLE: Final = -2
"""The value of a local retention that means the retention of the whole log."""

_MS_PER_S: Final = 1_000


def parse_retention(configs: Mapping[str, str]) -> TopicRetention:
    """Return the retention of a topic with these configs; Kafka's defaults apply to keys that are absent.

    With remote storage, disks hold what the local retention leaves there.

    Raises:
        ValueError: a value is not one that Kafka accepts.
    """
    policies = frozenset(part.strip() for part in configs.get(CLEANUP_POLICY, "delete").split(",") if part.strip())
    if not policies <= {"delete", "compact"}:
        raise ValueError(f"{CLEANUP_POLICY}={configs[CLEANUP_POLICY]} is not delete, compact or both")
    default = TopicRetention()
    limits = _limit(configs, RETENTION_MS, default.ms), _limit(configs, RETENTION_BYTES, default.bytes)
    if configs.get(REMOTE_STORAGE, "false").strip().lower() == "true":
        limits = _limit(configs, LOCAL_RETENTION_MS, limits[0]), _limit(configs, LOCAL_RETENTION_BYTES, limits[1])
    if policies == {"compact"}:
        limits = None, None
    return TopicRetention(*limits, is_compacted="compact" in policies)


def _limit(configs: Mapping[str, str], key: str, default: int | None) -> int | None:
    text = configs.get(key)
    if text is None:
        return default
    try:
        value = int(text)
    except ValueError:
        raise ValueError(f"{key}={text} is not a whole number") from None
    if value == _AS_THE_WHOLE and key in (LOCAL_RETENTION_MS, LOCAL_RETENTION_BYTES):
        return default
    if value < _UNLIMITED:
        raise ValueError(f"{key}={text} is less than -1")
    return None if value == _UNLIMITED else value


@dataclass(frozen=True, slots=True, eq=False)
class DerivedRates:
    """The rates of partitions that are known or follow from sizes.

    Attributes:
        bytes_per_s: shape (P,); UNKNOWN where neither holds.
        unknown: why, by topic, in the order of the state's partitions.
        num_derived: the number of partitions with data whose rate follows from their size.
    """

    bytes_per_s: IntArray
    unknown: Mapping[str, str]
    num_derived: int


def derive_rates(state: ClusterState, default_ms: int | None) -> DerivedRates:
    """Return known rates, and size ÷ retention (rounded up) for partitions whose rate is unknown.

    Args:
        state: a cluster with sizes.
        default_ms: the retention of topics whose retention is unknown; None for unknown.
    """
    if state.size_bytes is None:
        raise ValueError("rates follow from sizes, which are unknown")
    known = state.bytes_per_s
    found = np.full(state.num_partitions, UNKNOWN_RATE, dtype=np.int64) if known is None else known.copy()
    unknown: dict[str, str] = {}
    num_derived = 0
    for row in np.flatnonzero(found == UNKNOWN_RATE).tolist():
        topic, size = int(state.topic[row]), int(state.size_bytes[row])
        retention = None if state.retention is None else state.retention[topic]
        if retention is None and default_ms is not None:
            retention = TopicRetention(ms=default_ms)
        reason = _obstacle(retention, size) if size else ""
        if reason:
            unknown.setdefault(state.topics[topic], reason)
        elif retention is None or retention.ms is None or not size:
            found[row] = 0
        else:
            found[row] = -(-size * _MS_PER_S // max(retention.ms, 1))
            num_derived += 1
    return DerivedRates(found, unknown, num_derived)


def _obstacle(retention: TopicRetention | None, size_bytes: int) -> str:
    """Return why the rate of a partition of this size does not follow from its size; empty if it does."""
    if retention is None:
        return "unknown retention"
    if retention.is_compacted:
        return "compacted"
    if retention.ms is None:
        return f"{RETENTION_MS}=-1"
    if retention.bytes is not None and size_bytes >= retention.bytes:
        return f"limited by {RETENTION_BYTES}"
    return ""
