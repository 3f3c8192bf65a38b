"""What happens: each event names things that exist, at a time when it can happen to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

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
    RackOutageEvent,
    ReassignmentEvent,
    ReplicaMoveEvent,
    RollingBounceEvent,
    StaggeredClientsEvent,
    TrafficEvent,
)
from scenarios.language.fields import valid_entries
from scenarios.language.paths import ScenarioPath
from scenarios.language.units import format_duration
from scenarios.resolution.client_presence import check_presence
from scenarios.resolution.configs import check_configs
from scenarios.resolution.event_context import EventContext
from scenarios.resolution.reassignment_events import resolve_reassignment, resolve_replica_move
from scenarios.resolution.repeated_events import TOO_MANY, resolve_autoscale, resolve_churn
from scenarios.resolution.unfinished_events import warn_about_unfinished_events
from scenarios.sampling.autoscaling import AutoscalePlan
from scenarios.sampling.event_plans import MAX_OCCURRENCES, ConfigEdit, CrashPlan, PlannedEvent, RollingBouncePlan
from scenarios.sampling.traffic_profile import HOUR_MS, TrafficProfile
from simulator.world.disturbances import BrokerBounce, BrokerLoss, Crash, Join, Leave, RackOutage, TrafficChange

LocatedEvent = tuple[ScenarioPath, PlannedEvent | AutoscalePlan]
"""What happens, and where the scenario says so."""


def resolve_events(entries: Sequence[EventEntry], around: EventContext) -> tuple[PlannedEvent, ...]:
    """Understand the events, in the order of the scenario, and the daily profile of traffic; what is wrong is noted."""
    found = list(_resolve_each(entries, around))
    if around.places.is_valid("events") and around.places.is_valid("clients"):
        scaled = _check_autoscales(found, around)
        others = [(path, event) for path, event in found if not isinstance(event, AutoscalePlan)]
        check_presence(others, scaled, around.clients, around.places)
    if around.mistakes or around.duration_ms is None:
        return ()
    warn_about_unfinished_events(found, around.duration_ms, around.places)
    hours = around.duration_ms // HOUR_MS
    if around.traffic.changes_hourly and hours > MAX_OCCURRENCES:
        around.places.wrong(around.traffic.path, f"that is {hours:,} hours until the end, {TOO_MANY}")
        return ()
    factors = [(event.at_ms, event.factor) for _, event in found if isinstance(event, TrafficChange)]
    profile = around.traffic.profile(factors)
    return tuple(_carry_out([event for _, event in found], profile, around, around.duration_ms))


def _resolve_each(entries: Sequence[EventEntry], around: EventContext) -> Iterator[LocatedEvent]:
    places = around.places
    for i, entry in valid_entries(entries):
        path: ScenarioPath = ("events", i)
        if around.duration_ms is not None and entry.at >= around.duration_ms:
            end = f"the end, which is at {format_duration(around.duration_ms)} (duration)"
            places.wrong((*path, "at"), f"{format_duration(entry.at)} is not before {end}")
        kinds = [kind for kind in EVENT_KINDS if getattr(entry, kind) is not None]
        if len(kinds) == 1:
            path = (*path, kinds[0])
            yield from ((path, event) for event in _resolve(kinds[0], entry, path, around))
        elif kinds or places.is_valid(*path):
            told = f"it has {' and '.join(kinds)}" if kinds else "it has none"
            places.wrong(path, f"an event is one of {', '.join(EVENT_KINDS)}; {told}")


def _resolve(
    kind: str, entry: EventEntry, path: ScenarioPath, around: EventContext
) -> Iterator[PlannedEvent | AutoscalePlan]:
    said, at_ms = getattr(entry, kind), entry.at
    if isinstance(said, ClientsEvent):
        clients = around.clients.find(said.clients, (*path, "clients"), around.places)
        yield from _resolve_clients(said, at_ms, clients, path, around)
    match said:
        case RackOutageEvent():
            racks = [plan.rack for plan in around.clients.plans if plan.rack is not None]
            around.brokers.check_rack(said.rack, (*path, "rack"), racks)
            yield RackOutage(at_ms, said.rack, said.down)
        case BrokerLossEvent():
            around.brokers.check_ids(said.brokers, (*path, "brokers"))
            yield BrokerLoss(at_ms, tuple(said.brokers), said.down)
        case BrokerBounceEvent():
            around.brokers.check_ids(said.brokers, (*path, "brokers"))
            yield BrokerBounce(at_ms, tuple(said.brokers), said.down, said.pause)
        case ReplicaMoveEvent():
            yield from resolve_replica_move(said, at_ms, path, around)
        case ReassignmentEvent():
            yield from resolve_reassignment(said, at_ms, path, around)
        case ConfigChangeEvent():
            around.clients.check_tags(said.configs.rack_aware_assignment_tags, (*path, "configs"), around.places)
            yield ConfigEdit(at_ms, check_configs(said.configs, (*path, "configs"), around.places))
        case TrafficEvent():
            yield TrafficChange(at_ms, said.factor)


def _resolve_clients(
    said: ClientsEvent, at_ms: int, clients: tuple[str, ...], path: ScenarioPath, around: EventContext
) -> Iterator[PlannedEvent | AutoscalePlan]:
    match said:
        case LeaveEvent():
            yield Leave(at_ms, clients, said.every, said.leaves_group)
        case StaggeredClientsEvent():
            yield Join(at_ms, clients, said.every)
        case CrashEvent(pick=None):
            yield Crash(at_ms, clients, said.down, said.keeps_state)
        case CrashEvent(pick=int(pick)):
            if clients and pick > len(clients):
                around.places.wrong((*path, "pick"), f"{pick} is more than the clients named, {len(clients)}")
            yield CrashPlan(at_ms, tuple(said.clients), clients, pick, said.down, said.keeps_state)
        case RollingBounceEvent():
            yield _resolve_bounce(said, at_ms, clients, path, around)
        case ChurnEvent():
            churn = resolve_churn(said, at_ms, clients, path, around)
            yield from () if churn is None else (churn,)
        case AutoscaleEvent():
            autoscale = resolve_autoscale(said, at_ms, clients, path, around)
            yield from () if autoscale is None else (autoscale,)


def _resolve_bounce(
    said: RollingBounceEvent, at_ms: int, clients: tuple[str, ...], path: ScenarioPath, around: EventContext
) -> RollingBouncePlan:
    racks = {plan.name: plan.rack for plan in around.clients.plans}
    if clients and not any(racks[client] for client in clients) and around.places.is_valid("clients"):
        for key, is_said in (("order", said.order == "by_rack"), ("client_rack", said.client_rack is not None)):
            if is_said:
                around.places.wrong((*path, key), "none of these clients stands in a rack")
    around.clients.check_tags(said.configs.rack_aware_assignment_tags, (*path, "configs"), around.places)
    return RollingBouncePlan(
        at_ms=at_ms,
        said=tuple(said.clients),
        clients=_in_order(clients, said.order, racks),
        is_shuffled=said.order == "shuffled",
        down_ms=said.down,
        pause_ms=said.pause,
        keeps_state=said.keeps_state,
        changes=check_configs(said.configs, (*path, "configs"), around.places),
        announces_rack=said.client_rack,
        leaves_group=said.leaves_group,
    )


def _in_order(clients: tuple[str, ...], order: str, racks: Mapping[str, str | None]) -> tuple[str, ...]:
    """Those of one rack after those of another, the rack of the first client first; or as listed, or the reverse."""
    if order == "by_rack":
        seen = list(dict.fromkeys(racks[client] for client in clients))
        return tuple(sorted(clients, key=lambda client: seen.index(racks[client])))
    return clients[::-1] if order == "reversed" else clients


def _check_autoscales(found: Sequence[LocatedEvent], around: EventContext) -> set[str]:
    """Note a mistake where two autoscalers have a client; return all that have one."""
    scaled: set[str] = set()
    for path, event in found:
        if isinstance(event, AutoscalePlan):
            twice = [client for client in event.clients if client in scaled]
            if twice:
                around.places.wrong((*path, "clients"), format_list("scaled by another event too", twice, most=4))
            scaled.update(event.clients)
    return scaled


def _carry_out(
    events: Sequence[PlannedEvent | AutoscalePlan], profile: TrafficProfile, around: EventContext, duration_ms: int
) -> Iterator[PlannedEvent]:
    """Put in the place of autoscalers what they do, and in that of traffic events what they come to."""
    starting = {plan.name for plan in around.clients.plans if plan.starts}
    for event in events:
        match event:
            case AutoscalePlan():
                there = [client for client in event.clients if client in starting]
                yield from event.scale(there, around.traffic.source_bytes_per_s, profile, duration_ms)
            case TrafficChange(at_ms=at_ms):
                yield profile.change(at_ms)
            case _:
                yield event
    yield from profile.hourly_changes(duration_ms)
