"""Resolve the assignors to compare. Only built-in ones are allowed, so that a scenario file never imports code."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from assignors import registry
from assignors.containment.limits import DEFAULT_LIMITS, CallLimits
from assignors.errors import UnknownAssignorError
from assignors.model.assignment import TaskAssignor
from assignors.model.configs import AssignmentConfigs
from assignors.registry import AssignorInfo
from scenarios.language.errors import did_you_mean, format_value
from scenarios.language.fields import valid_entries
from scenarios.language.paths import ScenarioPath
from scenarios.language.releases import KafkaReleases
from scenarios.language.validation import SourceMap
from scenarios.references.clients import ResolvedClients, check_configs
from scenarios.resolution.entry_releases import releases_of
from scenarios.schema import AssignorSettings
from simulator.world.group_configs import GroupProtocol


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
    """Resolve the assignors, and report mistakes to `source_map`.

    `configs`: the application's configs; `of_scenario`: the releases of the scenario, unless an entry has its own;
    `upgraded`: who is upgraded to another release: `brokers`, `clients`. Returns the known assignors in the order of
    the scenario.
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
