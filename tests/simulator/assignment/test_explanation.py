"""Explanations of moves are correct for random applications, and complete in the tables."""

from __future__ import annotations

import dataclasses
from collections import Counter

import numpy as np
import pytest

from assignors.model.assignment import TaskAssignment, TaskAssignor
from assignors.model.configs import RackAwareStrategy
from assignors.model.ids import TaskId
from assignors.model.state import ApplicationState
from assignors.objective import Weights
from assignors.recording import RecordingTaskAssignor, StepKind
from assignors.tasks.high_availability import HighAvailability
from assignors.tasks.legacy_sticky import FallbackPrior, LegacySticky
from assignors.tasks.sticky import Sticky
from assignors.tasks.streams_group_sticky import StreamsGroupSticky
from simulator.assignment.explanation import MEMBER_LOST, NOT_RECORDED, ExplanationRequest
from simulator.processes.run_options import RunOptions
from simulator.processes.simulation import simulate
from simulator.results.tabulation import tabulate
from simulator.world.changes import Disk
from simulator.world.disturbances import Crash, Join
from simulator.world.world import World
from tests.simulator.assignment.explanation_checks import check_break_evens, check_explanation, explained_decisions
from tests.simulator.world_builders import MINUTE, with_configs, with_late_clients, world

ASSIGNORS: list[RecordingTaskAssignor] = [
    HighAvailability(),
    LegacySticky(),
    Sticky(),
    FallbackPrior(),
    StreamsGroupSticky(),
]
NAMES = ["high availability", "legacy sticky", "sticky", "fallback prior", "streams group"]
STEPS_ONLY = ExplanationRequest(break_evens=False)


@pytest.mark.parametrize("assignor", ASSIGNORS, ids=NAMES)
def test_explanations_match_the_recorded_steps(assignor: RecordingTaskAssignor) -> None:
    for decision in explained_decisions(assignor, 1, STEPS_ONLY):
        check_explanation(decision)


@pytest.mark.parametrize("assignor", ASSIGNORS[:3], ids=NAMES[:3])
def test_break_even_is_the_closest_cost_at_which_the_task_stays(assignor: RecordingTaskAssignor) -> None:
    for decision in explained_decisions(assignor, 1, ExplanationRequest()):
        check_break_evens(decision)


@dataclasses.dataclass(frozen=True)
class SilentAssignor:
    """Assigns like Kafka's default assignor without recording its steps."""

    def assign(self, state: ApplicationState) -> TaskAssignment:
        return HighAvailability().assign(state)


def disturbed_world(**configs: object) -> World:
    racks = {"rack_aware_assignment_strategy": RackAwareStrategy.MIN_TRAFFIC, "num_standby_replicas": 1, **configs}
    base = with_late_clients(with_configs(world(), **racks), "late")
    return dataclasses.replace(
        base, disturbances=(Join(20 * MINUTE, ("late",)), Crash(120 * MINUTE, ("c1",), disk=Disk.KEPT))
    )


def table_rows(
    base: World, request: ExplanationRequest | None, assignor: TaskAssignor | None = None
) -> dict[str, list[dict[str, object]]]:
    trace = simulate(base, assignor or HighAvailability(), Weights(10, 1), RunOptions(explain=request))
    return {name: table.to_pylist() for name, table in tabulate(trace, "own", 1).items()}


def test_explanations_do_not_change_other_tables() -> None:
    explained, unexplained = table_rows(disturbed_world(), ExplanationRequest()), table_rows(disturbed_world(), None)
    assert unexplained["reasons"] == unexplained["cycles"] == []
    assert explained["reasons"]
    assert {name: table for name, table in explained.items() if name not in ("reasons", "cycles")} == {
        name: table for name, table in unexplained.items() if name not in ("reasons", "cycles")
    }


def test_every_move_is_explained() -> None:
    tables = table_rows(disturbed_world(), STEPS_ONLY)
    key = ("round", "task", "role", "from_client", "to_client")
    moved = {tuple(row[name] for name in key) for row in tables["moves"]}
    explained = {tuple(row[name] for name in key) for row in tables["reasons"] if row["round"] != 1}
    assert moved == explained
    first = {(row["task"], row["client"], row["role"]) for row in tables["assignments"] if row["round"] == 1}
    assert first == {(row["task"], row["to_client"], row["role"]) for row in tables["reasons"] if row["round"] == 1}


def test_cycles_are_closed_and_their_costs_add_up() -> None:
    tables = table_rows(
        disturbed_world(rack_aware_traffic_cost=10, rack_aware_non_overlap_cost=1), ExplanationRequest()
    )
    numbers = {(row["round"], row["cycle"]) for row in tables["cycles"]}
    assert numbers == {(row["round"], row["cycle"]) for row in tables["reasons"] if row["cycle"] is not None}
    assert numbers
    for number in numbers:
        edges = [row for row in tables["cycles"] if (row["round"], row["cycle"]) == number]
        assert [edge["edge"] for edge in edges] == list(range(1, len(edges) + 1))
        for edge, following in zip(edges, edges[1:] + edges[:1], strict=True):
            assert edge["to_client"] == following["from_client"]
            assert edge["cost"] == edge["traffic_to"] - edge["traffic_from"] + edge["non_overlap_cost"]  # type: ignore[operator]
        total = sum(edge["cost"] for edge in edges)  # type: ignore[misc]
        assert {edge["cycle_cost"] for edge in edges} == {total}
        traffic = sum(edge["traffic_to"] - edge["traffic_from"] for edge in edges)  # type: ignore[operator]
        for break_even in {edge["cycle_break_even"] for edge in edges} - {None}:
            assert traffic + len(edges) * break_even >= 0  # type: ignore[operator]
            assert traffic + len(edges) * (break_even - 1) < 0  # type: ignore[operator]


def test_only_requested_tasks_are_explained() -> None:
    task = TaskId(1, 3)
    tables = table_rows(disturbed_world(), ExplanationRequest(frozenset([task]), break_evens=False))
    all_tables = table_rows(disturbed_world(), STEPS_ONLY)
    assert {row["task"] for row in tables["reasons"]} == {"1_3"}
    assert tables["reasons"] == [row for row in all_tables["reasons"] if row["task"] == "1_3"]


def test_assignor_without_recorded_steps() -> None:
    tables = table_rows(disturbed_world(), ExplanationRequest(), SilentAssignor())
    assert {row["kind"] for row in tables["reasons"]} == {NOT_RECORDED, MEMBER_LOST}
    reasons = {row["no_break_even"] for row in tables["reasons"] if row["role"] == "active"}
    assert reasons == {"new", "not_recorded", "member_lost"}


def test_break_even_costs_are_computed_only_on_request() -> None:
    tables = table_rows(disturbed_world(), STEPS_ONLY)
    reasons = Counter(row["no_break_even"] for row in tables["reasons"] if row["role"] == "active")
    assert reasons["not_requested"] > 0
    assert "any_cost" not in reasons
    assert all(row["break_even"] is None for row in tables["reasons"])


def test_balancing_steps_have_loads_before_and_after() -> None:
    tables = table_rows(with_configs(world(5)), STEPS_ONLY)
    steps = [row for row in tables["reasons"] if row["kind"] == StepKind.BALANCED]
    for row in steps:
        assert row["load_from_after"] == row["load_from"] - 0.5  # type: ignore[operator]
        assert row["load_to_after"] == row["load_to"] + 0.5  # type: ignore[operator]
        assert row["load_to"] < row["load_from"]  # type: ignore[operator]
    assert np.all([row["acceptable_lag"] is None for row in steps])
