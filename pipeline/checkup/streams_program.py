"""The program of a checkup of an application of Kafka Streams.

The rollout of a setting of an application: a simulated rolling restart from the current state, steps and checks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final

from pipeline.checkup.program import (
    STEADY,
    CheckupProgram,
    counted,
    counted_racks,
    mean_metric,
    unavailable_evidence,
    zones,
)
from pipeline.checkup.rollout import (
    HOURS,
    START,
    build_rollout,
    format_range,
    grade_checks,
    known_values,
    rollout_request,
    rollout_seeds,
)
from pipeline.checkup.runs import SituationRuns
from pipeline.checkup.streams_settings import TAGS, ZONE, StreamsSetting, StreamsSettings, set_zone_tag
from pipeline.recommend.request import with_current_assignor
from pipeline.recommend.space import ASSIGNOR, PROBING, STANDBYS, STRATEGY, WARMUPS, search_space
from reports.analysis.checkup.areas import STREAMS_AREAS
from reports.analysis.checkup.report import CheckupSubject, ReportCard, Rollout, SeedRuns
from reports.analysis.formatting import format_bytes, format_count, format_duration, format_number, format_rate
from scenarios.checkup.base import Document, base_document, deployment
from scenarios.checkup.situations import standard_situations
from scenarios.load import Scenario
from scenarios.run_time import count_tasks

ROLLOUT_METRICS: Final = (
    "rebalances",
    "active_moves",
    "standby_moves",
    "restored_bytes",
    "worst_downtime_ms",
    "time_to_converge_ms",
    "cross_rack_source_partitions",
)
"""Metrics of a rollout."""


def rollout_document(settings: StreamsSettings, setting: StreamsSetting) -> Document:
    """Return the scenario in which the clients restart one after another with a setting, from the current state."""
    scenario = settings.scenario
    base = base_document(scenario, is_running=True)
    names = [client["name"] for client in base["clients"]]
    space = settings.space
    before, after = space.values(space.today), space.values(setting.candidate)
    configs = {key: value for key, value in after.items() if key != ASSIGNOR and value not in (None, before[key])}
    if setting.has_zone_tags:
        configs[TAGS] = [ZONE]
        for client in base["clients"]:
            set_zone_tag(client)  # Without the config, tags have no effect.
    own = deployment(scenario)
    restart: Document = {"down": "30s", "pause": "1m"}
    if own is not None and "rolling_bounce" in own:
        restart = dict(own["rolling_bounce"])
    restart |= {"clients": names, "configs": configs}
    if setting.has_client_rack:
        restart["client_rack"] = True
    situation = {**base, "events": [{"at": START, "rolling_bounce": restart}], "duration": f"{HOURS}h"}
    return settings.document(situation, settings.today)


def _can_change_in_a_run(settings: StreamsSettings, setting: StreamsSetting) -> bool:
    """Return whether a rolling restart of the simulation can change to a setting: all but assignor and membership."""
    today = settings.space.values(settings.space.today)
    is_same = settings.space.values(setting.candidate)[ASSIGNOR] == today[ASSIGNOR]
    return is_same and not settings.assignor.info.in_streams_groups


def _steps(settings: StreamsSettings, setting: StreamsSetting, metrics: Mapping[str, Sequence[float]]) -> Iterator[str]:
    """Yield the steps of a rollout, in order."""
    changed = {settings.space.dimensions[index].name for index in settings.space.changed(setting.candidate)}
    values = settings.space.values(setting.candidate)
    more_standbys = STANDBYS in changed and values[STANDBYS] > settings.space.values(settings.space.today)[STANDBYS]
    if more_standbys:
        yield "Check the free disk of each instance: every standby is a further copy of the state of its task."
    if settings.assignor.info.in_streams_groups:
        yield "Change the group's config with the command above; no instance has to restart."
        return
    if setting.has_client_rack:
        yield "Set client.rack on every instance in the same deployment: without it, the strategy has no effect."
    if ASSIGNOR in changed:
        yield "Deploy to all instances without a long pause: the assignor of the group leader counts, whichever it is."
    if setting.is_static:
        yield "Give each instance a group.instance.id that no other has; a duplicate is fenced and stops."
        yield "While static, an instance that is gone for good keeps its tasks until session.timeout.ms is over."
    if setting.leaves_group:
        yield "Close with LEAVE_GROUP only on deployments and scale-in; it starts a rebalance at once."
    yield "Deploy outside the daily peak, one instance at a time, and wait until all tasks run before the next."
    if "rebalances" in metrics:
        parts = [f"{format_range(metrics['rebalances'], format_count)} rebalances"]
        parts += [f"{format_range(metrics['active_moves'], format_count)} moves"]
        parts += [f"{format_range(metrics['restored_bytes'], format_bytes)} of restored state"]
        parts += [f"no task down for more than {format_duration(max(metrics['worst_downtime_ms']))} in total"]
        if "time_to_converge_ms" in metrics:
            parts.append(f"converged after {format_range(metrics['time_to_converge_ms'], format_duration)}")
        yield f"Expect: {', '.join(parts)}."
    if {WARMUPS, PROBING, STRATEGY} & changed or more_standbys:
        yield "To go back, deploy the old properties in the same way."


def _checks(before: ReportCard, after: ReportCard, metrics: Mapping[str, Sequence[float]]) -> Iterator[str]:
    """Yield how to verify a rollout."""
    if "cross_rack_source_partitions" in metrics:
        count = format_range(metrics["cross_rack_source_partitions"], format_count)
        yield f"{count} source partitions are read across racks."
    yield from grade_checks(before, after, "application")


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

        `today`: label of its current assignor; None for the first.
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
        run_requests: SituationRuns,
        seeds: Sequence[int],
    ) -> Rollout:
        """Simulate a rolling restart with a setting from the current state, if a run can change to it."""
        values: dict[str, list[float]] = {}
        note = "Not simulated: another assignor, or the config of a streams group, cannot take effect during a run."
        if _can_change_in_a_run(self.settings, setting):
            request = rollout_request(
                self.settings.scenario, rollout_document(self.settings, setting), rollout_seeds(seeds)
            )
            [answer] = run_requests([request])
            if not isinstance(answer, str):
                rows = [run.metrics for run in answer]
                values = dict(known_values(ROLLOUT_METRICS, rows))
                left_out = (
                    " without group.instance.id" * setting.is_static + " without LEAVE_GROUP" * setting.leaves_group
                )
                note = f"Simulated from the current state as a rolling restart{left_out}, with {len(rows)} seeds."
                if len(rows) > 1:
                    note += " Ranges: any member can lead while old and new configs are mixed, and its configs count."
        return build_rollout(note, _steps(self.settings, setting, values), _checks(before, after, values), values)
