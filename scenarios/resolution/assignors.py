"""The assignors to compare. Only built-in ones are looked up: what a file says never imports code."""

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
    """An assignor to run a scenario with.

    Attributes:
        label: what tables and pictures call it; unique in a scenario.
        assignor: its name in the registry.
        parameters: of the assignor itself.
        configs: the application's, with those that this entry changes.
        changed: the keys of the configs that this entry changes.
        protocol: the group protocol of its runs; the application's if None.
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
    """Understand the choices; what is wrong goes to `places`.

    Args:
        configs: the application's.
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
                (*path, "label"), f"{format_value(label)} is the label of another assignor too; give it another label"
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
    """The assignor's name, and what it is given that others may not be."""
    configs = entry.configs.model_dump(by_alias=True, exclude_unset=True)
    told = [f"{key}={value}" for key, value in [*entry.parameters.items(), *configs.items()]]
    return f"{name} ({', '.join(told)})" if told else name
