"""The front door: `import assignor_sim as sim`.

```python
import assignor_sim as sim

scenario = sim.load("order_processing.yaml")
comparison = sim.compare(scenario)
trace = sim.run(scenario, "high_availability", seed=1)
```

Names are imported when they are first used, so that the command line starts fast.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assignor_sim.comparison import Comparison as Comparison
    from assignor_sim.comparison import compare as compare
    from assignors.assignment import KafkaStreamsAssignment as KafkaStreamsAssignment
    from assignors.assignment import TaskAssignment as TaskAssignment
    from assignors.assignment import TaskAssignor as TaskAssignor
    from assignors.assignment import TaskType as TaskType
    from assignors.assignment import validate as validate
    from assignors.ids import ProcessId as ProcessId
    from assignors.ids import TaskId as TaskId
    from assignors.state import ApplicationState as ApplicationState
    from assignors.state import KafkaStreamsState as KafkaStreamsState
    from assignors.state import TaskInfo as TaskInfo
    from scenarios.contestants import run as run
    from scenarios.load import Scenario as Scenario
    from scenarios.load import ScenarioError as ScenarioError
    from scenarios.load import load as load

_HOME = {
    "ApplicationState": "assignors.state",
    "Comparison": "assignor_sim.comparison",
    "KafkaStreamsAssignment": "assignors.assignment",
    "KafkaStreamsState": "assignors.state",
    "ProcessId": "assignors.ids",
    "Scenario": "scenarios.load",
    "ScenarioError": "scenarios.load",
    "TaskAssignment": "assignors.assignment",
    "TaskAssignor": "assignors.assignment",
    "TaskId": "assignors.ids",
    "TaskInfo": "assignors.state",
    "TaskType": "assignors.assignment",
    "compare": "assignor_sim.comparison",
    "load": "scenarios.load",
    "run": "scenarios.contestants",
    "validate": "assignors.assignment",
}

__all__ = [*_HOME]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'assignor_sim' has no attribute '{name}'")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
