"""Reassignments that a strategy plans from the cluster at the time of the event."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import pytest

from assignors.replicas import registry
from assignors.replicas.plan import Capabilities, Plan, PlanRequest, ReplicaAssignor
from assignors.replicas.planning import PlanError
from assignors.replicas.state import ClusterState
from scenarios.events.partition_reassignment import NoPlanError, ReassignmentPlan, plan_reassignment
from scenarios.load import Scenario, loads
from simulator.timeline import replicas_at
from simulator.world.disturbances import LeaderElection, Reassignment
from simulator.world.world import World
from tests.scenarios.scenario_texts import SMALL, load_text, mistakes_in, with_events

MINUTE = 60_000
LEAVE = "reassignment: {strategy: exact_flow, remove_brokers: [2]}"
"""Decommission broker 2."""

BACK = "reassignment: {strategy: exact_flow, topics: [orders]}"


def _text(*entries: str, brokers: str = "brokers: {count: 4, racks: [az1, az2]}") -> str:
    text = with_events(*entries).replace("brokers: {count: 3, racks: [az1, az2, az3]}", brokers)
    return text.replace("racks: [az1, az2, az3]", "racks: [az1, az2]")


def _scenario(*entries: str) -> Scenario:
    return load_text(_text(*entries))


def _planned(world: World) -> list[Reassignment]:
    return [event for event in world.disturbances if isinstance(event, Reassignment)]


def test_strategy_plans_all_topics_and_targets_only_changes() -> None:
    [planned] = _planned(_scenario(f"{{at: 10m, {LEAVE}}}").world(1))
    at_end = replicas_at(_scenario(f"{{at: 10m, {LEAVE}}}").world(1), 20 * MINUTE)
    assert {target.partition.topic for target in planned.targets} > {"orders"}
    assert all(2 not in target.replicas for target in planned.targets)
    for target in planned.targets:
        assert at_end.replicas.state(target.partition).replicas == target.replicas


def test_plan_depends_on_the_placement_of_the_seed() -> None:
    scenario = _scenario(f"{{at: 10m, {LEAVE}}}")
    plans = [_planned(scenario.world(seed))[0].targets for seed in (1, 1, 2)]
    assert plans[0] == plans[1] != plans[2]


def test_only_listed_topics_change() -> None:
    scenario = _scenario(
        "{at: 10m, replica_move: {topic: orders, partition: 0, replicas: [2, 3]}}", f"{{at: 20m, {BACK}}}"
    )
    for seed in range(4):
        [planned] = _planned(scenario.world(seed))
        assert {target.partition.topic for target in planned.targets} <= {"orders"}


def test_strategy_sees_earlier_events() -> None:
    scenario = _scenario("{at: 10m, broker_loss: {brokers: [2]}}", "{at: 10m, reassignment: {strategy: exact_flow}}")
    [planned] = _planned(scenario.world(1))
    assert planned.targets
    assert all(2 not in target.replicas for target in planned.targets)
    before = _scenario(f"{{at: 5m, {LEAVE}}}", f"{{at: 10m, {LEAVE}}}")
    first, second = _planned(before.world(1))
    assert first.targets
    assert second.targets == (), "the first reassignment already plans these moves"


def test_reassignments_are_planned_by_time_and_keep_their_order() -> None:
    later, earlier = _planned(_scenario(f"{{at: 10m, {LEAVE}}}", f"{{at: 5m, {LEAVE}}}").world(1))
    assert (later.at_ms, earlier.at_ms) == (10 * MINUTE, 5 * MINUTE)
    assert (bool(later.targets), bool(earlier.targets)) == (False, True)


def test_reassignment_has_throttle_batch_and_election_of_the_scenario() -> None:
    reassignment = LEAVE.replace("}", ", throttle: 3 MB/s, batch: 2, elects_leaders: never}")
    [planned] = _planned(_scenario(f"{{at: 10m, {reassignment}}}").world(1))
    assert (planned.throttle_bytes_per_s, planned.batch, planned.election) == (3_000_000, 2, LeaderElection.NEVER)
    assert _planned(_scenario(f"{{at: 10m, {LEAVE}}}").world(1))[0].election is LeaderElection.AUTO


def test_unfinished_reassignment_causes_a_warning() -> None:
    slow = LEAVE.replace("}", ", throttle: 2 MB/s}")
    warnings = _scenario(f"{{at: 10m, {slow}}}").warnings
    [warning] = [warning for warning in warnings if "not complete" in warning]
    assert re.match(r"\S+:\d+: events\[0\]\.reassignment: not complete when the run ends at ", warning)
    assert warning.endswith(" partitions remain; set a longer duration or a higher throttle")
    assert _scenario(f"{{at: 10m, {LEAVE}}}").warnings == ()


def test_throttle_below_the_produce_rate_causes_a_warning() -> None:
    stuck = LEAVE.replace("}", ", throttle: 500 kB/s, topics: [orders]}")
    _, warning = _scenario(f"{{at: 10m, {stuck}}}").warnings
    problem = "the throttle does not exceed the produce rate, so the reassignment never completes"
    assert f": events[0].reassignment.throttle: {problem} (partitions: orders-" in warning


DECOMMISSION = ReassignmentPlan(
    at_ms=10 * MINUTE,
    path=("events", 0, "reassignment"),
    strategy="test_strategy",
    parameters=(),
    topics=None,
    removed=(2,),
    replication_factor=None,
    rack_aware=True,
    throttle_bytes_per_s=None,
    batch=None,
    election=LeaderElection.AUTO,
)


@dataclass(slots=True)
class RecordingStrategy:
    """Records its inputs and raises an exception."""

    capabilities: ClassVar = Capabilities(decommissions_brokers=True)
    error: Exception
    states: list[ClusterState] = field(default_factory=list)

    def plan(self, state: ClusterState, request: PlanRequest) -> Plan:
        self.states.append(state)
        raise self.error

    def make(self, name: str, parameters: Mapping[str, Any]) -> ReplicaAssignor:
        assert (name, parameters) == ("test_strategy", {})
        return self


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ZeroDivisionError("no capacity"), "test_strategy failed: ZeroDivisionError: no capacity"),
        (PlanError("no broker is left"), "no broker is left"),
    ],
)
def test_failing_strategy_is_reported_with_its_path(error: Exception, message: str) -> None:
    with pytest.raises(NoPlanError) as raised:
        plan_reassignment(DECOMMISSION, loads(SMALL).world(1), RecordingStrategy(error).make)
    assert str(raised.value) == f"small: events[0].reassignment: {message}"


def test_targets_are_sorted_by_partition() -> None:
    [planned] = _planned(_scenario(f"{{at: 10m, {LEAVE}}}").world(3))
    names = [target.partition for target in planned.targets]
    assert names == sorted(names)


CAPABLE = (
    "brokers: [{id: 1, rack: az1, capacity: 1 TB, throughput: 100 MB/s},"
    " {id: 2, rack: az2, capacity: 1 TB, throughput: 100 MB/s},"
    " {id: 3, rack: az1, capacity: 1 TB, throughput: 100 MB/s}, {id: 4, rack: az2, capacity: 1 TB}]"
)


@pytest.mark.parametrize("name", [info.name for info in registry.built_in()])
def test_every_strategy_can_be_simulated(name: str) -> None:
    text = _text(f"{{at: 10m, reassignment: {{strategy: {name}}}}}", brokers=CAPABLE)
    stated = text.replace("{name: totals, size: 1 GB}", "{name: totals, size: 1 GB, bytes_per_s: 1 MB/s}")
    assert len(_planned(load_text(stated).world(1))) == 1


def test_unknown_rates_are_not_treated_as_zero() -> None:
    text = _text("{at: 10m, reassignment: {strategy: capacity_packing}}", brokers=CAPABLE)
    [mistake] = mistakes_in(text)
    assert "events[0].reassignment: capacity_packing has no plan" in mistake
    assert "shop-totals-changelog (compacted)" in mistake
    assert mistakes_in(text.replace("{name: totals, size: 1 GB}", "{name: totals, size: 1 GB, bytes_per_s: 0}")) == []


def test_strategy_input_has_out_of_sync_replicas() -> None:
    world = _scenario("{at: 3m, broker_loss: {brokers: [2]}}").world(1)
    strategy = RecordingStrategy(PlanError("only the input matters"))
    with pytest.raises(NoPlanError):
        plan_reassignment(replace(DECOMMISSION, removed=()), world, strategy.make)
    [state] = strategy.states
    assert state.in_sync is not None
    assert (state.in_sync == (state.ids[state.replicas] != 2)).all()


def test_goals_and_constraints_are_strategy_parameters() -> None:
    chained = "{strategy: goal_chain, parameters: {goals: 'RackAwareGoal,ReplicaDistributionGoal'}}"
    assert mistakes_in(_text(f"{{at: 10m, reassignment: {chained}}}")) == []
    ilp = "{strategy: preferred_leader_ilp, parameters: {constraints: 'leaders(broker=2) <= 9; replicas() >= 0'}}"
    assert mistakes_in(_text(f"{{at: 10m, reassignment: {ilp}}}")) == []
    [mistake] = mistakes_in(_text(f"{{at: 10m, reassignment: {chained.replace('RackAware', 'Rack')}}}"))
    assert mistake.startswith("s.yaml:20: events[0].reassignment.parameters: ")
    assert "unknown goal 'RackGoal' (goals: RackAwareGoal, " in mistake
    [mistake] = mistakes_in(_text(f"{{at: 10m, reassignment: {ilp.replace('broker=2', 'broker=99')}}}"))
    assert "no broker 99 (brokers: 0, 1, 2, 3)" in mistake
