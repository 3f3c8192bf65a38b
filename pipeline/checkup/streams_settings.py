"""Settings of an application: the current one with single changes, and combinations of changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, Final

from pipeline.recommend.assignor_entry import entry_values
from pipeline.recommend.config_changes import config_changes
from pipeline.recommend.space import ASSIGNOR, PROBING, STANDBYS, STRATEGY, WARMUPS, Candidate, SearchSpace
from reports.analysis.recommendation import SettingChange
from scenarios.checkup.base import Document, base_document, renamed_clients
from scenarios.language.releases import NEWEST, has_leave_group_config, parse_release
from scenarios.load import AssignorSpec, Scenario

LABEL: Final = "checkup"
"""Label of the only assignor of each scenario."""

STREAMS_GROUP: Final = "streams_group_sticky"
"""The assignor of streams groups."""

_TRIED: Final[Mapping[str, tuple[Any, ...]]] = {
    STRATEGY: ("min_traffic", "balance_subtopology", "none"),
    STANDBYS: (1, 2, 0),
    WARMUPS: (8, 32),
    PROBING: (120_000, 60_000),
    ASSIGNOR: ("sticky_task_assignor", "high_availability", STREAMS_GROUP),
}
TAGS: Final = "rack.aware.assignment.tags"
ZONE: Final = "zone"
_LEAVE_CONFIG: Final = "internal.leave.group.on.close"
_CLOSING_EVENTS: Final = ("rolling_bounce", "rolling_update", "scale_in")


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


@dataclass(frozen=True, slots=True, eq=False)
class StreamsSettings:
    """The settings of a scenario.

    Attributes:
        assignor: its current assignor.
        space: the configs that may change.
    """

    scenario: Scenario
    assignor: AssignorSpec
    space: SearchSpace

    @property
    def today(self) -> StreamsSetting:
        """Return the current setting."""
        return StreamsSetting(self.space.today)

    @property
    def renames_members(self) -> bool:
        """Whether static membership is left out because a rollout gives members new names."""
        return not self.assignor.info.in_streams_groups and bool(renamed_clients(self.scenario))

    def single_changes(self) -> list[StreamsSetting]:
        """Return the settings that differ from the current one in one config, or in how clients start or close."""
        return list(dict.fromkeys(self._single_changes()))

    def _single_changes(self) -> Iterator[StreamsSetting]:
        today = self.today
        if self._can_have_zone_tags and self.assignor.configs.num_standby_replicas:
            yield replace(today, has_zone_tags=True)
        for index, dimension in enumerate(self.space.dimensions):
            for level in _TRIED.get(dimension.name, ()):
                levels = list(today.candidate.levels)
                if level == levels[index] or level not in dimension.levels:
                    continue
                levels[index] = level
                candidate = self.space.normalize(levels)
                if candidate != today.candidate:
                    changed = replace(today, candidate=candidate, has_client_rack=self._needs_client_rack(candidate))
                    yield changed
                    if dimension.name == STANDBYS and level and self._can_have_zone_tags:
                        yield replace(changed, has_zone_tags=True)
        has_dynamic_members = not all(client.is_static for client in self.scenario.blueprint.clients)
        if has_dynamic_members and not self.assignor.info.in_streams_groups:
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
        values = self.space.values(setting.candidate)
        fewer = [
            replace(setting, candidate=self.space.normalize(levels))
            for index, dimension in enumerate(self.space.dimensions)
            if dimension.name == STANDBYS and values[STANDBYS] - 1 > self.space.today.levels[index]
            for levels in [_with_level(setting.candidate, index, values[STANDBYS] - 1)]
        ]
        without = fewer + [
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
        today, other = (self.space.values(one)[ASSIGNOR] for one in (self.space.today, setting.candidate))
        return bool(today != STREAMS_GROUP == other)

    def document(self, situation: Document, setting: StreamsSetting) -> Document:
        """Return the scenario of a situation with a setting."""
        document = deepcopy(situation)
        entry = entry_values(self.scenario, self.assignor, self.space.values(setting.candidate))
        tags = [ZONE] if setting.has_zone_tags else list(self.assignor.configs.rack_aware_assignment_tags)
        configs = {key: value for key, value in ({TAGS: tags} | entry["configs"]).items() if value is not None}
        document["assignors"] = [{"label": LABEL, **entry, "configs": configs}]
        for client in document["clients"]:
            if setting.is_static:
                client["static_membership"] = True
            if setting.has_client_rack:
                client.pop("client_rack", None)
            if setting.has_zone_tags:
                set_zone_tag(client)
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
            changes.append(SettingChange(TAGS, None, ZONE, ("standbys of a task go to different zones",)))
            after = "the zone of each instance"
            changes.append(SettingChange(f"client.tag.{ZONE}", None, after, (), is_property=False))
        if setting.is_static:
            notes = ("a name that an instance keeps when it restarts, such as that of its pod",)
            after = "a different name for each instance"
            changes.append(SettingChange("group.instance.id", None, after, notes, is_property=False))
        if setting.leaves_group:
            changes.append(_closing_change(base_document(self.scenario)["application"]))
        return tuple(changes)

    def _config_changes(self, setting: StreamsSetting) -> list[SettingChange]:
        return config_changes(self.space, setting.candidate, self.scenario.blueprint.application.id)

    @property
    def _can_have_zone_tags(self) -> bool:
        """Whether standbys can be distributed over zones by a tag that clients do not have yet."""
        clients = [client for client in self.scenario.blueprint.clients if client.starts]
        racks = {client.rack for client in clients}
        return (
            not self.assignor.info.in_streams_groups
            and not self.assignor.configs.rack_aware_assignment_tags
            and None not in racks
            and len(racks) > 1
        )

    def _needs_client_rack(self, candidate: Candidate) -> bool:
        """Return whether a rack-aware strategy has no effect because clients with a rack do not announce it."""
        is_rack_aware = self.space.values(candidate)[STRATEGY] != "none"
        clients = self.scenario.blueprint.clients
        return is_rack_aware and any(client.rack is not None and not client.announces_rack for client in clients)


def _with_level(candidate: Candidate, index: int, level: Any) -> list[Any]:
    return [*candidate.levels[:index], level, *candidate.levels[index + 1 :]]


def set_zone_tag(client: Document) -> None:
    """Give a client its rack as the tag `zone`."""
    client["tags"] = {**client.get("tags", {}), ZONE: client["rack"]}


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
