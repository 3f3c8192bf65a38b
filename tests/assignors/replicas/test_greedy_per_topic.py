"""Plans of kafka-reassign-tool."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from assignors.replicas.greedy_per_topic import GreedyPerTopic
from assignors.replicas.plan import PlanRequest, PlanStatus
from assignors.replicas.plan_evaluation import measure_movement
from assignors.replicas.planning import PlanRule, find_violations, plan
from assignors.replicas.state import BrokerState, ClusterState, added_replicas
from tests.assignors.replicas.clusters import brokers, ids, killerwhile, random_cluster


def proposed_ids(state: ClusterState, request: PlanRequest) -> list[list[int]]:
    proposal = plan(GreedyPerTopic(), state, request)
    assert proposal.status == PlanStatus.FEASIBLE, proposal.reason
    assert proposal.replicas is not None
    return ids(state, proposal.replicas)


def readme() -> ClusterState:
    """Return the topic of the tool's manual, with partitions in the order in which the tool processes them."""
    held = {("mytopic", 0): [1001, 1002], ("mytopic", 2): [1002, 1004], ("mytopic", 1): [1002, 1004]}
    return ClusterState.of(brokers(4, first=1001), held | {("mytopic", 3): [1003, 1001]})


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        pytest.param(
            PlanRequest(replication_factor=3),
            [[1001, 1002, 1003], [1004, 1002, 1001], [1002, 1004, 1003], [1003, 1001, 1004]],
            id="one replica more",
        ),
        pytest.param(PlanRequest(replication_factor=1), [[1001], [1004], [1002], [1003]], id="one replica less"),
        pytest.param(
            PlanRequest(brokers=(1001, 1002, 1003)),
            [[1001, 1002], [1002, 1003], [1002, 1001], [1003, 1001]],
            id="one broker less",
        ),
        pytest.param(PlanRequest(), [[1001, 1002], [1004, 1002], [1002, 1004], [1003, 1001]], id="leaders only"),
    ],
)
def test_plans_match_the_examples_of_the_manual(request_: PlanRequest, expected: list[list[int]]) -> None:
    # Where the output differs, the manual shows an older version.
    assert proposed_ids(readme(), request_) == expected


def test_removing_a_broker_moves_one_replica() -> None:
    state = killerwhile()
    proposal = plan(GreedyPerTopic(), state, PlanRequest(brokers=tuple(range(19))))
    assert proposal.replicas is not None
    assert ids(state, proposal.replicas)[1] == [8, 7]
    assert measure_movement(state, proposal.replicas).replicas == 1


def reference_plan(state: ClusterState, request: PlanRequest) -> Iterator[list[int]]:
    """Return the plan of a direct implementation: counts in dictionaries, ordered by first occurrence of brokers."""
    held = ids(state, state.replicas)
    allowed = [broker.id for broker in state.brokers if request.is_allowed(state)[state.brokers.index(broker)]]
    if request.brokers is not None:
        allowed.sort()
    replicas: dict[int, dict[int, int]] = {}
    leaders: dict[int, dict[int, int]] = {}
    for topic, row in zip(state.topic.tolist(), held, strict=True):
        for broker in row:
            counts = replicas.setdefault(topic, {})
            counts[broker] = counts.get(broker, 0) + 1
        leads = leaders.setdefault(topic, {})
        leads[row[0]] = leads.get(row[0], 0) + 1
    for topic, counts in replicas.items():
        for broker in allowed:
            counts.setdefault(broker, 0)
        for broker in counts:
            leaders[topic].setdefault(broker, 0)
    targets = {topic: sum(leads.values()) // len(allowed) for topic, leads in leaders.items()}
    for topic, old, factor in zip(state.topic.tolist(), held, request.factors(state).tolist(), strict=True):
        counts, leads = replicas[topic], leaders[topic]
        row = [broker for broker in old if broker in allowed]
        while len(row) > factor:
            out = max((broker for broker in counts if broker in row), key=counts.__getitem__)
            counts[out] -= 1
            row.remove(out)
        while len(row) < factor:
            new = min((b for b in counts if b in allowed and b not in row), key=counts.__getitem__)
            counts[new] += 1
            row.append(new)
        leads[old[0]] -= 1
        leads[row[0]] += 1
        below = [broker for broker in row if leads[broker] < targets[topic]]
        if below:
            best = min(below, key=leads.__getitem__)
            leads[row[0]] -= 1
            leads[best] += 1
            row.remove(best)
            row.insert(0, best)
        yield row


def cases() -> Iterator[tuple[ClusterState, PlanRequest]]:
    for seed in range(60):
        draw = np.random.default_rng(seed)
        state = random_cluster(seed, num_brokers=7, partitions=(20, 9), factor=int(draw.integers(1, 4)), skew=0.5)
        state = state.take(draw.permutation(state.num_partitions))
        some = tuple(draw.permutation(7)[: draw.integers(3, 8)].tolist())
        yield state, PlanRequest(some if seed % 3 else None, int(draw.integers(1, 4)) if seed % 2 else None)


def test_plans_match_the_reference_search() -> None:
    for state, request in cases():
        factors = request.factors(state)
        if factors.max() <= request.is_allowed(state).sum():
            assert proposed_ids(state, request) == list(reference_plan(state, request))


def test_allowed_replicas_stay_unless_the_factor_falls() -> None:
    for state, request in cases():
        proposal = plan(GreedyPerTopic(), state, request)
        if proposal.replicas is None:
            continue
        assert {violation.rule for violation in find_violations(state, request, proposal.replicas)} <= {PlanRule.RACK}
        staying = request.is_allowed(state)[state.replicas].sum(axis=1)
        missing = np.maximum(request.factors(state) - staying, 0)
        assert np.array_equal(added_replicas(state.replicas, proposal.replicas).sum(axis=1), missing)


def test_second_run_copies_nothing_but_may_promote_again() -> None:
    promoted = 0
    for state, request in cases():
        proposal = plan(GreedyPerTopic(), state, request)
        if proposal.replicas is None:
            continue
        after = state.with_replicas(proposal.replicas)
        rerun = plan(GreedyPerTopic(), after, request)
        assert rerun.replicas is not None
        assert measure_movement(after, rerun.replicas).replicas == 0
        promoted += measure_movement(after, rerun.replicas).leaders_by_order
    assert promoted > 0


def test_new_broker_gets_nothing_of_topics_with_enough_replicas() -> None:
    state = random_cluster(4, num_brokers=4, partitions=(20,), skew=0.0)
    held = {("topic-a", partition): row for partition, row in enumerate(ids(state, state.replicas))}
    grown = ClusterState.of(brokers(5), held)
    assert all(4 not in row for row in proposed_ids(grown, PlanRequest()))


def test_equally_loaded_brokers_are_taken_in_input_order_or_by_id() -> None:
    state = ClusterState.of([BrokerState(2), BrokerState(3), BrokerState(1)], {("t", 0): [2]})
    assert proposed_ids(state, PlanRequest(replication_factor=2)) == [[2, 3]]
    assert proposed_ids(state, PlanRequest(brokers=(3, 2, 1), replication_factor=2)) == [[2, 1]]


def test_more_replicas_than_brokers_are_infeasible() -> None:
    proposal = plan(GreedyPerTopic(), readme(), PlanRequest(replication_factor=5))
    assert proposal.status == PlanStatus.INFEASIBLE
    assert proposal.reason == "mytopic-0: replication factor 5 exceeds 4 allowed brokers"
