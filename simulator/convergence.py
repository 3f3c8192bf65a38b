"""Whether and when a run came to rest after the last thing that happened to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from simulator.trace import Round, Trace, num_rebalances


class Verdict(StrEnum):
    """How a run ended.

    stable: the assignment is final. probing: follow-up rebalances were still asked for at the end. cycling: they were,
    and an assignment came back after another one had replaced it. never: they were, and something keeps them from ever
    ending. rebalancing: a rebalance was under way at the end. failed: the assignor failed. empty: nobody came.
    """

    STABLE = "stable"
    PROBING = "probing"
    CYCLING = "cycling"
    NEVER = "never"
    REBALANCING = "rebalancing"
    FAILED = "failed"
    EMPTY = "empty"


@dataclass(frozen=True, slots=True)
class Convergence:
    """The verdict and what proves it.

    Attributes:
        verdict: how the run ended.
        round: the round from which the assignment was final, or that repeats an earlier one, or that failed.
        repeats: the earlier round, if the run is cycling.
        rounds: how many rebalances it took from the last change up to there.
        after_ms: how long after the last change (or the start) that was; None unless stable.
        cause: why it failed, or will never come to rest.
    """

    verdict: Verdict
    round: int | None
    rounds: int
    repeats: int | None = None
    after_ms: int | None = None
    cause: str | None = None


def convergence(trace: Trace) -> Convergence:
    """Judge a run by the rounds since the last change."""
    last_change_ms = max((timed.at_ms for timed in trace.changes), default=0)
    since = [each for each in trace.rounds if each.at_ms >= last_change_ms] or list(trace.rounds[-1:])
    if trace.failure is not None:
        return Convergence(Verdict.FAILED, num_rebalances(trace.rounds) + 1, num_rebalances(since), cause=trace.failure)
    if trace.hindrance is not None:
        number = since[-1].number if since else None
        return Convergence(Verdict.NEVER, number, num_rebalances(since), cause=trace.hindrance)
    if not since:
        return Convergence(Verdict.REBALANCING if trace.unfinished else Verdict.EMPTY, None, 0)
    last = since[-1]
    if trace.unfinished:
        return Convergence(Verdict.REBALANCING, last.number, num_rebalances(since))
    if last.is_final:
        # The round that asks for nothing more may only confirm what an earlier one had decided already.
        final = _first_of_the_final(since)
        after_ms = max(0, (final.settled_at_ms or final.at_ms) - last_change_ms)
        rounds = num_rebalances(since[: since.index(final) + 1]) if final.at_ms >= last_change_ms else 0
        return Convergence(Verdict.STABLE, final.number, rounds, after_ms=after_ms)
    repeated = _repeated(since)
    if repeated is not None:
        earlier, later = repeated
        return Convergence(Verdict.CYCLING, later.number, num_rebalances(since), repeats=earlier.number)
    return Convergence(Verdict.PROBING, last.number, num_rebalances(since))


def _first_of_the_final(rounds: Sequence[Round]) -> Round:
    """The first of the rounds at the end that decided the same and that everybody came to."""
    final = rounds[-1]
    for each in reversed(rounds):
        if each.settled_at_ms is None or not each.decides_like(final):
            break
        final = each
    return final


def _repeated(rounds: Sequence[Round]) -> tuple[Round, Round] | None:
    """The first round that brings back an assignment which another one had replaced, and the one it repeats."""
    for index, each in enumerate(rounds):
        for before in range(index - 1):
            if rounds[before].decides_like(each) and not rounds[index - 1].decides_like(each):
                return rounds[before], each
    return None
