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
    from assignor_sim.api.results import RunResult as Comparison
    from assignor_sim.api.results import run_scenario as compare
    from assignors.model.assignment import KafkaStreamsAssignment as KafkaStreamsAssignment
    from assignors.model.assignment import TaskAssignment as TaskAssignment
    from assignors.model.assignment import TaskAssignor as TaskAssignor
    from assignors.model.assignment import TaskType as TaskType
    from assignors.model.assignment import validate_assignment as validate
    from assignors.model.ids import ProcessId as ProcessId
    from assignors.model.ids import TaskId as TaskId
    from assignors.model.state import ApplicationState as ApplicationState
    from assignors.model.state import KafkaStreamsState as KafkaStreamsState
    from assignors.model.state import TaskInfo as TaskInfo
    from scenarios.assignor_specs import run as run
    from scenarios.load import Scenario as Scenario
    from scenarios.load import ScenarioError as ScenarioError
    from scenarios.load import load as load

_HOME = {
    "ApplicationState": "assignors.model.state",
    "Comparison": "assignor_sim.api.results",
    "KafkaStreamsAssignment": "assignors.model.assignment",
    "KafkaStreamsState": "assignors.model.state",
    "ProcessId": "assignors.model.ids",
    "Scenario": "scenarios.load",
    "ScenarioError": "scenarios.load",
    "TaskAssignment": "assignors.model.assignment",
    "TaskAssignor": "assignors.model.assignment",
    "TaskId": "assignors.model.ids",
    "TaskInfo": "assignors.model.state",
    "TaskType": "assignors.model.assignment",
    "compare": "assignor_sim.api.results",
    "load": "scenarios.load",
    "run": "scenarios.assignor_specs",
    "validate": "assignors.model.assignment",
}

_RENAMED = {"Comparison": "RunResult", "compare": "run_scenario", "validate": "validate_assignment"}

__all__ = [*_HOME, "Comparison", "compare", "validate"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'assignor_sim' has no attribute '{name}'")
    return getattr(importlib.import_module(_HOME[name]), _RENAMED.get(name, name))


def __dir__() -> list[str]:
    return sorted(__all__)
