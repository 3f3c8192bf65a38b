"""Rates of partitions derived from their sizes, for topics whose size is limited by retention time.

In a steady state a partition holds the data produced within `retention.ms`, so its rate is its size divided by its
retention time. This applies only while time alone deletes records. It does not apply to a partition that has reached
`retention.bytes`, to one without a time limit, or to a compacted topic.

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
RETENTION_CONFIGS: Final = (
    RETENTION_MS, RETENTION_BYTES, CLEANUP_POLICY, REMOTE_STORAGE, LOCAL_RETENTION_MS, LOCAL_RETENTION_BYTES,
)  # fmt: skip
"""All configs that `parse_retention` reads."""

_UNLIMITED: Final = -1
_SAME_AS_TOTAL: Final = -2
"""The value of a local retention limit for the total retention limit."""

_MS_PER_S: Final = 1_000


def parse_retention(configs: Mapping[str, str]) -> TopicRetention:
    """Return the retention of a topic with these configs; missing keys have Kafka's defaults.

    With remote storage, disks hold only the local retention. Raises ValueError if Kafka does not accept a value.
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
        raise ValueError(f"{key}={text} is not an integer") from None
    if value == _SAME_AS_TOTAL and key in (LOCAL_RETENTION_MS, LOCAL_RETENTION_BYTES):
        return default
    if value < _UNLIMITED:
        raise ValueError(f"{key}={text} is less than -1")
    return None if value == _UNLIMITED else value


@dataclass(frozen=True, slots=True, eq=False)
class DerivedRates:
    """The rates of partitions, given or derived from sizes.

    Attributes:
        bytes_per_s: shape (P,); UNKNOWN_RATE for a rate that is neither given nor derived.
        unknown: the reasons for unknown rates by topic, in the order of the state's partitions.
        num_derived: the number of non-empty partitions with a derived rate.
    """

    bytes_per_s: IntArray
    unknown: Mapping[str, str]
    num_derived: int


def derive_rates(state: ClusterState, default_ms: int | None) -> DerivedRates:
    """Return given rates, and size ÷ retention (rounded up) for partitions without one.

    `default_ms`: the retention time of topics with unknown retention; None for unknown. Raises ValueError if partition
    sizes are unknown.
    """
    if state.size_bytes is None:
        raise ValueError("rates cannot be derived: partition sizes are unknown")
    known = state.bytes_per_s
    rates = np.full(state.num_partitions, UNKNOWN_RATE, dtype=np.int64) if known is None else known.copy()
    unknown: dict[str, str] = {}
    num_derived = 0
    for row in np.flatnonzero(rates == UNKNOWN_RATE).tolist():
        topic, size = int(state.topic[row]), int(state.size_bytes[row])
        retention = None if state.retention is None else state.retention[topic]
        if retention is None and default_ms is not None:
            retention = TopicRetention(ms=default_ms)
        reason = _unknown_reason(retention, size) if size else ""
        if reason:
            unknown.setdefault(state.topics[topic], reason)
        elif retention is None or retention.ms is None or not size:
            rates[row] = 0
        else:
            rates[row] = -(-size * _MS_PER_S // max(retention.ms, 1))
            num_derived += 1
    return DerivedRates(rates, unknown, num_derived)


def _unknown_reason(retention: TopicRetention | None, size_bytes: int) -> str:
    """Return why the rate of a partition of this size cannot be derived; empty if it can."""
    if retention is None:
        return "unknown retention"
    if retention.is_compacted:
        return "compacted"
    if retention.ms is None:
        return f"{RETENTION_MS}=-1"
    if retention.bytes is not None and size_bytes >= retention.bytes:
        return f"limited by {RETENTION_BYTES}"
    return ""
