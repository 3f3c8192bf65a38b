"""The program of a checkup of a consumer group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from pipeline.checkup.group_rollout import simulate_group_rollout
from pipeline.checkup.group_settings import SELECTOR, GroupSetting, GroupSettings
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
from pipeline.recommend.request import current_assignor
from reports.analysis.checkup.areas import GROUP_AREAS
from reports.analysis.checkup.report import CheckupSubject, ReportCard, Rollout, SeedRuns
from reports.analysis.formatting import format_number, format_rate
from scenarios.checkup.group_situations import group_situations
from scenarios.load import Scenario
from scenarios.run_time import count_tasks

_OTHER_METRICS: Final = ("rebalances", "active_moves", "worst_downtime_ms", "time_to_converge_ms")
_SHOWN_METRICS: Final[Mapping[str, tuple[str, ...]]] = {
    STEADY: ("cross_rack_source_partitions", "cross_rack_bytes_per_s", "cross_rack_usd_per_day"),
    "deploy": (
        "rebalances",
        "active_moves",
        "mean_downtime_ms",
        "worst_downtime_ms",
        "max_processing_delay_ms",
        "time_to_converge_ms",
    ),
    "slow": ("max_processing_delay_ms",),
    "peak": ("max_processing_delay_ms",),
    "double": ("max_processing_delay_ms",),
}


class GroupProgram(CheckupProgram[GroupSetting]):
    """The situations, settings and areas of a consumer group."""

    subject: ClassVar[CheckupSubject] = "consumer group"
    areas = GROUP_AREAS
    settings: GroupSettings

    def __init__(self, scenario: Scenario, today: str | None) -> None:
        """Prepare the program.

        Args:
            scenario: the scenario about the group.
            today: label of its current assignor; None for the first.

        Raises:
            RecommendError: no assignor has this label.
        """
        self.settings = GroupSettings(scenario, current_assignor(scenario, today))
        has_leader = not self.settings.by_coordinator
        self.situations, self.left_out = group_situations(scenario, has_leader=has_leader)
        self._blueprint = scenario.blueprint
        self._clients = [client for client in scenario.blueprint.clients if client.starts]
        self._partitions = count_tasks(scenario)
        self._consumers = sum(client.threads for client in self._clients)

    def shown_metrics(self, key: str) -> tuple[str, ...]:
        """Return the metrics of a situation that are compared."""
        return _SHOWN_METRICS.get(key, _OTHER_METRICS)

    def size(self) -> str:
        """Return partitions, clients, consumers, zones and brokers in one line."""
        return (
            f"{counted(self._partitions, 'partition')} on {counted(len(self._clients), 'instance')} with "
            f"{counted(self._consumers, 'consumer')} in {zones(client.rack for client in self._clients)}, "
            f"{counted(len(self._blueprint.brokers), 'broker')}"
        )

    def facts(self) -> dict[str, Any]:
        """Return the topics, the clients, the brokers and the configs."""
        blueprint, settings = self._blueprint, self.settings
        topics = sorted({topic for one in blueprint.application.subtopologies for topic in one.source_topics})
        partitions = {topic.name: topic.num_partitions for topic in blueprint.topics}
        selector = settings.scenario.blueprint.reads_from_nearest_replica
        return {
            "topics": {topic: partitions.get(topic) for topic in topics},
            "clients": len(self._clients),
            "consumers": self._consumers,
            "client racks": counted_racks(client.rack for client in self._clients),
            "broker racks": counted_racks(broker.rack for broker in blueprint.brokers),
            "configs": {
                "group.protocol": "consumer" if settings.by_coordinator else "classic",
                "assignor": settings.assignor.label,
                "session.timeout.ms": str(settings.session_timeout_ms),
                SELECTOR: "RackAwareReplicaSelector" if selector else None,
            },
            "clients with client.rack": sum(
                client.rack is not None and client.announces_rack for client in self._clients
            ),
            "static members": sum(client.is_static for client in self._clients),
        }

    def remarks(self) -> tuple[str, ...]:
        """Return also how many consumers have no partition, if there are more consumers than partitions."""
        remarks = super().remarks()
        idle = self._consumers - self._partitions
        if idle <= 0:
            return remarks
        verb = "has" if idle == 1 else "have"
        return (
            *remarks,
            f"{counted(idle, 'consumer')} of {self._consumers:,} {verb} no partition: "
            f"the topics have {self._partitions:,}.",
        )

    def evidence(self, runs: SeedRuns) -> Mapping[str, str]:
        """Return what crosses zones, and partitions that a failure makes unavailable."""
        evidence = dict(unavailable_evidence(self.areas, runs))
        steady = [run[STEADY] for run in runs]
        fetched = [run.fetches.partitions for run in steady if run.fetches is not None]
        rate = mean_metric(runs, STEADY, "cross_rack_bytes_per_s")
        if fetched:
            mean_fetched = format_number(sum(fetched) / len(fetched))
            text = f"{mean_fetched} of {steady[0].source_partitions:,} partitions are fetched across zones"
            evidence["bill"] = text + (f", {format_rate(rate)} in all" if rate else "")
        return evidence

    def rollout(
        self,
        setting: GroupSetting,
        before: ReportCard,
        after: ReportCard,
        run_requests: RunRequests,
        seeds: Sequence[int],
    ) -> Rollout:
        """Simulate the rolling restarts that a setting needs."""
        return simulate_group_rollout(self.settings, setting, before, after, run_requests, seeds)
