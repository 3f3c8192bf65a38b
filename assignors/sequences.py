"""Sequences of rebalances without a simulation: processes join and leave, and then the assignor has to settle.

Each rebalance takes the assignment before as carried out (`assignors.contract.carried_out`). A process that leaves and
returns has no tasks. After the last change of the members, nothing changes any more: the assignment must stay.

Guarantees: an outcome is a function of the sequence and of the assignor's answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np

from assignors.containment.contained import innermost
from assignors.contract import (
    ContractViolation,
    Invariant,
    MakeAssignor,
    carried_out,
    check_complete,
    compute,
    difference_of,
    is_same,
    violation_of,
)
from assignors.errors import AssignorError, CustomAssignorError
from assignors.model.assignment import UNASSIGNED, AssignmentColumns, TaskAssignment, TaskAssignor
from assignors.model.columns import BoolArray
from assignors.model.ids import TaskId
from assignors.model.sequence import UNCHANGED_ROUNDS, MembershipSequence, RunsSequences, SequenceOutcome
from assignors.model.state import ApplicationState


def run_sequences(sequences: Sequence[MembershipSequence], make: MakeAssignor) -> list[SequenceOutcome]:
    """Return what new assignors do in each sequence."""
    assignor = innermost(make())
    if isinstance(assignor, RunsSequences):
        with suppress(CustomAssignorError):  # One of them ended the other process, or took too long; which one?
            return assignor.run_sequences(sequences)
    outcomes = []
    for sequence in sequences:
        violated: set[str] = set()
        last: _Rebalance | None = None
        for violation, rebalance in _rebalances(sequence, make()):
            last = rebalance or last
            violated |= set() if violation is None else {violation.invariant.value}
        uneven = (0, 0) if last is None else (last.uneven(False), last.uneven(True))
        outcomes.append(SequenceOutcome(tuple(sorted(violated)), *uneven))
    return outcomes


def violations_in(sequence: MembershipSequence, make: MakeAssignor) -> Iterator[ContractViolation]:
    """Yield the violations of a sequence, rebalance by rebalance."""
    for violation, _ in _rebalances(sequence, make()):
        if violation is not None:
            yield violation


def states_in(sequence: MembershipSequence, make: MakeAssignor) -> list[ApplicationState]:
    """Return the state of each rebalance of a sequence, up to the last one that shows a violation."""
    noted = _Noted(make())
    end = 0
    for violation, _ in _rebalances(sequence, noted):
        if violation is not None:
            end = len(noted.states)
    return noted.states[:end]


@dataclass(slots=True)
class _Noted:
    """An assignor with the states that it was asked about, also the one for which it failed."""

    assignor: TaskAssignor
    states: list[ApplicationState] = field(default_factory=list)

    def assign(self, state: ApplicationState) -> TaskAssignment:
        self.states.append(state)
        return self.assignor.assign(state)


@dataclass(frozen=True, slots=True, eq=False)
class _Rebalance:
    state: ApplicationState
    answer: AssignmentColumns

    def uneven(self, is_stateful_only: bool) -> int:
        """Return the number of active tasks above an even share."""
        state, answer = self.state, self.answer
        counted: BoolArray = answer.active != UNASSIGNED
        if is_stateful_only:
            counted = counted & state.tasks.stateful
        rows = np.flatnonzero(counted)
        owner, threads = answer.active[rows], state.clients.threads
        share = -(-len(rows) // int(threads.sum()))
        if answer.thread is None:
            limit = share * threads
            held = np.bincount(owner, minlength=len(threads))
        else:
            member = (np.cumsum(threads) - threads)[owner] + answer.thread[rows, owner]
            limit = np.array([share])
            held = np.bincount(member)
        return int(np.maximum(held - limit, 0).sum())


def _rebalances(
    sequence: MembershipSequence, assignor: TaskAssignor
) -> Iterator[tuple[ContractViolation | None, _Rebalance | None]]:
    """Yield violations and rebalances, until the assignment settles, returns, or is one too many."""
    group = _Group(sequence)
    answers: list[AssignmentColumns] = []
    last: _Rebalance | None = None
    try:
        for present in sequence.rounds:
            last = group.rebalance(present, last, assignor)
            yield next(check_complete(last.state, last.answer), None), last
        if last is None:
            return
        answers.append(last.answer)
        for number in range(len(sequence.rounds) + 1, len(sequence.rounds) + 1 + UNCHANGED_ROUNDS):
            last = _Rebalance(state := carried_out(last.state, last.answer), compute(state, assignor))
            if is_same(last.answer, answers[-1]):
                return
            if answers[-1].followup_rebalance_delay_ms is None:
                difference = difference_of(last.state, answers[-1], last.answer)
                text = f"rebalance {number} changes the assignment, although nothing else changed: {difference}"
                yield ContractViolation(Invariant.IDEMPOTENT, text), last
            yield next(check_complete(last.state, last.answer), None), last
            earlier = next((i for i, answer in enumerate(answers[:-1]) if is_same(answer, last.answer)), None)
            if earlier is not None:
                period = len(answers) - earlier
                text = f"the assignments of {period} rebalances return for ever, although nothing changes"
                yield ContractViolation(Invariant.NO_OSCILLATION, text), last
                return
            answers.append(last.answer)
        text = f"still changes the assignment after {UNCHANGED_ROUNDS} rebalances without any change"
        yield ContractViolation(Invariant.CONVERGES, text), last
    except AssignorError as error:
        yield violation_of(error), None


@dataclass(slots=True, eq=False)
class _Group:
    """The states of the group of a sequence."""

    sequence: MembershipSequence
    _empty: dict[tuple[int, ...], ApplicationState] = field(default_factory=dict)

    def rebalance(self, present: tuple[int, ...], last: _Rebalance | None, assignor: TaskAssignor) -> _Rebalance:
        """Compute a rebalance of some processes after another one."""
        state = self.empty(present)
        if last is not None:
            state = _with_tasks(state, carried_out(last.state, last.answer))
        return _Rebalance(state, compute(state, assignor))

    def empty(self, present: tuple[int, ...]) -> ApplicationState:
        """Return the state of some processes that have no tasks."""
        state = self._empty.get(present)
        if state is None:
            state = self._empty[present] = self.sequence.empty_state(present)
        return state


def _with_tasks(state: ApplicationState, before: ApplicationState) -> ApplicationState:
    """Return a state in which the processes of another one have the tasks that they have there."""
    lags = state.lags.copy()
    assert state.previous_thread is not None
    threads = state.previous_thread.copy()
    active: list[tuple[TaskId, ...]] = []
    standby: list[tuple[TaskId, ...]] = []
    for column, process in enumerate(state.clients.ids):
        place = before.row_of_client.get(process)
        active.append(() if place is None else before.previous_active[place])
        standby.append(() if place is None else before.previous_standby[place])
        if place is not None:
            lags[:, column] = before.lags[:, place]
            if before.previous_thread is not None:
                threads[:, column] = before.previous_thread[:, place]
    return replace(
        state, lags=lags, previous_active=tuple(active), previous_standby=tuple(standby), previous_thread=threads
    )
