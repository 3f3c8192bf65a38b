"""The program of a checkup of an application of Kafka Streams.

Its settings (the current one, single changes and combinations), and their rollout: a simulated rolling restart from the
current state, steps and checks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final

from pipeline.advise.evaluator import SituationRequest, SituationRuns
from pipeline.advise.program import (
    HOURS,
    LABEL,
    START,
    STEADY,
    CheckupProgram,
    build_rollout,
    format_range,
    grade_checks,
    known_values,
    mean_metric,
    rollout_seeds,
    unavailable_evidence,
)
from pipeline.advise.space import (
    ASSIGNOR,
    PROBING,
    STANDBYS,
    STRATEGY,
    WARMUPS,
    Candidate,
    config_changes,
    entry_values,
    search_space,
    with_current_assignor,
)
from reports.analysis.checkup.areas import STREAMS_AREAS
from reports.analysis.checkup.report import CheckupSubject, ReportCard, Rollout, SeedRuns
from reports.analysis.formatting import format_bytes, format_count, format_duration, format_number, format_rate
from reports.analysis.recommendation import SettingChange
from scenarios.checkup.situations import Document, base_document, deployment, renamed_clients, standard_situations
from scenarios.language.releases import NEWEST, has_leave_group_config, parse_release
from scenarios.load import Scenario

_STREAMS_GROUP: Final = "streams_group_sticky"
_ASSIGNORS: Final = ("high_availability", "sticky_task_assignor", _STREAMS_GROUP)

_TRIED: Final[Mapping[str, tuple[Any, ...]]] = {
    STRATEGY: ("min_traffic", "balance_subtopology", "none"),
    STANDBYS: (1, 2, 0),
    WARMUPS: (8, 32),
    PROBING: (120_000, 60_000),
    ASSIGNOR: ("sticky_task_assignor", "high_availability", _STREAMS_GROUP),
}
_TAGS: Final = "rack.aware.assignment.tags"
_ZONE: Final = "zone"
_LEAVE_CONFIG: Final = "internal.leave.group.on.close"
_CLOSING_EVENTS: Final = ("rolling_bounce", "rolling_update", "scale_in")

_ROLLOUT_METRICS: Final = (
    "rebalances",
    "active_moves",
    "standby_moves",
    "restored_bytes",
    "worst_downtime_ms",
    "time_to_converge_ms",
    "cross_rack_source_partitions",
)


@dataclass(frozen=True, slots=True)
class StreamsSetting:
    """The configs of an application, and how its clients start and close.

    Attributes:
        candidate: the configs, and the assignor.
        is_static: whether clients get a `group.instance.id`; otherwise as in the scenario.
        leaves_group: whether clients leave the group when they close; otherwise as in the scenario.
        has_client_rack: whether clients with a rack get a `client.rack`; otherwise as in the scenario.
        has_zone_tags: whether clients get their rack as the tag `zone`, over whose values standbys are distributed.
    """

    candidate: Candidate
    is_static: bool = False
    leaves_group: bool = False
    has_client_rack: bool = False
    has_zone_tags: bool = False


class StreamsProgram(CheckupProgram[StreamsSetting]):
    """The situations, settings and areas of an application of Kafka Streams."""

    subject: ClassVar[CheckupSubject] = "application"
    areas = STREAMS_AREAS
    task, thread = "task", "thread"
    shown_metrics: ClassVar[Mapping[str, tuple[str, ...]]] = {
        STEADY: ("cross_rack_source_partitions", "cross_rack_bytes_per_s", "cross_rack_usd_per_day"),
        "deploy": ("rebalances", "active_moves", "worst_downtime_ms"),
        "crash": ("rebalances", "active_moves", "restored_bytes", "worst_downtime_ms", "time_to_converge_ms"),
        "lost_disk": ("restored_bytes", "worst_downtime_ms", "time_to_converge_ms"),
        "scale": ("rebalances", "active_moves", "restored_bytes", "time_to_converge_ms"),
    }
    other_metrics = ("rebalances", "restored_bytes", "worst_downtime_ms", "time_to_converge_ms")

    def __init__(self, scenario: Scenario, today: str | None) -> None:
        """Prepare the program; `today` is the label of the current assignor, None for the first."""
        super().__init__(*with_current_assignor(scenario, today))
        self._in_streams_groups = self.assignor.info.in_streams_groups
        self.space = search_space(self.scenario, self.assignor, () if self._in_streams_groups else _ASSIGNORS)
        self.today = StreamsSetting(self.space.today)
        self._values = self.space.values(self.space.today)
        self.renames_members = not self._in_streams_groups and bool(renamed_clients(self.scenario))
        has_leader = not self._in_streams_groups
        self.situations, self.left_out = standard_situations(self.scenario, has_leader=has_leader)

    def single_changes(self) -> Iterator[StreamsSetting]:
        """Yield the settings that differ from the current one in one config, or in how clients start or close."""
        today = self.today
        if self._can_have_zone_tags and self.assignor.configs.num_standby_replicas:
            yield replace(today, has_zone_tags=True)
        for index, dimension in enumerate(self.space.dimensions):
            for level in _TRIED.get(dimension.name, ()):
                if level not in dimension.levels:
                    continue
                candidate = self.space.with_level(today.candidate, index, level)
                if candidate != today.candidate:
                    changed = replace(today, candidate=candidate, has_client_rack=self._needs_client_rack(candidate))
                    yield changed
                    if dimension.name == STANDBYS and level and self._can_have_zone_tags:
                        yield replace(changed, has_zone_tags=True)
        has_dynamic_members = not all(client.is_static for client in self._blueprint.clients)
        if has_dynamic_members and not self._in_streams_groups:
            if not self.renames_members:
                yield replace(today, is_static=True)
            yield replace(today, leaves_group=True)

    def combine(self, one: StreamsSetting, other: StreamsSetting) -> StreamsSetting | None:
        """Return a setting with the changes of two; None if they change the same config, or exclude each other."""
        space = self.space
        changed = space.changed(one.candidate), space.changed(other.candidate)
        if set(changed[0]) & set(changed[1]):
            return None
        levels = list(one.candidate.levels)
        for index in changed[1]:
            levels[index] = other.candidate.levels[index]
        candidate = space.normalize(levels)
        if space.changed(candidate) != sorted({*changed[0], *changed[1]}):
            return None  # A config has no effect together with the others.
        combined = StreamsSetting(
            candidate,
            one.is_static or other.is_static,
            one.leaves_group or other.leaves_group,
            one.has_client_rack or other.has_client_rack,
            one.has_zone_tags or other.has_zone_tags,
        )
        return None if combined.is_static and combined.leaves_group else combined

    def without_each_change(self, setting: StreamsSetting) -> list[StreamsSetting]:
        """Return the settings with one change less, or with fewer additional standbys."""
        fewer = self.space.values(setting.candidate)[STANDBYS] - 1
        without = [
            replace(setting, candidate=self.space.with_level(setting.candidate, index, fewer))
            for index, dimension in enumerate(self.space.dimensions)
            if dimension.name == STANDBYS and fewer > self._values[STANDBYS]
        ]
        without += [
            replace(setting, candidate=candidate, has_client_rack=self._needs_client_rack(candidate))
            for index in self.space.changed(setting.candidate)
            if (candidate := self.space.revert(setting.candidate, [index])) != setting.candidate
        ]
        without += [replace(setting, is_static=False)] if setting.is_static else []
        without += [replace(setting, leaves_group=False)] if setting.leaves_group else []
        without += [replace(setting, has_zone_tags=False)] if setting.has_zone_tags else []
        return without

    def is_migration(self, setting: StreamsSetting) -> bool:
        """Return whether a setting needs another group protocol."""
        return bool(self._values[ASSIGNOR] != _STREAMS_GROUP == self.space.values(setting.candidate)[ASSIGNOR])

    def document(self, situation: Document, setting: StreamsSetting) -> Document:
        """Return the scenario of a situation with a setting."""
        document = deepcopy(situation)
        entry = entry_values(self.scenario, self.assignor, self.space.values(setting.candidate))
        tags = [_ZONE] if setting.has_zone_tags else list(self.assignor.configs.rack_aware_assignment_tags)
        configs = {key: value for key, value in ({_TAGS: tags} | entry["configs"]).items() if value is not None}
        document["assignors"] = [{"label": LABEL, **entry, "configs": configs}]
        for client in document["clients"]:
            if setting.is_static:
                client["static_membership"] = True
            if setting.has_client_rack:
                client.pop("client_rack", None)
            if setting.has_zone_tags:
                _set_zone_tag(client)
            if self.is_migration(setting):
                client.pop("static_membership", None)
        if setting.leaves_group:
            _let_clients_leave(document)
        return document

    def describe(self, setting: StreamsSetting) -> str:
        """Return the changes of a setting in one line; `current` without any."""
        configs = [f"{change.key}={change.after}" for change in self._config_changes(setting) if change.after]
        removed = [f"no {change.key}" for change in self._config_changes(setting) if not change.after]
        short = [text.replace("org.apache.kafka.streams.processor.assignment.assignors.", "") for text in configs]
        other = ["zone tags"] if setting.has_zone_tags else []
        other += ["static membership"] if setting.is_static else []
        other += ["close with LEAVE_GROUP"] if setting.leaves_group else []
        return ", ".join([*short, *removed, *other]) or "current"

    def changes(self, setting: StreamsSetting) -> tuple[SettingChange, ...]:
        """Return the configs that a setting changes."""
        changes = list(self._config_changes(setting))
        if setting.has_client_rack:
            changes.append(SettingChange("client.rack", None, "the zone of each instance", (), is_property=False))
        if setting.has_zone_tags:
            changes.append(SettingChange(_TAGS, None, _ZONE, ("standbys of a task go to different zones",)))
            after = "the zone of each instance"
            changes.append(SettingChange(f"client.tag.{_ZONE}", None, after, (), is_property=False))
        if setting.is_static:
            notes = ("a name that an instance keeps when it restarts, such as that of its pod",)
            after = "a different name for each instance"
            changes.append(SettingChange("group.instance.id", None, after, notes, is_property=False))
        if setting.leaves_group:
            changes.append(_closing_change(base_document(self.scenario)["application"]))
        return tuple(changes)

    def _topology(self) -> dict[str, Any]:
        subtopologies = {
            str(one.id): f"{', '.join(sorted(one.source_topics))}; stores: "
            f"{', '.join(sorted(store.name for store in one.stores)) or 'none'}"
            for one in self._blueprint.application.subtopologies
        }
        return {"subtopologies": subtopologies}

    def _configs(self) -> dict[str, str | None]:
        return {key: None if value is None else str(value) for key, value in self._values.items()}

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
        if self._can_change_in_a_run(setting):
            document, own_seeds = self._rollout_document(setting), rollout_seeds(seeds)
            request = SituationRequest.of(self.scenario, "rollout", document, HOURS * 3_600_000, own_seeds)
            [answer] = run_requests([request])
            if not isinstance(answer, str):
                rows = [run.metrics for run in answer]
                values = dict(known_values(_ROLLOUT_METRICS, rows))
                left_out = (
                    " without group.instance.id" * setting.is_static + " without LEAVE_GROUP" * setting.leaves_group
                )
                note = f"Simulated from the current state as a rolling restart{left_out}, with {len(rows)} seeds."
                if len(rows) > 1:
                    note += " Ranges: any member can lead while old and new configs are mixed, and its configs count."
        return build_rollout(note, self._steps(setting, values), _checks(before, after, values), values)

    def _rollout_document(self, setting: StreamsSetting) -> Document:
        """Return the scenario in which the clients restart one after another with a setting, from the current state."""
        base = base_document(self.scenario, is_running=True)
        names = [client["name"] for client in base["clients"]]
        configs = {
            key: value
            for key, value in self.space.values(setting.candidate).items()
            if key != ASSIGNOR and value not in (None, self._values[key])
        }
        if setting.has_zone_tags:
            configs[_TAGS] = [_ZONE]
            for client in base["clients"]:
                _set_zone_tag(client)  # Without the config, tags have no effect.
        own = deployment(self.scenario)
        restart: Document = {"down": "30s", "pause": "1m"}
        if own is not None and "rolling_bounce" in own:
            restart = dict(own["rolling_bounce"])
        restart |= {"clients": names, "configs": configs}
        if setting.has_client_rack:
            restart["client_rack"] = True
        situation = {**base, "events": [{"at": START, "rolling_bounce": restart}], "duration": f"{HOURS}h"}
        return self.document(situation, self.today)

    def _can_change_in_a_run(self, setting: StreamsSetting) -> bool:
        """Return whether a rolling restart of the simulation can change to a setting: not to another assignor."""
        is_same = self.space.values(setting.candidate)[ASSIGNOR] == self._values[ASSIGNOR]
        return is_same and not self._in_streams_groups

    def _steps(self, setting: StreamsSetting, metrics: Mapping[str, Sequence[float]]) -> Iterator[str]:
        """Yield the steps of a rollout, in order."""
        changed = {self.space.dimensions[index].name for index in self.space.changed(setting.candidate)}
        more_standbys = self.space.values(setting.candidate)[STANDBYS] > self._values[STANDBYS]
        if more_standbys:
            yield "Check the free disk of each instance: every standby is a further copy of the state of its task."
        if self._in_streams_groups:
            yield "Change the group's config with the command above; no instance has to restart."
            return
        if setting.has_client_rack:
            yield "Set client.rack on every instance in the same deployment: without it, the strategy has no effect."
        if ASSIGNOR in changed:
            yield (
                "Deploy to all instances without a long pause: the assignor of the group leader counts, whichever it "
                "is."
            )
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

    def _config_changes(self, setting: StreamsSetting) -> list[SettingChange]:
        return config_changes(self.space, setting.candidate, self._blueprint.application.id)

    @property
    def _can_have_zone_tags(self) -> bool:
        """Whether standbys can be distributed over zones by a tag that clients do not have yet."""
        racks = {client.rack for client in self._clients}
        return (
            not self._in_streams_groups
            and not self.assignor.configs.rack_aware_assignment_tags
            and None not in racks
            and len(racks) > 1
        )

    def _needs_client_rack(self, candidate: Candidate) -> bool:
        """Return whether a rack-aware strategy has no effect because clients with a rack do not announce it."""
        is_rack_aware = self.space.values(candidate)[STRATEGY] != "none"
        clients = self._blueprint.clients
        return is_rack_aware and any(client.rack is not None and not client.announces_rack for client in clients)


def _set_zone_tag(client: Document) -> None:
    """Give a client its rack as the tag `zone`."""
    client["tags"] = {**client.get("tags", {}), _ZONE: client["rack"]}


def _let_clients_leave(document: Document) -> None:
    """Let the clients of a scenario leave the group when they close, as their release can."""
    if has_leave_group_config(_release(document["application"])):
        document["application"].setdefault("configs", {})[_LEAVE_CONFIG] = True
        return
    for event in document["events"]:
        for kind in _CLOSING_EVENTS:
            if kind in event:
                event[kind] = {**event[kind], "leaves_group": True}


def _closing_change(application: Document) -> SettingChange:
    """Return how clients of the application's release leave the group when they close."""
    if has_leave_group_config(_release(application)):
        return SettingChange(_LEAVE_CONFIG, None, "true", ("an internal config, up to Kafka 4.1",))
    notes = ("in the code: close(CloseOptions.groupMembershipOperation(GroupMembershipOperation.LEAVE_GROUP))",)
    return SettingChange("CloseOptions", "REMAIN_IN_GROUP", "LEAVE_GROUP", notes, is_property=False)


def _release(application: Document) -> tuple[int, int, int]:
    return parse_release(str(application.get("kafka") or NEWEST))


def _checks(before: ReportCard, after: ReportCard, metrics: Mapping[str, Sequence[float]]) -> Iterator[str]:
    """Yield how to verify a rollout."""
    if "cross_rack_source_partitions" in metrics:
        count = format_range(metrics["cross_rack_source_partitions"], format_count)
        yield f"{count} source partitions are read across racks."
    yield from grade_checks(before, after, "application")
