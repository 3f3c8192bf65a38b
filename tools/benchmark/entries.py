"""The assignors of the leaderboard, with the configs with which they run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from assignors import kafka_releases
from assignors.containment.limits import DEFAULT_LIMITS
from assignors.kafka_releases import BROKERS, RECORDED_3_9
from pipeline.review.reviewed import Reviewed

STRATEGY = "rack.aware.assignment.strategy"
STRATEGIES = ("none", "min_traffic", "balance_subtopology")
STICKY_COSTS = {"rack.aware.assignment.traffic_cost": 1, "rack.aware.assignment.non_overlap_cost": 10}
"""The defaults of `legacy_sticky`; `sticky_task_assignor` is rack-aware only if both are configured."""

CLIENTS = (RECORDED_3_9, *(kafka_releases.CLIENTS[release] for release in ("4.2", "4.3")))
"""Releases of `kafka-streams` whose classes give the reference answers of this version of the benchmark."""

CLIENT_RELEASE = "4.3"
"""Kafka release of the clients in all scenarios, and of the assignors of clients: the newest one in this version."""


@dataclass(frozen=True, slots=True)
class Entry:
    """An assignor with its configs.

    Attributes:
        name: name in tables, unique.
        assignor: registered name.
        configs: Streams configs, by Kafka's keys.
        java: Kafka's class as released, by release: references of assignors in Java. Empty if it is not Kafka's.
    """

    name: str
    assignor: str
    configs: Mapping[str, Any] = field(default_factory=dict)
    java: Mapping[str, str] = field(default_factory=dict)

    def reviewed(self) -> Reviewed:
        """Return the assignor as other processes run it."""
        return Reviewed.of(self.assignor, self.configs, DEFAULT_LIMITS)


def _of_clients(assignor: str, strategy: str) -> Entry:
    name = assignor if strategy == "none" else f"{assignor} {strategy}"
    costs = STICKY_COSTS if assignor == "sticky_task_assignor" and strategy != "none" else {}
    java = {release: f"java:kafka-streams@{release}:{assignor}" for release in CLIENTS}
    if assignor == "sticky_task_assignor":
        assignor = f"{assignor}@{CLIENT_RELEASE}"
    return Entry(name, assignor, {STRATEGY: strategy, **costs}, java)


def _of_brokers(release: str, patch: str) -> Entry:
    return Entry(
        f"streams_group_sticky@{release}",
        f"streams_group_sticky@{release}",
        {},
        {patch: f"java:kafka-group-coordinator@{patch}:sticky"},
    )


BASELINE = "high_availability"
"""The entry with which the others are compared: the default of Kafka's clients."""

ENTRIES = (
    *(_of_clients("high_availability", strategy) for strategy in STRATEGIES),
    *(_of_clients("legacy_sticky", strategy) for strategy in STRATEGIES),
    *(_of_clients("sticky_task_assignor", strategy) for strategy in STRATEGIES),
    *(_of_brokers(release, BROKERS[release]) for release in ("4.2", "4.3", "4.4")),
    *(
        Entry(name, name)
        for name in (
            "ha_reliable_standbys",
            "ha_current_overlap",
            "ha_subtopology_balance",
            "ha_min_bytes",
            "incremental",
            "optimal",
        )
    ),
)
