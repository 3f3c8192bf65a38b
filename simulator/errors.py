"""The exceptions of a run.

```
SimulationError
├── IllegalTransitionError    an event that the state machine of a group or a task does not allow in its state
├── InvalidStateError         an invariant of a run is violated
├── AssignorFailedError       an assignor raised an exception, or returned an invalid assignment
└── BudgetExceededError       a run has more rebalances or events than its budget
```
"""

from __future__ import annotations

from assignors.errors import AssignorError


class SimulationError(Exception):
    """Base of all exceptions of a run."""


class IllegalTransitionError(SimulationError):
    """An event that a state machine does not allow in its current state."""


class InvalidStateError(SimulationError):
    """A violated invariant of a run; the message says which."""


class AssignorFailedError(SimulationError):
    """An assignor that raised an exception, or returned an invalid assignment; the message has round and cause."""

    @property
    def kind(self) -> type[AssignorError] | None:
        """Return the class of the assignor's own exception; None if this one has no such cause."""
        cause: BaseException | None = self
        # SimPy raises a copy of an exception from the original one.
        while isinstance(cause, AssignorFailedError):
            cause = cause.__cause__
        return type(cause) if isinstance(cause, AssignorError) else None


class BudgetExceededError(SimulationError):
    """A run with more rebalances or events than its budget; the message has the number."""
