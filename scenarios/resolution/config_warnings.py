"""Settings that Kafka accepts and that do not do what they seem to say, each with its place in the scenario."""

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
_MOST: Final = 4


@dataclass(frozen=True, slots=True)
class WarningContext:
    """The settings of a scenario that warnings need.

    Attributes:
        document: the scenario as it was written.
        clients: resolved.
        brokers: resolved.
        subtopologies: of the application.
        choices: the assignors to compare, in the order of the scenario.
        places: locate warnings.
    """

    document: ScenarioDocument
    clients: ResolvedClients
    brokers: Brokers
    subtopologies: Sequence[Subtopology]
    choices: Sequence[AssignorChoice]
    source_map: SourceMap

    def home(self, number: int, key: str) -> ScenarioPath:
        """Return the place of a config that an assignor is given: its own entry, or the application's configs."""
        own = ("assignors", number, "configs", key)
        return own if key in self.choices[number].changed else (*_CONFIGS, key)


def warn_about_configs(settings: WarningContext) -> None:
    """Warn of each setting once, at its place.

    Args:
        settings: of a scenario without mistakes.
    """
    checks: tuple[Callable[[WarningContext], Iterator[tuple[ScenarioPath, str]]], ...] = (
        _racks_without_brokers,
        _default_costs,
        _too_many_standbys,
        _tags_and_racks,
        _streams_members_that_remain,
    )
    for check in checks:
        for path, message in check(settings):
            settings.source_map.add_warning(path, message)


def _racks_without_brokers(settings: WarningContext) -> Iterator[tuple[ScenarioPath, str]]:
    """Kafka does not check the names of racks: no partition is local to such a client."""
    known = settings.brokers.racks
    first: dict[str, ScenarioPath] = {}
    for i, entry in valid_entries(settings.document.clients):
        for path, rack in _stated_racks(entry, ("clients", i)):
            if rack not in known:
                first.setdefault(rack, path)
    if first and not known:
        yield next(iter(first.values())), "no broker has a rack: rack-aware assignment is off, and no traffic is local"
        return
    for rack, path in first.items():
        where = f"no broker is in rack {format_value(rack)} ({format_list('racks of brokers', known)})"
        yield path, f"{where}: all that its clients read and write crosses racks"


def _stated_racks(entry: ClientEntry, path: ScenarioPath) -> Iterator[tuple[ScenarioPath, str]]:
    if entry.rack is not None:
        yield (*path, "rack"), entry.rack
    yield from (((*path, "racks", i), rack) for i, rack in enumerate(entry.racks or ()))


def _default_costs(settings: WarningContext) -> Iterator[tuple[ScenarioPath, str]]:
    """The sticky assignors do little or nothing for racks unless costs are configured.

    Source: `LegacyStickyTaskAssignor`; `TaskAssignmentUtils.canPerformRackAwareOptimization`, Kafka 4.3.1.
    """
    read = max((len(each.source_topics) for each in settings.subtopologies if each.stores), default=0)
    keys = "rack.aware.assignment.traffic_cost and rack.aware.assignment.non_overlap_cost"
    for number, choice in enumerate(settings.choices):
        info, configs = registry.find(choice.assignor), choice.configs
        strategy, costs = configs.rack_aware_assignment_strategy, info.weights.configured(configs)
        are_stated = None not in (configs.rack_aware_traffic_cost, configs.rack_aware_non_overlap_cost)
        if strategy is RackAwareStrategy.NONE or are_stated:
            continue
        path = settings.home(number, _STRATEGY)
        if info.needs_costs:
            told = f"{choice.label} looks at racks only if {keys} are both set, so {strategy} has no effect"
            yield path, told
        elif info.weights.traffic_cost < info.weights.non_overlap_cost and 0 < read * costs.traffic_cost <= (
            costs.non_overlap_cost
        ):
            yield (
                path,
                f"{choice.label}: a cross-rack partition costs {costs.traffic_cost}, a move {costs.non_overlap_cost}, "
                f"and a stateful task reads at most {read}, so {strategy} moves no stateful task; set {keys}",
            )


def _too_many_standbys(settings: WarningContext) -> Iterator[tuple[ScenarioPath, str]]:
    """A client has one copy of a task at most, the active one included."""
    most = len(settings.clients.plans) - 1
    if not any(each.stores for each in settings.subtopologies) or most < 0:
        return
    stated: list[tuple[ScenarioPath, int]] = [
        (settings.home(number, _STANDBYS), choice.configs.num_standby_replicas)
        for number, choice in enumerate(settings.choices)
    ]
    for i, event in valid_entries(settings.document.events):
        for kind in ("config_change", "rolling_bounce"):
            configs: AssignorConfigs | None = getattr(getattr(event, kind), "configs", None)
            if configs is not None and "num_standby_replicas" in configs.model_fields_set:
                stated.append((("events", i, kind, "configs", _STANDBYS), configs.num_standby_replicas))
    for path, standbys in stated:
        if standbys > most:
            clients = f"{most + 1} client{'' if most == 0 else 's'}"
            told = f"{standbys} standbys and the active task need {standbys + 1} clients"
            yield path, f"{told}; with {clients}, a task has at most {most}"


def _tags_and_racks(settings: WarningContext) -> Iterator[tuple[ScenarioPath, str]]:
    """Tags take precedence over `client.rack` for standbys (KIP-925, section D, option III).

    Source: `StandbyTaskAssignorFactory`, `TaskAssignmentUtils.defaultStandbyTaskAssignment`, Kafka 4.3.1.
    """
    announcing = [plan for plan in settings.clients.plans if plan.rack is not None and plan.announces_rack]
    for number, choice in enumerate(settings.choices):
        tags = choice.configs.rack_aware_assignment_tags
        if not announcing or not tags or registry.find(choice.assignor).ignores(_TAGS):
            continue
        told = f"clients set client.rack too; standbys are spread over tags ({', '.join(tags)}), not over client.rack"
        apart = [plan.name for plan in announcing if plan.rack not in [plan.tags.get(tag) for tag in tags]]
        differ = f"; {format_list('no tag says the rack of', apart, most=_MOST)}" if apart else ""
        yield settings.home(number, _TAGS), told + differ


def _streams_members_that_remain(settings: WarningContext) -> Iterator[tuple[ScenarioPath, str]]:
    """Members of a streams group leave on close, whatever `CloseOptions` say; see `simulator.world.leave_on_close`."""
    own = GroupProtocol(settings.document.application.configs.group_protocol)
    if GroupProtocol.STREAMS not in {choice.protocol or own for choice in settings.choices}:
        return
    for i, event in valid_entries(settings.document.events):
        for kind in type(event).model_fields:
            event = getattr(event, kind)
            if isinstance(event, LeaveEvent | RollingBounceEvent | AutoscaleEvent) and event.leaves_group is False:
                path = ("events", i, kind, "leaves_group")
                yield path, "has no effect with group.protocol: streams, whose members always leave when they close"
