"""The program of a checkup of an application of Kafka Streams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from pipeline.checkup.program import (
    STEADY,
    CheckupProgram,
    RunRequests,
    counted,
    counted_racks,
    mean_metric,
    unavailable_evidence,
    zones,
)
from pipeline.checkup.streams_rollout import simulate_streams_rollout
from pipeline.checkup.streams_settings import StreamsSetting, StreamsSettings
from pipeline.recommend.request import with_current_assignor
from pipeline.recommend.space import search_space
from reports.analysis.checkup.areas import STREAMS_AREAS
from reports.analysis.checkup.report import CheckupSubject, ReportCard, Rollout, SeedRuns
from reports.analysis.formatting import format_number, format_rate
from scenarios.checkup.situations import standard_situations
from scenarios.load import Scenario
from scenarios.run_time import count_tasks

_ASSIGNORS: Final = ("high_availability", "sticky_task_assignor", "streams_group_sticky")
_OTHER_METRICS: Final = ("rebalances", "restored_bytes", "worst_downtime_ms", "time_to_converge_ms")
_SHOWN_METRICS: Final[Mapping[str, tuple[str, ...]]] = {
    STEADY: ("cross_rack_source_partitions", "cross_rack_bytes_per_s", "cross_rack_usd_per_day"),
    "deploy": ("rebalances", "active_moves", "worst_downtime_ms"),
    "crash": ("rebalances", "active_moves", "restored_bytes", "worst_downtime_ms", "time_to_converge_ms"),
    "lost_disk": ("restored_bytes", "worst_downtime_ms", "time_to_converge_ms"),
    "scale": ("rebalances", "active_moves", "restored_bytes", "time_to_converge_ms"),
}


class StreamsProgram(CheckupProgram[StreamsSetting]):
    """The situations, settings and areas of an application of Kafka Streams."""

    subject: ClassVar[CheckupSubject] = "application"
    areas = STREAMS_AREAS
    settings: StreamsSettings

    def __init__(self, scenario: Scenario, today: str | None) -> None:
        """Prepare the program.

        Args:
            scenario: the scenario of the application.
            today: label of its current assignor; None for the first.

        Raises:
            RecommendError: no assignor has this label.
        """
        scenario, assignor = with_current_assignor(scenario, today)
        own = () if assignor.info.in_streams_groups else _ASSIGNORS
        self.settings = StreamsSettings(scenario, assignor, search_space(scenario, assignor, own))
        has_leader = not assignor.info.in_streams_groups
        self.situations, self.left_out = standard_situations(scenario, has_leader=has_leader)
        self._blueprint = scenario.blueprint
        self._clients = [client for client in scenario.blueprint.clients if client.starts]

    def shown_metrics(self, key: str) -> tuple[str, ...]:
        """Return the metrics of a situation that are compared."""
        return _SHOWN_METRICS.get(key, _OTHER_METRICS)

    def size(self) -> str:
        """Return tasks, clients, threads, zones and brokers in one line."""
        return (
            f"{counted(count_tasks(self.settings.scenario), 'task')} on {counted(len(self._clients), 'instance')} with "
            f"{counted(sum(client.threads for client in self._clients), 'thread')} in "
            f"{zones(client.rack for client in self._clients)}, {counted(len(self._blueprint.brokers), 'broker')}"
        )

    def facts(self) -> dict[str, Any]:
        """Return the topology, the clients, the brokers and the configs."""
        blueprint, space = self._blueprint, self.settings.space
        partitions = {topic.name: topic.num_partitions for topic in blueprint.topics}
        return {
            "topics": {
                topic: partitions.get(topic)
                for topic in sorted(
                    {topic for one in blueprint.application.subtopologies for topic in one.source_topics}
                )
            },
            "subtopologies": {
                str(one.id): f"{', '.join(sorted(one.source_topics))}; stores: "
                f"{', '.join(sorted(store.name for store in one.stores)) or 'none'}"
                for one in blueprint.application.subtopologies
            },
            "clients": len(self._clients),
            "threads": sum(client.threads for client in self._clients),
            "client racks": counted_racks(client.rack for client in self._clients),
            "broker racks": counted_racks(broker.rack for broker in blueprint.brokers),
            "configs": {key: None if value is None else str(value) for key, value in space.values(space.today).items()},
            "static members": sum(client.is_static for client in self._clients),
        }

    def evidence(self, runs: SeedRuns) -> Mapping[str, str]:
        """Return what crosses zones, and partitions that a failure makes unavailable."""
        evidence = dict(unavailable_evidence(self.areas, runs))
        partitions = mean_metric(runs, STEADY, "cross_rack_source_partitions")
        rate = mean_metric(runs, STEADY, "cross_rack_bytes_per_s")
        if partitions is not None:
            total = runs[0][STEADY].source_partitions
            text = f"{format_number(partitions)} of {total:,} partitions are read across zones"
            evidence["bill"] = text + ("" if rate is None else f", {format_rate(rate)} cross in all")
        return evidence

    def rollout(
        self,
        setting: StreamsSetting,
        before: ReportCard,
        after: ReportCard,
        run_requests: RunRequests,
        seeds: Sequence[int],
    ) -> Rollout:
        """Simulate a rolling restart with a setting from the current state."""
        return simulate_streams_rollout(self.settings, setting, before, after, run_requests, seeds)
