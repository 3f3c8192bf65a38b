"""The verdict of a run, and how long the group took to converge after each event.

The group has converged when every member has its part of the last assignment, no follow-up rebalance is due, all tasks
run, and each standby and warm-up has caught up once. A last rebalance that only confirms an earlier one does not count.
The time to converge starts at the first change of an event that causes a rebalance. If the group converges in between,
as between the restarts of a slow rolling bounce, the longest such time counts. A later event that happens before then
cuts the earlier one short, and the times of both end together. Events without rebalance are not measured.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from simulator.group.rebalance_causes import START, Cause
from simulator.results.trace import Round, Trace, num_rebalances
from simulator.results.verdict import Verdict
from simulator.world.world import Start

_FINAL = (Verdict.STABLE, Verdict.RESTORING)


@dataclass(frozen=True, slots=True)
class EventConvergence:
    """How the group converged after one event.

    Attributes:
        event: number of the event; START for the start of the run.
        at_ms: its first change that caused a rebalance.
        rebalances: the number of rebalances until the group converged, or up to the end of the run.
        time_to_converge_ms: time until the group converged; None if it had not converged when the run ended.
        observed_ms: `time_to_converge_ms`, or the time up to the end of the run if the group had not converged.
        verdict: stable, or the verdict of the run if the group had not converged.
        cut_short_by: number of the first other event that caused a rebalance before the group had converged.
    """

    event: int
    at_ms: int
    rebalances: int
    time_to_converge_ms: int | None
    observed_ms: int
    verdict: Verdict
    cut_short_by: int | None


@dataclass(frozen=True, slots=True)
class Convergence:
    """The verdict of a run and its evidence.

    Attributes:
        verdict: how the run ended.
        round: the round from which the assignment was final, or that repeats an earlier one, or that failed.
        repeats: the earlier round, if the run is cycling.
        cause: why it failed, was stopped, or never converges.
        events: one for the start and one for each event that caused rebalances, by number.
        measured: the events over which maxima are taken: all except a warm start.
    """

    verdict: Verdict
    round: int | None = None
    repeats: int | None = None
    cause: str | None = None
    events: tuple[EventConvergence, ...] = ()
    measured: tuple[EventConvergence, ...] = ()

    @property
    def rebalances(self) -> int | None:
        """Return the maximum rebalances to converge after an event, 0 without events; None if one is unknown."""
        return max((event.rebalances for event in self.measured), default=0) if self._is_known else None

    @property
    def time_to_converge_ms(self) -> int | None:
        """Return the longest time to converge after an event, 0 without events; None if one is unknown."""
        return max((event.observed_ms for event in self.measured), default=0) if self._is_known else None

    @property
    def slowest_event(self) -> int | None:
        """Return the number of the event with the longest time, the first if several have it; None without events."""
        return max(self.measured, key=lambda event: event.observed_ms).event if self.measured else None

    @property
    def _is_known(self) -> bool:
        return bool(self.events) and all(event.time_to_converge_ms is not None for event in self.events)


class _Converged(NamedTuple):
    """When the group had converged, the index of the deciding round, and when that was reconciled."""

    at_ms: int
    round_index: int
    reconciled_at_ms: int

    def precedes(self, cause: Cause) -> bool:
        """Return whether the group had converged before a change, which may itself have ended the catching up."""
        return self.at_ms < cause.at_ms or self.at_ms == cause.at_ms == self.reconciled_at_ms


@dataclass(slots=True)
class _EventProgress:
    """The figures of an event so far; while the group converges after it, since when, and from which round on."""

    at_ms: int
    open_since_ms: int | None = None
    first_round: int = 0
    rebalances: int = 0
    longest_ms: int = 0
    cut_short_by: int | None = None


@dataclass(slots=True)
class _RunProgress:
    """The events of a run so far, in the order in which they cause rebalances."""

    trace: Trace
    by_event: dict[int, _EventProgress] = field(default_factory=dict)

    def cut(self, cause: Cause) -> None:
        """Cut short the other events that are open, because of a change after their start."""
        for event, other in self.by_event.items():
            is_open = other.open_since_ms is not None and other.open_since_ms < cause.at_ms
            if is_open and event != cause.event and other.cut_short_by is None:
                other.cut_short_by = cause.event

    def begin(self, causes: Iterable[Cause], index: int) -> None:
        """Open the events that cause the round at an index."""
        for cause in causes:
            self.cut(cause)
            event_progress = self.by_event.setdefault(cause.event, _EventProgress(cause.at_ms))
            if event_progress.open_since_ms is None:
                event_progress.open_since_ms, event_progress.first_round = cause.at_ms, index

    def end(self, at_ms: int, stop: int) -> None:
        """Close the open events at a time, with the rounds before an index."""
        for event_progress in self.by_event.values():
            if event_progress.open_since_ms is not None:
                event_progress.rebalances += num_rebalances(self.trace.rounds[event_progress.first_round : stop])
                event_progress.longest_ms = max(event_progress.longest_ms, at_ms - event_progress.open_since_ms)
                event_progress.open_since_ms = None


def convergence(trace: Trace) -> Convergence:
    """Return the verdict of a run, and how it converged after each of its events."""
    since = max((index for index, round_ in enumerate(trace.rounds) if round_.causes), default=0)
    ended = _ending(trace, since)
    events = tuple(_by_event(trace, ended.verdict))
    measured = tuple(event for event in events if event.event != START or trace.world.start is not Start.WARM)
    return Convergence(ended.verdict, ended.round, ended.repeats, ended.cause, events, measured)


def _ending(trace: Trace, since: int) -> Convergence:
    """Return the verdict from the rounds since the last one that an event caused."""
    rounds = trace.rounds[since:]
    if trace.failure is not None:
        return Convergence(Verdict.FAILED, num_rebalances(trace.rounds) + 1, cause=trace.failure)
    if trace.stopped is not None:
        return Convergence(Verdict.STOPPED, rounds[-1].number if rounds else None, cause=trace.stopped)
    if trace.blocking_cause is not None:
        return Convergence(Verdict.NEVER, rounds[-1].number if rounds else None, cause=trace.blocking_cause)
    if not rounds:
        return Convergence(Verdict.REBALANCING if trace.unfinished else Verdict.EMPTY)
    last = rounds[-1]
    if trace.unfinished:
        return Convergence(Verdict.REBALANCING, last.number)
    if last.is_final:
        converged = _find_convergence(trace, since, len(trace.rounds))
        final = trace.rounds[_first_reconciled_index(trace.rounds, since, len(trace.rounds))]
        return Convergence(Verdict.RESTORING if converged is None else Verdict.STABLE, final.number)
    repeated = _repeated(rounds)
    if repeated is not None:
        earlier, later = repeated
        return Convergence(Verdict.CYCLING, later.number, repeats=earlier.number)
    return Convergence(Verdict.PROBING, last.number)


def _by_event(trace: Trace, verdict: Verdict) -> Iterable[EventConvergence]:
    progress, since, num_rounds = _RunProgress(trace), 0, len(trace.rounds)
    for index, causes in enumerate([*(round_.causes for round_ in trace.rounds), trace.pending_causes]):
        if not causes:
            continue
        converged = _find_convergence(trace, since, index)
        if converged is not None and converged.precedes(causes[0]):
            progress.end(converged.at_ms, converged.round_index + 1)
        if index < num_rounds or verdict not in _FINAL:
            progress.begin(causes, index)
            since = index
        else:
            # No member is left to rebalance.
            progress.cut(causes[0])
    converged = _find_convergence(trace, since, num_rounds) if verdict is Verdict.STABLE else None
    if converged is not None:
        progress.end(converged.at_ms, converged.round_index + 1)
    still_open = {
        event for event, event_progress in progress.by_event.items() if event_progress.open_since_ms is not None
    }
    progress.end(trace.end_ms, num_rounds)
    for event, event_progress in sorted(progress.by_event.items()):
        yield EventConvergence(
            event=event,
            at_ms=event_progress.at_ms,
            rebalances=event_progress.rebalances,
            time_to_converge_ms=None if event in still_open else event_progress.longest_ms,
            observed_ms=event_progress.longest_ms,
            verdict=verdict if event in still_open else Verdict.STABLE,
            cut_short_by=event_progress.cut_short_by,
        )


def _find_convergence(trace: Trace, since: int, until: int) -> _Converged | None:
    """Find when the group converged within some rounds.

    `since`: index of the last round that an event caused; `until`: index after the last round. The result is None if
    the group had not converged.
    """
    if since >= until or not trace.rounds[until - 1].is_final:
        return None
    index = _first_reconciled_index(trace.rounds, since, until)
    final = trace.rounds[index]
    reconciled_at_ms = final.at_ms if final.reconciled_at_ms is None else final.reconciled_at_ms
    at_ms = trace.catching_up.first_without(reconciled_at_ms)
    return None if at_ms is None else _Converged(at_ms, index, reconciled_at_ms)


def _first_reconciled_index(rounds: Sequence[Round], since: int, until: int) -> int:
    """Return the index of the first round from which on all have the last assignment and were reconciled."""
    first = until - 1
    for index in range(until - 1, since - 1, -1):
        if rounds[index].reconciled_at_ms is None or not rounds[index].decides_like(rounds[until - 1]):
            break
        first = index
    return first


def _repeated(rounds: Sequence[Round]) -> tuple[Round, Round] | None:
    """Return a round and the first later one that repeats its assignment after another one; None if there is none."""
    for index, round_ in enumerate(rounds):
        for before in range(index - 1):
            if rounds[before].decides_like(round_) and not rounds[index - 1].decides_like(round_):
                return rounds[before], round_
    return None
