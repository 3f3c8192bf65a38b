"""Resolve the assignors to compare, and the Kafka releases that they state.

Only built-in assignors are allowed, so that a scenario file never imports code.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from assignors import registry
from assignors.consumer_groups import find_consumer_assignor
from assignors.consumers.selection import BROKER_RANGE, COOPERATIVE_STICKY, UNIFORM, is_eager
from assignors.containment.limits import DEFAULT_LIMITS, CallLimits
from assignors.errors import UnknownAssignorError
from assignors.model.assignment import TaskAssignor
from assignors.model.configs import AssignmentConfigs
from assignors.registry import AssignorInfo
from scenarios.language.consumer_entries import ConsumerAssignorSettings, ConsumerGroupEntry
from scenarios.language.errors import Mistakes, did_you_mean, format_value
from scenarios.language.fields import valid_entries
from scenarios.language.paths import ScenarioPath, format_path
from scenarios.language.releases import NEWEST, KafkaReleases
from scenarios.language.validation import OtherPaths, SourceMap
from scenarios.references import ResolvedClients, check_configs
from scenarios.schema import AssignorSettings, ScenarioDocument, ScenarioFileDocument
from simulator.world.group_configs import GroupProtocol

Document = TypeVar("Document", ScenarioDocument, ScenarioFileDocument)

_OF_SCENARIO: Final[Mapping[str, ScenarioPath]] = {
    "kafka.brokers": ("cluster", "kafka"),
    "kafka.clients": ("application", "kafka"),
}
"""Where the scenario states the releases that an entry of `assignors` may state."""


class EntrySourceMap(OtherPaths):
    """The source map of a scenario in which an entry of `assignors` states the releases.

    `paths`: where the entry states what the scenario states at these paths.
    """

    def __init__(self, file: SourceMap, paths: Mapping[ScenarioPath, ScenarioPath], mistakes: Mistakes) -> None:
        super().__init__(file, mistakes)
        self._paths = paths

    def in_file(self, path: ScenarioPath) -> ScenarioPath:
        """Return the path in the file."""
        return self._paths.get(path, path)

    def add_mistake(self, path: ScenarioPath, message: str) -> None:
        """Report a mistake at a path."""
        super().add_mistake(path, self._with_keys_of_entry(message))

    def add_warning(self, path: ScenarioPath, message: str) -> None:
        """Report a valid but probably unintended value at a path."""
        super().add_warning(path, self._with_keys_of_entry(message))

    def _with_keys_of_entry(self, message: str) -> str:
        """Return a message in which the keys that state the releases are those of the entry."""
        for path, own in self._paths.items():
            message = message.replace(format_path(path), format_path(own))
        return message


@dataclass(frozen=True, slots=True)
class FileOfReleases:
    """A file in which an entry of `assignors` replaces the releases of the scenario, also in its source map."""

    releases: KafkaReleases
    file: ScenarioFileDocument
    source_map: SourceMap


def files_of_releases(
    file: ScenarioFileDocument, source_map: SourceMap, mistakes: Mistakes
) -> Iterator[FileOfReleases]:
    """Yield the file once for each pair of releases of `assignors` that differ from those of the scenario."""
    if file.application is None:
        return
    of_scenario = KafkaReleases(file.cluster.kafka, file.application.kafka)
    seen = {of_scenario}
    for i, entry in valid_entries(file.assignors or []):
        releases = releases_of(entry, of_scenario)
        if releases in seen or entry.kafka is None:
            continue
        seen.add(releases)
        keys = entry.kafka.keys()
        paths: dict[ScenarioPath, ScenarioPath] = {
            path: ("assignors", i, *(key if key in keys else "kafka").split("."))
            for key, path in _OF_SCENARIO.items()
            if key in keys or "kafka" in keys
        }
        yield FileOfReleases(releases, with_releases(file, releases), EntrySourceMap(source_map, paths, mistakes))


def releases_of(entry: AssignorSettings, of_scenario: KafkaReleases) -> KafkaReleases:
    """Return the releases of the runs with an assignor, in a scenario with some releases."""
    return of_scenario if entry.kafka is None else entry.kafka.over(of_scenario)


def with_releases(document: Document, releases: KafkaReleases) -> Document:
    """Return a document with other releases of its brokers and of the clients of its application."""
    application = document.application
    assert application is not None
    update = {
        "cluster": document.cluster.model_copy(update={"kafka": releases.brokers}),
        "application": application.model_copy(update={"kafka": releases.clients}),
    }
    return document.model_copy(update=update)


@dataclass(frozen=True, slots=True)
class AssignorSpec:
    """An assignor with its parameters and configs.

    Attributes:
        label: label in tables and figures; unique among the assignors of a run.
        info: its registration.
        parameters: parameters of the assignor.
        configs: the application's configs with the overrides of this entry.
        changed: the keys of the overridden configs.
        states: whose release its entry states: `brokers`, `clients`.
        protocol: group protocol of its runs; None for the application's.
        releases: Kafka releases of its runs; None for those of the scenario.
        follows_release: whether its release is that of the brokers or clients, which changes with an upgrade.
        limits: limits of a custom assignor.
    """

    label: str
    info: AssignorInfo
    parameters: Mapping[str, Any]
    configs: AssignmentConfigs
    changed: tuple[str, ...] = ()
    protocol: GroupProtocol | None = None
    releases: KafkaReleases | None = None
    states: tuple[str, ...] = ()
    follows_release: bool = False
    limits: CallLimits = DEFAULT_LIMITS

    def make(self) -> TaskAssignor:
        """Build the assignor for a run; a custom one is contained.

        Raises UnknownAssignorError as `registry.make_contained` does.
        """
        return registry.make_contained(self.info, self.parameters, self.limits)


def resolve_assignors(
    entries: Sequence[AssignorSettings],
    configs: AssignmentConfigs,
    clients: ResolvedClients,
    of_scenario: KafkaReleases,
    source_map: SourceMap,
    *,
    upgraded: Collection[str] = (),
) -> tuple[AssignorSpec, ...]:
    """Return the known assignors in the order of the scenario, and report mistakes.

    `configs`: the application's; `of_scenario`: the releases, unless an entry has its own; `upgraded`: who is upgraded
    to another release: `brokers`, `clients`.
    """
    specs: list[AssignorSpec] = []
    labels: set[str] = set()
    named_releases = set(_labels_with_releases(entries))
    for i, entry in valid_entries(entries):
        path: ScenarioPath = ("assignors", i)
        changes: dict[str, Any] = check_configs(entry.configs, (*path, "configs"), source_map)
        clients.check_tags(entry.configs.rack_aware_assignment_tags, (*path, "configs"), source_map)
        releases = releases_of(entry, of_scenario)
        info = _check_assignor(entry, releases, path, source_map)
        label = entry.label or _label(entry.assignor if info is None else info.name, entry)
        follows = info is not None and "@" not in entry.assignor and info.follows_release
        states = () if entry.kafka is None else entry.kafka.stated()
        if (
            info is not None
            and not entry.label
            and follows
            and (_runner(info) in (*upgraded, *states) or label in named_releases)
        ):
            # The release changes, or another entry or kafka names it: this one keeps the name without a release.
            label = _label(info.name.partition("@")[0], entry)
        if label in labels:
            source_map.add_mistake(
                (*path, "label"), f"{format_value(label)} is also the label of another assignor; set a unique label"
            )
        labels.add(label)
        if info is None:
            continue
        changed = tuple(entry.configs.model_dump(by_alias=True, exclude_unset=True))
        specs.append(
            AssignorSpec(
                label=label,
                info=info,
                parameters=entry.parameters,
                configs=replace(configs, **changes),
                changed=changed,
                protocol=None if entry.configs.group_protocol is None else GroupProtocol(entry.configs.group_protocol),
                releases=None if releases == of_scenario else releases,
                states=states,
                follows_release=follows,
            )
        )
    return tuple(specs)


def _check_assignor(
    entry: AssignorSettings,
    releases: KafkaReleases,
    path: ScenarioPath,
    source_map: SourceMap,
) -> AssignorInfo | None:
    """Return the registration of an assignor, and report mistakes; None if the name is unknown."""
    try:
        info = registry.find(entry.assignor).in_group(releases.brokers, releases.clients)
    except UnknownAssignorError as error:
        source_map.add_mistake((*path, "assignor"), str(error))
        return None
    known = list(entry.parameters if info.parameter_names is None else info.parameter_names)
    for key in entry.parameters:
        if key not in known:
            source_map.add_mistake(
                (*path, "parameters", key), f"not a parameter of {info.name} ({did_you_mean(key, known)})"
            )
            return info
    try:
        registry.make(info, entry.parameters)
    except UnknownAssignorError as error:
        source_map.add_mistake((*path, "parameters"), str(error))
    return info


def _runner(info: AssignorInfo) -> str:
    return "brokers" if info.in_streams_groups else "clients"


def _labels_with_releases(entries: Sequence[AssignorSettings]) -> Iterator[str]:
    """Yield the default labels of the entries that name the release of their assignor."""
    for _, entry in valid_entries(entries):
        if "@" in entry.assignor and not entry.label:
            with suppress(UnknownAssignorError):
                yield _label(registry.find(entry.assignor).name, entry)


def _label(name: str, entry: AssignorSettings) -> str:
    """Return the default label: the assignor's name with its releases, parameters and configs."""
    releases = {} if entry.kafka is None else entry.kafka.keys()
    configs = entry.configs.model_dump(by_alias=True, exclude_unset=True)
    settings = [f"{key}={value}" for key, value in [*releases.items(), *entry.parameters.items(), *configs.items()]]
    return f"{name} ({', '.join(settings)})" if settings else name


def resolve_consumer_assignors(
    entry: ConsumerGroupEntry,
    broker_release: str | None,
    first: str,
    rollouts: Sequence[Sequence[str]],
    source_map: SourceMap,
    converting_release: str | None = None,
) -> tuple[AssignorSpec, ...]:
    """Return the known assignors of a consumer group in the order of the scenario; by default the one of its configs.

    `first`: the assignor that a coordinator selects at the start. `rollouts`: the lists of assignors that rolling
    restarts give to members, in order of time; the assignor of the coordinator for members of the consumer protocol.
    `source_map`: has the paths of the group. `converting_release`: the release of the brokers after all upgrades. A
    release that is None is the newest.
    """
    if entry.assignors is None:
        return (_configured(entry, broker_release, first, rollouts, source_map, converting_release),)
    specs: dict[str, AssignorSpec] = {}
    for i, choice in valid_entries(entry.assignors):
        path: ScenarioPath = ("assignors", i)
        spec = _chosen(choice, entry, broker_release, path, source_map, converting_release)
        if spec is None:
            continue
        if spec.label in specs:
            message = f"{format_value(spec.label)} is also the label of another assignor; set a unique label"
            source_map.add_mistake((*path, "label"), message)
        specs[spec.label] = spec
    return tuple(specs.values())


def consumer_assignor_spec(name: str, entry: ConsumerGroupEntry, broker_release: str | None) -> AssignorSpec:
    """Return the spec of an assignor of a consumer group, by its name or Kafka's class.

    `broker_release`: None for the newest.
    """
    info = find_consumer_assignor(name, entry.group, entry.kafka or NEWEST, broker_release or NEWEST)
    return _spec(info, info.name)


def _configured(
    entry: ConsumerGroupEntry,
    broker_release: str | None,
    first: str,
    rollouts: Sequence[Sequence[str]],
    source_map: SourceMap,
    converting_release: str | None,
) -> AssignorSpec:
    """Return the assignor that the configs of a group choose."""
    configs = entry.configs
    releases = entry.kafka or NEWEST, broker_release or NEWEST
    if configs.group_protocol == GroupProtocol.CONSUMER.value:
        name = BROKER_RANGE if configs.remote_assignor == "range" else UNIFORM
        if releases[1].startswith("3."):
            return consumer_assignor_spec(name, entry, None)  # The release is reported already.
        return consumer_assignor_spec(name, entry, broker_release)
    info = find_consumer_assignor(
        first,
        entry.group,
        *releases,
        strategies=configs.strategies,
        converting_release=converting_release or NEWEST,
    )
    last = rollouts[-1] if rollouts else (first, *configs.strategies)
    if last[0] == COOPERATIVE_STICKY and is_eager(last):
        others = ", ".join(name for name in last if name != COOPERATIVE_STICKY)
        source_map.add_warning(
            ("application", "configs", "partition.assignment.strategy"),
            f"the group rebalances eagerly: {others} does not support the cooperative protocol; after all members "
            f"have {COOPERATIVE_STICKY}, remove the others",
        )
        return _spec(info, f"{COOPERATIVE_STICKY} (eager)" if first == last[0] else f"{first} then {last[0]} (eager)")
    return _spec(info, first if first == last[0] else f"{first} then {last[0]}")


def _chosen(
    choice: ConsumerAssignorSettings,
    entry: ConsumerGroupEntry,
    broker_release: str | None,
    path: ScenarioPath,
    source_map: SourceMap,
    converting_release: str | None,
) -> AssignorSpec | None:
    try:
        info = find_consumer_assignor(
            choice.assignor,
            entry.group,
            entry.kafka or NEWEST,
            broker_release or NEWEST,
            converting_release=converting_release or NEWEST,
        )
    except UnknownAssignorError as error:
        source_map.add_mistake((*path, "assignor"), str(error))
        return None
    return _spec(info, choice.label or info.name)


def _spec(info: AssignorInfo, label: str) -> AssignorSpec:
    protocol = GroupProtocol.CONSUMER if info.in_streams_groups else GroupProtocol.CLASSIC
    return AssignorSpec(label, info, {}, AssignmentConfigs(), protocol=protocol)
