"""Plans of strategies are evaluated and written as files; failures do not stop the other strategies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assignors.errors import AssignorError
from assignors.replicas.plan import Capabilities, Plan, PlanRequest, PlanStatus, ReplicaAssignor
from assignors.replicas.state import BrokerState, ClusterState
from scenarios.kafka.plan_files import BatchLimits
from scenarios.planning.plan_input import PlanInput, PlanOptions, build_strategies
from scenarios.planning.strategy_results import StrategyResult, compute_min_moves, current_figures, run_strategies
from tests.scenarios.planning.clusters import GB, build_cluster, build_input


@dataclass(frozen=True, slots=True)
class FailingStrategy:
    """Raises an exception, optionally only when it runs again with another input order."""

    capabilities: ClassVar = Capabilities()
    error: Exception
    fails_first: bool = True

    def plan(self, state: ClusterState, request: PlanRequest) -> Plan:
        if self.fails_first or state.name(0) != "orders-0":
            raise self.error
        return Plan(PlanStatus.FEASIBLE, state.replicas)


@dataclass(frozen=True, slots=True)
class InfeasibleStrategy:
    """Finds no plan."""

    capabilities: ClassVar = Capabilities()

    def plan(self, state: ClusterState, request: PlanRequest) -> Plan:
        return Plan.without_replicas(PlanStatus.INFEASIBLE, "no capacity")


def run_all(
    strategies: Mapping[str, ReplicaAssignor],
    plan_input: PlanInput | None = None,
    limits: BatchLimits | None = None,
    steps: Sequence[str] | None = None,
) -> list[StrategyResult]:
    progress: list[str] = []
    results = list(run_strategies(strategies, plan_input or build_input(), limits or BatchLimits(), 2, progress.append))
    assert steps is None or progress == steps
    return results


def test_plan_has_figures_changes_and_files() -> None:
    [result] = run_all(build_strategies(["exact_flow"], {}), steps=["exact_flow", "exact_flow: evaluating its plan"])
    assert (result.strategy, result.status, result.has_plan) == ("exact_flow", "optimal", True)
    assert result.figures["replicas_range"] == 1
    assert result.figures["replicas_moved"] == result.figures["replicas_moved_bound"] == len(result.changes) == 2
    assert result.figures["bytes_moved"] == 2 * GB
    assert result.figures["distinct_plans"] is not None
    assert set(result.files) >= {"reassignment.json", "rollback.json"}
    assert result.num_batches is None


def test_batches_are_counted_if_limited() -> None:
    [result] = run_all(build_strategies(["exact_flow"], {}), limits=BatchLimits(partitions=1))
    assert result.num_batches == len(result.changes) == 2
    assert all(path.startswith("batch-00") for path in result.files)


def test_failures_do_not_stop_other_strategies() -> None:
    strategies: dict[str, ReplicaAssignor] = {
        "rejected": FailingStrategy(AssignorError("bad input")),
        "broken": FailingStrategy(ZeroDivisionError("no capacity")),
        "infeasible": InfeasibleStrategy(),
        **build_strategies(["exact_flow"], {}),
    }
    results = run_all(strategies)
    assert [(result.status, result.reason) for result in results] == [
        ("failed", "bad input"),
        ("failed", "ZeroDivisionError: no capacity"),
        ("infeasible", "no capacity"),
        ("optimal", ""),
    ]
    assert [result.has_plan for result in results] == [False, False, False, True]
    assert results[0].figures == results[0].files == {}


def test_plan_without_stability_if_the_strategy_fails_when_run_again() -> None:
    [result] = run_all({"unstable": FailingStrategy(ValueError("other order"), fails_first=False)})
    assert result.status == "feasible"
    assert result.notes == ("fails when run again: other order",)
    assert "distinct_plans" not in result.figures


def test_current_figures_are_those_of_the_current_placement() -> None:
    figures = current_figures(build_input())
    assert (figures["replicas_range"], figures["leaders_range"]) == (4, 3)
    assert "replicas_moved" not in figures


def test_min_moves_are_unknown_above_the_maximum_number_of_replicas() -> None:
    assert compute_min_moves(build_input(), max_replicas=10) == 2
    assert compute_min_moves(build_input(), max_replicas=9) is None
    payments = build_input(PlanOptions(topics=["payments"]))
    assert compute_min_moves(payments, max_replicas=4) is not None


def test_offline_partitions_are_noted() -> None:
    brokers = [BrokerState(1), BrokerState(2), BrokerState(3, is_alive=False)]
    state = ClusterState.of(brokers, {("orders", 0): [3], ("orders", 1): [1]})
    [result] = run_all({"exact_flow": build_strategies(["exact_flow"], {})["exact_flow"]}, build_input(state=state))
    assert any(note.startswith("1 partition is offline; new replicas cannot be copied") for note in result.notes)


def test_bytes_are_unknown_without_sizes() -> None:
    [result] = run_all(build_strategies(["exact_flow"], {}), build_input(state=build_cluster(sizes=False)))
    assert result.figures["bytes_moved"] is None
    assert result.replicas is not None
    assert np.unique(result.replicas).tolist() == [0, 1, 2]
