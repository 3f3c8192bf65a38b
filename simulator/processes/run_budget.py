"""The budget of a run: limits on rebalances and events, so that every run ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from simulator.errors import BudgetExceededError

MAX_REBALANCES: Final = 10_000
"""Default limit of rebalances: 69 days of probing every ten minutes; shipped scenarios need at most 62."""

MAX_EVENTS: Final = 1_000_000
"""Limit of events: moments at which a rate changes, since a copy catches up or falls behind, or the world changes."""


@dataclass(slots=True)
class RunBudget:
    """Counts the rebalances and events of one application in a run.

    Attributes:
        max_rebalances: the limit of rebalances.
        max_events: the limit of events.
        verdict: why the run was stopped, such as `stopped after 10,000 rebalances`; None if it was not.
    """

    max_rebalances: int = MAX_REBALANCES
    max_events: int = MAX_EVENTS
    verdict: str | None = None
    _rebalances: int = 0
    _events: int = 0

    def count_rebalance(self) -> None:
        """Count a rebalance that begins.

        Raises:
            BudgetExceededError: the run has had as many as it may.
        """
        if self._rebalances >= self.max_rebalances:
            self._stop(f"stopped after {self._rebalances:,} rebalances")
        self._rebalances += 1

    def count_event(self) -> None:
        """Count an event.

        Raises:
            BudgetExceededError: the run has had as many as it may.
        """
        if self._events >= self.max_events:
            self._stop(f"stopped after {self._events:,} events and {self._rebalances:,} rebalances")
        self._events += 1

    def _stop(self, verdict: str) -> None:
        self.verdict = verdict
        raise BudgetExceededError(verdict)
