"""Whether events happen to clients that are there, and let only those join that are not."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from scenarios.language.errors import format_list
from scenarios.language.paths import ScenarioPath
from scenarios.language.units import format_duration
from scenarios.language.validation import SourceMap
from scenarios.resolution.clients import ResolvedClients
from scenarios.sampling.event_plans import CrashPlan, PlannedEvent, RollingBouncePlan
from simulator.world.disturbances import Crash, Join, Leave, RackOutage


@dataclass(frozen=True, slots=True)
class _Step:
    """What happens to clients at one time.

    Attributes:
        wanted: whether they have to be there before; None if that makes no difference.
        then: whether they are there afterwards; None if that does not change.
    """

    at_ms: int
    path: ScenarioPath
    clients: tuple[str, ...]
    wanted: bool | None
    then: bool | None


def check_presence(
    events: Sequence[tuple[ScenarioPath, PlannedEvent]],
    scaled: Collection[str],
    clients: ResolvedClients,
    source_map: SourceMap,
) -> None:
    """Note a mistake where a client joins that is there, or something happens to one that is not.

    Clients that are down for a while count as there, and so do those of which some are picked.

    Args:
        events: what happens, and where that stands; nothing that an autoscaler does.
        scaled: the clients that an autoscaler lets come and go; nothing else may, and they may be there or not.
        clients: all of them.
        places: take the mistakes.
    """
    racks = {plan.name: plan.rack for plan in clients.plans}
    present = {plan.name: plan.starts for plan in clients.plans}
    for path, event in events:
        if isinstance(event, Join | Leave):
            _check_none((*path, "clients"), [name for name in event.clients if name in scaled], source_map)
    steps = [step for path, event in events for step in _steps(path, event, racks)]
    for step in sorted(steps, key=lambda step: step.at_ms):
        affected = [name for name in step.clients if name not in scaled and present[name] is not step.wanted]
        if affected and step.wanted is not None:
            state = "there already" if step.wanted is False else "not there"
            message = format_list(f"{state} at {format_duration(step.at_ms)}", affected, most=4)
            source_map.add_mistake((*step.path, "clients"), message)
        if step.then is not None:
            present.update(dict.fromkeys(step.clients, step.then))


def _check_none(path: ScenarioPath, scaled: Sequence[str], source_map: SourceMap) -> None:
    if scaled:
        source_map.add_mistake(path, format_list("only autoscale lets them come and go", scaled, most=4))


def _steps(path: ScenarioPath, event: PlannedEvent, racks: Mapping[str, str | None]) -> Iterator[_Step]:
    match event:
        case Join(at_ms=at_ms, clients=clients, every_ms=every_ms):
            yield from _one_by_one(_Step(at_ms, path, clients, wanted=False, then=True), every_ms)
        case Leave(at_ms=at_ms, clients=clients, every_ms=every_ms):
            yield from _one_by_one(_Step(at_ms, path, clients, wanted=True, then=False), every_ms)
        case Crash(at_ms=at_ms, clients=clients, down_ms=down_ms):
            yield _Step(at_ms, path, clients, wanted=True, then=False if down_ms is None else None)
        case CrashPlan(at_ms=at_ms, clients=clients) | RollingBouncePlan(at_ms=at_ms, clients=clients):
            yield _Step(at_ms, path, clients, wanted=True, then=None)
        case RackOutage(at_ms=at_ms, rack=rack, down_ms=None):
            there = tuple(name for name in racks if racks[name] == rack)
            yield _Step(at_ms, path, there, wanted=None, then=False)


def _one_by_one(step: _Step, every_ms: int) -> Iterator[_Step]:
    """The step of all at once, or one for each."""
    if every_ms == 0:
        yield step
        return
    for i, client in enumerate(step.clients):
        yield _Step(step.at_ms + i * every_ms, step.path, (client,), step.wanted, step.then)
