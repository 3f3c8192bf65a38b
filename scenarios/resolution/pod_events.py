"""Resolve rolling updates, node drains and spot interruptions, and report what Kubernetes does not allow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from scenarios.language.errors import format_list, format_value
from scenarios.language.event_entries import (
    NodeDrainEvent,
    PodClosingEvent,
    RollingUpdateEvent,
    SpotInterruptionEvent,
    resolve_pods,
)
from scenarios.language.paths import ScenarioPath
from scenarios.language.units import format_duration
from scenarios.resolution.event_context import EventContext
from simulator.plurals import counted
from simulator.world.pod_events import (
    MINIMUM_GRACE_MS,
    DeploymentUpdate,
    NodeDrain,
    PodEvent,
    SpotInterruption,
    StatefulSetUpdate,
    Volume,
)

DEFAULT_PODS: Final = "25%"
"""The default of `maxSurge` and `maxUnavailable`."""


def resolve_pod_event(event: PodClosingEvent, at_ms: int, path: ScenarioPath, context: EventContext) -> PodEvent | None:
    """Resolve an event; return None if it has no meaning because of mistakes."""
    match event:
        case RollingUpdateEvent(kind=None):
            if context.source_map.is_valid(*path, "kind"):
                context.source_map.add_mistake((*path, "kind"), "missing; set stateful_set or deployment")
            return None
        case RollingUpdateEvent(kind="stateful_set"):
            return _resolve_stateful_set(event, at_ms, path, context)
        case RollingUpdateEvent():
            return _resolve_deployment(event, at_ms, path, context)
        case NodeDrainEvent():
            return _resolve_drain(event, at_ms, path, context)
        case SpotInterruptionEvent():
            return _resolve_interruption(event, at_ms, path, context)
    return None


def _resolve_stateful_set(
    event: RollingUpdateEvent, at_ms: int, path: ScenarioPath, context: EventContext
) -> StatefulSetUpdate:
    for key in ("max_surge", "max_unavailable"):
        if getattr(event, key) is not None:
            message = "only with kind: deployment; a StatefulSet replaces one pod at a time"
            context.source_map.add_mistake((*path, key), message)
    if event.replacements is not None:
        message = "pods of a StatefulSet come back with their names; remove replacements, or set kind: deployment"
        context.source_map.add_mistake((*path, "replacements"), message)
    clients = context.clients.find(event.clients, (*path, "clients"), context.source_map)
    volume = Volume(event.volume or Volume.ZONAL)
    return StatefulSetUpdate(
        at_ms, clients, event.closing(), volume, start_ms=event.start_after, ready_ms=event.ready_after
    )


def _resolve_deployment(
    event: RollingUpdateEvent, at_ms: int, path: ScenarioPath, context: EventContext
) -> DeploymentUpdate | None:
    if event.volume not in (None, "none"):
        message = "pods of a Deployment have no volume of their own; remove volume, or set kind: stateful_set"
        context.source_map.add_mistake((*path, "volume"), message)
    clients = context.clients.find(event.clients, (*path, "clients"), context.source_map)
    if not clients:
        return None
    stated_surge, stated_missing = event.max_surge or DEFAULT_PODS, event.max_unavailable or DEFAULT_PODS
    surge = resolve_pods(stated_surge, len(clients), rounds_up=True)
    missing = resolve_pods(stated_missing, len(clients), rounds_up=False)
    if not surge and not missing:
        if stated_missing.rstrip("%") == "0":
            message = "max_surge and max_unavailable are both 0, so no pod can be replaced; set one to at least 1"
            context.source_map.add_mistake((*path, "max_unavailable"), message)
        # The controller then sets maxUnavailable to 1 (`ResolveFenceposts`).
        missing = 1
    successors = _find_replacements(event.replacements, clients, path, context)
    if surge and event.replacements is None:
        message = (
            f"max_surge is {stated_surge}, so new pods start before old ones stop: list "
            f"{counted(len(clients), 'client')} with starts: false under replacements, or set "
            "max_surge: 0"
        )
        context.source_map.add_mistake(path, message)
    return DeploymentUpdate(
        at_ms,
        clients,
        event.closing(),
        successors=successors,
        start_ms=event.start_after,
        ready_ms=event.ready_after,
        max_surge=surge,
        max_unavailable=min(missing, len(clients)),
    )


def _resolve_drain(event: NodeDrainEvent, at_ms: int, path: ScenarioPath, context: EventContext) -> NodeDrain | None:
    if (event.clients is None) == (event.rack is None):
        found = "found none" if event.clients is None else "found both"
        context.source_map.add_mistake(path, f"expected clients or rack, the zone to drain; {found}")
        return None
    clients = _drained_clients(event, path, context)
    if not clients:
        return None
    drain = NodeDrain(
        at_ms,
        clients,
        event.closing(),
        Volume(event.volume),
        _find_replacements(event.replacements, clients, path, context),
        start_ms=event.start_after,
        ready_ms=event.ready_after,
        max_unavailable=event.max_unavailable,
        nodes_back_ms=event.down,
        drains_zone=event.rack is not None,
    )
    _check_drain(drain, event, path, context)
    return drain


def _drained_clients(event: NodeDrainEvent, path: ScenarioPath, context: EventContext) -> tuple[str, ...]:
    if event.clients is not None:
        return context.clients.find(event.clients, (*path, "clients"), context.source_map)
    racks = [plan.rack for plan in context.clients.plans if plan.rack is not None]
    context.brokers.check_rack(event.rack or "", (*path, "rack"), racks)
    clients = tuple(plan.name for plan in context.clients.plans if plan.rack == event.rack and plan.starts)
    if not clients and context.source_map.is_valid("clients"):
        message = f"no client of rack {format_value(event.rack)} is up at the start; list the drained clients instead"
        context.source_map.add_mistake((*path, "rack"), message)
    return clients


def _check_drain(drain: NodeDrain, event: NodeDrainEvent, path: ScenarioPath, context: EventContext) -> None:
    """Report drains that block, and pods that have nowhere to start."""
    source_map, pods = context.source_map, len(drain.clients)
    if event.replacements is not None and drain.volume is not Volume.NONE:
        _report_kept_volume(path, context)
    elif drain.is_bound_to_nodes:
        if drain.max_unavailable is not None and drain.max_unavailable < pods:
            message = (
                f"the drain never ends: evicted pods with volume: {drain.volume.value} are not ready before the nodes "
                f"are back, so only {drain.max_unavailable} of {pods} may be evicted; set max_unavailable to at least "
                f"{pods}"
            )
            source_map.add_mistake((*path, "max_unavailable"), message)
    elif event.down is not None:
        source_map.add_warning((*path, "down"), "has no effect: the pods start on other nodes")
    if drain.drains_zone and drain.volume is Volume.NONE:
        rack_of = {plan.name: plan.rack for plan in context.clients.plans}
        inside = [name for name in drain.successors if rack_of[name] == event.rack]
        if event.replacements is None:
            message = (
                f"all nodes of rack {format_value(event.rack)} are drained, so its pods start in other racks: list "
                f"{counted(pods, 'client')} of other racks with starts: false under replacements"
            )
            source_map.add_mistake(path, message)
        elif inside:
            message = format_list(f"in rack {event.rack}, all of whose nodes are drained", inside, max_names=4)
            source_map.add_mistake((*path, "replacements"), message)


def _resolve_interruption(
    event: SpotInterruptionEvent, at_ms: int, path: ScenarioPath, context: EventContext
) -> SpotInterruption:
    source_map, notice = context.source_map, format_duration(event.notice)
    clients = context.clients.find(event.clients, (*path, "clients"), source_map)
    successors = _find_replacements(event.replacements, clients, path, context)
    if event.volume == "local":
        message = "a disk of the instance is lost with it; set volume to none, or to zonal for a network disk"
        source_map.add_mistake((*path, "volume"), message)
    elif event.replacements is not None and event.volume != "none":
        _report_kept_volume(path, context)
    if event.reacts and event.pre_stop and event.pre_stop + MINIMUM_GRACE_MS > event.notice:
        message = f"leaves no time to close before the instance stops ({notice} after the notice); shorten it"
        source_map.add_mistake((*path, "pre_stop"), message)
    interruption = SpotInterruption(
        at_ms,
        clients,
        event.closing(),
        Volume(event.volume),
        successors,
        notice_ms=event.notice,
        reacts=event.reacts,
        replace_ms=event.replace,
    )
    if event.replace is None:
        if event.replacements is not None:
            source_map.add_mistake((*path, "replacements"), "set replace, the time until the replacements start")
    elif event.replacements is None and event.replace < interruption.ends_after_ms:
        ends = format_duration(interruption.ends_after_ms)
        message = (
            f"{format_duration(event.replace)} is before the end of the interrupted client, at {ends}; set replace to "
            f"at least {ends}, or list other clients with starts: false under replacements"
        )
        source_map.add_mistake((*path, "replace"), message)
    return interruption


def _report_kept_volume(path: ScenarioPath, context: EventContext) -> None:
    message = "replacements have empty disks; set volume: none, or remove replacements"
    context.source_map.add_mistake((*path, "replacements"), message)


def _find_replacements(
    names: Sequence[str] | None, clients: tuple[str, ...], path: ScenarioPath, context: EventContext
) -> tuple[str, ...]:
    """Return the clients that start instead, and report if they cannot."""
    if names is None:
        return ()
    path = (*path, "replacements")
    found = context.clients.find(names, path, context.source_map)
    both = [name for name in found if name in clients]
    if both:
        context.source_map.add_mistake(path, format_list("cannot replace themselves", both, max_names=4))
    elif found and clients and len(found) != len(clients):
        replaced = counted(len(clients), "client is", "clients are")
        message = f"{replaced} replaced by {len(found)}; list as many replacements as clients"
        context.source_map.add_mistake(path, message)
    return found
