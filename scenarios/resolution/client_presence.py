"""Check that events apply to clients that are present, and that only absent clients join."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from scenarios.language.errors import format_list
from scenarios.language.paths import ScenarioPath
from scenarios.language.units import format_duration
from scenarios.language.validation import SourceMap
from scenarios.resolution.clients import ResolvedClients
from scenarios.sampling.event_plans import CrashPlan, PlannedEvent, RollingBouncePlan
from simulator.world.disturbances import Crash, Join, Leave, RackOutage, ReplaceThread, StreamThreads
from simulator.world.pod_events import PodEvent


@dataclass(frozen=True, slots=True)
class _PresenceChange:
    """An event of clients at one time.

    Attributes:
        at_ms: the time.
        path: the path of the event in the scenario.
        clients: the clients.
        expected: whether they must be present before; None for either.
        present_after: whether they are present afterwards; None for no change.
        key: the key of the event that lists them.
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

    Clients count as present while they are temporarily down, and if they are candidates of a random crash.

    Args:
        events: the events with their paths, without those of autoscaling.
        scaled: the autoscaled clients; other events must not add or remove them.
        clients: all clients.
        source_map: collects the mistakes.
    """
    racks = {plan.name: plan.rack for plan in clients.plans}
    present = {plan.name: plan.starts for plan in clients.plans}
    for path, event in events:
        if isinstance(event, Join | Leave | PodEvent):
            is_temporary = isinstance(event, PodEvent) and not event.is_permanent
            names = () if is_temporary else event.clients
            _check_not_scaled((*path, "clients"), [name for name in names if name in scaled], source_map)
            replacements = event.successors if isinstance(event, PodEvent) else ()
            _check_not_scaled((*path, "replacements"), [name for name in replacements if name in scaled], source_map)
    changes = [change for path, event in events for change in _changes(path, event, racks)]
    for change in sorted(changes, key=lambda change: change.at_ms):
        affected = [name for name in change.clients if name not in scaled and present[name] is not change.expected]
        if affected and change.expected is not None:
            state = "already present" if change.expected is False else "absent"
            message = format_list(f"{state} at {format_duration(change.at_ms)}", affected, max_names=4)
            source_map.add_mistake((*change.path, change.key), message)
        if change.present_after is not None:
            present.update(dict.fromkeys(change.clients, change.present_after))


def _check_not_scaled(path: ScenarioPath, scaled: Sequence[str], source_map: SourceMap) -> None:
    if scaled:
        source_map.add_mistake(path, format_list("only autoscale can add or remove", scaled, max_names=4))


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
        case ReplaceThread(at_ms=at_ms, clients=clients) | StreamThreads(at_ms=at_ms, clients=clients):
            yield _PresenceChange(at_ms, path, clients, expected=True, present_after=None)
        case CrashPlan(at_ms=at_ms, clients=clients) | RollingBouncePlan(at_ms=at_ms, clients=clients):
            yield _PresenceChange(at_ms, path, clients, expected=True, present_after=None)
        case RackOutage(at_ms=at_ms, rack=rack, down_ms=None):
            rack_clients = tuple(name for name in racks if racks[name] == rack)
            yield _PresenceChange(at_ms, path, rack_clients, expected=None, present_after=False)


def _one_by_one(change: _PresenceChange, every_ms: int) -> Iterator[_PresenceChange]:
    """Yield one change for all clients at once, or one per client."""
    if every_ms == 0:
        yield change
        return
    for i, client in enumerate(change.clients):
        yield _PresenceChange(
            change.at_ms + i * every_ms, change.path, (client,), change.expected, change.present_after
        )
