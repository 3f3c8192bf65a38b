"""Resolve events, and check that they refer to existing entities at valid times.

Events apply to clients that are present, and only absent clients join. Churn and autoscaling occur repeatedly. If a run
is too short for an event, a warning says so.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from scenarios.language.errors import format_list
from scenarios.language.event_entries import (
    EVENT_KINDS,
    AutoscaleEvent,
    BrokerBounceEvent,
    BrokerLossEvent,
    ChurnEvent,
    ClientsEvent,
    ConfigChangeEvent,
    CrashEvent,
    EventEntry,
    LeaveEvent,
    PartitionsAddedEvent,
    PodClosingEvent,
    RackOutageEvent,
    ReassignmentEvent,
    ReplaceThreadEvent,
    ReplicaMoveEvent,
    RollingBounceEvent,
    StaggeredClientsEvent,
    StreamThreadsEvent,
    TrafficEvent,
    UpgradeEvent,
)
from scenarios.language.fields import valid_entries
from scenarios.language.paths import ScenarioPath
from scenarios.language.units import format_duration
from scenarios.language.validation import SourceMap
from scenarios.references import ResolvedClients, check_configs
from scenarios.resolution.event_context import BROKER_DOWN_MS, BROKER_PAUSE_MS, EventContext, as_bounce
from scenarios.resolution.pod_events import resolve_pod_event
from scenarios.resolution.reassignment_events import (
    check_added_partitions,
    resolve_partitions_added,
    resolve_reassignment,
    resolve_replica_move,
)
from scenarios.sampling.event_plans import (
    HOUR_MS,
    MAX_OCCURRENCES,
    AutoscalePlan,
    BrokerUpgradePlan,
    ChurnPlan,
    ConfigEdit,
    CrashPlan,
    PartitionsPlan,
    PlannedEvent,
    RollingBouncePlan,
    TrafficProfile,
)
from simulator.pod_schedules import PodStart, PodStop, always, pod_schedule
from simulator.world.disturbances import (
    BrokerBounce,
    BrokerLoss,
    Crash,
    Disk,
    Join,
    Leave,
    RackOutage,
    ReplaceThread,
    StreamThreads,
    TrafficChange,
)
from simulator.world.pod_events import PodEvent


def warn_about_unfinished_events(
    located: Iterable[tuple[ScenarioPath, PlannedEvent | AutoscalePlan]], duration_ms: int, source_map: SourceMap
) -> None:
    """Warn about events that the end of the run cuts off."""
    for path, event in located:
        match event:
            case Crash() | CrashPlan() | RackOutage() | BrokerLoss():
                if event.down_ms is not None:
                    _check_return(path, event.at_ms + event.down_ms, duration_ms, source_map)
            case Join(clients=clients, every_ms=every) | Leave(clients=clients, every_ms=every):
                times_ms = [event.at_ms + i * every for i in range(len(clients))]
                verb = "join" if isinstance(event, Join) else "leave"
                _check_all((*path, "every"), times_ms, f"clients {verb}", duration_ms, source_map)
            case RollingBouncePlan():
                numbers = range(1, len(event.clients) + 1)
                times_ms = [event.at_ms - event.pause_ms + number * event.interval_ms for number in numbers]
                _check_all(path, times_ms, "clients have restarted", duration_ms, source_map)
            case PodEvent():
                steps = list(pod_schedule(event, always))
                starts_ms = sorted(step.at_ms for step in steps if isinstance(step, PodStart))
                stops_ms = sorted(step.at_ms for step in steps if isinstance(step, PodStop))
                label = "clients have started again" if starts_ms else "clients have been stopped"
                _check_all(path, starts_ms or stops_ms, label, duration_ms, source_map)
            case BrokerBounce() | BrokerUpgradePlan():
                interval_ms = event.down_ms + event.pause_ms
                times_ms = [event.at_ms + event.down_ms + i * interval_ms for i in range(len(event.brokers))]
                _check_all(path, times_ms, "brokers have restarted", duration_ms, source_map)


def _check_return(path: ScenarioPath, back_ms: int, duration_ms: int, source_map: SourceMap) -> None:
    if back_ms >= duration_ms:
        back, end = format_duration(back_ms), format_duration(duration_ms)
        advice = f"set duration to more than {back}, or remove down for a permanent outage"
        source_map.add_warning(
            (*path, "down"), f"the return, at {back}, is not before the end of the run ({end}); {advice}"
        )


def _check_all(path: ScenarioPath, times_ms: list[int], label: str, duration_ms: int, source_map: SourceMap) -> None:
    count = sum(at_ms < duration_ms for at_ms in times_ms)
    if count < len(times_ms):
        last, end = format_duration(times_ms[-1]), format_duration(duration_ms)
        advice = f"the last is at {last}; set a longer duration, or shorten the event"
        source_map.add_warning(
            path, f"only {count:,} of {len(times_ms):,} {label} before the run ends at {end}; {advice}"
        )


TOO_MANY = f"more than the {MAX_OCCURRENCES:,} that can be simulated"


def resolve_churn(
    event: ChurnEvent, at_ms: int, clients: tuple[str, ...], path: ScenarioPath, context: EventContext
) -> ChurnPlan | None:
    """Resolve churn; return None if the duration is unknown."""
    source_map, end_ms = context.source_map, context.duration_ms
    if event.crashes is None and event.joins is None and source_map.is_valid(*path):
        source_map.add_mistake(path, "set crashes, joins or both, such as crashes: 2/h")
    starting = {plan.name for plan in context.clients.plans if plan.starts}
    if event.joins is not None and clients and starting.issuperset(clients):
        source_map.add_mistake((*path, "joins"), "all clients are up from the start; set starts: false for some")
    if event.until is not None and event.until <= at_ms:
        message = f"{format_duration(event.until)} is not after the start of the event, {format_duration(at_ms)} (at)"
        source_map.add_mistake((*path, "until"), message)
    elif event.until is not None and end_ms is not None and event.until > end_ms:
        message = f"{format_duration(event.until)} is after the end of the run, {format_duration(end_ms)} (duration)"
        source_map.add_mistake((*path, "until"), message)
    until_ms = end_ms if event.until is None else event.until
    if until_ms is None:
        return None
    for key, per_hour in (("crashes", event.crashes or 0), ("joins", event.joins or 0)):
        expected = per_hour * (until_ms - at_ms) / HOUR_MS
        if expected > MAX_OCCURRENCES:
            source_map.add_mistake(
                (*path, key), f"{expected:,.0f} expected until {format_duration(until_ms)}, {TOO_MANY}"
            )
    return ChurnPlan(
        at_ms=at_ms,
        client_names=tuple(event.clients),
        clients=clients,
        until_ms=until_ms,
        crashes_per_h=event.crashes or 0,
        joins_per_h=event.joins or 0,
        down_ms=event.down,
        disk=Disk(event.disk or Disk.UNFLUSHED_LOST),
    )


def resolve_autoscale(
    event: AutoscaleEvent, at_ms: int, clients: tuple[str, ...], path: ScenarioPath, context: EventContext
) -> AutoscalePlan | None:
    """Resolve autoscaling; return None if it cannot be evaluated."""
    source_map = context.source_map
    if context.duration_ms is None or not clients:
        return None
    evaluations = (context.duration_ms - at_ms) // event.every
    if evaluations > MAX_OCCURRENCES:
        source_map.add_mistake((*path, "every"), f"{evaluations:,} evaluations until the end of the run, {TOO_MANY}")
        return None
    max_clients = len(clients) if event.max_clients is None else event.max_clients
    if max_clients > len(clients):
        source_map.add_mistake((*path, "max"), f"{max_clients} is more than the number of clients ({len(clients)})")
    if event.min_clients > max_clients:
        source_map.add_mistake((*path, "min"), f"{event.min_clients} is more than the maximum ({max_clients})")
    if not any(context.traffic.source_bytes_per_s) and not context.mistakes:
        source_map.add_mistake(path, "the source topics have no traffic, so autoscaling has no effect")
    return AutoscalePlan(
        at_ms, clients, event.bytes_per_s, event.every, event.min_clients, max_clients, event.closing()
    )


@dataclass(frozen=True, slots=True)
class _PresenceChange:
    """An event of clients at one time.

    `expected`: whether they must be present before; None for either. `present_after`: None for no change. `key`: the
    key of the event that lists them.
    """

    at_ms: int
    path: ScenarioPath
    clients: tuple[str, ...]
    expected: bool | None
    present_after: bool | None
    key: str = "clients"


def check_presence(
    events: Sequence[tuple[ScenarioPath, PlannedEvent]],
    scaled: Collection[str],
    clients: ResolvedClients,
    source_map: SourceMap,
) -> None:
    """Report joins of present clients, and other events of absent clients.

    Clients count as present while they are temporarily down, and if they are candidates of a random crash. `scaled`:
    the autoscaled clients; other events must not add or remove them.
    """
    racks = {plan.name: plan.rack for plan in clients.plans}
    present = {plan.name: plan.starts for plan in clients.plans}
    for path, event in events:
        if isinstance(event, Join | Leave | PodEvent):
            is_temporary = isinstance(event, PodEvent) and not event.is_permanent
            replacements = event.successors if isinstance(event, PodEvent) else ()
            for key, names in (("clients", () if is_temporary else event.clients), ("replacements", replacements)):
                if of_pool := [name for name in names if name in scaled]:
                    message = format_list("only autoscale can add or remove", of_pool, max_names=4)
                    source_map.add_mistake((*path, key), message)
    changes = [change for path, event in events for change in _changes(path, event, racks)]
    for change in sorted(changes, key=lambda change: change.at_ms):
        affected = [name for name in change.clients if name not in scaled and present[name] is not change.expected]
        if affected and change.expected is not None:
            state = "already present" if change.expected is False else "absent"
            message = format_list(f"{state} at {format_duration(change.at_ms)}", affected, max_names=4)
            source_map.add_mistake((*change.path, change.key), message)
        if change.present_after is not None:
            present.update(dict.fromkeys(change.clients, change.present_after))


def _changes(path: ScenarioPath, event: PlannedEvent, racks: Mapping[str, str | None]) -> Iterator[_PresenceChange]:
    match event:
        case Join(at_ms=at_ms, clients=clients, every_ms=every_ms):
            yield from _one_by_one(_PresenceChange(at_ms, path, clients, expected=False, present_after=True), every_ms)
        case Leave(at_ms=at_ms, clients=clients, every_ms=every_ms, closing=closing):
            yield from _one_by_one(_PresenceChange(at_ms, path, clients, expected=True, present_after=None), every_ms)
            end_ms = at_ms + closing.ends_after_ms
            yield from _one_by_one(_PresenceChange(end_ms, path, clients, expected=None, present_after=False), every_ms)
        case PodEvent(at_ms=at_ms, clients=clients, successors=successors, is_permanent=is_permanent):
            after = False if is_permanent else None
            yield _PresenceChange(at_ms, path, clients, expected=True, present_after=after)
            yield _PresenceChange(at_ms, path, successors, expected=False, present_after=True, key="replacements")
        case Crash(at_ms=at_ms, clients=clients, down_ms=down_ms):
            yield _PresenceChange(at_ms, path, clients, expected=True, present_after=False if down_ms is None else None)
        case ReplaceThread() | StreamThreads() | CrashPlan() | RollingBouncePlan():
            yield _PresenceChange(event.at_ms, path, event.clients, expected=True, present_after=None)
        case RackOutage(at_ms=at_ms, rack=rack, down_ms=None):
            rack_clients = tuple(name for name in racks if racks[name] == rack)
            yield _PresenceChange(at_ms, path, rack_clients, expected=None, present_after=False)


def _one_by_one(change: _PresenceChange, every_ms: int) -> Iterator[_PresenceChange]:
    """Yield one change for all clients at once, or one per client."""
    if every_ms == 0:
        yield change
    for i, client in enumerate(change.clients if every_ms else ()):
        yield replace(change, at_ms=change.at_ms + i * every_ms, clients=(client,))


LocatedEvent = tuple[ScenarioPath, PlannedEvent | AutoscalePlan]
"""An event with its path in the scenario."""


def resolve_events(entries: Sequence[EventEntry], context: EventContext) -> tuple[PlannedEvent, ...]:
    """Return the events and the hourly traffic in the order of the scenario; empty if there are mistakes."""
    located = list(_locate_events(entries, context))
    if context.source_map.is_valid("events") and context.source_map.is_valid("clients"):
        scaled = _check_autoscales(located, context)
        unscaled = [(path, event) for path, event in located if not isinstance(event, AutoscalePlan)]
        check_presence(unscaled, scaled, context.clients, context.source_map)
    if not context.mistakes:
        growth = [(path, event) for path, event in located if isinstance(event, PartitionsPlan)]
        check_added_partitions(growth, context)
    if context.mistakes or context.duration_ms is None:
        return ()
    warn_about_unfinished_events(located, context.duration_ms, context.source_map)
    hours = context.duration_ms // HOUR_MS
    if context.traffic.changes_hourly and hours > MAX_OCCURRENCES:
        context.source_map.add_mistake(context.traffic.path, f"{hours:,} hours until the end of the run, {TOO_MANY}")
        return ()
    factors = [(event.at_ms, event.factor) for _, event in located if isinstance(event, TrafficChange)]
    profile = context.traffic.profile(factors)
    return tuple(_expand_events((event for _, event in located), profile, context, context.duration_ms))


def _locate_events(entries: Sequence[EventEntry], context: EventContext) -> Iterator[LocatedEvent]:
    source_map = context.source_map
    for i, entry in valid_entries(entries):
        path: ScenarioPath = ("events", i)
        if context.duration_ms is not None and entry.at >= context.duration_ms:
            end = f"the end of the run, {format_duration(context.duration_ms)} (duration)"
            source_map.add_mistake((*path, "at"), f"{format_duration(entry.at)} is not before {end}")
        kinds = [kind for kind in EVENT_KINDS if getattr(entry, kind) is not None]
        if len(kinds) == 1:
            path = (*path, kinds[0])
            events = _resolve(getattr(entry, kinds[0]), entry.at, path, context)
            yield from ((path, event) for event in events if event is not None)
        elif kinds or source_map.is_valid(*path):
            actual = f"found {' and '.join(kinds)}" if kinds else "found none"
            source_map.add_mistake(path, f"expected one of {', '.join(EVENT_KINDS)}; {actual}")


def _resolve(
    event: Any, at_ms: int, path: ScenarioPath, context: EventContext
) -> Iterator[PlannedEvent | AutoscalePlan | None]:
    """Yield the planned events of an event; None if mistakes leave it without a meaning."""
    source_map = context.source_map
    disk = Disk(getattr(event, "disk", None) or Disk.UNFLUSHED_LOST)
    clients: tuple[str, ...] = ()
    if isinstance(event, ClientsEvent):
        clients = context.clients.find(event.clients, (*path, "clients"), source_map)
    match event:
        case LeaveEvent():
            yield Leave(at_ms, clients, event.every, event.closing())
        case StaggeredClientsEvent():
            yield Join(at_ms, clients, event.every)
        case CrashEvent(pick=None):
            yield Crash(at_ms, clients, event.down, disk)
        case CrashEvent(pick=int(pick)):
            if clients and pick > len(clients):
                message = f"{pick} is more than the number of clients ({len(clients)})"
                source_map.add_mistake((*path, "pick"), message)
            yield CrashPlan(at_ms, tuple(event.clients), clients, pick, event.down, disk)
        case RollingBounceEvent():
            yield _resolve_bounce(event, at_ms, clients, path, context)
        case ChurnEvent():
            yield resolve_churn(event, at_ms, clients, path, context)
        case AutoscaleEvent():
            yield resolve_autoscale(event, at_ms, clients, path, context)
        case ReplaceThreadEvent():
            yield ReplaceThread(at_ms, clients)
        case StreamThreadsEvent():
            yield StreamThreads(at_ms, clients, event.threads)
        case PodClosingEvent():
            yield resolve_pod_event(event, at_ms, path, context)
        case RackOutageEvent():
            racks = [plan.rack for plan in context.clients.plans if plan.rack is not None]
            context.brokers.check_rack(event.rack, (*path, "rack"), racks)
            yield RackOutage(at_ms, event.rack, event.down, disk)
        case BrokerLossEvent():
            context.brokers.check_ids(event.brokers, (*path, "brokers"))
            yield BrokerLoss(at_ms, tuple(event.brokers), event.down)
        case UpgradeEvent():
            yield from _resolve_upgrade(event, at_ms, path, context)
        case BrokerBounceEvent():
            context.brokers.check_ids(event.brokers, (*path, "brokers"))
            yield BrokerBounce(at_ms, tuple(event.brokers), event.down, event.pause)
        case ReplicaMoveEvent():
            yield from resolve_replica_move(event, at_ms, path, context)
        case PartitionsAddedEvent():
            yield from resolve_partitions_added(event, at_ms, path, context)
        case ReassignmentEvent():
            yield from resolve_reassignment(event, at_ms, path, context)
        case ConfigChangeEvent():
            context.clients.check_tags(event.configs.rack_aware_assignment_tags, (*path, "configs"), source_map)
            yield ConfigEdit(at_ms, check_configs(event.configs, (*path, "configs"), source_map))
        case TrafficEvent():
            yield TrafficChange(at_ms, event.factor)


def _resolve_bounce(
    event: RollingBounceEvent, at_ms: int, clients: tuple[str, ...], path: ScenarioPath, context: EventContext
) -> RollingBouncePlan:
    racks = {plan.name: plan.rack for plan in context.clients.plans}
    if clients and not any(racks[client] for client in clients) and context.source_map.is_valid("clients"):
        for key, is_set in (("order", event.order == "by_rack"), ("client_rack", event.client_rack is not None)):
            if is_set:
                context.source_map.add_mistake((*path, key), "the clients have no rack")
    context.clients.check_tags(event.configs.rack_aware_assignment_tags, (*path, "configs"), context.source_map)
    return RollingBouncePlan(
        at_ms=at_ms,
        client_names=tuple(event.clients),
        clients=_in_order(clients, event.order, racks),
        is_shuffled=event.order == "shuffled",
        down_ms=event.down,
        pause_ms=event.pause,
        disk=Disk(event.disk or Disk.KEPT),
        changes=check_configs(event.configs, (*path, "configs"), context.source_map),
        announces_rack=event.client_rack,
        closing=event.closing(),
        consumer=event.configs.consumer_update(),
    )


def _resolve_upgrade(
    event: UpgradeEvent, at_ms: int, path: ScenarioPath, context: EventContext
) -> Iterator[BrokerUpgradePlan | RollingBouncePlan]:
    if event.brokers is not None:
        down_ms = BROKER_DOWN_MS if event.down is None else event.down
        pause_ms = BROKER_PAUSE_MS if event.pause is None else event.pause
        configs = context.releases.configs_after(event, at_ms)
        brokers = tuple(sorted(context.brokers.ids))
        yield BrokerUpgradePlan(at_ms, brokers, down_ms, pause_ms, event.brokers, configs)
    elif event.clients is not None and event.to is not None:
        clients = context.clients.find(event.clients, (*path, "clients"), context.source_map)
        bounce = _resolve_bounce(as_bounce(event), at_ms, clients, path, context)
        configs = context.releases.configs_after(event, at_ms)
        yield replace(bounce, release=event.to, group_configs=configs)


def _in_order(clients: tuple[str, ...], order: str, racks: Mapping[str, str | None]) -> tuple[str, ...]:
    """Return the clients in restart order: by rack (the first client's rack first), as listed, or reversed."""
    if order == "by_rack":
        seen = list(dict.fromkeys(racks[client] for client in clients))
        return tuple(sorted(clients, key=lambda client: seen.index(racks[client])))
    return clients[::-1] if order == "reversed" else clients


def _check_autoscales(located: Sequence[LocatedEvent], context: EventContext) -> set[str]:
    """Report clients of two autoscale events; return all autoscaled clients."""
    scaled: set[str] = set(context.clients.scaled)
    for path, event in located:
        if isinstance(event, AutoscalePlan):
            duplicates = [client for client in event.clients if client in scaled]
            if duplicates:
                context.source_map.add_mistake(
                    (*path, "clients"), format_list("clients also scaled by another event", duplicates, max_names=4)
                )
            scaled.update(event.clients)
    return scaled


def _expand_events(
    events: Iterable[PlannedEvent | AutoscalePlan], profile: TrafficProfile, context: EventContext, duration_ms: int
) -> Iterator[PlannedEvent]:
    """Replace autoscale events by joins and leaves, and traffic events by the resulting traffic."""
    starting = {plan.name for plan in context.clients.plans if plan.starts}
    for event in events:
        match event:
            case AutoscalePlan():
                present = [client for client in event.clients if client in starting]
                yield from event.events(present, context.traffic.source_bytes_per_s, profile, duration_ms)
            case TrafficChange(at_ms=at_ms):
                yield profile.change_at(at_ms)
            case _:
                yield event
    yield from profile.hourly_changes(duration_ms)
