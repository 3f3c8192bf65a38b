"""Resolve events that occur repeatedly: churn and autoscaling."""

from __future__ import annotations

from scenarios.language.event_entries import AutoscaleEvent, ChurnEvent
from scenarios.language.paths import ScenarioPath
from scenarios.language.units import format_duration
from scenarios.resolution.disks import resolve_disk
from scenarios.resolution.event_context import EventContext
from scenarios.sampling.autoscaling import AutoscalePlan
from scenarios.sampling.event_plans import MAX_OCCURRENCES, ChurnPlan
from scenarios.sampling.traffic_profile import HOUR_MS
from simulator.world.disturbances import Disk

TOO_MANY = f"more than the {MAX_OCCURRENCES:,} that can be simulated"


def resolve_churn(
    event: ChurnEvent, at_ms: int, clients: tuple[str, ...], path: ScenarioPath, context: EventContext
) -> ChurnPlan | None:
    """Resolve churn, and report mistakes; return None if the duration is unknown."""
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
        disk=resolve_disk(event, Disk.UNFLUSHED_LOST, path, context),
    )


def resolve_autoscale(
    event: AutoscaleEvent, at_ms: int, clients: tuple[str, ...], path: ScenarioPath, context: EventContext
) -> AutoscalePlan | None:
    """Resolve autoscaling, and report mistakes; return None if it cannot be evaluated."""
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
