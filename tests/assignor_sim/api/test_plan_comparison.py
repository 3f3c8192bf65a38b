"""`sim.plan` in Python."""

from __future__ import annotations

from pathlib import Path

import pytest

from assignor_sim.api.plan_comparison import plan
from assignors.replicas.exact_flow import ExactFlow
from assignors.replicas.planning import PlanError
from assignors.replicas.state import BrokerState, ClusterState
from reports.analysis.plans.results import read_plans


def uneven_cluster() -> ClusterState:
    """Return a cluster of three brokers in which the first leads all partitions."""
    brokers = [BrokerState(id, f"az{id}") for id in (1, 2, 3)]
    return ClusterState.of(brokers, {("orders", number): (1, 2) for number in range(6)})


def test_strategies_are_names_with_parameters_or_instances() -> None:
    comparison = plan(uneven_cluster(), ["exact_flow,keeps_replicas=true", ExactFlow()], num_orders=0)
    assert [result.strategy for result in comparison.results] == ["exact_flow,keeps_replicas=true", "ExactFlow"]
    assert all(result.status == "optimal" for result in comparison.results)
    leaders = [brokers[0] for brokers in comparison.replicas("ExactFlow").values()]
    assert sorted(leaders) == [1, 1, 2, 2, 3, 3]


def test_shipped_scenario_is_a_cluster() -> None:
    comparison = plan("order_processing", num_orders=0)
    assert comparison.to_pandas()["strategy"].tolist() == ["today", "exact_flow"]
    assert "exact_flow" in comparison.summary()


def test_saved_plans_can_be_read_back(tmp_path: Path) -> None:
    comparison = plan(uneven_cluster(), num_orders=0)
    comparison.save(tmp_path / "plan")
    saved = read_plans([tmp_path / "plan"])[0]
    assert saved.planned == ["exact_flow"]
    assert (tmp_path / "plan" / "reassignment.json").exists()
    comparison.report(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_strategy_without_a_plan_has_no_replicas() -> None:
    comparison = plan(uneven_cluster(), "capacity_packing", num_orders=0)
    assert not comparison.has_plan
    with pytest.raises(PlanError, match="capacity_packing: no plan"):
        comparison.replicas("capacity_packing")


def test_files_beside_a_cluster_state_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="require a cluster that is read from a file"):
        plan(uneven_cluster(), log_dirs=tmp_path / "sizes.txt")


@pytest.mark.parametrize("num_orders", [-1, 999_999_999])
def test_number_of_shuffles_is_bounded(num_orders: int) -> None:
    with pytest.raises(PlanError, match=f"^--shuffles {num_orders}: must be from 0 to 1,000$"):
        plan(uneven_cluster(), num_orders=num_orders)
