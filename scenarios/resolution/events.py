"""Resolve events, and check that they refer to existing entities at valid times.

Events apply to clients that are present, and only absent clients join. Churn and autoscaling occur repeatedly. If a run
is too short for an event, a warning says so. What a kind of event does is in its file of `scenarios.events`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from scenarios.events.event_entry import EVENTS, EventEntry, listed_events
from scenarios.events.scenario_event import EventContext, LocatedEvent
from scenarios.language.errors import format_list
from scenarios.language.fields import valid_entries
from scenarios.language.paths import ScenarioPath
from scenarios.language.units import format_duration
from scenarios.resolution.traffic import ResolvedTraffic
from scenarios.sampling.blueprint import Blueprint
from scenarios.sampling.event_sampling import PlannedEvent
from scenarios.sampling.traffic_profile import HOUR_MS, MAX_OCCURRENCES, TOO_MANY, TrafficProfile
from simulator.world.disturbances import BrokerBounce, TrafficChange


@dataclass(frozen=True, slots=True)
class ResolvedEvents:
    """The events of a scenario without mistakes; empty if there are some.

    `planned`: in the order of the scenario, then the hourly traffic. `profile`: the traffic over time.
    """

    located: tuple[LocatedEvent, ...]
    planned: tuple[PlannedEvent, ...]
    profile: TrafficProfile

    def broker_restarts(self) -> list[tuple[ScenarioPath, BrokerBounce]]:
        """Return the rolling restarts of brokers, with their paths in the scenario."""
        restarts = ((one.context.path, one.event.broker_restarts(one.planned)) for one in self.located)
        return [(path, bounce) for path, bounce in restarts if bounce is not None]

    def check_worlds(self, blueprint: Blueprint, seed: int) -> None:
        """Report mistakes that only the world of a seed shows; no other seed is checked."""
        for kind in dict.fromkeys(type(one.event) for one in self.located):
            kind.check_worlds([one for one in self.located if type(one.event) is kind], blueprint, seed)


def resolve_events(
    entries: Sequence[EventEntry], context: EventContext, traffic: ResolvedTraffic, *, is_main: bool
) -> ResolvedEvents:
    """Resolve the events, and report mistakes; those of the cluster happen in the main scenario only."""
    for at_ms, path, event in sorted(listed_events(entries), key=lambda event: event[0]):
        event.add_upgrade(replace(context, at_ms=at_ms, path=path))
    located = list(_resolve_entries(entries, context))
    if context.source_map.is_valid("events") and context.source_map.is_valid("clients"):
        _check_presence(located, _check_autoscalers(located, context), context)
    for one in sorted(located, key=lambda one: one.context.at_ms) if not context.mistakes else ():
        one.event.check_in_order(one.planned, one.context)
    factors = [(one.planned.at_ms, one.planned.factor) for one in located if isinstance(one.planned, TrafficChange)]
    profile = traffic.profile(factors)
    if context.mistakes or context.duration_ms is None:
        return ResolvedEvents((), (), profile)
    for one in located:
        one.event.warn_about_end(one.planned, one.context)
    hours = context.duration_ms // HOUR_MS
    if traffic.changes_hourly and hours > MAX_OCCURRENCES:
        context.source_map.add_mistake(traffic.path, f"{hours:,} hours until the end of the run, {TOO_MANY}")
        return ResolvedEvents((), (), profile)
    located = [one for one in located if is_main or not one.event.is_of_cluster]
    planned = (event for one in located for event in one.event.occurrences(one.planned, profile, one.context))
    return ResolvedEvents(tuple(located), (*planned, *profile.hourly_changes(context.duration_ms)), profile)


def _resolve_entries(entries: Sequence[EventEntry], context: EventContext) -> Iterator[LocatedEvent]:
    for i, entry in valid_entries(entries):
        of_entry = replace(context, at_ms=entry.at, path=("events", i))
        if context.duration_ms is not None and entry.at >= context.duration_ms:
            end = f"the end of the run, {format_duration(context.duration_ms)} (duration)"
            of_entry.report(f"{format_duration(entry.at)} is not before {end}", "at")
        match entry.events:
            case [(kind, event)]:
                of_event = replace(of_entry, path=("events", i, kind))
                yield from (LocatedEvent(event, planned, of_event) for planned in event.resolve(of_event))
            case events if events or of_entry.is_valid():
                found = f"found {' and '.join(kind for kind, _ in events)}" if events else "found none"
                of_entry.report(f"expected one of {', '.join(EVENTS)}; {found}")


def _check_autoscalers(located: Sequence[LocatedEvent], context: EventContext) -> set[str]:
    """Report clients of two autoscalers; return all autoscaled clients."""
    scaled = set(context.clients.scaled)
    for one in located:
        clients = one.event.scaled_clients(one.planned)
        if duplicates := [client for client in clients if client in scaled]:
            one.context.report(format_list("clients also scaled by another event", duplicates, max_names=4), "clients")
        scaled.update(clients)
    return scaled


def _check_presence(located: Sequence[LocatedEvent], scaled: Collection[str], context: EventContext) -> None:
    """Report joins of present clients, and other events of absent clients.

    Clients count as present while they are temporarily down, and if they are candidates of a random crash. `scaled`:
    the autoscaled clients; other events must not add or remove them.
    """
    present = {plan.name: plan.starts for plan in context.clients.plans}
    for one in located:
        for key, names in one.event.added_or_removed(one.planned):
            if of_pool := [name for name in names if name in scaled]:
                one.context.report(format_list("only autoscale can add or remove", of_pool, max_names=4), key)
    changes = [(one.context, change) for one in located for change in one.event.presence(one.planned, one.context)]
    for of_event, change in sorted(changes, key=lambda located_change: located_change[1].at_ms):
        affected = [name for name in change.clients if name not in scaled and present[name] is not change.before]
        if affected and change.before is not None:
            state = "already present" if change.before is False else "absent"
            of_event.report(
                format_list(f"{state} at {format_duration(change.at_ms)}", affected, max_names=4), change.key
            )
        if change.after is not None:
            present.update(dict.fromkeys(change.clients, change.after))
