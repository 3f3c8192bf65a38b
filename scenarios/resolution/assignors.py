"""Resolve the assignors to compare. Only built-in ones are allowed, so that a scenario file never imports code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from assignors import registry
from assignors.errors import UnknownAssignorError
from assignors.model.configs import AssignmentConfigs
from assignors.model.traffic_rates import RATES
from scenarios.language.errors import did_you_mean, format_value
from scenarios.language.fields import valid_entries
from scenarios.language.paths import ScenarioPath
from scenarios.language.schema import AssignorSettings
from scenarios.language.validation import SourceMap
from scenarios.resolution.clients import ResolvedClients
from scenarios.resolution.configs import check_configs
from simulator.world.world import GroupProtocol


@dataclass(frozen=True, slots=True)
class AssignorChoice:
    """An assignor with its parameters and configs.

    Attributes:
        label: label in tables and figures; unique in a scenario.
        assignor: its name in the registry.
        parameters: parameters of the assignor.
        configs: the application's configs with the overrides of this entry.
        changed: the keys of the overridden configs.
        protocol: group protocol of its runs; None for the application's.
    """

    label: str
    assignor: str
    parameters: Mapping[str, Any]
    configs: AssignmentConfigs
    changed: tuple[str, ...] = ()
    protocol: GroupProtocol | None = None


def resolve_assignors(
    entries: Sequence[AssignorSettings], configs: AssignmentConfigs, clients: ResolvedClients, source_map: SourceMap
) -> tuple[AssignorChoice, ...]:
    """Resolve the assignors, and report mistakes to `source_map`.

    Args:
        entries: the assignors of the scenario.
        configs: the application's configs.
        clients: the resolved clients.
        source_map: collects the mistakes.

    Returns:
        The assignors in the order of the scenario.
    """
    choices: dict[str, AssignorChoice] = {}
    for i, entry in valid_entries(entries):
        path: ScenarioPath = ("assignors", i)
        changes: dict[str, Any] = check_configs(entry.configs, (*path, "configs"), source_map)
        clients.check_tags(entry.configs.rack_aware_assignment_tags, (*path, "configs"), source_map)
        name = _check_assignor(entry, path, source_map)
        label = entry.label or _label(name or entry.assignor, entry)
        if label in choices:
            source_map.add_mistake(
                (*path, "label"), f"{format_value(label)} is also the label of another assignor; set a unique label"
            )
        changed = tuple(entry.configs.model_dump(by_alias=True, exclude_unset=True))
        choices[label] = AssignorChoice(
            label=label,
            assignor=name or "",
            parameters=dict(entry.parameters),
            configs=replace(configs, **changes),
            changed=changed,
            protocol=None if entry.configs.group_protocol is None else GroupProtocol(entry.configs.group_protocol),
        )
    return tuple(choices.values())


def _check_assignor(entry: AssignorSettings, path: ScenarioPath, source_map: SourceMap) -> str | None:
    try:
        info = registry.find(entry.assignor)
    except UnknownAssignorError as error:
        source_map.add_mistake((*path, "assignor"), str(error))
        return None
    known = [field.name for field in fields(info.make)] if is_dataclass(info.make) else list(entry.parameters)
    known = [name for name in known if name != RATES]
    for key in entry.parameters:
        if key not in known:
            source_map.add_mistake(
                (*path, "parameters", key), f"not a parameter of {info.name} ({did_you_mean(key, known)})"
            )
            return info.name
    try:
        registry.make(info, entry.parameters)
    except UnknownAssignorError as error:
        source_map.add_mistake((*path, "parameters"), str(error))
    return info.name


def _label(name: str, entry: AssignorSettings) -> str:
    """Return the default label: the assignor's name with its parameters and configs."""
    configs = entry.configs.model_dump(by_alias=True, exclude_unset=True)
    settings = [f"{key}={value}" for key, value in [*entry.parameters.items(), *configs.items()]]
    return f"{name} ({', '.join(settings)})" if settings else name
