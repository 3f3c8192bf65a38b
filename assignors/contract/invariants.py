"""The invariants of a task assignor, and the checks of single states.

Guarantees: a check is a function of the state and of the assignor's answers only, so that the same assignor has the
same violations on every machine.

Source: KIP-924 (`TaskAssignor` must be pure), and the properties that Kafka's `TaskAssignorConvergenceTest` checks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from enum import StrEnum
from functools import cached_property
from types import MappingProxyType
from typing import Any, Final, TypeVar

import numpy as np

from assignors.containment.contained import fingerprint, first_difference
from assignors.errors import AssignorError, ChangedStateError, NotDeterministicError
from assignors.model.assignment import UNASSIGNED, AssignmentColumns, TaskAssignor
from assignors.model.state import ApplicationState
from assignors.recording.recorder import NO_RECORDER, as_recording

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
    before = fingerprint(state)
    again = answer
    try:
        again = compute(state, make())
        difference = first_difference(state, answer, again)
        if difference:
            text = f"a new instance answers otherwise for the same state: {difference}"
            yield ContractViolation(Invariant.DETERMINISTIC, text)
    except AssignorError as error:
        yield violation_of(error)
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
