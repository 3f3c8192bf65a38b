"""What can go wrong in a run.

```
SimulationError
├── IllegalTransitionError    the group was told of something that cannot happen in its phase
└── AssignorFailedError       an assignor threw, or its answer was no assignment
```
"""

from __future__ import annotations


class SimulationError(Exception):
    """Everything below."""


class IllegalTransitionError(SimulationError):
    """An event that cannot happen where the state machine is."""


class AssignorFailedError(SimulationError):
    """An assignor did not give a valid answer; says in which round, and what was wrong."""
