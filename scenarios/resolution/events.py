"""What happens: each event names things that exist, at a time when it can happen to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scenarios.blueprint import ConfigEdit, TopicPlan
from scenarios.errors import did_you_mean, listing, show
from scenarios.fields import intact
from scenarios.paths import Path
from scenarios.resolution.brokers import Brokers
from scenarios.resolution.clients import ClientsDraft
from scenarios.resolution.configs import check_configs
from scenarios.schema import (
    EVENT_KINDS,
    BrokerLossEvent,
    ClientsEvent,
    ConfigChangeEvent,
    CrashEvent,
    EventEntry,
    RackOutageEvent,
    ReplicaMoveEvent,
    RollingBounceEvent,
)
from scenarios.validation import Places
from simulator.disturbances import (
    BrokerLoss,
    Crash,
    Disturbance,
    Join,
    Leave,
    RackOutage,
    ReplicaMove,
    RollingBounce,
)

Event = Disturbance | ConfigEdit
_JOINS = ("join", "scale_out")
_LEAVES = ("leave", "scale_in")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What events refer to.

    Attributes:
        topics: those that are understood, by name.
        all_topics: the names of all topics; None if not all are known.
        duration_ms: when the run ends; None if not known.
    """

    brokers: Brokers
    clients: ClientsDraft
    topics: Mapping[str, TopicPlan]
    all_topics: frozenset[str] | None
    duration_ms: int | None


def resolve_events(entries: Sequence[EventEntry], around: Surroundings, places: Places) -> tuple[Event, ...]:
    """Understand the events, in the order of the scenario; what is wrong goes to `places`."""
    events: list[tuple[Path, Event]] = []
    for i, entry in intact(entries):
        path: Path = ("events", i)
        if around.duration_ms is not None and entry.at >= around.duration_ms:
            message = f"{_time(entry.at)} is not before the end, which is at {_time(around.duration_ms)} (duration)"
            places.wrong((*path, "at"), message)
        kinds = [kind for kind in EVENT_KINDS if getattr(entry, kind) is not None]
        if len(kinds) == 1:
            path = (*path, kinds[0])
            event = _resolve(kinds[0], entry, path, around, places)
            if event is not None:
                events.append((path, event))
        elif kinds or places.is_sound(*path):
            found = f"it has {' and '.join(kinds)}" if kinds else "it has none"
            places.wrong(path, f"an event is one of {', '.join(EVENT_KINDS)}; {found}")
    if places.is_sound("events") and places.is_sound("clients"):
        _check_presence(events, around.clients, places)
    return tuple(event for _, event in events)


def _resolve(kind: str, entry: EventEntry, path: Path, around: Surroundings, places: Places) -> Event | None:
    said, at = getattr(entry, kind), entry.at
    clients: tuple[str, ...] = ()
    if isinstance(said, ClientsEvent):
        clients = around.clients.find(said.clients, (*path, "clients"), places)
    match said:
        case CrashEvent():
            return Crash(at, clients, said.down, said.keeps_state)
        case RollingBounceEvent():
            return RollingBounce(at, clients, said.down, said.pause, said.keeps_state)
        case ClientsEvent():
            return Join(at, clients) if kind in _JOINS else Leave(at, clients)
        case RackOutageEvent():
            around.brokers.check_rack(said.rack, (*path, "rack"))
            return RackOutage(at, said.rack, said.down)
        case BrokerLossEvent():
            around.brokers.check_ids(said.brokers, (*path, "brokers"))
            return BrokerLoss(at, tuple(said.brokers), said.down)
        case ReplicaMoveEvent():
            around.brokers.check_ids(said.replicas, (*path, "replicas"))
            _check_partition(said, path, around, places)
            return ReplicaMove(at, said.topic, said.partition, tuple(said.replicas))
        case ConfigChangeEvent():
            around.clients.check_tags(said.configs.rack_aware_assignment_tags, (*path, "configs"), places)
            return ConfigEdit(at, check_configs(said.configs, (*path, "configs"), places))
    return None


def _check_partition(said: ReplicaMoveEvent, path: Path, around: Surroundings, places: Places) -> None:
    plan = around.topics.get(said.topic)
    if plan is None:
        if around.all_topics is not None and said.topic not in around.all_topics:
            hint = did_you_mean(said.topic, sorted(around.all_topics), "topics")
            places.wrong((*path, "topic"), f"{show(said.topic)} is not a topic ({hint})")
    elif said.partition >= plan.num_partitions:
        last = plan.num_partitions - 1
        places.wrong((*path, "partition"), f"{said.partition} is not a partition of '{said.topic}' (0 to {last})")


def _check_presence(events: Sequence[tuple[Path, Event]], clients: ClientsDraft, places: Places) -> None:
    """Note a mistake where a client joins that is there, or something happens to one that is not.

    Clients that are down for a while count as there.
    """
    racks = {plan.name: plan.rack for plan in clients.plans}
    present = {plan.name: plan.starts for plan in clients.plans}
    for path, event in sorted(events, key=lambda pair: pair[1].at_ms):
        match event:
            case Join(clients=names):
                _check_each(names, False, present, event.at_ms, path, places)
                present.update(dict.fromkeys(names, True))
            case Leave(clients=names):
                _check_each(names, True, present, event.at_ms, path, places)
                present.update(dict.fromkeys(names, False))
            case Crash(clients=names, down_ms=down_ms):
                _check_each(names, True, present, event.at_ms, path, places)
                present.update(dict.fromkeys(names if down_ms is None else (), False))
            case RollingBounce(clients=names):
                _check_each(names, True, present, event.at_ms, path, places)
            case RackOutage(rack=rack, down_ms=None):
                present.update({name: False for name in present if racks[name] == rack})


def _check_each(
    names: Sequence[str], wanted: bool, present: Mapping[str, bool], at_ms: int, path: Path, places: Places
) -> None:
    wrong = [name for name in names if present[name] is not wanted]
    if wrong:
        state = "not there" if wanted else "there already"
        places.wrong((*path, "clients"), listing(f"{state} at {_time(at_ms)}", wrong, most=4))


def _time(at_ms: int) -> str:
    """Write a time as a scenario does, such as 1h30m."""
    parts = []
    for unit, length in (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)):
        count, at_ms = divmod(at_ms, length)
        parts += [f"{count}{unit}"] if count else []
    return "".join(parts) or "0s"
