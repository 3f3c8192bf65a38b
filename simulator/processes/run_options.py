"""The options of a run, and its budget: limits on rebalances, events and time, so that every run ends."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from simulator.assignment.explanation import ExplanationRequest
from simulator.errors import BudgetExceededError
from simulator.flows.execution import Execution
from simulator.plurals import counted

MAX_REBALANCES: Final = 10_000
"""Default limit of rebalances: 69 days of probing every ten minutes; shipped scenarios need at most 62."""

MAX_EVENTS: Final = 1_000_000
"""Limit of events: moments at which a rate changes, since a copy catches up or falls behind, or the world changes."""


Observer = Callable[[Execution], None]
"""Called with the execution after every change of it."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What a run records beside its figures, and when it is stopped. Only a stop changes the figures.

    Attributes:
        capture: whether to keep the assignor's input and output of every rebalance (`Trace.captured_rounds`).
        appraise: whether to compute the cost of each assignment and its lower bound (`Round.appraisal`).
        prove: time limit in seconds per rebalance for proving the minimum cost, which then replaces the lower bound in
            `Round.appraisal`; None to keep the lower bound.
        explain: the tasks whose moves to explain (`Round.explanation`).
        observe: called with the execution after every change of it; must not modify it.
        max_rebalances: limit of rebalances of each application; a run that exceeds a limit is stopped
            (`Trace.stopped`).
        max_events: limit of events of each application.
        max_seconds: limit of wall-clock time; None, the default, for results that depend on the scenario only. It is
            checked between rebalances and events: a call of an assignor is not interrupted.
        on_rebalance: called with the number of each rebalance of the application before it starts.
    """

    capture: bool = False
    appraise: bool = True
    prove: float | None = None
    explain: ExplanationRequest | None = None
    observe: Observer | None = None
    max_rebalances: int = MAX_REBALANCES
    max_events: int = MAX_EVENTS
    max_seconds: float | None = None
    on_rebalance: Callable[[int], None] | None = None


DEFAULT_OPTIONS: Final = RunOptions()


@dataclass(slots=True)
class RunBudget:
    """Counts the rebalances and events of one application in a run, and its time.

    Attributes:
        options: the options of the run, which have its limits.
        verdict: why the run was stopped, such as `stopped after 10,000 rebalances`; None if it was not.
    """

    options: RunOptions = DEFAULT_OPTIONS
    verdict: str | None = None
    _started: float = field(default_factory=time.monotonic)
    _rebalances: int = 0
    _events: int = 0

    def count_rebalance(self) -> None:
        """Count a rebalance that begins; raise BudgetExceededError if the run has had as many as it may."""
        if self._rebalances >= self.options.max_rebalances:
            self._stop(f"stopped after {counted(self._rebalances, 'rebalance')}")
        self._check_time()
        self._rebalances += 1
        if self.options.on_rebalance is not None:
            self.options.on_rebalance(self._rebalances)

    def count_event(self) -> None:
        """Count an event; raise BudgetExceededError if the run has had as many as it may."""
        if self._events >= self.options.max_events:
            events, rebalances = counted(self._events, "event"), counted(self._rebalances, "rebalance")
            self._stop(f"stopped after {events} and {rebalances}")
        self._check_time()
        self._events += 1

    def _check_time(self) -> None:
        limit = self.options.max_seconds
        if limit is not None and time.monotonic() - self._started > limit:
            self._stop(f"stopped after {counted(self._rebalances, 'rebalance')}: more than {limit:g} s")

    def _stop(self, verdict: str) -> None:
        self.verdict = verdict
        raise BudgetExceededError(verdict)
