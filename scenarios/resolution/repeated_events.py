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
    said: ChurnEvent, at_ms: int, clients: tuple[str, ...], path: ScenarioPath, around: EventContext
) -> ChurnPlan | None:
    """Understand churn; what is wrong is noted. None if too little is known."""
    places, end_ms = around.places, around.duration_ms
    if said.crashes is None and said.joins is None and places.is_valid(*path):
        places.wrong(path, "give crashes, joins or both, such as crashes: 2/h")
    starting = {plan.name for plan in around.clients.plans if plan.starts}
    if said.joins is not None and clients and starting.issuperset(clients):
        places.wrong((*path, "joins"), "all of these clients are there from the start; say starts: false of some")
    if said.until is not None and said.until <= at_ms:
        message = f"{format_duration(said.until)} is not after the beginning, which is at {format_duration(at_ms)} (at)"
        places.wrong((*path, "until"), message)
    elif said.until is not None and end_ms is not None and said.until > end_ms:
        message = f"{format_duration(said.until)} is after the end, which is at {format_duration(end_ms)} (duration)"
        places.wrong((*path, "until"), message)
    until_ms = end_ms if said.until is None else said.until
    if until_ms is None:
        return None
    for key, per_hour in (("crashes", said.crashes or 0), ("joins", said.joins or 0)):
        expected = per_hour * (until_ms - at_ms) / HOUR_MS
        if expected > MAX_OCCURRENCES:
            places.wrong((*path, key), f"that is {expected:,.0f} until {format_duration(until_ms)}, {TOO_MANY}")
    return ChurnPlan(
        at_ms=at_ms,
        said=tuple(said.clients),
        clients=clients,
        until_ms=until_ms,
        crashes_per_h=said.crashes or 0,
        joins_per_h=said.joins or 0,
        down_ms=said.down,
        keeps_state=said.keeps_state,
    )


def resolve_autoscale(
    said: AutoscaleEvent, at_ms: int, clients: tuple[str, ...], path: ScenarioPath, around: EventContext
) -> AutoscalePlan | None:
    """Understand autoscaling; what is wrong is noted. None if too little is known, or it cannot be carried out."""
    places = around.places
    if around.duration_ms is None or not clients:
        return None
    looks = (around.duration_ms - at_ms) // said.every
    if looks > MAX_OCCURRENCES:
        places.wrong((*path, "every"), f"that is {looks:,} times until the end, {TOO_MANY}")
        return None
    most = len(clients) if said.most is None else said.most
    if most > len(clients):
        places.wrong((*path, "max"), f"{most} is more than the clients that there are, {len(clients)}")
    if said.fewest > most:
        places.wrong((*path, "min"), f"{said.fewest} is more than the most that there may be, {most}")
    if not any(around.traffic.source_bytes_per_s) and not around.mistakes:
        places.wrong(path, "nothing is produced to the source topics, so there is nothing to scale with")
    return AutoscalePlan(at_ms, clients, said.bytes_per_s, said.every, said.fewest, most, said.leaves_group)
