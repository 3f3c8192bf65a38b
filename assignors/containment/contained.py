"""An assignor around a custom one, which contains its mistakes.

Every custom assignor of a run is called through it, whatever runs it: this process, or another one.
"""

from __future__ import annotations

import math
import pickle
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any, Protocol, runtime_checkable

import numpy as np

from assignors.containment.guarded_call import guarded_call
from assignors.containment.limits import CallLimits
from assignors.errors import AssignorError, ChangedStateError, CustomAssignorError, NotDeterministicError
from assignors.model.assignment import AssignmentColumns, TaskAssignment, TaskAssignor
from assignors.model.state import ApplicationState
from assignors.model.traffic_rates import RateAwareAssignor, TrafficRates
from assignors.recording import NO_RECORDER, RecordedAssignor, Recorder, as_recording
from assignors.tasks.group_spec_assignor import GroupSpecAssignor


@dataclass(frozen=True, slots=True)
class Recipe:
    """How to build a custom assignor; can be pickled if the class can be imported.

    Attributes:
        name: name for messages.
        make: the class, or another callable.
        rates: the traffic of the run; None if the assignor does not need it.
    """

    name: str
    make: Callable[..., TaskAssignor]
    parameters: Mapping[str, Any]
    rates: TrafficRates | None = None

    def build(self) -> TaskAssignor:
        """Build the assignor; raises whatever its class raises."""
        assignor = self.make(**self.parameters)
        if self.rates is not None:
            assert isinstance(assignor, RateAwareAssignor)
            assignor = assignor.with_rates(self.rates)
        return assignor


class AssignorHost(Protocol):
    """Runs an assignor: this process, or another one, which may be of another language."""

    def compute(self, state: ApplicationState, recorder: Recorder) -> AssignmentColumns:
        """Return a valid assignment, and pass the steps to the recorder.

        Raises AssignorError if the assignor failed, in any way.
        """
        ...


@runtime_checkable
class OwnProcess(Protocol):
    """An assignor of another language, which runs in a process of its own and keeps the limits itself."""

    @property
    def class_name(self) -> str:
        """Return the name for messages."""
        ...

    def with_limits(self, limits: CallLimits) -> TaskAssignor:
        """Return the same assignor with these limits."""
        ...


@dataclass(frozen=True, slots=True)
class InProcessHost:
    """Runs an assignor in this process. `timeout_s`: time limit of each call."""

    assignor: TaskAssignor
    timeout_s: float

    def compute(self, state: ApplicationState, recorder: Recorder) -> AssignmentColumns:
        """Call the assignor; raise AssignorError if the assignment is invalid, and as `guarded_call`."""

        def assign() -> AssignmentColumns:
            # A Mapping of the answer may be code of the user, too.
            return AssignmentColumns.of(state, as_recording(self.assignor).assign_recorded(state, recorder))

        return guarded_call(assign, self.timeout_s)


class ContainedAssignor(RecordedAssignor):
    """A task assignor that calls a custom one; what goes wrong becomes an `AssignorError`.

    `nanos`: duration of the last assignment, asked once.

    Guarantees: the state is the same after each call. Of calls 1, 2, 4, 8, … of a run, the assignor is asked twice, and
    must answer equally.
    """

    def __init__(self, recipe: Recipe, limits: CallLimits, assignor: TaskAssignor | None, error: str = "") -> None:
        """Contain an assignor; use `contain`.

        `assignor` is None if it cannot be built from `recipe`; `error` then says why.
        """
        self._recipe = recipe
        self._limits = limits
        self._assignor = assignor
        self._error = error
        self._host: AssignorHost | None = None
        self._calls = 0
        self.nanos = 0

    @property
    def innermost(self) -> TaskAssignor:
        """Return the custom assignor, on which capabilities depend; this one if it cannot be built."""
        return self if self._assignor is None else self._assignor

    @property
    def name(self) -> str:
        """Return the name for messages: the class, or else the registered name."""
        return self._recipe.name if self._assignor is None else _class_name(self._assignor)

    @property
    def needs_rates(self) -> bool:
        """Return whether the custom assignor minimizes bytes and has no rates."""
        return isinstance(self._assignor, RateAwareAssignor) and self._assignor.needs_rates

    def with_rates(self, rates: TrafficRates) -> ContainedAssignor:
        """Return the same assignor with these rates."""
        recipe = self._recipe
        return contain(Recipe(recipe.name, recipe.make, recipe.parameters, rates), self._limits)

    def assign_recorded(self, state: ApplicationState, recorder: Recorder) -> TaskAssignment:
        """Return the assignment, and pass the steps to a recorder if the assignor records them.

        Raises ChangedStateError if the assignor changed the state; NotDeterministicError if the assignor answered
        otherwise when it was asked again; CustomAssignorError if the assignor failed in another way; and AssignorError
        if the assignor raised it, or the assignment is invalid.
        """
        if self._assignor is None:
            raise CustomAssignorError(self._error)
        host = self._host = self._host or self._start()
        self._calls += 1
        is_sampled = self._calls & (self._calls - 1) == 0
        can_change_state = is_sampled and not isinstance(self._assignor, OwnProcess)
        before = fingerprint(state) if can_change_state else 0
        started = time.perf_counter_ns()
        columns = host.compute(state, recorder)
        self.nanos = time.perf_counter_ns() - started
        if can_change_state and fingerprint(state) != before:
            raise ChangedStateError("changed the state, which is read-only")
        if is_sampled:
            difference = first_difference(state, columns, host.compute(state, NO_RECORDER))
            if difference:
                raise NotDeterministicError(f"is not deterministic: for the same state, {difference}")
        return columns.to_assignment(state)

    def _start(self) -> AssignorHost:
        assert self._assignor is not None
        if isinstance(self._assignor, OwnProcess):
            return InProcessHost(self._assignor.with_limits(self._limits), math.inf)
        if not self._limits.isolate:
            return InProcessHost(self._assignor, self._limits.timeout_s)
        from assignors.containment.isolation import IsolatedHost

        try:
            return IsolatedHost(pickle.dumps(self._recipe), self._limits)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise CustomAssignorError(
                f"cannot run in another process ({error}): define it in a module that can be imported"
            ) from error


def contain(recipe: Recipe, limits: CallLimits) -> ContainedAssignor:
    """Build and contain a custom assignor; one that cannot be built fails at its first call, and other runs go on."""
    try:
        assignor = guarded_call(recipe.build, limits.timeout_s, "while it was built")
    except AssignorError as error:
        return ContainedAssignor(recipe, limits, None, str(error))
    return ContainedAssignor(recipe, limits, assignor)


def innermost(assignor: TaskAssignor) -> TaskAssignor:
    """Return the assignor that computes the assignments: the custom one of a `ContainedAssignor`."""
    return assignor.innermost if isinstance(assignor, ContainedAssignor) else assignor


def assignor_name(assignor: TaskAssignor) -> str:
    """Return the name of an assignor for messages."""
    return assignor.name if isinstance(assignor, ContainedAssignor) else _class_name(assignor)


def _class_name(assignor: TaskAssignor) -> str:
    if isinstance(assignor, OwnProcess):
        return assignor.class_name
    return type(assignor.assignor if isinstance(assignor, GroupSpecAssignor) else assignor).__name__


def fingerprint(state: ApplicationState) -> int:
    """Return a checksum of everything that an assignor reads of a state."""
    checksum = 0
    for column in _columns(state):
        checksum = zlib.crc32(np.ascontiguousarray(column).data, checksum)
    others = (state.clients.ids, state.clients.tags, state.tasks.ids, tuple(state.previous_active))
    return zlib.crc32(repr((*others, tuple(state.previous_standby))).encode(), checksum)


def _columns(state: ApplicationState) -> Iterator[np.ndarray[Any, Any]]:
    tasks, clients, partitions = state.tasks, state.clients, state.partitions
    ragged = chain.from_iterable((table.offsets, table.values) for table in (tasks.source, tasks.changelog))
    yield from (tasks.subtopology, tasks.stateful, *ragged, clients.threads, clients.rack)
    yield from (partitions.in_rack, partitions.racks_known, state.lags)
    if state.previous_thread is not None:
        yield state.previous_thread


def first_difference(state: ApplicationState, first: AssignmentColumns, second: AssignmentColumns) -> str:
    """Return where two assignments differ; empty if they are equal."""
    moved = np.flatnonzero(first.active != second.active)
    if len(moved):
        owners = [_client(state, int(columns.active[moved[0]])) for columns in (first, second)]
        return f"task {state.tasks.ids[moved[0]]} on {owners[0]}, then on {owners[1]}"
    rows, _ = np.nonzero(first.standby != second.standby)
    if len(rows):
        return f"standbys of task {state.tasks.ids[rows[0]]} on other clients"
    delays = first.followup_rebalance_delay_ms, second.followup_rebalance_delay_ms
    return "" if delays[0] == delays[1] else f"followup_rebalance_delay_ms {delays[0]}, then {delays[1]}"


def _client(state: ApplicationState, row: int) -> str:
    return "no client" if row < 0 else str(state.clients.ids[row])
