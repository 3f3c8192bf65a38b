"""The invariants of a task assignor: checks of single states, and of rebalances without any change.

In rebalances without any change, each one takes the assignment before as it was intended: every task runs where it was
assigned, and every standby and warm-up has caught up. `max.warmup.replicas` is the number of tasks, so that limited
warm-ups do not slow it down.

Guarantees: a check is a function of the state and of the assignor's answers only, so that the same assignor has the
same violations on every machine.

Source: KIP-924 (`TaskAssignor` must be pure), and the properties that Kafka's `TaskAssignorConvergenceTest` checks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from functools import cached_property
from types import MappingProxyType
from typing import Any, Final, TypeVar
from uuid import UUID

import numpy as np

from assignors.containment.contained import OwnProcess, fingerprint, first_difference, innermost
from assignors.errors import AssignorError, ChangedStateError, NotDeterministicError
from assignors.model.assignment import UNASSIGNED, AssignmentColumns, TaskAssignor
from assignors.model.ids import ProcessId
from assignors.model.state import LATEST_OFFSET, NO_LAG, ApplicationState
from assignors.recording import NO_RECORDER, as_recording

MakeAssignor = Callable[[], TaskAssignor]
"""Builds an assignor that has not been called yet."""

_SHOWN_TASKS: Final = 3
_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class Invariant(StrEnum):
    """A property that every assignor must have.

    Attributes:
        VALID: it returns an assignment that Kafka accepts, and neither raises nor exceeds its time limit.
        PURE: it does not change the state.
        COMPLETE: it makes every task active on exactly one client.
        DETERMINISTIC: it gives the same assignment for the same state, whatever it was called with before.
        ORDER_INDEPENDENT: the order in which the clients and tasks of a state are listed does not matter.
        IDEMPOTENT: an assignment without follow-up rebalance stays the same in a rebalance without any change.
        NO_OSCILLATION: in rebalances without any change, no assignment returns after another one replaced it.
        CONVERGES: rebalances without any change end.
    """

    VALID = "valid"
    PURE = "pure"
    COMPLETE = "complete"
    DETERMINISTIC = "deterministic"
    ORDER_INDEPENDENT = "order_independent"
    IDEMPOTENT = "idempotent"
    NO_OSCILLATION = "no_oscillation"
    CONVERGES = "converges"


SETTLING: Final = frozenset({Invariant.IDEMPOTENT, Invariant.NO_OSCILLATION, Invariant.CONVERGES})
"""Invariants that only `settle` checks; the others hold for single states."""


@dataclass(frozen=True, slots=True)
class ContractViolation:
    """A violation of an invariant. `message`: what the assignor did, with the ids of tasks and clients."""

    invariant: Invariant
    message: str


def compute(state: ApplicationState, assignor: TaskAssignor) -> AssignmentColumns:
    """Call an assignor once; raise AssignorError if the assignor failed, or its assignment is invalid."""
    return AssignmentColumns.of(state, as_recording(assignor).assign_recorded(state, NO_RECORDER))


def violation_of(error: AssignorError) -> ContractViolation:
    """Return the violation that the failure of a contained assignor is."""
    return violation_of_failure(type(error), str(error))


def violation_of_failure(kind: type[AssignorError] | None, text: str) -> ContractViolation:
    """Return the violation that the failure of a contained assignor is.

    `kind`: the class of its exception; None if unknown.
    """
    if kind is not None and issubclass(kind, NotDeterministicError):
        return ContractViolation(Invariant.DETERMINISTIC, text)
    if kind is not None and issubclass(kind, ChangedStateError):
        return ContractViolation(Invariant.PURE, text)
    return ContractViolation(Invariant.VALID, text)


def check_complete(state: ApplicationState, columns: AssignmentColumns) -> Iterator[ContractViolation]:
    """Yield a violation if a task is active on no client; columns have at most one for each task."""
    missing = np.flatnonzero(columns.active == UNASSIGNED)
    if len(missing) and len(state.clients):
        named = ", ".join(str(state.tasks.ids[row]) for row in missing[:_SHOWN_TASKS].tolist())
        more = f" and {len(missing) - _SHOWN_TASKS} more" if len(missing) > _SHOWN_TASKS else ""
        yield ContractViolation(
            Invariant.COMPLETE, f"{'tasks' if len(missing) > 1 else 'task'} {named}{more} on no client"
        )


def check_state(state: ApplicationState, make: MakeAssignor, answer: AssignmentColumns) -> Iterator[ContractViolation]:
    """Check the answer of an assignor for one state, by asking new instances of it.

    `answer`: its answer, given before, possibly after other calls. Yields violations of COMPLETE, PURE, DETERMINISTIC,
    ORDER_INDEPENDENT and VALID.
    """
    yield from check_complete(state, answer)
    assignor = make()
    is_apart = isinstance(innermost(assignor), OwnProcess)
    before = 0 if is_apart else fingerprint(state)
    again = answer
    try:
        again = compute(state, assignor)
        difference = first_difference(state, answer, again)
        if difference:
            text = f"a new instance answers otherwise for the same state: {difference}"
            yield ContractViolation(Invariant.DETERMINISTIC, text)
    except AssignorError as error:
        yield violation_of(error)
    if is_apart:
        return  # It gets the columns of the state, which it cannot change, and whose order is Kafka's.
    if fingerprint(state) != before:
        yield ContractViolation(Invariant.PURE, "changed the state, which is read-only")
    yield from _check_order(state, make, again)


def _check_order(state: ApplicationState, make: MakeAssignor, answer: AssignmentColumns) -> Iterator[ContractViolation]:
    if len(state.clients) < 2 and len(state.tasks) < 2:
        return
    listed = ReorderedState(**{column.name: getattr(state, column.name) for column in fields(state)})
    try:
        difference = first_difference(state, answer, compute(listed, make()))
    except AssignorError as error:
        yield violation_of(error)
        return
    if difference:
        text = f"clients and tasks listed in the opposite order: {difference}"
        yield ContractViolation(Invariant.ORDER_INDEPENDENT, text)


@dataclass(frozen=True, eq=False)
class ReorderedState(ApplicationState):
    """The same state, whose accessors list clients and tasks in the opposite order; its columns are the same."""

    @cached_property
    def all_tasks(self) -> Any:
        """Return all tasks by id, in the opposite order."""
        return _reversed({task: self._task_info(row) for row, task in enumerate(self.tasks.ids)})

    @cached_property
    def kafka_streams_states(self) -> Any:
        """Return all clients by process id, in the opposite order."""
        return _reversed({id_: self._kafka_streams_state(row) for row, id_ in enumerate(self.clients.ids)})


def _reversed(entries: dict[_Key, _Value]) -> MappingProxyType[_Key, _Value]:
    return MappingProxyType(dict(reversed(entries.items())))


def relabeled(state: ApplicationState, rng: np.random.Generator) -> ApplicationState:
    """Return a state with random process ids, in the order of the former ones."""
    ids = sorted(ProcessId.of(UUID(bytes=rng.bytes(16), version=4)) for _ in state.clients.ids)
    return replace(state, clients=replace(state.clients, ids=tuple(ids)))


def check_relabeled(
    state: ApplicationState, make: MakeAssignor, rng: np.random.Generator, count: int
) -> Iterator[tuple[ApplicationState, ContractViolation]]:
    """Check that the assignments of some states with other process ids are valid and complete.

    `make`: builds the assignor; one instance answers all. Yields each state with a violation.
    """
    assignor = make()
    for _ in range(count):
        other = relabeled(state, rng)
        try:
            violations = list(check_complete(other, compute(other, assignor)))
        except AssignorError as error:
            violations = [violation_of(error)]
        yield from ((other, violation) for violation in violations)


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
    difference = difference_of(state, answers[-1], answer)
    for index, earlier in enumerate(answers[:-1], start=1):
        if is_same(earlier, answer):
            text = f"rebalance {number} restores the assignment of rebalance {index}: {difference}"
            yield ContractViolation(Invariant.NO_OSCILLATION, text)
            break
    if answers[-1].followup_rebalance_delay_ms is None:
        text = f"rebalance {number} changes an assignment that was final, although nothing else changed: {difference}"
        yield ContractViolation(Invariant.IDEMPOTENT, text)


def difference_of(state: ApplicationState, first: AssignmentColumns, second: AssignmentColumns) -> str:
    """Return where two assignments differ, by client or, if each client has the same tasks, by thread."""
    if difference := first_difference(state, first, second):
        return difference
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
