"""The tasks that changed their place from one round to the next, and why.

The reason is told from what can be seen: who is gone, who had a copy, where partitions stand. It is the first that
holds of: its client was gone; the new one stood by or warmed up; the new one ran it before; fewer of its partitions are
read across racks there; balance.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

import numpy as np

from assignors.model.assignment import UNASSIGNED
from assignors.model.columns import NO_RACK, BoolArray, IntArray
from simulator.results.trace import Round, Trace


class MoveReason(StrEnum):
    """Why an active task went to another client."""

    MEMBER_LOST = "member_lost"
    PROMOTED = "promoted"
    RETURNED = "returned"
    RACK = "rack"
    BALANCE = "balance"


REASONS = tuple(MoveReason)


@dataclass(frozen=True, slots=True, eq=False)
class RoundMoves:
    """What changed with a round.

    Attributes:
        into: the round.
        tasks: shape (M,); the active tasks that moved.
        sources: shape (M,); who had each, UNASSIGNED if nobody.
        targets: shape (M,); who is to have it, UNASSIGNED if nobody.
        reasons: shape (M,); places in `REASONS`.
        standbys: shape (S, 2); task and client of the standbys that are new.
    """

    into: Round
    tasks: IntArray
    sources: IntArray
    targets: IntArray
    reasons: IntArray
    standbys: IntArray


def round_moves(trace: Trace) -> Iterator[RoundMoves]:
    """What changed with each round after the first."""
    num_tasks, num_clients = len(trace.layout.tasks), len(trace.world.clients)
    ran: BoolArray = np.zeros((num_tasks, num_clients), dtype=np.bool_)
    for before, after in pairwise(trace.rounds):
        rows = np.flatnonzero(before.owner != UNASSIGNED)
        ran[rows, before.owner[rows]] = True
        tasks = np.flatnonzero(before.owner != after.owner)
        old, new = before.owner[tasks], after.owner[tasks]
        stood_by = before.standbys(num_clients)
        yield RoundMoves(
            into=after,
            tasks=tasks,
            sources=old,
            targets=new,
            reasons=_reasons(trace, before, after, tasks, stood_by[tasks, new], ran[tasks, new]),
            standbys=np.argwhere(after.standbys(num_clients) & ~stood_by),
        )


def _reasons(
    trace: Trace, before: Round, after: Round, tasks: IntArray, promoted: BoolArray, returned: BoolArray
) -> IntArray:
    lost = ~np.isin(before.owner[tasks], after.members)
    nearer = _remote(trace, after, before.owner[tasks], tasks) > _remote(trace, after, after.owner[tasks], tasks)
    return np.select([lost, promoted, returned, nearer], [0, 1, 2, 3], 4).astype(np.int64)


def _remote(trace: Trace, each: Round, owner: IntArray, tasks: IntArray) -> IntArray:
    """Count the source partitions that an owner of each task reads from another rack, as placed in a round."""
    racks = np.append(trace.client_racks, NO_RACK)
    remote: IntArray = each.remote_source_counts[tasks, racks[owner]]
    return remote
