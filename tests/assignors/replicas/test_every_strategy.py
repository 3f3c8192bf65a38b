"""Properties of every strategy for all inputs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assignors.replicas import registry
from assignors.replicas.plan import PlanRequest, PlanStatus, ReplicaAssignor
from assignors.replicas.plan_evaluation import measure_movement, replicas_by_partition, shuffle_state
from assignors.replicas.planning import PlanRule, find_violations, plan
from assignors.replicas.state import BrokerState, ClusterState

NAMES = [info.name for info in registry.built_in()]
WITH_A_PLAN = (PlanStatus.OPTIMAL, PlanStatus.FEASIBLE)


@st.composite
def clusters(draw: st.DrawFn) -> ClusterState:
    """Draw small clusters: with or without racks, even or not, topics of other factors, with a missing broker."""
    num_brokers = draw(st.integers(2, 6))
    num_racks = draw(st.sampled_from([0, 2, 3]))
    missing = draw(st.sampled_from([None, None, 0]))
    first = draw(st.sampled_from([0, 100]))
    broker_states = [
        BrokerState(
            first + i,
            f"az{draw(st.integers(1, num_racks))}" if num_racks else None,
            capacity_bytes=10**12,
            is_alive=i != missing,
        )
        for i in range(num_brokers)
    ]
    alive = sum(broker.is_alive for broker in broker_states)
    held = {}
    for topic in ("a", "b", "c")[: draw(st.integers(1, 3))]:
        factor = draw(st.integers(1, min(3, alive)))
        holders = draw(st.permutations(range(num_brokers)))[: draw(st.integers(factor, num_brokers))]
        for p in range(draw(st.integers(1, 5))):
            held[topic, p] = tuple(first + i for i in draw(st.permutations(holders))[:factor])
    sizes = {key: draw(st.integers(0, 5)) * 10**9 for key in held}
    return ClusterState.of(broker_states, held, size_bytes=sizes)


@st.composite
def requests(draw: st.DrawFn, state: ClusterState) -> PlanRequest:
    """Draw a request: the same factor or another, all brokers or one fewer."""
    alive = state.ids[state.is_alive].tolist()
    without = draw(st.sampled_from([None, None, *alive]))
    left = [broker for broker in alive if broker != without]
    return PlanRequest(
        brokers=None if without is None or not left else tuple(left),
        replication_factor=draw(st.sampled_from([None, None, 1, 2, 3])),
        rack_aware=draw(st.booleans()),
    )


def strategy(name: str) -> ReplicaAssignor:
    return registry.make(registry.find_strategy(name))


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_plan_has_the_right_replicas_on_allowed_brokers_and_crowds_no_rack(name: str, data: st.DataObject) -> None:
    state = data.draw(clusters())
    request = data.draw(requests(state))
    assignor = strategy(name)
    proposal = plan(assignor, state, request)
    if proposal.status not in WITH_A_PLAN:
        assert proposal.replicas is None
        assert proposal.reason
        return
    assert proposal.replicas is not None
    violations = find_violations(state, request, proposal.replicas)
    assert {violation.rule for violation in violations} <= {PlanRule.RACK}
    if assignor.capabilities.is_rack_aware and not assignor.capabilities.may_exceed_rack_limit:
        before = {
            violation.row: violation.occurrences
            for violation in find_violations(state, request, state.replicas)
            if violation.rule == PlanRule.RACK
        }
        assert all(violation.occurrences <= before.get(violation.row, 0) for violation in violations)
    if proposal.bound is not None and proposal.value is not None and proposal.status == PlanStatus.OPTIMAL:
        assert proposal.value == pytest.approx(proposal.bound)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_declared_idempotence_and_order_independence_hold(name: str, data: st.DataObject) -> None:
    state = data.draw(clusters())
    request = data.draw(requests(state))
    assignor = strategy(name)
    proposal = plan(assignor, state, request)
    if proposal.replicas is None:
        return
    if assignor.capabilities.is_idempotent:
        after = state.with_replicas(proposal.replicas)
        rerun = plan(assignor, after, request)
        assert rerun.replicas is not None, rerun.reason
        assert replace(measure_movement(after, rerun.replicas), bytes=0) == replace(
            measure_movement(after, after.replicas), bytes=0
        )
    if assignor.capabilities.is_order_independent:
        shuffled = shuffle_state(state, np.random.default_rng(data.draw(st.integers(0, 99))))
        other = plan(assignor, shuffled, request)
        assert other.replicas is not None, other.reason
        assert replicas_by_partition(shuffled, other.replicas) == replicas_by_partition(state, proposal.replicas)


@pytest.mark.parametrize("name", NAMES)
def test_every_strategy_is_listed_with_its_description(name: str) -> None:
    info = registry.find_strategy(name)
    strategy_class = info.find_class()
    assert info.summary
    assert "Source" in (strategy_class.__doc__ or "") + (
        __import__(strategy_class.__module__, fromlist=["_"]).__doc__ or ""
    )


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_plan_reports_exactly_the_out_of_sync_preferred_leaders(name: str, data: st.DataObject) -> None:
    whole = data.draw(clusters())
    drawn = [[data.draw(st.booleans()) for _ in row] for row in whole.replicas]
    state = replace(whole, in_sync=np.array(drawn, dtype=np.bool_))
    proposal = plan(strategy(name), state, data.draw(requests(state)))
    if proposal.replicas is None:
        return
    led = [int(row[0]) for row in proposal.replicas]
    lagging = [
        state.name(row)
        for row, (held, flags) in enumerate(zip(state.replicas.tolist(), drawn, strict=True))
        if led[row] in held and not flags[held.index(led[row])]
    ]
    warnings = [note for note in proposal.notes if "not in sync" in note]
    assert len(warnings) == bool(lagging)
    assert all(f"{partition} (broker " in warnings[0] for partition in lagging)
