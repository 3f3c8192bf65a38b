"""Reassignments that a strategy plans from the cluster at the time of the event."""

from __future__ import annotations

import re
from typing import Any

import pytest

from assignors.replicas import planning, registry
from assignors.replicas.plan import Plan, ReplicaAssignor
from assignors.replicas.state import ClusterState
from scenarios.language.errors import ScenarioError
from scenarios.load import Scenario
from simulator.timeline import replicas_at
from simulator.world.disturbances import LeaderElection, Reassignment
from simulator.world.world import World
from tests.scenarios.scenario_texts import load_text, mistakes_in, with_events

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
    return [each for each in world.disturbances if isinstance(each, Reassignment)]


def test_a_strategy_plans_for_all_topics_and_what_it_leaves_alone_is_no_target() -> None:
    [planned] = _planned(_scenario(f"{{at: 10m, {LEAVE}}}").world(1))
    at_end = replicas_at(_scenario(f"{{at: 10m, {LEAVE}}}").world(1), 20 * MINUTE)
    assert {target.partition.topic for target in planned.targets} > {"orders"}
    assert all(2 not in target.replicas for target in planned.targets)
    for target in planned.targets:
        assert at_end.replicas.find(target.partition).replicas == target.replicas


def test_the_placement_that_a_seed_draws_is_planned_from() -> None:
    scenario = _scenario(f"{{at: 10m, {LEAVE}}}")
    plans = [_planned(scenario.world(seed))[0].targets for seed in (1, 1, 2)]
    assert plans[0] == plans[1] != plans[2]


def test_only_the_topics_that_are_named_change() -> None:
    scenario = _scenario(
        "{at: 10m, replica_move: {topic: orders, partition: 0, replicas: [2, 3]}}", f"{{at: 20m, {BACK}}}"
    )
    for seed in range(4):
        [planned] = _planned(scenario.world(seed))
        assert {target.partition.topic for target in planned.targets} <= {"orders"}


def test_a_strategy_sees_what_has_happened_by_then() -> None:
    lost = _scenario("{at: 10m, broker_loss: {brokers: [2]}}", "{at: 10m, reassignment: {strategy: exact_flow}}")
    [planned] = _planned(lost.world(1))
    assert planned.targets
    assert all(2 not in target.replicas for target in planned.targets)
    before = _scenario(f"{{at: 5m, {LEAVE}}}", f"{{at: 10m, {LEAVE}}}")
    first, again = _planned(before.world(1))
    assert first.targets
    assert again.targets == (), "nothing is left to do, though the first has just begun"


def test_events_are_planned_in_order_of_time_and_stay_in_their_own() -> None:
    later, earlier = _planned(_scenario(f"{{at: 10m, {LEAVE}}}", f"{{at: 5m, {LEAVE}}}").world(1))
    assert (later.at_ms, earlier.at_ms) == (10 * MINUTE, 5 * MINUTE)
    assert (bool(later.targets), bool(earlier.targets)) == (False, True)


def test_how_a_reassignment_is_carried_out_is_as_the_scenario_says() -> None:
    reassignment = LEAVE.replace("}", ", throttle: 3 MB/s, batch: 2, elects_leaders: never}")
    [planned] = _planned(_scenario(f"{{at: 10m, {reassignment}}}").world(1))
    assert (planned.throttle_bytes_per_s, planned.batch, planned.election) == (3_000_000, 2, LeaderElection.NEVER)
    assert _planned(_scenario(f"{{at: 10m, {LEAVE}}}").world(1))[0].election is LeaderElection.AUTO


def test_a_run_that_is_too_short_is_noted() -> None:
    slow = LEAVE.replace("}", ", throttle: 2 MB/s}")
    warnings = _scenario(f"{{at: 10m, {slow}}}").warnings
    [warning] = [warning for warning in warnings if "not complete" in warning]
    assert re.match(r"\S+:\d+: events\[0\]\.reassignment: not complete when the run ends at ", warning)
    assert warning.endswith(" partitions remain; set a longer duration or a higher throttle")
    assert _scenario(f"{{at: 10m, {LEAVE}}}").warnings == ()


def test_a_throttle_that_is_no_more_than_what_is_produced_is_noted() -> None:
    stuck = LEAVE.replace("}", ", throttle: 500 kB/s, topics: [orders]}")
    _, warning = _scenario(f"{{at: 10m, {stuck}}}").warnings
    what = "the throttle does not exceed the produce rate, so the reassignment never completes"
    assert f": events[0].reassignment.throttle: {what} (partitions: orders-" in warning


def test_a_strategy_that_breaks_down_is_a_mistake_with_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks_down(*_: object) -> None:
        raise ZeroDivisionError("no capacity")

    monkeypatch.setattr(planning, "plan", breaks_down)
    reassignment = LEAVE.replace("}", ", parameters: {time_limit_s: 7.5}}")
    assert mistakes_in(with_events(f"{{at: 10m, {reassignment}}}")) == [
        "s.yaml:20: events[0].reassignment: exact_flow failed: ZeroDivisionError: no capacity"
    ]


def test_a_seed_for_which_there_is_no_plan_is_told_like_any_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = _scenario(f"{{at: 10m, {LEAVE}}}")

    def has_none(*_: object) -> None:
        raise planning.PlanError("no broker is left")

    monkeypatch.setattr(planning, "plan", has_none)
    with pytest.raises(ScenarioError) as refused:
        scenario.world(99)
    assert str(refused.value) == "small: events[0].reassignment: no broker is left"


def test_targets_stand_in_the_order_of_topics_and_partitions() -> None:
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


def test_unknown_rates_are_no_zeros_in_a_simulated_plan() -> None:
    text = _text("{at: 10m, reassignment: {strategy: capacity_packing}}", brokers=CAPABLE)
    [mistake] = mistakes_in(text)
    assert "events[0].reassignment: capacity_packing has no plan" in mistake
    assert "shop-totals-changelog (compacted)" in mistake
    assert mistakes_in(text.replace("{name: totals, size: 1 GB}", "{name: totals, size: 1 GB, bytes_per_s: 0}")) == []


def test_a_strategy_sees_which_replicas_are_not_in_sync(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[ClusterState] = []
    plan = planning.plan

    def watched(assignor: ReplicaAssignor, state: ClusterState, *asked: Any) -> Plan:
        seen.append(state)
        return plan(assignor, state, *asked)

    monkeypatch.setattr(planning, "plan", watched)
    _scenario("{at: 10m, broker_loss: {brokers: [2]}}", "{at: 17m, reassignment: {strategy: exact_flow}}")
    [state] = seen
    assert state.in_sync is not None
    assert (state.in_sync == (state.ids[state.replicas] != 2)).all()


def test_goals_and_constraints_are_parameters_in_a_scenario_too() -> None:
    chained = "{strategy: goal_chain, parameters: {goals: 'RackAwareGoal,ReplicaDistributionGoal'}}"
    assert mistakes_in(_text(f"{{at: 10m, reassignment: {chained}}}")) == []
    own = "{strategy: preferred_leader_ilp, parameters: {constraints: 'leaders(broker=2) <= 9; replicas() >= 0'}}"
    assert mistakes_in(_text(f"{{at: 10m, reassignment: {own}}}")) == []
    [mistake] = mistakes_in(_text(f"{{at: 10m, reassignment: {chained.replace('RackAware', 'Rack')}}}"))
    assert mistake.startswith("s.yaml:20: events[0].reassignment.parameters: ")
    assert "unknown goal 'RackGoal' (goals: RackAwareGoal, " in mistake
    [mistake] = mistakes_in(_text(f"{{at: 10m, reassignment: {own.replace('broker=2', 'broker=99')}}}"))
    assert "no broker 99 (brokers: 0, 1, 2, 3)" in mistake
