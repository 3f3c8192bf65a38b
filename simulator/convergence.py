"""Whether and when a run came to rest after the last thing that happened to it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from assignors.assignment import AssignmentColumns
from simulator.trace import Round, Trace


class Verdict(StrEnum):
    """How a run ended.

    stable: the assignment is final. probing: follow-up rebalances were still asked for at the end. cycling: they were,
    and an assignment came back after another one had replaced it. failed: the assignor failed. empty: nobody came.
    """

    STABLE = "stable"
    PROBING = "probing"
    CYCLING = "cycling"
    FAILED = "failed"
    EMPTY = "empty"


@dataclass(frozen=True, slots=True)
class Convergence:
    """The verdict and what proves it.

    Attributes:
        verdict: how the run ended.
        round: the round from which the assignment was final, or that repeats an earlier one, or that failed.
        rounds: how many rebalances it took from the last change up to there.
        after_ms: how long after the last change (or the start) that was; None unless stable.
    """

    verdict: Verdict
    round: int | None
    rounds: int
    after_ms: int | None


def convergence(trace: Trace) -> Convergence:
    """Judge a run by the rounds since the last change."""
    last_change_ms = max((timed.at_ms for timed in trace.changes), default=0)
    since = [each for each in trace.rounds if each.at_ms >= last_change_ms] or list(trace.rounds[-1:])
    if trace.failure is not None:
        return Convergence(Verdict.FAILED, len(trace.rounds) + 1, len(since), None)
    if not since:
        return Convergence(Verdict.EMPTY, None, 0, None)
    last = since[-1]
    if last.decided.columns.followup_rebalance_delay_ms is None:
        # The round that asks for nothing more may only confirm what an earlier one had decided already.
        final = _first_of_the_final(since)
        after_ms = max(0, final.at_ms - last_change_ms)
        return Convergence(Verdict.STABLE, final.number, since.index(final) + 1, after_ms)
    repeated = _repeated(since)
    if repeated is not None:
        return Convergence(Verdict.CYCLING, repeated.number, len(since), None)
    return Convergence(Verdict.PROBING, last.number, len(since), None)


def _first_of_the_final(rounds: list[Round]) -> Round:
    final = rounds[-1]
    for each in reversed(rounds):
        if not _same(each, rounds[-1]):
            break
        final = each
    return final


def _repeated(rounds: list[Round]) -> Round | None:
    """The first round that brings back an assignment which another one had replaced."""
    for index, each in enumerate(rounds):
        earlier = [before for before in range(index - 1) if _same(rounds[before], each)]
        if earlier and not _same(rounds[index - 1], each):
            return each
    return None


def _same(one: Round, other: Round) -> bool:
    if one.decided.state.clients.ids != other.decided.state.clients.ids:
        return False
    return _digest(one.decided.columns) == _digest(other.decided.columns)


def _digest(columns: AssignmentColumns) -> tuple[bytes, bytes]:
    return columns.active.tobytes(), columns.standby.tobytes()
