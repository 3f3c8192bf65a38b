"""The Pareto frontier of cross-rack traffic and task moves in one round."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class FrontierPoint:
    """An assignment that is optimal for some ratios of traffic_cost to non_overlap_cost.

    Attributes:
        remote_partitions: source partitions of stateful tasks that are read across racks.
        moves: stateful tasks that move.
        from_ratio: lowest ratio for which it is optimal, such as `3/2`; `0` for the first point.
        to_ratio: highest ratio; None for the last point.
        marks: names of the configs whose cost ratio selects this point, such as Kafka's defaults.
    """

    remote_partitions: int
    moves: int
    from_ratio: str
    to_ratio: str | None
    marks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AssignorPoint:
    """The assignment that an assignor computed.

    Attributes:
        name: label of the assignor.
        remote_partitions: source partitions of stateful tasks that are read across racks.
        moves: stateful tasks that move.
    """

    name: str
    remote_partitions: int
    moves: int


@dataclass(frozen=True, slots=True)
class TrafficFrontier:
    """The frontier of one round.

    Attributes:
        scenario: name of the scenario.
        round: number of the round.
        at: time of the round, such as `1:05:00`.
        reason: reason of the rebalance.
        tasks: number of stateful tasks.
        partitions: number of source partitions that they read.
        clients: number of clients in the group.
        points: optimal assignments, from the fewest moves to the least traffic.
        assignor: the assignment that the assignor computed.
    """

    scenario: str
    round: int
    at: str
    reason: str
    tasks: int
    partitions: int
    clients: int
    points: tuple[FrontierPoint, ...]
    assignor: AssignorPoint


def record(front: TrafficFrontier) -> Mapping[str, Any]:
    """Return the frontier as a record for JSON."""
    return {
        "scenario": front.scenario,
        "round": front.round,
        "at": front.at,
        "reason": front.reason,
        "stateful_tasks": front.tasks,
        "source_partitions": front.partitions,
        "clients": front.clients,
        "points": [
            {
                "remote_partitions": point.remote_partitions,
                "moves": point.moves,
                "from_ratio": point.from_ratio,
                "to_ratio": point.to_ratio,
                "marks": list(point.marks),
            }
            for point in front.points
        ],
        "answered": {
            "assignor": front.assignor.name,
            "remote_partitions": front.assignor.remote_partitions,
            "moves": front.assignor.moves,
        },
    }
