"""Simulator of Kafka Streams task assignors and Kafka replica assignors.

```python
import assignor_sim as sim

result = sim.run("cold_start", ["high_availability", sim.Optimal(slack=1)], seed=1)
print(result)
result.to_pandas("rounds")
print(result.explain("0_0"))
```

Names are imported on first use, so that importing the package and `assignor-sim --help` are fast.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from assignor_sim._checkout import prefer_checkout

if TYPE_CHECKING:
    from assignor_sim.api.bill import BillError as BillError
    from assignor_sim.api.bill import bill as bill
    from assignor_sim.api.checkup import Checkup as Checkup
    from assignor_sim.api.checkup import checkup as checkup
    from assignor_sim.api.cluster_import import ImportedScenario as ImportedScenario
    from assignor_sim.api.cluster_import import import_cluster as import_cluster
    from assignor_sim.api.comparison import Comparison as Comparison
    from assignor_sim.api.comparison import compare as compare
    from assignor_sim.api.frontier import FrontierError as FrontierError
    from assignor_sim.api.frontier import frontier as frontier
    from assignor_sim.api.fuzzing import Fuzzing as Fuzzing
    from assignor_sim.api.fuzzing import SequenceFuzzing as SequenceFuzzing
    from assignor_sim.api.fuzzing import fuzz as fuzz
    from assignor_sim.api.fuzzing import fuzz_sequences as fuzz_sequences
    from assignor_sim.api.loading import load as load
    from assignor_sim.api.plan_comparison import PlanComparison as PlanComparison
    from assignor_sim.api.plan_comparison import plan as plan
    from assignor_sim.api.recommendations import recommend as recommend
    from assignor_sim.api.regression import record as record
    from assignor_sim.api.regression import verify as verify
    from assignor_sim.api.releases import releases as releases
    from assignor_sim.api.results import MoveLists as MoveLists
    from assignor_sim.api.results import RunResult as RunResult
    from assignor_sim.api.results import TaskExplanations as TaskExplanations
    from assignor_sim.api.results import open as open
    from assignor_sim.api.reviewing import Review as Review
    from assignor_sim.api.reviewing import review as review
    from assignor_sim.api.running import run as run
    from assignor_sim.api.stored_scenario import StoredScenarioError as StoredScenarioError
    from assignor_sim.api.sweeps import SweepResult as SweepResult
    from assignor_sim.api.sweeps import sweep as sweep
    from assignors.containment.limits import CallLimits as CallLimits
    from assignors.errors import AssignorError as AssignorError
    from assignors.errors import CustomAssignorError as CustomAssignorError
    from assignors.errors import InvalidAssignmentError as InvalidAssignmentError
    from assignors.errors import UnknownAssignorError as UnknownAssignorError
    from assignors.model.assignment import AssignmentError as AssignmentError
    from assignors.model.assignment import AssignmentProblem as AssignmentProblem
    from assignors.model.assignment import KafkaStreamsAssignment as KafkaStreamsAssignment
    from assignors.model.assignment import TaskAssignment as TaskAssignment
    from assignors.model.assignment import TaskAssignor as TaskAssignor
    from assignors.model.assignment import TaskType as TaskType
    from assignors.model.assignment import validate_assignment as validate_assignment
    from assignors.model.configs import AssignmentConfigs as AssignmentConfigs
    from assignors.model.configs import RackAwareStrategy as RackAwareStrategy
    from assignors.model.group_spec import GroupSpec as GroupSpec
    from assignors.model.group_spec import MemberAssignment as MemberAssignment
    from assignors.model.group_spec import MemberAssignmentMetadata as MemberAssignmentMetadata
    from assignors.model.group_spec import MemberAssignmentState as MemberAssignmentState
    from assignors.model.group_spec import StreamsGroupAssignor as StreamsGroupAssignor
    from assignors.model.group_spec import TopologyDescriber as TopologyDescriber
    from assignors.model.ids import ProcessId as ProcessId
    from assignors.model.ids import TaskId as TaskId
    from assignors.model.ids import TopicPartition as TopicPartition
    from assignors.model.state import ApplicationState as ApplicationState
    from assignors.model.state import KafkaStreamsState as KafkaStreamsState
    from assignors.model.state import TaskInfo as TaskInfo
    from assignors.model.state import TaskTopicPartition as TaskTopicPartition
    from assignors.replicas.state import ClusterState as ClusterState
    from assignors.tasks.high_availability import HighAvailability as HighAvailability
    from assignors.tasks.incremental import Incremental as Incremental
    from assignors.tasks.legacy_sticky import FallbackPrior as FallbackPrior
    from assignors.tasks.legacy_sticky import LegacySticky as LegacySticky
    from assignors.tasks.optimal import Optimal as Optimal
    from assignors.tasks.rack_aware_variant import CurrentOverlap as CurrentOverlap
    from assignors.tasks.rack_aware_variant import MinBytes as MinBytes
    from assignors.tasks.rack_aware_variant import ReliableStandbys as ReliableStandbys
    from assignors.tasks.rack_aware_variant import SubtopologyBalance as SubtopologyBalance
    from assignors.tasks.sticky import Sticky as Sticky
    from assignors.tasks.streams_group_sticky import StreamsGroupPreview as StreamsGroupPreview
    from assignors.tasks.streams_group_sticky import StreamsGroupSticky as StreamsGroupSticky
    from assignors.tasks.streams_group_sticky import TaskAssignorError as TaskAssignorError
    from pipeline.fuzz.corpus import CorpusError as CorpusError
    from reports.analysis.bill.monthly_bill import MonthlyBill as MonthlyBill
    from reports.analysis.explanation import ExplanationError as ExplanationError
    from reports.analysis.frontier import TrafficFrontier as TrafficFrontier
    from reports.analysis.recommendation import Recommendation as Recommendation
    from reports.analysis.release_changes import ReleaseChanges as ReleaseChanges
    from reports.analysis.stored.verification import Verification as Verification
    from scenarios.language.releases import UnknownReleaseError as UnknownReleaseError
    from scenarios.load import Scenario as Scenario
    from scenarios.load import ScenarioError as ScenarioError
    from scenarios.load import loads as loads
    from simulator.results.result_directory import ResultsError as ResultsError
    from simulator.results.trace import CapturedRound as CapturedRound
    from simulator.results.trace import Round as Round
    from simulator.results.trace import Trace as Trace

_MODULES: dict[str, tuple[str, ...]] = {
    "assignor_sim.api.bill": ("BillError", "bill"),
    "assignor_sim.api.checkup": ("Checkup", "checkup"),
    "assignor_sim.api.cluster_import": ("ImportedScenario", "import_cluster"),
    "assignor_sim.api.comparison": ("Comparison", "compare"),
    "assignor_sim.api.frontier": ("FrontierError", "frontier"),
    "assignor_sim.api.fuzzing": ("Fuzzing", "SequenceFuzzing", "fuzz", "fuzz_sequences"),
    "assignor_sim.api.loading": ("load",),
    "assignor_sim.api.plan_comparison": ("PlanComparison", "plan"),
    "assignor_sim.api.recommendations": ("recommend",),
    "assignor_sim.api.regression": ("record", "verify"),
    "assignor_sim.api.releases": ("releases",),
    "assignor_sim.api.results": ("MoveLists", "RunResult", "TaskExplanations", "open"),
    "assignor_sim.api.reviewing": ("Review", "review"),
    "assignor_sim.api.running": ("run",),
    "assignor_sim.api.stored_scenario": ("StoredScenarioError",),
    "assignor_sim.api.sweeps": ("SweepResult", "sweep"),
    "assignors.containment.limits": ("CallLimits",),
    "assignors.errors": ("AssignorError", "CustomAssignorError", "InvalidAssignmentError", "UnknownAssignorError"),
    "assignors.model.assignment": (
        "AssignmentError",
        "AssignmentProblem",
        "KafkaStreamsAssignment",
        "TaskAssignment",
        "TaskAssignor",
        "TaskType",
        "validate_assignment",
    ),
    "assignors.model.configs": ("AssignmentConfigs", "RackAwareStrategy"),
    "assignors.model.group_spec": (
        "GroupSpec",
        "MemberAssignment",
        "MemberAssignmentMetadata",
        "MemberAssignmentState",
        "StreamsGroupAssignor",
        "TopologyDescriber",
    ),
    "assignors.model.ids": ("ProcessId", "TaskId", "TopicPartition"),
    "assignors.model.state": ("ApplicationState", "KafkaStreamsState", "TaskInfo", "TaskTopicPartition"),
    "assignors.replicas.state": ("ClusterState",),
    "assignors.tasks.high_availability": ("HighAvailability",),
    "assignors.tasks.incremental": ("Incremental",),
    "assignors.tasks.legacy_sticky": ("FallbackPrior", "LegacySticky"),
    "assignors.tasks.optimal": ("Optimal",),
    "assignors.tasks.rack_aware_variant": ("CurrentOverlap", "MinBytes", "ReliableStandbys", "SubtopologyBalance"),
    "assignors.tasks.sticky": ("Sticky",),
    "assignors.tasks.streams_group_sticky": ("StreamsGroupPreview", "StreamsGroupSticky", "TaskAssignorError"),
    "pipeline.fuzz.corpus": ("CorpusError",),
    "reports.analysis.bill.monthly_bill": ("MonthlyBill",),
    "reports.analysis.explanation": ("ExplanationError",),
    "reports.analysis.frontier": ("TrafficFrontier",),
    "reports.analysis.recommendation": ("Recommendation",),
    "reports.analysis.release_changes": ("ReleaseChanges",),
    "reports.analysis.stored.verification": ("Verification",),
    "scenarios.language.releases": ("UnknownReleaseError",),
    "scenarios.load": ("Scenario", "ScenarioError", "loads"),
    "simulator.results.result_directory": ("ResultsError",),
    "simulator.results.trace": ("CapturedRound", "Round", "Trace"),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}

__all__ = sorted(_MODULE_OF)

prefer_checkout()


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'assignor_sim' has no attribute '{name}'")
    return getattr(importlib.import_module(_MODULE_OF[name]), name)


def __dir__() -> list[str]:
    return list(__all__)
