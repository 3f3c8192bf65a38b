"""Checks before a strategy runs, and of its plan afterwards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from assignors.model.columns import IntArray
from assignors.replicas.plan import Capabilities, Plan, PlanRequest, PlanStatus
from assignors.replicas.planning import PlanError, PlanRule, find_violations, plan
from assignors.replicas.state import NO_BROKER, BrokerState, ClusterState
from tests.assignors.replicas.clusters import brokers, ids, random_cluster


@dataclass(frozen=True)
class Fixed:
    """Returns a given plan."""

    replicas: tuple[tuple[int, ...], ...] | None = None
    capabilities: ClassVar[Capabilities] = Capabilities(is_rack_aware=True, decommissions_brokers=True)

    def plan(self, state: ClusterState, request: PlanRequest) -> Plan:
        replicas: IntArray = state.replicas if self.replicas is None else np.array(self.replicas)
        return Plan(PlanStatus.FEASIBLE, replicas)


class Limited(Fixed):
    capabilities: ClassVar[Capabilities] = Capabilities(moves_replicas=False)


class NeedsSizes(Fixed):
    capabilities: ClassVar[Capabilities] = Capabilities(needs_sizes=True)


class NeedsCapacities(Fixed):
    capabilities: ClassVar[Capabilities] = Capabilities(needs_capacities=True)


TWO = ClusterState.of(brokers(4, 2), {("a", 0): [0, 1], ("b", 0): [2, 3]})


@pytest.mark.parametrize(
    ("request_", "topics", "message"),
    [
        (PlanRequest(brokers=(0, 9)), None, r"unknown broker 9 \(brokers: 0, 1, 2, 3\)"),
        (PlanRequest(), ["c"], r"unknown topic 'c' \(topics: a, b\)"),
        (PlanRequest(brokers=()), None, "no broker may hold replicas"),
        (PlanRequest(replication_factor=0), None, "replication factor 0"),
    ],
)
def test_unknown_brokers_and_topics_are_rejected(request_: PlanRequest, topics: list[str] | None, message: str) -> None:
    with pytest.raises(PlanError, match=message):
        plan(Fixed(), TWO, request_, topics)


@pytest.mark.parametrize(
    ("assignor", "request_", "status", "reason"),
    [
        (
            Fixed(),
            PlanRequest(replication_factor=5),
            PlanStatus.INFEASIBLE,
            "a-0: replication factor 5 exceeds 4 allowed brokers",
        ),
        (Limited(), PlanRequest(replication_factor=3), PlanStatus.NOT_APPLICABLE, "raise"),
        (Limited(), PlanRequest(replication_factor=1), PlanStatus.NOT_APPLICABLE, "lower"),
        (Limited(), PlanRequest(brokers=(0, 1, 2)), PlanStatus.NOT_APPLICABLE, "cannot decommission brokers"),
        (NeedsSizes(), PlanRequest(), PlanStatus.NOT_APPLICABLE, "sizes"),
        (NeedsCapacities(), PlanRequest(), PlanStatus.NOT_APPLICABLE, "capacities"),
    ],
)
def test_unsupported_requests_have_a_status_and_a_reason(
    assignor: Fixed, request_: PlanRequest, status: PlanStatus, reason: str
) -> None:
    proposal = plan(assignor, TWO, request_)
    assert proposal.status == status
    assert proposal.replicas is None
    assert reason in proposal.reason


def test_partially_known_racks_are_rejected() -> None:
    state = ClusterState.of([*brokers(2, 2), BrokerState(5)], {("a", 0): [0, 1]})
    assert plan(Fixed(), state, PlanRequest()).reason.startswith("broker 5 has no rack")
    assert plan(Fixed(), state, PlanRequest(rack_aware=False)).status == PlanStatus.FEASIBLE


@pytest.mark.parametrize(
    ("replicas", "rule"),
    [
        (((0, NO_BROKER), (2, 3)), PlanRule.REPLICATION_FACTOR),
        (((0, 0), (2, 3)), PlanRule.DUPLICATE),
        (((0, 2), (2, 3)), PlanRule.RACK),
    ],
)
def test_plan_that_violates_a_rule_is_rejected(replicas: tuple[tuple[int, ...], ...], rule: PlanRule) -> None:
    with pytest.raises(PlanError, match=rf"Fixed breaks {rule} at a-0"):
        plan(Fixed(replicas), TWO, PlanRequest())


def test_existing_rack_violation_may_stay() -> None:
    state = ClusterState.of(brokers(4, 2), {("a", 0): [0, 2]})
    assert plan(Fixed(), state, PlanRequest()).status == PlanStatus.FEASIBLE
    assert find_violations(state, PlanRequest(), state.replicas) == ((0, PlanRule.RACK, 1),)


def test_replica_on_a_disallowed_broker_is_rejected() -> None:
    with pytest.raises(PlanError, match="forbidden_broker at a-0"):
        plan(Fixed(), TWO, PlanRequest(brokers=(1, 2, 3)))


def test_only_requested_topics_are_planned_and_changed() -> None:
    planned_partitions = []

    class Recording(Fixed):
        def plan(self, state: ClusterState, request: PlanRequest) -> Plan:
            planned_partitions.append([state.name(row) for row in range(state.num_partitions)])
            return Plan(PlanStatus.FEASIBLE, np.array([[0, 1]]))

    proposal = plan(Recording(), TWO, PlanRequest(), ["b"])
    assert planned_partitions == [["b-0"]]
    assert proposal.replicas is not None
    assert ids(TWO, proposal.replicas) == [[0, 1], [0, 1]]


def test_violations_are_listed_with_row_and_occurrences() -> None:
    state = random_cluster(3, racks=2)
    wrong = state.replicas.copy()
    wrong[:2, 1] = wrong[:2, 0]
    violations = find_violations(state, PlanRequest(brokers=(0, 1, 2, 3, 4)), wrong)
    assert [violation.row for violation in violations if violation.rule == PlanRule.DUPLICATE] == [0, 1]
    forbidden = {
        violation.row: violation.occurrences for violation in violations if violation.rule == PlanRule.FORBIDDEN_BROKER
    }
    assert forbidden == {row: n for row, n in enumerate((wrong == 5).sum(axis=1).tolist()) if n}


LAGGING = ClusterState.of(
    brokers(4),
    {("a", 0): [0, 1], ("b", 0): [2, 3], ("c", 0): [0, 1]},
    in_sync={("a", 0): [0], ("b", 0): [3], ("c", 0): [1, 0]},
)


def test_out_of_sync_leader_is_named_whether_new_or_kept() -> None:
    unchanged = plan(Fixed(), LAGGING, PlanRequest(rack_aware=False))
    assert unchanged.notes == (
        "preferred leaders not in sync, they lead only after they have caught up: b-0 (broker 2)",
    )
    swapped = plan(Fixed(((1, 0), (3, 2), (1, 0))), LAGGING, PlanRequest(rack_aware=False))
    assert swapped.notes == ("preferred leaders not in sync, they lead only after they have caught up: a-0 (broker 1)",)


def test_leader_that_is_copied_first_will_be_in_sync() -> None:
    moved = plan(Fixed(((2, 0), (3, 2), (0, 1))), LAGGING, PlanRequest(rack_aware=False))
    assert moved.notes == ()


def test_fixed_topics_cause_no_warning() -> None:
    strategy = Fixed(((0, 1),))
    assert plan(strategy, LAGGING, PlanRequest(rack_aware=False), ["a"]).notes == ()


def test_unknown_isr_counts_as_all_in_sync() -> None:
    unknown = ClusterState.of(brokers(4), {("a", 0): [0, 1]})
    assert plan(Fixed(((1, 0),)), unknown, PlanRequest(rack_aware=False)).notes == ()
