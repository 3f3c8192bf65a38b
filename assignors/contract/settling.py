"""Rebalances without any change: whether the answers of an assignor settle.

Each rebalance takes the assignment before as it was intended: every task runs where it was assigned, and every standby
and warm-up has caught up. `max.warmup.replicas` is the number of tasks, so that limited warm-ups do not slow it down.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from assignors.containment.contained import first_difference
from assignors.contract.invariants import ContractViolation, Invariant, MakeAssignor, compute, violation_of
from assignors.errors import AssignorError
from assignors.model.assignment import UNASSIGNED, AssignmentColumns
from assignors.model.state import LATEST_OFFSET, NO_LAG, ApplicationState

ROUNDS: Final = 50
"""Rebalances within which an assignor must settle."""

_EXTRA_ROUNDS: Final = 2
"""Rebalances that are computed after the assignor has settled."""


@dataclass(frozen=True, slots=True)
class Settling:
    """How the answers of an assignor settled.

    Attributes:
        violations: what went wrong.
        rounds: rebalances until the assignment was final; None if it never was.
        moved: active tasks that moved in all rebalances.
    """

    violations: tuple[ContractViolation, ...]
    rounds: int | None
    moved: int


def settle(state: ApplicationState, make: MakeAssignor, rounds: int = ROUNDS) -> Settling:
    """Compute assignments, each for the state in which the one before has been carried out, until they settle.

    `make`: builds the assignor; one instance computes all rounds. `rounds`: maximum number of rebalances. Returns how
    the answers settled.
    """
    state = replace(state, assignment_configs=replace(state.assignment_configs, max_warmup_replicas=_warmups(state)))
    assignor = make()
    answers: list[AssignmentColumns] = []
    violations: list[ContractViolation] = []
    moved, equal = 0, 0
    try:
        for number in range(1, rounds + 1):
            answer = compute(state, assignor)
            if answers:
                last = answers[-1]
                moved += int((answer.active != last.active).sum())
                if is_same(answer, last):
                    equal += 1
                    if equal > _EXTRA_ROUNDS or answer.followup_rebalance_delay_ms is None:
                        return Settling(tuple(violations), number - 1 - (equal - 1), moved)
                else:
                    equal = 0
                    violations += _unsettled(state, answers, answer, number)
                    if any(one.invariant is Invariant.NO_OSCILLATION for one in violations):
                        return Settling(tuple(violations), None, moved)
            answers.append(answer)
            state = carried_out(state, answer)
    except AssignorError as error:
        return Settling((*violations, violation_of(error)), None, moved)
    violations.append(ContractViolation(Invariant.CONVERGES, f"still changes the assignment after {rounds} rebalances"))
    return Settling(tuple(violations), None, moved)


def _warmups(state: ApplicationState) -> int:
    return max(len(state.tasks), state.assignment_configs.max_warmup_replicas)


def _unsettled(
    state: ApplicationState, answers: list[AssignmentColumns], answer: AssignmentColumns, number: int
) -> Iterator[ContractViolation]:
    """Yield what is wrong with an answer that differs from the one before."""
    difference = first_difference(state, answers[-1], answer) or _moved_task(state, answers[-1], answer)
    for index, earlier in enumerate(answers[:-1], start=1):
        if is_same(earlier, answer):
            text = f"rebalance {number} restores the assignment of rebalance {index}: {difference}"
            yield ContractViolation(Invariant.NO_OSCILLATION, text)
            break
    if answers[-1].followup_rebalance_delay_ms is None:
        text = f"rebalance {number} changes an assignment that was final, although nothing else changed: {difference}"
        yield ContractViolation(Invariant.IDEMPOTENT, text)


def _moved_task(state: ApplicationState, first: AssignmentColumns, second: AssignmentColumns) -> str:
    """Return where two assignments differ that give each client the same tasks."""
    task, client = np.argwhere(first.moves_between_threads(second))[0].tolist()
    return f"task {state.tasks.ids[task]} on another thread of {state.clients.ids[client]}"


def is_same(first: AssignmentColumns, second: AssignmentColumns) -> bool:
    """Return whether two assignments give each client the same tasks and, if they say that, each of its threads."""
    is_equal = np.array_equal(first.active, second.active) and np.array_equal(first.standby, second.standby)
    return is_equal and not first.moves_between_threads(second).any()


def carried_out(state: ApplicationState, answer: AssignmentColumns) -> ApplicationState:
    """Return the state of the next rebalance if nothing changes and all copies of an assignment have caught up.

    A client without a copy of a stateful task has to restore it entirely.
    """
    ids = state.tasks.ids
    running = answer.active != UNASSIGNED
    rows = np.flatnonzero(running)
    active_of: list[list[int]] = [[] for _ in state.clients.ids]
    for row in rows.tolist():
        active_of[int(answer.active[row])].append(row)
    standby_of = [np.flatnonzero(answer.standby[:, column]).tolist() for column in range(len(state.clients))]
    behind = np.maximum(state.lags.max(axis=1, initial=0), state.assignment_configs.acceptable_recovery_lag + 1)
    lags = np.repeat(behind[:, None], len(state.clients), axis=1)
    lags[answer.standby] = 0
    lags[rows, answer.active[rows]] = LATEST_OFFSET
    lags[~state.tasks.stateful] = NO_LAG
    return replace(
        state,
        lags=lags,
        previous_active=tuple(tuple(sorted(ids[row] for row in held)) for held in active_of),
        previous_standby=tuple(tuple(sorted(ids[row] for row in held)) for held in standby_of),
        previous_thread=answer.thread,
        task_offsets=(),
        task_end_offsets=(),
        thread_offsets=(),
        thread_standbys=(),
    )
