"""How a run ended, and how long the group took to converge after each event.

The group has converged when every member has what the last rebalance decided, no follow-up rebalance is due, all tasks
run, and each standby and warm-up has caught up once. A last rebalance that only confirms an earlier one does not count.
An event is measured from its first change that calls for a rebalance until then. If the group converges in between, as
between the restarts of a slow rolling bounce, the longest such time counts. A later event that arrives meanwhile does
not stop the clock: it cuts the earlier one short, and both end together. Events without any rebalance are not measured.
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
        event: its number; START for the start of the run.
        at_ms: its first change that called for a rebalance.
        rebalances: how many there were until the group converged, or up to the end of the run.
        time_to_converge_ms: how long that took; None if it had not converged when the run ended.
        observed_ms: the same, or how long it had not converged for when the run ended.
        verdict: stable, or how the run ended before the group converged.
        cut_short_by: the first other event that called for a rebalance before the group had converged.
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
    """The verdict and what proves it.

    Attributes:
        verdict: how the run ended.
        round: the round from which the assignment was final, or that repeats an earlier one, or that failed.
        repeats: the earlier round, if the run is cycling.
        cause: why it failed, or never converges.
        events: one for the start and one for each event that led to rebalances, by number.
        worst: those that the worst is taken of: all but a warm start, where the application has been running before.
    """

    verdict: Verdict
    round: int | None = None
    repeats: int | None = None
    cause: str | None = None
    events: tuple[EventConvergence, ...] = ()
    worst: tuple[EventConvergence, ...] = ()

    @property
    def rebalances(self) -> int | None:
        """The most rebalances after an event, 0 without events; None if the group had not converged after one."""
        return max((each.rebalances for each in self.worst), default=0) if self._is_known else None

    @property
    def time_to_converge_ms(self) -> int | None:
        """The longest time after an event, 0 without events; None if the group had not converged after one."""
        return max((each.observed_ms for each in self.worst), default=0) if self._is_known else None

    @property
    def slowest_event(self) -> int | None:
        """The number of the event that took the longest, the first of equals; None without any."""
        return max(self.worst, key=lambda each: each.observed_ms).event if self.worst else None

    @property
    def _is_known(self) -> bool:
        return bool(self.events) and all(each.time_to_converge_ms is not None for each in self.events)


class _Rest(NamedTuple):
    """When the group had converged, the place of the round that decided the assignment, and when that had settled."""

    at_ms: int
    place: int
    reconciled_at_ms: int

    def precedes(self, cause: Cause) -> bool:
        """Whether the group had converged before a change, which may itself have put an end to catching up."""
        return self.at_ms < cause.at_ms or self.at_ms == cause.at_ms == self.reconciled_at_ms


@dataclass(slots=True)
class _Stretch:
    """A time in which the group converges after an event."""

    since_ms: int
    first: int


@dataclass(slots=True)
class _Course:
    """An event, and what came of it so far."""

    at_ms: int
    open: _Stretch | None = None
    rebalances: int = 0
    longest_ms: int = 0
    cut_short_by: int | None = None


@dataclass(slots=True)
class _Courses:
    """The events of a run, in the order in which they call for rebalances."""

    trace: Trace
    by_event: dict[int, _Course] = field(default_factory=dict)

    def cut(self, cause: Cause) -> None:
        """Let a change cut short the other events that are open since before it."""
        for event, other in self.by_event.items():
            cuts = other.open is not None and event != cause.event and other.open.since_ms < cause.at_ms
            if cuts and other.cut_short_by is None:
                other.cut_short_by = cause.event

    def begin(self, causes: Iterable[Cause], place: int) -> None:
        """Take in what calls for the round at a place."""
        for cause in causes:
            self.cut(cause)
            course = self.by_event.setdefault(cause.event, _Course(cause.at_ms))
            if course.open is None:
                course.open = _Stretch(cause.at_ms, place)

    def end(self, at_ms: int, stop: int) -> None:
        """End what is open at a time, with the rounds before a place."""
        for course in self.by_event.values():
            if course.open is not None:
                course.rebalances += num_rebalances(self.trace.rounds[course.open.first : stop])
                course.longest_ms = max(course.longest_ms, at_ms - course.open.since_ms)
                course.open = None


def convergence(trace: Trace) -> Convergence:
    """Judge how a run ended, and measure how it converged after each of its events."""
    since = max((place for place, each in enumerate(trace.rounds) if each.causes), default=0)
    ended = _ending(trace, since)
    events = tuple(_by_event(trace, ended.verdict))
    worst = tuple(each for each in events if each.event != START or trace.world.start is not Start.WARM)
    return Convergence(ended.verdict, ended.round, ended.repeats, ended.cause, events, worst)


def _ending(trace: Trace, since: int) -> Convergence:
    """Judge how a run ended by its rounds from the last one on that an event called for."""
    rounds = trace.rounds[since:]
    if trace.failure is not None:
        return Convergence(Verdict.FAILED, num_rebalances(trace.rounds) + 1, cause=trace.failure)
    if trace.blocking_cause is not None:
        return Convergence(Verdict.NEVER, rounds[-1].number if rounds else None, cause=trace.blocking_cause)
    if not rounds:
        return Convergence(Verdict.REBALANCING if trace.unfinished else Verdict.EMPTY)
    last = rounds[-1]
    if trace.unfinished:
        return Convergence(Verdict.REBALANCING, last.number)
    if last.is_final:
        rest = _rest(trace, since, len(trace.rounds))
        final = trace.rounds[_first_of_the_final(trace.rounds, since, len(trace.rounds))]
        return Convergence(Verdict.RESTORING if rest is None else Verdict.STABLE, final.number)
    repeated = _repeated(rounds)
    if repeated is not None:
        earlier, later = repeated
        return Convergence(Verdict.CYCLING, later.number, repeats=earlier.number)
    return Convergence(Verdict.PROBING, last.number)


def _by_event(trace: Trace, verdict: Verdict) -> Iterable[EventConvergence]:
    courses, since, num_rounds = _Courses(trace), 0, len(trace.rounds)
    for place, causes in enumerate([*(each.causes for each in trace.rounds), trace.pending]):
        if not causes:
            continue
        rest = _rest(trace, since, place)
        if rest is not None and rest.precedes(causes[0]):
            courses.end(rest.at_ms, rest.place + 1)
        if place < num_rounds or verdict not in _FINAL:
            courses.begin(causes, place)
            since = place
        else:
            # Nobody is left to rebalance: the last members are gone.
            courses.cut(causes[0])
    rest = _rest(trace, since, num_rounds) if verdict is Verdict.STABLE else None
    if rest is not None:
        courses.end(rest.at_ms, rest.place + 1)
    still_open = {event for event, course in courses.by_event.items() if course.open is not None}
    courses.end(trace.end_ms, num_rounds)
    for event, course in sorted(courses.by_event.items()):
        yield EventConvergence(
            event=event,
            at_ms=course.at_ms,
            rebalances=course.rebalances,
            time_to_converge_ms=None if event in still_open else course.longest_ms,
            observed_ms=course.longest_ms,
            verdict=verdict if event in still_open else Verdict.STABLE,
            cut_short_by=course.cut_short_by,
        )


def _rest(trace: Trace, since: int, until: int) -> _Rest | None:
    """When the group had converged by the rounds of two places, None if it had not.

    Args:
        trace: the run.
        since: the last round that an event called for.
        until: the round after the last one.
    """
    if since >= until or not trace.rounds[until - 1].is_final:
        return None
    place = _first_of_the_final(trace.rounds, since, until)
    final = trace.rounds[place]
    reconciled_at_ms = final.at_ms if final.reconciled_at_ms is None else final.reconciled_at_ms
    at_ms = trace.catching_up.first_without(reconciled_at_ms)
    return None if at_ms is None else _Rest(at_ms, place, reconciled_at_ms)


def _first_of_the_final(rounds: Sequence[Round], since: int, until: int) -> int:
    """The place of the first round that decided the same as the last, and that everybody came to, with all after it."""
    first = until - 1
    for place in range(until - 1, since - 1, -1):
        if rounds[place].reconciled_at_ms is None or not rounds[place].decides_like(rounds[until - 1]):
            break
        first = place
    return first


def _repeated(rounds: Sequence[Round]) -> tuple[Round, Round] | None:
    """The first round that brings back an assignment which another one had replaced, and the one it repeats."""
    for index, each in enumerate(rounds):
        for before in range(index - 1):
            if rounds[before].decides_like(each) and not rounds[index - 1].decides_like(each):
                return rounds[before], each
    return None
