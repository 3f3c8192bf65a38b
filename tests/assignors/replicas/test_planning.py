"""What is refused before a strategy is asked, and what is checked of its answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from assignors.model.columns import IntArray
from assignors.replicas.plan import Capabilities, Plan, PlanRequest, PlanStatus
from assignors.replicas.planning import PlanError, plan
from assignors.replicas.state import NO_BROKER, BrokerState, ClusterState
from assignors.replicas.violations import PlanRule, find_violations
from tests.assignors.replicas.clusters import brokers, ids, random_cluster


@dataclass(frozen=True)
class Fixed:
    """Answers what it was told to."""

    answer: tuple[tuple[int, ...], ...] | None = None
    capabilities: ClassVar[Capabilities] = Capabilities(is_rack_aware=True, decommissions_brokers=True)

    def plan(self, state: ClusterState, request: PlanRequest) -> Plan:
        replicas: IntArray = state.replicas if self.answer is None else np.array(self.answer)
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
def test_a_request_that_names_what_is_not_there_is_refused(
    request_: PlanRequest, topics: list[str] | None, message: str
) -> None:
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
def test_what_cannot_be_has_a_status_and_a_reason(
    assignor: Fixed, request_: PlanRequest, status: PlanStatus, reason: str
) -> None:
    answer = plan(assignor, TWO, request_)
    assert answer.status == status
    assert answer.replicas is None
    assert reason in answer.reason


def test_racks_of_which_one_is_missing_are_not_guessed() -> None:
    state = ClusterState.of([*brokers(2, 2), BrokerState(5)], {("a", 0): [0, 1]})
    assert plan(Fixed(), state, PlanRequest()).reason.startswith("broker 5 has no rack")
    assert plan(Fixed(), state, PlanRequest(rack_aware=False)).status == PlanStatus.FEASIBLE


@pytest.mark.parametrize(
    ("answer", "rule"),
    [
        (((0, NO_BROKER), (2, 3)), PlanRule.REPLICATION_FACTOR),
        (((0, 0), (2, 3)), PlanRule.DUPLICATE),
        (((0, 2), (2, 3)), PlanRule.RACK),
    ],
)
def test_an_answer_that_breaks_a_rule_is_not_let_through(answer: tuple[tuple[int, ...], ...], rule: PlanRule) -> None:
    with pytest.raises(PlanError, match=rf"Fixed breaks {rule} at a-0"):
        plan(Fixed(answer), TWO, PlanRequest())


def test_a_crowded_rack_that_was_there_before_may_stay() -> None:
    state = ClusterState.of(brokers(4, 2), {("a", 0): [0, 2]})
    assert plan(Fixed(), state, PlanRequest()).status == PlanStatus.FEASIBLE
    assert find_violations(state, PlanRequest(), state.replicas) == ((0, PlanRule.RACK, 1),)


def test_a_broker_that_shall_go_may_not_stay() -> None:
    with pytest.raises(PlanError, match="forbidden_broker at a-0"):
        plan(Fixed(), TWO, PlanRequest(brokers=(1, 2, 3)))


def test_only_the_topics_asked_for_are_shown_and_changed() -> None:
    seen = []

    class Watching(Fixed):
        def plan(self, state: ClusterState, request: PlanRequest) -> Plan:
            seen.append([state.name(row) for row in range(state.num_partitions)])
            return Plan(PlanStatus.FEASIBLE, np.array([[0, 1]]))

    answer = plan(Watching(), TWO, PlanRequest(), ["b"])
    assert seen == [["b-0"]]
    assert answer.replicas is not None
    assert ids(TWO, answer.replicas) == [[0, 1], [0, 1]]


def test_every_finding_is_told_with_its_number() -> None:
    state = random_cluster(3, racks=2)
    wrong = state.replicas.copy()
    wrong[:2, 1] = wrong[:2, 0]
    found = find_violations(state, PlanRequest(brokers=(0, 1, 2, 3, 4)), wrong)
    assert [each.row for each in found if each.rule == PlanRule.DUPLICATE] == [0, 1]
    forbidden = {each.row: each.occurrences for each in found if each.rule == PlanRule.FORBIDDEN_BROKER}
    assert forbidden == {row: n for row, n in enumerate((wrong == 5).sum(axis=1).tolist()) if n}


LAGGING = ClusterState.of(
    brokers(4),
    {("a", 0): [0, 1], ("b", 0): [2, 3], ("c", 0): [0, 1]},
    in_sync={("a", 0): [0], ("b", 0): [3], ("c", 0): [1, 0]},
)


def test_a_leader_out_of_sync_is_named_whether_the_plan_makes_it_or_leaves_it() -> None:
    kept = plan(Fixed(), LAGGING, PlanRequest(rack_aware=False))
    assert kept.notes == ("preferred leaders not in sync, they lead only after they have caught up: b-0 (broker 2)",)
    swapped = plan(Fixed(((1, 0), (3, 2), (1, 0))), LAGGING, PlanRequest(rack_aware=False))
    assert swapped.notes == ("preferred leaders not in sync, they lead only after they have caught up: a-0 (broker 1)",)


def test_a_leader_that_is_copied_first_will_be_in_sync() -> None:
    moved = plan(Fixed(((2, 0), (3, 2), (0, 1))), LAGGING, PlanRequest(rack_aware=False))
    assert moved.notes == ()


def test_topics_that_may_not_change_are_not_warned_of() -> None:
    one = Fixed(((0, 1),))
    assert plan(one, LAGGING, PlanRequest(rack_aware=False), ["a"]).notes == ()


def test_with_an_unknown_isr_all_replicas_are_in_sync() -> None:
    unknown = ClusterState.of(brokers(4), {("a", 0): [0, 1]})
    assert plan(Fixed(((1, 0),)), unknown, PlanRequest(rack_aware=False)).notes == ()
