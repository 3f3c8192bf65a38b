"""How a run ended, and when two times to converge count as different outcomes."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

MIN_DIFFERENCE_MS: Final = 3_000
MIN_DIFFERENCE: Final = 0.15


def times_differ(one_ms: int, other_ms: int) -> bool:
    """Return whether two times differ by more than 3 s and by more than 15 % of the longer one."""
    return abs(one_ms - other_ms) > max(MIN_DIFFERENCE_MS, MIN_DIFFERENCE * max(one_ms, other_ms))


class Verdict(StrEnum):
    """How a run ended.

    Attributes:
        STABLE: the group converged.
        RESTORING: the assignment is final, but tasks or standbys were still catching up.
        PROBING: the assignor still requested follow-up rebalances.
        CYCLING: as PROBING, and an assignment returned after another one had replaced it.
        NEVER: as PROBING, and the follow-up rebalances can never end.
        REBALANCING: a rebalance was in progress, or the session of a dead member had not timed out yet.
        FAILED: the assignor failed.
        STOPPED: the run had more rebalances or events than its budget.
        EMPTY: no client ever joined.
    """

    STABLE = "stable"
    RESTORING = "restoring"
    PROBING = "probing"
    CYCLING = "cycling"
    NEVER = "never"
    REBALANCING = "rebalancing"
    FAILED = "failed"
    STOPPED = "stopped"
    EMPTY = "empty"


INCOMPARABLE: Final = frozenset({Verdict.FAILED, Verdict.STOPPED, Verdict.EMPTY})
"""Verdicts of runs whose metrics cannot be compared: they ended early, or never reached an assignment."""
