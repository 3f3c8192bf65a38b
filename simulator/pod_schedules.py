"""When the platform stops each process in a pod event, and when which successor starts.

Pods count as ready a fixed time after their start, whatever the application does; so the schedule of an event does not
depend on the assignor. A successor cannot start while its zone is out; a pod that can never start holds up those that
wait for it.

Source: `ssc.go` and `stateful_set_control.go` (StatefulSet, `OrderedReady`), `deployment/rolling.go` and
`deployment/util/deployment_util.go` (Deployment) of `pkg/controller` in Kubernetes 1.34; the Eviction API
(PodDisruptionBudget).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from simulator.world.disturbances import RackOutage
from simulator.world.pod_events import (
    Closing,
    DeploymentUpdate,
    NodeDrain,
    PodEvent,
    SpotInterruption,
    StatefulSetUpdate,
)
from simulator.world.world import World

Startable = Callable[[str, int], int | None]
"""Returns the first time from a given one on at which a client can start; None for never."""


class PodStop(NamedTuple):
    """A process that the platform stops. `closing`: how it is stopped; None if it is killed without being asked."""

    client: str
    at_ms: int
    closing: Closing | None


class PodStart(NamedTuple):
    """A process that the platform starts."""

    client: str
    at_ms: int


def startable_ms(world: World) -> Startable:
    """Return when clients can start, given the outages of their racks."""
    rack_of = {client.name: client.rack for client in world.clients}
    outages = sorted((event for event in world.disturbances if isinstance(event, RackOutage)), key=lambda e: e.at_ms)

    def first_ms(client: str, at_ms: int) -> int | None:
        for outage in outages:
            if outage.rack == rack_of[client] and outage.at_ms <= at_ms:
                if outage.down_ms is None:
                    return None
                at_ms = max(at_ms, outage.at_ms + outage.down_ms)
        return at_ms

    return first_ms


def always(_client: str, at_ms: int) -> int:
    """Let every client start at any time."""
    return at_ms


def pod_schedule(event: PodEvent, startable: Startable) -> Iterator[PodStop | PodStart]:
    """Yield the stops and starts of an event; each client stops and starts at most once."""
    match event:
        case StatefulSetUpdate():
            yield from _update_stateful_set(event, startable)
        case DeploymentUpdate():
            yield from _update_deployment(event, startable)
        case NodeDrain():
            yield from _drain(event, startable)
        case SpotInterruption():
            yield from _interrupt(event, startable)


def _update_stateful_set(event: StatefulSetUpdate, startable: Startable) -> Iterator[PodStop | PodStart]:
    at_ms = event.at_ms
    for client in reversed(event.clients):
        yield PodStop(client, at_ms, event.closing)
        starts_ms = startable(client, at_ms + event.closing.ends_after_ms + event.start_ms)
        if starts_ms is None:
            return
        yield PodStart(client, starts_ms)
        at_ms = starts_ms + event.ready_ms


def _update_deployment(event: DeploymentUpdate, startable: Startable) -> Iterator[PodStop | PodStart]:
    """Create and stop pods as the controller does: whenever a new pod is ready.

    First it creates as many new pods as `max_surge` allows, then it stops as many old ones as `max_unavailable` allows.
    Pods that are stopping do not count. Yields the stops and starts.
    """
    desired, at_ms = len(event.clients), event.at_ms
    stopped: list[int] = []
    num_created = 0
    ready_ms: list[int] = []
    while True:
        num_old = desired - len(stopped)
        new = min(desired - num_created, desired + event.max_surge - num_old - num_created)
        for i in range(num_created, num_created + max(0, new)):
            starts_ms = at_ms + event.start_ms
            successor = event.successors[i] if event.successors else event.clients[-1 - i]
            if not event.successors:
                starts_ms = max(starts_ms, stopped[i] + event.closing.ends_after_ms)
            first_ms = startable(successor, starts_ms)
            if first_ms is not None:
                yield PodStart(successor, first_ms)
                ready_ms.append(first_ms + event.ready_ms)
        num_created += max(0, new)
        num_ready = num_old + sum(ready <= at_ms for ready in ready_ms)
        surplus = min(num_old, num_ready - (desired - event.max_unavailable))
        for i in range(len(stopped), len(stopped) + max(0, surplus)):
            yield PodStop(event.clients[-1 - i], at_ms, event.closing)
            stopped.append(at_ms)
        if surplus > 0:
            continue
        later_ms = [ready for ready in ready_ms if ready > at_ms]
        if not later_ms:
            return
        at_ms = min(later_ms)


def _drain(event: NodeDrain, startable: Startable) -> Iterator[PodStop | PodStart]:
    """Evict each pod once enough evicted ones are ready again."""
    budget = event.max_unavailable or len(event.clients)
    ready_ms: list[int | None] = []
    for i, client in enumerate(event.clients):
        at_ms: int | None = event.at_ms
        if i >= budget:
            known = sorted(ready for ready in ready_ms if ready is not None)
            at_ms = known[i - budget] if i - budget < len(known) else None
        if at_ms is None:
            return
        yield PodStop(client, at_ms, event.closing)
        successor = event.successors[i] if event.successors else client
        first_ms: int | None = at_ms + event.closing.ends_after_ms + event.start_ms
        if event.is_bound_to_nodes:
            back_ms = event.nodes_back_ms
            first_ms = None if back_ms is None else max(first_ms or 0, event.at_ms + back_ms)
        starts_ms = None if first_ms is None else startable(successor, first_ms)
        if starts_ms is not None:
            yield PodStart(successor, starts_ms)
        ready_ms.append(None if starts_ms is None else starts_ms + event.ready_ms)


def _interrupt(event: SpotInterruption, startable: Startable) -> Iterator[PodStop | PodStart]:
    for i, client in enumerate(event.clients):
        if event.reacts:
            yield PodStop(client, event.at_ms, event.closing_by_notice)
        else:
            yield PodStop(client, event.at_ms + event.notice_ms, None)
        if event.replace_ms is None:
            continue
        after_ms = event.replace_ms if event.successors else max(event.replace_ms, event.ends_after_ms)
        successor = event.successors[i] if event.successors else client
        first_ms = startable(successor, event.at_ms + after_ms)
        if first_ms is not None:
            yield PodStart(successor, first_ms)
