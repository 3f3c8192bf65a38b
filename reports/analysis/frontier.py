"""What is shown of a front."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class FrontierPoint:
    """An answer that is best for some ratios of traffic_cost to non_overlap_cost.

    Attributes:
        remote_partitions: source partitions of stateful tasks read across racks.
        moves: stateful tasks that move.
        from_ratio: from which ratio on it is best, as `3/2`; `0` for the first.
        to_ratio: up to which; None for the last.
        marks: the costs that lead to it, by name, such as Kafka's defaults.
    """

    remote_partitions: int
    moves: int
    from_ratio: str
    to_ratio: str | None
    marks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AssignorPoint:
    """What an assignor really answered, by the same two counts."""

    name: str
    remote_partitions: int
    moves: int


@dataclass(frozen=True, slots=True)
class TrafficFrontier:
    """The front of one round.

    Attributes:
        scenario: its name.
        round: its number.
        at: when it was, as `1 h 5 min`.
        reason: what called for it.
        tasks: stateful tasks.
        partitions: source partitions that they read.
        clients: clients that took part.
        points: from the fewest moves to the least traffic.
        answered: the assignor's own answer.
    """

    scenario: str
    round: int
    at: str
    reason: str
    tasks: int
    partitions: int
    clients: int
    points: tuple[FrontierPoint, ...]
    answered: AssignorPoint


def record(front: TrafficFrontier) -> Mapping[str, Any]:
    """The front as plain values, for JSON."""
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
            "assignor": front.answered.name,
            "remote_partitions": front.answered.remote_partitions,
            "moves": front.answered.moves,
        },
    }
