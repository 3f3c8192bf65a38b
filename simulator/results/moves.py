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
from assignors.model.columns import NO_RACK, BoolArray, IntArray
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
    racks = np.append(trace.client_racks, NO_RACK)
    for before, after in pairwise(trace.rounds):
        rows = np.flatnonzero(before.owner != UNASSIGNED)
        has_run[rows, before.owner[rows]] = True
        # A task of an added partition that no client has run yet does not move.
        is_new = (trace.added_at_ms > 0) & ~has_run.any(axis=1)
        tasks = np.flatnonzero((before.owner != after.owner) & ~is_new)
        old, new = before.owner[tasks], after.owner[tasks]
        was_standby = before.standbys(num_clients)
        yield RoundMoves(
            into=after,
            tasks=tasks,
            sources=old,
            targets=new,
            reasons=_reasons(racks, before, after, tasks, was_standby[tasks, new], has_run[tasks, new]),
            standbys=after.standby[~was_standby[after.standby[:, 0], after.standby[:, 1]]],
        )


def _reasons(
    racks: IntArray, before: Round, after: Round, tasks: IntArray, is_promoted: BoolArray, is_returned: BoolArray
) -> IntArray:
    """Return the reason for which each task moved, given the rack of each client, and NO_RACK for no client."""
    old, new = before.owner[tasks], after.owner[tasks]
    is_member = np.zeros(len(racks), dtype=np.bool_)
    is_member[after.members] = True
    remote = after.remote_source_counts
    is_nearer = remote[tasks, racks[old]] > remote[tasks, racks[new]]
    last = np.where(is_returned, 2, np.where(is_nearer, 3, 4))
    return np.where(is_member[old], np.where(is_promoted, 1, last), 0)
