"""What the resolution of other producers and consumer groups refers to."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from scenarios.language.errors import format_list, format_value
from scenarios.language.paths import ScenarioPath
from scenarios.language.validation import SourceMap
from scenarios.resolution.application import ResolvedApplication
from scenarios.sampling.blueprint import TopicBlueprint
from simulator.world.world import RackShare, topics_written_by

OTHER_TRAFFIC: Final[ScenarioPath] = ("other_traffic",)

MEASURED: Final = "measured"
"""The name of the producer and the group whose traffic is measured."""


@dataclass(frozen=True, slots=True)
class OtherTrafficContext:
    """What other traffic refers to.

    Attributes:
        application: the topics, and which of them the application reads and writes.
        topics: all topics by name.
        all_topics: the names of all topics, including invalid ones; None if not all are known.
        racks: the racks of brokers and clients; None if not all are known.
        broker_racks: the racks of brokers, sorted.
        standbys: `num.standby.replicas`.
        source_map: collects the mistakes.
    """

    application_id: str
    application: ResolvedApplication
    topics: Mapping[str, TopicBlueprint]
    all_topics: Collection[str] | None
    racks: Collection[str] | None
    broker_racks: Sequence[str]
    standbys: int
    source_map: SourceMap

    @property
    def written(self) -> frozenset[str]:
        """Return the topics that the application writes, its changelogs included."""
        return frozenset(topics_written_by(self.application.subtopologies))

    @property
    def sources(self) -> list[str]:
        """Return the topics that the application reads and does not write."""
        read = dict.fromkeys(topic for part in self.application.subtopologies for topic in part.source_topics)
        written = self.written
        return [topic for topic in read if topic not in written and topic in self.topics]


def rack_shares(
    weights: Mapping[str, float], path: ScenarioPath, context: OtherTrafficContext
) -> tuple[RackShare, ...]:
    """Return the fraction of each rack, and warn about racks without brokers and clients."""
    total = sum(weights.values())
    for rack in weights:
        if context.racks is not None and rack not in context.racks:
            known = format_list("racks", sorted(context.racks))
            message = f"no broker or client is in rack {format_value(rack)} ({known}), so all its bytes cross racks"
            context.source_map.add_warning(path, message)
    return tuple(RackShare(rack, weight / total) for rack, weight in weights.items() if weight > 0)
