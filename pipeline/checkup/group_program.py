"""The program of a checkup of a consumer group, and the rollout of a setting: its rolling restarts, with steps and
checks.

Source: KIP-429 (two rolling restarts to the cooperative protocol), KIP-726 (one if each member lists the cooperative
assignor already), KIP-848 (online migration to the consumer protocol).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any, ClassVar, Final

from assignors.consumers.selection import BROKER_RANGE
from pipeline.checkup.group_changes import config_name
from pipeline.checkup.group_settings import SELECTOR, GroupSetting, GroupSettings
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
    RolloutValues,
    build_rollout,
    format_range,
    grade_checks,
    known_values,
    rollout_request,
    rollout_seeds,
)
from pipeline.checkup.runs import SituationRuns
from pipeline.recommend.request import current_assignor
from reports.analysis.checkup.area import SituationRun
from reports.analysis.checkup.areas import GROUP_AREAS
from reports.analysis.checkup.report import CheckupSubject, ReportCard, Rollout, SeedRuns
from reports.analysis.formatting import format_count, format_duration, format_number, format_rate
from reports.analysis.text import listed
from scenarios.checkup.base import Document, deployment, group_document
from scenarios.checkup.group_situations import group_situations
from scenarios.checkup.situations import DEFAULT_DEPLOYMENT
from scenarios.load import Scenario
from scenarios.run_time import count_tasks
from simulator.world.world import GroupProtocol

ROLLOUT_METRICS: Final = (
    "rebalances",
    "active_moves",
    "mean_downtime_ms",
    "worst_downtime_ms",
    "max_processing_delay_ms",
    "time_to_converge_ms",
    "cross_rack_source_partitions",
)
"""Metrics of a rollout."""

_SUMMED: Final = ("rebalances", "active_moves", "mean_downtime_ms", "worst_downtime_ms")
"""Metrics of which those of several restarts add up."""

_LONGEST: Final = ("max_processing_delay_ms", "time_to_converge_ms")
"""Metrics of which the highest of several restarts counts; the others are those of the last assignment."""


def _simulate(plan: RolloutPlan, run_requests: SituationRuns, seeds: Sequence[int]) -> list[list[Mapping[str, Any]]]:
    """Return the metrics of each restart by seed; nothing if a restart is invalid."""
    starts = [run.owned for run in _runs([plan.start()] * len(seeds), plan, run_requests, seeds)]
    rows: list[list[Mapping[str, Any]]] = [[] for _ in starts]
    for document in plan.restarts():
        runs = _runs([with_owners(document, owned) for owned in starts], plan, run_requests, seeds)
        if not runs:
            return []
        rows = [[*row, run.metrics] for row, run in zip(rows, runs, strict=True)]
        starts = [run.owned for run in runs]
    return rows


def _runs(
    documents: Sequence[Document], plan: RolloutPlan, run_requests: SituationRuns, seeds: Sequence[int]
) -> list[SituationRun]:
    """Return the run of a document with each seed; nothing if one is invalid."""
    scenario = plan.settings.scenario
    requests = [
        replace(rollout_request(scenario, document, [seed]), keeps_owners=True)
        for document, seed in zip(documents, seeds, strict=True)
    ]
    answers = run_requests(requests)
    return [] if any(isinstance(answer, str) for answer in answers) else [run for [run] in answers]


def with_owners(document: Document, owned: Mapping[str, Sequence[Sequence[str]]] | None) -> Document:
    """Return the scenario of a group that is running, with the partitions of each consumer.

    `owned`: the partitions by client and consumer; None for those of the scenario.
    """
    document = deepcopy(document)
    if owned is not None:
        [group] = document["consumers"]
        group["starts"] = "running"
        for client in group["clients"]:
            client["partitions"] = [list(partitions) for partitions in owned[client["name"]]]
    return document


class RolloutPlan:
    """The restarts with which a group gets a setting."""

    def __init__(self, settings: GroupSettings, setting: GroupSetting) -> None:
        """Plan the restarts."""
        self.settings = settings
        self._setting = setting
        self._to_coordinator = settings.is_of_coordinator(setting) and not settings.by_coordinator
        self._listed = settings.configs.strategies_today()
        self._strategy = setting.assignor if not settings.is_of_coordinator(setting) else None
        self._needs_two = self._strategy is not None and self._strategy not in self._listed
        """Whether members must list the new assignor beside the old one first."""

    def start(self) -> Document:
        """Return the scenario before the rollout: the running group, or else one that has just formed."""
        base = group_document(self.settings.scenario, is_running=True)
        return self.settings.document({**base, "events": [], "duration": "1h"}, self.settings.today)

    def restarts(self) -> Iterator[Document]:
        """Yield the scenario of each restart, in order, without the owners of partitions at its start."""
        setting, today = self._setting, self.settings.today
        if self._to_coordinator:
            yield self._restart_with_conversion(today)
        elif self._strategy is None:
            yield self._restart(replace(today, assignor=setting.assignor))
        elif self._needs_two:
            both = [self._strategy, *self._listed]
            yield self._restart_with_lists(today, self._listed, both)
            yield self._restart_with_lists(replace(setting, assignor=None), both, [self._strategy])
        else:
            yield self._restart_with_lists(today, self._listed, [self._strategy])

    def _restart_with_lists(self, setting: GroupSetting, before: Sequence[str], after: Sequence[str]) -> Document:
        """Return a restart in which members get another list of assignors."""
        document = self._restart(setting)
        [group], [event] = document["consumers"], document["events"]
        group.pop("assignors", None)
        for client in group["clients"]:
            client.pop("configs", None)  # Its own list of assignors.
        group.setdefault("configs", {})["partition.assignment.strategy"] = list(before)
        event["rolling_bounce"]["configs"] = {"partition.assignment.strategy": list(after)}
        return document

    def _restart_with_conversion(self, setting: GroupSetting) -> Document:
        """Return a restart in which members get the consumer protocol, so that the first one converts the group."""
        document = self._restart(setting)
        [event] = document["events"]
        configs = {"group.protocol": GroupProtocol.CONSUMER.value}
        if self._setting.assignor == BROKER_RANGE:
            configs["group.remote.assignor"] = config_name(BROKER_RANGE)
        event["rolling_bounce"]["configs"] = configs
        return document

    @property
    def _names(self) -> list[str]:
        [group] = group_document(self.settings.scenario)["consumers"]
        return [client["name"] for client in group["clients"]]

    def _restart(self, setting: GroupSetting) -> Document:
        settings = self.settings
        own = deployment(settings.scenario)
        restart: Document = dict(DEFAULT_DEPLOYMENT)
        if own is not None and "rolling_bounce" in own:
            restart = dict(own["rolling_bounce"])
        restart["clients"] = self._names
        if self._setting.has_client_rack and not setting.has_client_rack:
            restart["client_rack"] = True
        events = [{"at": START, "rolling_bounce": restart}]
        situation = {**group_document(settings.scenario), "events": events, "duration": f"{HOURS}h"}
        return settings.document(situation, setting)

    def note(self, seeds: int) -> str:
        """Return what was simulated."""
        restarts = "two rolling restarts" if self._needs_two else "a rolling restart"
        if self._to_coordinator:
            restarts += " that converts the group to the consumer protocol"
        if self._setting.is_static and not self._needs_two:
            restarts += ", without group.instance.id"
        return f"Simulated from the current assignment as {restarts}. {seeds} runs."

    def steps(self, values: RolloutValues) -> Iterator[str]:
        """Yield the steps of a rollout, in order."""
        setting = self._setting
        if setting.reads_nearest:
            yield (
                "Set replica.selector.class on all brokers, and restart them one after another. Consumers with "
                "client.rack then fetch from the replica in their zone."
            )
        if setting.has_client_rack:
            yield "Set client.rack on each instance to the broker.rack of its zone, in the first restart."
        if setting.is_static:
            yield "Give each consumer a group.instance.id that no other has; a duplicate is fenced and stops."
            yield (
                "While static, partitions of an instance that is gone for good wait for the session timeout; to scale "
                "in, call Admin.removeMembersFromConsumerGroup."
            )
        yield from self._restart_steps()
        yield "Deploy outside the daily peak, one instance at a time, and wait until all partitions are consumed again."
        if values:
            yield f"Expect: {', '.join(_expected(values))}."
        yield "To go back, take the same steps in the opposite order."

    def _restart_steps(self) -> Iterator[str]:
        """Yield how many restarts the assignor needs, and with which configs."""
        if self._strategy is not None and self._needs_two:
            new, *old = map(self._short_class, [self._strategy, *self._listed])
            yield (
                f"Two rolling restarts (KIP-429). First: partition.assignment.strategy lists {new} and {listed(old)}. "
                "Wait until all instances have it."
            )
            yield f"Second: partition.assignment.strategy lists {new} alone."
        elif self._strategy is not None:
            yield "One rolling restart is enough: each member lists the assignor already (KIP-726)."
        if self._to_coordinator:
            yield (
                "Check before: brokers have Kafka 4.0 or newer and group.consumer.migration.policy=bidirectional (the "
                "default) or upgrade, and clients have 4.0 or newer."
            )
            yield (
                "One rolling restart with group.protocol=consumer. The first member that joins with it converts the "
                "group online; the coordinator serves members of both protocols until the last has restarted (KIP-848)."
            )

    def _short_class(self, name: str) -> str:
        return self.settings.configs.strategy_class(name).rpartition(".")[2]

    def shown_strategy(self) -> Iterator[str]:
        """Yield how to see that the group has the new assignor, if it changes."""
        if self._setting.assignor is not None:
            name, group = config_name(self._setting.assignor), self.settings.group.group
            yield f"kafka-consumer-groups.sh --describe --state --group {group} shows ASSIGNMENT-STRATEGY {name}."


def _total(rows: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return the metrics of several restarts together, with one seed."""
    total: dict[str, Any] = dict(rows[-1])
    for names, combine in ((_SUMMED, sum), (_LONGEST, max)):
        for name in names:
            values = [row[name] for row in rows]
            total[name] = None if None in values else combine(values)
    return total


def _expected(values: RolloutValues) -> Iterator[str]:
    for name, noun in (("rebalances", "rebalance"), ("active_moves", "move")):
        plural = "" if set(values[name]) == {1} else "s"
        yield f"{format_range(values[name], format_count)} {noun}{plural}"
    yield f"each partition down for {format_range(values['mean_downtime_ms'], format_duration)} on average"
    yield f"processing up to {format_duration(max(values['max_processing_delay_ms']))} behind"


def _checks(before: ReportCard, after: ReportCard, plan: RolloutPlan, values: RolloutValues) -> Iterator[str]:
    """Yield how to verify a rollout."""
    yield from plan.shown_strategy()
    if "cross_rack_source_partitions" in values:
        count = format_range(values["cross_rack_source_partitions"], format_count)
        yield f"{count} partitions have no replica in the zone of their consumer."
    yield from grade_checks(before, after, "group")


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

        `scenario`: the scenario about the group. `today`: label of its current assignor; None for the first.
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
        run_requests: SituationRuns,
        seeds: Sequence[int],
    ) -> Rollout:
        """Simulate each rolling restart that a setting needs, from the assignment before it."""
        plan = RolloutPlan(self.settings, setting)
        rows = _simulate(plan, run_requests, rollout_seeds(seeds))
        values = dict(known_values(ROLLOUT_METRICS, [_total(by_restart) for by_restart in rows]))
        note = plan.note(len(rows)) if rows else "Not simulated: the setting cannot take effect during a run."
        return build_rollout(note, plan.steps(values), _checks(before, after, plan, values), values)
