"""Numbers and short labels of the events of a run."""

from __future__ import annotations

from collections.abc import Sequence

from simulator.world.disturbances import (
    BrokerBounce,
    BrokerLoss,
    BrokerUpgrade,
    ConfigChange,
    Crash,
    Disturbance,
    Join,
    Leave,
    PartitionsAdded,
    RackOutage,
    Reassignment,
    ReplaceThread,
    ReplicaMove,
    RollingBounce,
    StreamThreads,
    TrafficChange,
)
from simulator.world.lag_scaling import LagScaling
from simulator.world.pod_events import NodeDrain, PodEvent, SpotInterruption

_MAX_NAMES = 3


def event_numbers(disturbances: Sequence[Disturbance]) -> list[int | None]:
    """Return the numbers of events, from 1 by time; simultaneous events keep the given order.

    Returns a number for each disturbance; None for changes of traffic, which never cause a rebalance.
    """
    numbered = [index for index, event in enumerate(disturbances) if not isinstance(event, TrafficChange)]
    numbered.sort(key=lambda index: disturbances[index].at_ms)
    number_of = {index: number for number, index in enumerate(numbered, 1)}
    return [number_of.get(index) for index in range(len(disturbances))]


def event_label(event: Disturbance) -> str:
    """Return a short label of an event, such as `rolling bounce of 6 clients (app-0, app-1, app-2, …)`."""
    match event:
        case Join(clients=clients):
            return f"join of {_count_and_names('client', clients)}"
        case Leave(clients=clients):
            return f"leave of {_count_and_names('client', clients)}"
        case Crash(clients=clients):
            return f"crash of {_count_and_names('client', clients)}"
        case RollingBounce(clients=clients, release=str(release)):
            return f"upgrade to Kafka {release} of {_count_and_names('client', clients)}"
        case RollingBounce(clients=clients):
            return f"rolling bounce of {_count_and_names('client', clients)}"
        case NodeDrain(clients=clients):
            return f"node drain of {_count_and_names('client', clients)}"
        case SpotInterruption(clients=clients):
            return f"spot interruption of {_count_and_names('client', clients)}"
        case PodEvent(clients=clients):
            return f"rolling update of {_count_and_names('client', clients)}"
        case LagScaling(name=name, activation=activation):
            return f"lag scaling of {name} ({'HPA' if activation is None else 'KEDA'})"
        case RackOutage(rack=rack):
            return f"outage of rack {rack}"
        case BrokerLoss(brokers=brokers):
            return f"loss of {_count_and_names('broker', brokers)}"
        case BrokerBounce(brokers=brokers):
            return f"bounce of {_count_and_names('broker', brokers)}"
        case BrokerUpgrade(brokers=brokers, release=release):
            return f"upgrade to Kafka {release} of {_count_and_names('broker', brokers)}"
        case ReplicaMove(topic=topic, partition=partition):
            return f"replica move of {topic}-{partition}"
        case PartitionsAdded(topic=topic, first=first, replicas=replicas):
            return f"increase of {topic} from {first} to {first + len(replicas)} partitions"
        case Reassignment(targets=targets):
            return f"reassignment of {_count_and_names('partition', [str(target.partition) for target in targets])}"
        case ConfigChange():
            return "config change"
        case TrafficChange():
            return "traffic change"
        case ReplaceThread(clients=clients):
            return f"replaced thread of {_count_and_names('client', clients)}"
        case StreamThreads(clients=clients, threads=threads):
            return f"change to {threads} threads of {_count_and_names('client', clients)}"


def _count_and_names(kind: str, names: Sequence[object]) -> str:
    if len(names) == 1:
        return f"{kind} {names[0]}"
    listed = ", ".join(map(str, names[:_MAX_NAMES]))
    return f"{len(names):,} {kind}s ({listed}{', …' if len(names) > _MAX_NAMES else ''})"
