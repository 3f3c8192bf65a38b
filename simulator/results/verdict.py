"""How a run ended."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


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
