"""The tasks that moved from one round to the next, and why.

The reason is derived from members, copies and racks. It is the first that applies: its client left the group; the new
client had a standby or warm-up; the new client ran it before; fewer of its partitions are read across racks; balance.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

import numpy as np

from assignors.model.assignment import UNASSIGNED
from assignors.model.columns import NO_RACK, BoolArray, IntArray, cells
from simulator.results.trace import Round, Trace


class MoveReason(StrEnum):
    """Why an active task moved to another client."""

    MEMBER_LOST = "member_lost"
    PROMOTED = "promoted"
    RETURNED = "returned"
    RACK = "rack"
    BALANCE = "balance"


REASONS = tuple(MoveReason)


@dataclass(frozen=True, slots=True, eq=False)
class RoundMoves:
    """The moves from one round to the next.

    Attributes:
        into: the later round.
        tasks: shape (M,); the active tasks that moved.
        sources: shape (M,); the client that had each task, UNASSIGNED if none.
        targets: shape (M,); the client that gets each task, UNASSIGNED if none.
        reasons: shape (M,); indices of `REASONS`.
        standbys: shape (S, 2); task and client of each new standby.
    """

    into: Round
    tasks: IntArray
    sources: IntArray
    targets: IntArray
    reasons: IntArray
    standbys: IntArray


def round_moves(trace: Trace) -> Iterator[RoundMoves]:
    """Yield the moves of each round after the first."""
    num_tasks, num_clients = len(trace.layout.tasks), len(trace.world.clients)
    has_run: BoolArray = np.zeros((num_tasks, num_clients), dtype=np.bool_)
    for before, after in pairwise(trace.rounds):
        rows = np.flatnonzero(before.owner != UNASSIGNED)
        has_run[rows, before.owner[rows]] = True
        tasks = np.flatnonzero(before.owner != after.owner)
        old, new = before.owner[tasks], after.owner[tasks]
        was_standby = before.standbys(num_clients)
        yield RoundMoves(
            into=after,
            tasks=tasks,
            sources=old,
            targets=new,
            reasons=_reasons(trace, before, after, tasks, was_standby[tasks, new], has_run[tasks, new]),
            standbys=np.stack(cells(after.standbys(num_clients) & ~was_standby), axis=1),
        )


def _reasons(
    trace: Trace, before: Round, after: Round, tasks: IntArray, is_promoted: BoolArray, is_returned: BoolArray
) -> IntArray:
    is_lost = ~np.isin(before.owner[tasks], after.members)
    is_nearer = _remote(trace, after, before.owner[tasks], tasks) > _remote(trace, after, after.owner[tasks], tasks)
    return np.select([is_lost, is_promoted, is_returned, is_nearer], [0, 1, 2, 3], 4).astype(np.int64)


def _remote(trace: Trace, round_: Round, owner: IntArray, tasks: IntArray) -> IntArray:
    """Count the source partitions that an owner of each task reads from another rack, with the replicas of a round."""
    racks = np.append(trace.client_racks, NO_RACK)
    remote: IntArray = round_.remote_source_counts[tasks, racks[owner]]
    return remote
