"""Events that stand for many: churn, and autoscaling with the traffic."""

from __future__ import annotations

from scenarios.language.event_entries import AutoscaleEvent, ChurnEvent
from scenarios.language.paths import ScenarioPath
from scenarios.language.units import format_duration
from scenarios.resolution.event_context import EventContext
from scenarios.sampling.autoscaling import AutoscalePlan
from scenarios.sampling.event_plans import MAX_OCCURRENCES, ChurnPlan
from scenarios.sampling.traffic_profile import HOUR_MS

TOO_MANY = f"more than the {MAX_OCCURRENCES:,} that can be simulated"


def resolve_churn(
    event: ChurnEvent, at_ms: int, clients: tuple[str, ...], path: ScenarioPath, context: EventContext
) -> ChurnPlan | None:
    """Understand churn; what is wrong is noted. None if too little is known."""
    source_map, end_ms = context.source_map, context.duration_ms
    if event.crashes is None and event.joins is None and source_map.is_valid(*path):
        source_map.add_mistake(path, "give crashes, joins or both, such as crashes: 2/h")
    starting = {plan.name for plan in context.clients.plans if plan.starts}
    if event.joins is not None and clients and starting.issuperset(clients):
        source_map.add_mistake(
            (*path, "joins"), "all of these clients are there from the start; say starts: false of some"
        )
    if event.until is not None and event.until <= at_ms:
        message = (
            f"{format_duration(event.until)} is not after the beginning, which is at {format_duration(at_ms)} (at)"
        )
        source_map.add_mistake((*path, "until"), message)
    elif event.until is not None and end_ms is not None and event.until > end_ms:
        message = f"{format_duration(event.until)} is after the end, which is at {format_duration(end_ms)} (duration)"
        source_map.add_mistake((*path, "until"), message)
    until_ms = end_ms if event.until is None else event.until
    if until_ms is None:
        return None
    for key, per_hour in (("crashes", event.crashes or 0), ("joins", event.joins or 0)):
        expected = per_hour * (until_ms - at_ms) / HOUR_MS
        if expected > MAX_OCCURRENCES:
            source_map.add_mistake(
                (*path, key), f"that is {expected:,.0f} until {format_duration(until_ms)}, {TOO_MANY}"
            )
    return ChurnPlan(
        at_ms=at_ms,
        client_names=tuple(event.clients),
        clients=clients,
        until_ms=until_ms,
        crashes_per_h=event.crashes or 0,
        joins_per_h=event.joins or 0,
        down_ms=event.down,
        keeps_state=event.keeps_state,
    )


def resolve_autoscale(
    event: AutoscaleEvent, at_ms: int, clients: tuple[str, ...], path: ScenarioPath, context: EventContext
) -> AutoscalePlan | None:
    """Understand autoscaling; what is wrong is noted. None if too little is known, or it cannot be carried out."""
    source_map = context.source_map
    if context.duration_ms is None or not clients:
        return None
    looks = (context.duration_ms - at_ms) // event.every
    if looks > MAX_OCCURRENCES:
        source_map.add_mistake((*path, "every"), f"that is {looks:,} times until the end, {TOO_MANY}")
        return None
    most = len(clients) if event.most is None else event.most
    if most > len(clients):
        source_map.add_mistake((*path, "max"), f"{most} is more than the clients that there are, {len(clients)}")
    if event.fewest > most:
        source_map.add_mistake((*path, "min"), f"{event.fewest} is more than the most that there may be, {most}")
    if not any(context.traffic.source_bytes_per_s) and not context.mistakes:
        source_map.add_mistake(path, "nothing is produced to the source topics, so there is nothing to scale with")
    return AutoscalePlan(at_ms, clients, event.bytes_per_s, event.every, event.fewest, most, event.leaves_group)
