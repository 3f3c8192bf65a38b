"""Warnings about configs that Kafka accepts but that have no or an unexpected effect."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from assignors import registry
from assignors.model.configs import RackAwareStrategy
from scenarios.language.application_entries import ClientEntry
from scenarios.language.configs import AssignorConfigs
from scenarios.language.errors import format_list, format_value
from scenarios.language.event_entries import AutoscaleEvent, LeaveEvent, RollingBounceEvent
from scenarios.language.fields import valid_entries
from scenarios.language.paths import ScenarioPath
from scenarios.language.schema import ScenarioDocument
from scenarios.language.validation import SourceMap
from scenarios.resolution.assignors import AssignorChoice
from scenarios.resolution.brokers import Brokers
from scenarios.resolution.clients import ResolvedClients
from scenarios.resolution.subtopology_drafts import APPLICATION
from simulator.world.world import GroupProtocol, Subtopology

_CONFIGS: Final[ScenarioPath] = (*APPLICATION, "configs")
_STRATEGY: Final = "rack.aware.assignment.strategy"
_STANDBYS: Final = "num.standby.replicas"
_TAGS: Final = "rack.aware.assignment.tags"
_MAX_LISTED: Final = 4


@dataclass(frozen=True, slots=True)
class WarningContext:
    """The parts of a scenario that the warnings depend on.

    Attributes:
        document: the parsed scenario.
        clients: the resolved clients.
        brokers: the resolved brokers.
        subtopologies: the subtopologies of the application.
        choices: the assignors to compare, in the order of the scenario.
        source_map: collects the warnings.
    """

    document: ScenarioDocument
    clients: ResolvedClients
    brokers: Brokers
    subtopologies: Sequence[Subtopology]
    choices: Sequence[AssignorChoice]
    source_map: SourceMap

    def config_path(self, number: int, key: str) -> ScenarioPath:
        """Return the path that sets a config of an assignor: its own entry, or the application's configs."""
        own = ("assignors", number, "configs", key)
        return own if key in self.choices[number].changed else (*_CONFIGS, key)


def warn_about_configs(context: WarningContext) -> None:
    """Add a warning for each ineffective config.

    Args:
        context: the parts of a valid scenario.
    """
    checks: tuple[Callable[[WarningContext], Iterator[tuple[ScenarioPath, str]]], ...] = (
        _warn_about_racks_without_brokers,
        _warn_about_default_costs,
        _warn_about_too_many_standbys,
        _warn_about_tags_and_racks,
        _warn_about_remaining_members,
    )
    for check in checks:
        for path, message in check(context):
            context.source_map.add_warning(path, message)


def _warn_about_racks_without_brokers(context: WarningContext) -> Iterator[tuple[ScenarioPath, str]]:
    """Warn about client racks without brokers: Kafka does not check rack names, and no partition is local there."""
    known = context.brokers.racks
    first: dict[str, ScenarioPath] = {}
    for i, entry in valid_entries(context.document.clients):
        for path, rack in _stated_racks(entry, ("clients", i)):
            if rack not in known:
                first.setdefault(rack, path)
    if first and not known:
        yield (
            next(iter(first.values())),
            "no broker has a rack, so rack-aware assignment is disabled, and all traffic is cross-rack",
        )
        return
    for rack, path in first.items():
        problem = f"no broker is in rack {format_value(rack)} ({format_list('racks of brokers', known)})"
        yield path, f"{problem}, so all traffic of its clients is cross-rack"


def _stated_racks(entry: ClientEntry, path: ScenarioPath) -> Iterator[tuple[ScenarioPath, str]]:
    if entry.rack is not None:
        yield (*path, "rack"), entry.rack
    yield from (((*path, "racks", i), rack) for i, rack in enumerate(entry.racks or ()))


def _warn_about_default_costs(context: WarningContext) -> Iterator[tuple[ScenarioPath, str]]:
    """Warn about sticky assignors whose default costs make the rack-aware strategy ineffective.

    Source: `LegacyStickyTaskAssignor`; `TaskAssignmentUtils.canPerformRackAwareOptimization`, Kafka 4.3.1.

    Yields:
        Path and message of each warning.
    """
    read = max(
        (len(subtopology.source_topics) for subtopology in context.subtopologies if subtopology.stores), default=0
    )
    keys = "rack.aware.assignment.traffic_cost and rack.aware.assignment.non_overlap_cost"
    for number, choice in enumerate(context.choices):
        info, configs = registry.find(choice.assignor), choice.configs
        strategy, costs = configs.rack_aware_assignment_strategy, info.weights.configured(configs)
        are_stated = None not in (configs.rack_aware_traffic_cost, configs.rack_aware_non_overlap_cost)
        if strategy is RackAwareStrategy.NONE or are_stated:
            continue
        path = context.config_path(number, _STRATEGY)
        if info.needs_costs:
            yield path, f"{choice.label} is rack-aware only if {keys} are both set, so {strategy} has no effect"
        elif info.weights.traffic_cost < info.weights.non_overlap_cost and 0 < read * costs.traffic_cost <= (
            costs.non_overlap_cost
        ):
            yield (
                path,
                f"{choice.label}: a cross-rack partition costs {costs.traffic_cost}, a move {costs.non_overlap_cost}, "
                f"and stateful tasks read at most {read} partitions, so {strategy} moves none of them; set {keys}",
            )


def _warn_about_too_many_standbys(context: WarningContext) -> Iterator[tuple[ScenarioPath, str]]:
    """Warn about more standbys than clients allow: a client holds at most one copy of a task."""
    max_standbys = len(context.clients.plans) - 1
    if not any(subtopology.stores for subtopology in context.subtopologies) or max_standbys < 0:
        return
    stated: list[tuple[ScenarioPath, int]] = [
        (context.config_path(number, _STANDBYS), choice.configs.num_standby_replicas)
        for number, choice in enumerate(context.choices)
    ]
    for i, event in valid_entries(context.document.events):
        for kind in ("config_change", "rolling_bounce"):
            configs: AssignorConfigs | None = getattr(getattr(event, kind), "configs", None)
            if configs is not None and "num_standby_replicas" in configs.model_fields_set:
                stated.append((("events", i, kind, "configs", _STANDBYS), configs.num_standby_replicas))
    for path, standbys in stated:
        if standbys > max_standbys:
            clients = f"{max_standbys + 1} client{'' if max_standbys == 0 else 's'}"
            needed = f"{standbys} standbys and the active task need {standbys + 1} clients"
            yield path, f"{needed}; with {clients}, a task has at most {max_standbys}"


def _warn_about_tags_and_racks(context: WarningContext) -> Iterator[tuple[ScenarioPath, str]]:
    """Warn about tags together with `client.rack`: tags take precedence for standbys (KIP-925, D, option III).

    Source: `StandbyTaskAssignorFactory`, `TaskAssignmentUtils.defaultStandbyTaskAssignment`, Kafka 4.3.1.

    Yields:
        Path and message of each warning.
    """
    announcing = [plan for plan in context.clients.plans if plan.rack is not None and plan.announces_rack]
    for number, choice in enumerate(context.choices):
        tags = choice.configs.rack_aware_assignment_tags
        if not announcing or not tags or registry.find(choice.assignor).ignores(_TAGS):
            continue
        conflict = f"clients also set client.rack, but standbys are distributed over tags ({', '.join(tags)})"
        differing = [plan.name for plan in announcing if plan.rack not in [plan.tags.get(tag) for tag in tags]]
        hint = f"; {format_list('no tag equals client.rack of', differing, max_names=_MAX_LISTED)}" if differing else ""
        yield context.config_path(number, _TAGS), conflict + hint


def _warn_about_remaining_members(context: WarningContext) -> Iterator[tuple[ScenarioPath, str]]:
    """Warn about `leaves_group: false` in streams groups, whose members always leave on close.

    Source: `simulator.world.leave_on_close`.

    Yields:
        Path and message of each warning.
    """
    own = GroupProtocol(context.document.application.configs.group_protocol)
    if GroupProtocol.STREAMS not in {choice.protocol or own for choice in context.choices}:
        return
    for i, event in valid_entries(context.document.events):
        for kind in type(event).model_fields:
            details = getattr(event, kind)
            if isinstance(details, LeaveEvent | RollingBounceEvent | AutoscaleEvent) and details.leaves_group is False:
                path = ("events", i, kind, "leaves_group")
                yield path, "has no effect with group.protocol: streams, whose members always leave on close"
