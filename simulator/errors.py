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


class SimulationError(Exception):
    """Base of all exceptions of a run."""


class IllegalTransitionError(SimulationError):
    """An event that a state machine does not allow in its current state."""


class InvalidStateError(SimulationError):
    """A violated invariant of a run; the message says which."""


class AssignorFailedError(SimulationError):
    """An assignor that raised an exception, or returned an invalid assignment; the message has round and cause."""


class BudgetExceededError(SimulationError):
    """A run with more rebalances or events than its budget; the message has the number."""
