"""The program of a checkup of a consumer group, and the rollout of a setting: its rolling restarts, with steps and
checks.

Its settings (the current one, single changes and combinations) as changes of Kafka's configs, and their rollout: the
rolling restarts that a setting needs, with steps and checks.

Source: KIP-429 (cooperative rebalancing; two rolling restarts to it), KIP-726 (one if each member lists the cooperative
assignor already), KIP-345 (static membership), KIP-848 (`group.protocol=consumer`, and the online migration to it),
KIP-881 (rack-aware assignors of clients), KIP-392 (`replica.selector.class`);
`org.apache.kafka.clients.consumer.ConsumerConfig` (which configs a group protocol rejects).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Final

from assignors.consumer_groups import OfConsumerGroup, find_consumer_assignor
from assignors.consumers.selection import BROKER_RANGE, COOPERATIVE_STICKY, UNIFORM
from pipeline.advise.evaluator import SituationRequest, SituationRuns
from pipeline.advise.program import (
    HOURS,
    LABEL,
    START,
    STEADY,
    CheckupProgram,
    RolloutValues,
    build_rollout,
    format_range,
    grade_checks,
    known_values,
    mean_metric,
    rollout_seeds,
    unavailable_evidence,
)
from pipeline.advise.space import current_assignor
from reports.analysis.checkup.areas import GROUP_AREAS, SituationRun
from reports.analysis.checkup.report import CheckupSubject, ReportCard, Rollout, SeedRuns
from reports.analysis.formatting import format_count, format_duration, format_number, format_rate
from reports.analysis.recommendation import SettingChange
from reports.analysis.text import listed
from scenarios.checkup.situations import (
    DEFAULT_DEPLOYMENT,
    Document,
    deployment,
    group_document,
    group_situations,
    renamed_clients,
)
from scenarios.language.client_configs import CLASSIC_ONLY
from scenarios.language.cluster_entries import RACK_AWARE_SELECTOR
from scenarios.language.consumer_entries import ConsumerGroupEntry
from scenarios.language.releases import FIRST_CONSUMER_RELEASE, NEWEST, parse_release
from scenarios.language.units import parse_duration_ms
from scenarios.load import Scenario
from simulator.plurals import counted
from simulator.world.group_configs import GroupProtocol

SELECTOR: Final = "replica.selector.class"

_PROTOCOL: Final = "group.protocol"
_REMOTE_ASSIGNOR: Final = "group.remote.assignor"
_STRATEGY: Final = "partition.assignment.strategy"
_SESSION: Final = "session.timeout.ms"
_CLASSIC: Final = ("range", "roundrobin", "sticky", COOPERATIVE_STICKY)
_OF_COORDINATOR: Final = (UNIFORM, BROKER_RANGE)
_DEFAULT_SESSION_MS: Final = 45_000
_SESSION_MARGIN_MS: Final = 15_000
"""How much longer the session timeout of static members is than a restart."""

_START_AFTER: Final = "10s"

_INSTANCE_NOTE: Final = "a name that an instance keeps when it restarts, such as that of its pod"

_ROLLOUT_METRICS: Final = (
    "rebalances",
    "active_moves",
    "mean_downtime_ms",
    "worst_downtime_ms",
    "max_processing_delay_ms",
    "time_to_converge_ms",
    "cross_rack_source_partitions",
)

_SUMMED: Final = ("rebalances", "active_moves", "mean_downtime_ms", "worst_downtime_ms")
"""Metrics of which those of several restarts add up."""

_LONGEST: Final = ("max_processing_delay_ms", "time_to_converge_ms")
"""Metrics of which the highest of several restarts counts; the others are those of the last assignment."""


@dataclass(frozen=True, slots=True)
class GroupSetting:
    """The configs of a consumer group, and of the brokers from which it reads.

    Attributes:
        assignor: name of the assignor, which implies the group protocol; None for that of the scenario.
        is_static: whether members get a `group.instance.id`; otherwise as in the scenario.
        session_timeout_ms: `session.timeout.ms`; None for that of the scenario.
        has_client_rack: whether clients with a rack get a `client.rack`; otherwise as in the scenario.
        reads_nearest: whether brokers let consumers read from the nearest replica; otherwise as in the scenario.
    """

    assignor: str | None = None
    is_static: bool = False
    session_timeout_ms: int | None = None
    has_client_rack: bool = False
    reads_nearest: bool = False


class GroupProgram(CheckupProgram[GroupSetting]):
    """The situations, settings and areas of a consumer group."""

    subject: ClassVar[CheckupSubject] = "consumer group"
    areas = GROUP_AREAS
    task, thread = "partition", "consumer"
    shown_metrics: ClassVar[Mapping[str, tuple[str, ...]]] = {
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
    other_metrics = ("rebalances", "active_moves", "worst_downtime_ms", "time_to_converge_ms")
    today = GroupSetting()

    def __init__(self, scenario: Scenario, today: str | None) -> None:
        """Prepare the program; `today` is the label of the current assignor, None for the first."""
        assert scenario.group is not None
        super().__init__(scenario, current_assignor(scenario, today))
        self.group: ConsumerGroupEntry = scenario.group
        self.by_coordinator = self.assignor.protocol is GroupProtocol.CONSUMER
        configs = scenario.blueprint.group_configs[self.assignor.protocol or GroupProtocol.CLASSIC]
        self.session_timeout_ms = configs.session_timeout_ms
        self.renames_members = bool(renamed_clients(scenario))
        self.situations, self.left_out = group_situations(scenario, has_leader=not self.by_coordinator)

    def single_changes(self) -> Iterator[GroupSetting]:
        """Yield the settings that differ from the current one in one change, with what it needs to have an effect."""
        for name in self._other_assignors():
            changed = replace(self.today, assignor=name)
            yield changed
            if self._lacks_client_rack and self._is_rack_aware(name):
                yield replace(changed, has_client_rack=True)
        if self._lacks_client_rack:
            yield replace(self.today, has_client_rack=True)
        if self._can_read_nearest():
            yield replace(self.today, reads_nearest=True, has_client_rack=self._lacks_client_rack)
        if not all(client.is_static for client in self._clients) and not self.renames_members:
            yield replace(self.today, is_static=True)
            longer_ms = self._deployment_down_ms() + _SESSION_MARGIN_MS
            if longer_ms > self.session_timeout_ms and not self.by_coordinator:
                yield replace(self.today, is_static=True, session_timeout_ms=longer_ms)
        if self.session_timeout_ms > _DEFAULT_SESSION_MS and not self.by_coordinator:
            yield replace(self.today, session_timeout_ms=_DEFAULT_SESSION_MS)

    def is_of_coordinator(self, setting: GroupSetting) -> bool:
        """Return whether a setting has the consumer protocol."""
        return self.by_coordinator if setting.assignor is None else setting.assignor in _OF_COORDINATOR

    def combine(self, one: GroupSetting, other: GroupSetting) -> GroupSetting | None:
        """Return a setting with the changes of two, the second of which counts in conflicts; None if it is invalid."""
        combined = replace(one, **_changed(other))
        if combined.session_timeout_ms is not None and self.is_of_coordinator(combined):
            return None  # Consumers reject session.timeout.ms under the consumer protocol.
        return combined

    def without_each_change(self, setting: GroupSetting) -> list[GroupSetting]:
        """Return the settings with one change less."""
        without = [replace(setting, **{name: getattr(self.today, name)}) for name in _changed(setting)]
        return [smaller for smaller in without if smaller.session_timeout_ms is None or smaller.is_static]

    def is_migration(self, setting: GroupSetting) -> bool:
        """Return whether a setting goes back: from the consumer to the classic protocol, or to eager rebalances."""
        if self.is_of_coordinator(setting) or setting.assignor is None:
            return False
        return self.by_coordinator or (setting.assignor != COOPERATIVE_STICKY and not self._is_eager)

    def document(self, situation: Document, setting: GroupSetting) -> Document:
        """Return the scenario of a situation with a setting."""
        document = deepcopy(situation)
        [group] = document["consumers"]
        if setting.assignor is not None:
            group["assignors"] = [{"assignor": setting.assignor, "label": LABEL}]
        elif group.get("assignors"):
            group["assignors"] = [{"assignor": self.assignor.info.name.partition("@")[0], "label": LABEL}]
        if setting.session_timeout_ms is not None:
            group.setdefault("configs", {})["session.timeout.ms"] = setting.session_timeout_ms
        if setting.reads_nearest:
            document["cluster"].setdefault("configs", {})[SELECTOR] = RACK_AWARE_SELECTOR
        for client in group["clients"]:
            if setting.assignor is not None:
                client.pop("configs", None)  # Its own list of assignors.
            if setting.is_static:
                client["static_membership"] = True
            if setting.has_client_rack:
                client.pop("client_rack", None)
        return document

    def describe(self, setting: GroupSetting) -> str:
        """Return the changes of a setting in one line; `current` without any."""
        parts = []
        if setting.assignor is not None:
            is_new_protocol = setting.assignor in _OF_COORDINATOR and not self.by_coordinator
            parts.append(
                f"{_PROTOCOL}=consumer ({config_name(setting.assignor)})"
                if is_new_protocol
                else config_name(setting.assignor)
            )
        parts += ["static membership"] if setting.is_static else []
        parts += [f"{_SESSION}={setting.session_timeout_ms}"] if setting.session_timeout_ms is not None else []
        parts += ["client.rack"] if setting.has_client_rack else []
        parts += ["nearest replica"] if setting.reads_nearest else []
        return ", ".join(parts) or "current"

    def changes(self, setting: GroupSetting) -> tuple[SettingChange, ...]:
        """Return the configs that a setting changes: those of consumers first, then that of brokers."""
        return tuple(self._changes(setting))

    def strategy_class(self, name: str) -> str:
        """Return the class of an assignor of the client, as `partition.assignment.strategy` names it."""
        info = find_consumer_assignor(name, self.group.group, self.group.kafka or NEWEST, NEWEST)
        return f"{info.kafka_package}.{info.kafka_class}"

    def strategies_today(self) -> list[str]:
        """Return the names of the assignors that each member lists today; empty under the consumer protocol."""
        if self.by_coordinator:
            return []
        listed, name = self.group.configs.strategies, self.assignor.info.name.partition("@")[0]
        return list(listed) if listed[0] == name else [name]

    def remarks(self) -> Iterator[str]:
        """Yield also how many consumers have no partition, if there are more consumers than partitions."""
        yield from super().remarks()
        idle = self._threads - self._tasks
        if idle > 0:
            yield (
                f"{counted(idle, 'consumer')} of {self._threads:,} {'has' if idle == 1 else 'have'} no partition: "
                f"the topics have {self._tasks:,}."
            )

    def _configs(self) -> dict[str, str | None]:
        return {
            _PROTOCOL: "consumer" if self.by_coordinator else "classic",
            "assignor": self.assignor.label,
            _SESSION: str(self.session_timeout_ms),
            SELECTOR: "RackAwareReplicaSelector" if self._blueprint.reads_from_nearest_replica else None,
        }

    def _announced(self) -> dict[str, Any]:
        announced = sum(client.rack is not None and client.announces_rack for client in self._clients)
        return {"clients with client.rack": announced}

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
        plan = RolloutPlan(self, setting)
        rows = _simulate(plan, run_requests, rollout_seeds(seeds))
        values = dict(known_values(_ROLLOUT_METRICS, [_total(by_restart) for by_restart in rows]))
        note = plan.note(len(rows)) if rows else "Not simulated: the setting cannot take effect during a run."
        return build_rollout(note, plan.steps(values), _checks(before, after, plan, values), values)

    def _changes(self, setting: GroupSetting) -> Iterator[SettingChange]:
        if setting.assignor is not None:
            yield from self._assignor_changes(setting.assignor)
        if setting.session_timeout_ms is not None:
            yield SettingChange(_SESSION, self._stated(_SESSION), str(setting.session_timeout_ms))
        if setting.is_static:
            after = "a different name for each consumer"
            yield SettingChange("group.instance.id", None, after, (_INSTANCE_NOTE,), is_property=False)
        if setting.has_client_rack:
            yield SettingChange("client.rack", None, "the zone of each instance", (), is_property=False)
        if setting.reads_nearest:
            notes = ("a config of brokers, which need a restart",)
            yield SettingChange(SELECTOR, None, RACK_AWARE_SELECTOR, notes, is_property=False)

    def _assignor_changes(self, name: str) -> Iterator[SettingChange]:
        before = self._stated(_STRATEGY)
        if name not in _OF_COORDINATOR:
            if self.by_coordinator:
                yield SettingChange(_PROTOCOL, "consumer", "classic")
            yield SettingChange(_STRATEGY, before, self.strategy_class(name), tuple(self._first_restart(name)))
            return
        if not self.by_coordinator:
            yield SettingChange(
                _PROTOCOL, self._stated(_PROTOCOL), "consumer", ("Kafka 4.0 or newer, on brokers and clients",)
            )
        remote, stated = config_name(name), self._stated(_REMOTE_ASSIGNOR)
        if name != UNIFORM or stated is not None:
            yield SettingChange(_REMOTE_ASSIGNOR, stated, remote)
        for key in CLASSIC_ONLY:
            if self._stated(key) is not None:
                yield SettingChange(key, self._stated(key), None, ("consumers reject it with this protocol",))

    def _first_restart(self, name: str) -> Iterator[str]:
        """Yield the value of the first of two rolling restarts, if a new assignor needs two."""
        listed = self.strategies_today()
        if listed and name not in listed:
            yield f"in the first restart: {','.join(map(self.strategy_class, [name, *listed]))}"

    def _stated(self, key: str) -> str | None:
        """Return the value of a config that the scenario states; None if it does not."""
        configs = self.group.configs
        if key == _STRATEGY and self.group.assignors is not None and not self.by_coordinator:
            names = self.strategies_today()
            is_stated = "strategies" in configs.model_fields_set or names[0] != configs.strategies[0]
            return ",".join(map(self.strategy_class, names)) if is_stated else None
        field = next(name for name, field in type(configs).model_fields.items() if field.alias == key)
        if field not in configs.model_fields_set:
            return None
        value = getattr(configs, field)
        return ",".join(map(self.strategy_class, value)) if isinstance(value, list) else str(value)

    def _other_assignors(self) -> Iterator[str]:
        """Yield the assignors that the group could have instead, by name."""
        today = self.assignor.info.name.partition("@")[0]
        if self.by_coordinator:
            yield from (name for name in (*_OF_COORDINATOR, COOPERATIVE_STICKY) if name != today)
            return
        yield from (name for name in _CLASSIC if name != today or (name == COOPERATIVE_STICKY and self._is_eager))
        releases = (self.group.kafka or NEWEST, self.scenario.broker_release or NEWEST)
        if min(map(parse_release, releases)) >= FIRST_CONSUMER_RELEASE:
            yield from _OF_COORDINATOR

    @property
    def _is_eager(self) -> bool:
        """Whether members rebalance eagerly today."""
        return isinstance(self.assignor.info.make, OfConsumerGroup) and self.assignor.info.make.is_eager

    def _is_rack_aware(self, name: str) -> bool:
        releases = (self.group.kafka or NEWEST, self.scenario.broker_release or NEWEST)
        return not find_consumer_assignor(name, self.group.group, *releases).ignores("client.rack")

    def _can_read_nearest(self) -> bool:
        """Return whether consumers could read from a replica in their zone, but read from leaders."""
        brokers = {broker.rack for broker in self._blueprint.brokers}
        is_known = None not in brokers and all(client.rack is not None for client in self._clients)
        return is_known and len(brokers) > 1 and not self._blueprint.reads_from_nearest_replica

    def _deployment_down_ms(self) -> int:
        """Return how long a member is away in a deployment."""
        own = deployment(self.scenario) or {"rolling_bounce": DEFAULT_DEPLOYMENT}
        [(kind, about)] = own.items()
        if kind == "rolling_bounce":
            return parse_duration_ms(about.get("down", DEFAULT_DEPLOYMENT["down"]))
        return parse_duration_ms(about.get("start_after", _START_AFTER)) + parse_duration_ms(about.get("close", 0))


def _changed(setting: GroupSetting) -> dict[str, Any]:
    """Return the fields that a setting changes."""
    values = {field.name: getattr(setting, field.name) for field in fields(GroupSetting)}
    return {name: value for name, value in values.items() if value != getattr(GroupProgram.today, name)}


def config_name(name: str) -> str:
    """Return the name of an assignor as configs have it."""
    return "range" if name == BROKER_RANGE else name


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
    requests = [
        replace(
            SituationRequest.of(plan.program.scenario, "rollout", document, HOURS * 3_600_000, [seed]),
            keeps_owners=True,
        )
        for document, seed in zip(documents, seeds, strict=True)
    ]
    answers = run_requests(requests)
    return [] if any(isinstance(answer, str) for answer in answers) else [run for [run] in answers]


def with_owners(document: Document, owned: Mapping[str, Sequence[Sequence[str]]] | None) -> Document:
    """Return the scenario of a group that is running, with the partitions of each client and consumer if given."""
    document = deepcopy(document)
    if owned is not None:
        [group] = document["consumers"]
        group["starts"] = "running"
        for client in group["clients"]:
            client["partitions"] = [list(partitions) for partitions in owned[client["name"]]]
    return document


class RolloutPlan:
    """The restarts with which a group gets a setting."""

    def __init__(self, program: GroupProgram, setting: GroupSetting) -> None:
        """Plan the restarts."""
        self.program = program
        self._setting = setting
        self._to_coordinator = program.is_of_coordinator(setting) and not program.by_coordinator
        self._listed = program.strategies_today()
        self._strategy = setting.assignor if not program.is_of_coordinator(setting) else None
        self._needs_two = self._strategy is not None and self._strategy not in self._listed
        """Whether members must list the new assignor beside the old one first."""

    def start(self) -> Document:
        """Return the scenario before the rollout: the running group, or else one that has just formed."""
        base = group_document(self.program.scenario, is_running=True)
        return self.program.document({**base, "events": [], "duration": "1h"}, self.program.today)

    def restarts(self) -> Iterator[Document]:
        """Yield the scenario of each restart, in order, without the owners of partitions at its start."""
        setting, today = self._setting, self.program.today
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
        [group] = group_document(self.program.scenario)["consumers"]
        return [client["name"] for client in group["clients"]]

    def _restart(self, setting: GroupSetting) -> Document:
        own = deployment(self.program.scenario)
        restart: Document = dict(DEFAULT_DEPLOYMENT)
        if own is not None and "rolling_bounce" in own:
            restart = dict(own["rolling_bounce"])
        restart["clients"] = self._names
        if self._setting.has_client_rack and not setting.has_client_rack:
            restart["client_rack"] = True
        events = [{"at": START, "rolling_bounce": restart}]
        situation = {**group_document(self.program.scenario), "events": events, "duration": f"{HOURS}h"}
        return self.program.document(situation, setting)

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
        return self.program.strategy_class(name).rpartition(".")[2]

    def shown_strategy(self) -> Iterator[str]:
        """Yield how to see that the group has the new assignor, if it changes."""
        if self._setting.assignor is not None:
            name, group = config_name(self._setting.assignor), self.program.group.group
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
