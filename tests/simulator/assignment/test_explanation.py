"""Why tasks moved: true on random lives, and laid out in tables as it was."""

from __future__ import annotations

import dataclasses
from collections import Counter

import numpy as np
import pytest

from assignors.model.assignment import TaskAssignment, TaskAssignor
from assignors.model.configs import RackAwareStrategy
from assignors.model.ids import TaskId
from assignors.model.state import ApplicationState
from assignors.objective.cost import Weights
from assignors.recording.recorder import RecordingTaskAssignor, StepKind
from assignors.tasks.fallback_prior import FallbackPrior
from assignors.tasks.high_availability import HighAvailability
from assignors.tasks.legacy_sticky import LegacySticky
from assignors.tasks.sticky import Sticky
from assignors.tasks.streams_group_sticky import StreamsGroupSticky
from simulator.assignment.explanation import MEMBER_LOST, NOT_RECORDED, RACK, SPREAD, ExplanationRequest
from simulator.results.tabulation import tabulate
from simulator.run import simulate
from simulator.world.disturbances import Crash, Join
from simulator.world.world import World
from tests.simulator.assignment.explanation_checks import assert_break_evens, assert_true, task_states
from tests.simulator.world_builders import MINUTE, with_configs, with_late, world

ASSIGNORS: list[RecordingTaskAssignor] = [
    HighAvailability(),
    LegacySticky(),
    Sticky(),
    FallbackPrior(),
    StreamsGroupSticky(),
]
NAMES = ["high availability", "legacy sticky", "sticky", "fallback prior", "streams group"]
STEPS_ALONE = ExplanationRequest(break_evens=False)


@pytest.mark.parametrize("assignor", ASSIGNORS, ids=NAMES)
def test_every_reason_is_one_that_the_assignor_had(assignor: RecordingTaskAssignor) -> None:
    kinds: Counter[str] = Counter()
    for seed in range(30):
        for each in task_states(assignor, seed, STEPS_ALONE):
            assert_true(each)
            kinds.update(str(taken.kind) for reason in each.reasons.moves for taken in reason.steps)
    assert kinds[MEMBER_LOST] > 10
    if isinstance(assignor, HighAvailability):
        assert {RACK, SPREAD, *map(str, (StepKind.WAITS, StepKind.WARM_UP, StepKind.SWAPPED))} <= set(kinds)


@pytest.mark.parametrize("assignor", ASSIGNORS[:3], ids=NAMES[:3])
def test_a_task_stays_at_its_break_even_and_moves_one_before(assignor: RecordingTaskAssignor) -> None:
    seen: Counter[str] = Counter()
    for seed in range(8):
        for each in task_states(assignor, seed, ExplanationRequest()):
            seen += assert_break_evens(each)
    assert {"above", "any_cost", "no_racks", "new", "member_lost"} <= set(seen)
    if isinstance(assignor, HighAvailability):
        assert seen["above"] > 5


@dataclasses.dataclass(frozen=True)
class Mute:
    """As Kafka's default, but says nothing."""

    def assign(self, state: ApplicationState) -> TaskAssignment:
        return HighAvailability().assign(state)


def disturbed(**configs: object) -> World:
    racks = {"rack_aware_assignment_strategy": RackAwareStrategy.MIN_TRAFFIC, "num_standby_replicas": 1, **configs}
    base = with_late(with_configs(world(), **racks), "late")
    return dataclasses.replace(base, disturbances=(Join(20 * MINUTE, ("late",)), Crash(120 * MINUTE, ("c1",))))


def rows(
    base: World, question: ExplanationRequest | None, assignor: TaskAssignor | None = None
) -> dict[str, list[dict[str, object]]]:
    trace = simulate(base, assignor or HighAvailability(), Weights(10, 1), explain=question)
    return {name: table.to_pylist() for name, table in tabulate(trace, "own", 1).items()}


def test_nothing_else_hangs_on_whether_somebody_asks() -> None:
    asked, silent = rows(disturbed(), ExplanationRequest()), rows(disturbed(), None)
    assert silent["reasons"] == silent["cycles"] == []
    assert asked["reasons"]
    assert {name: table for name, table in asked.items() if name not in ("reasons", "cycles")} == {
        name: table for name, table in silent.items() if name not in ("reasons", "cycles")
    }


def test_every_move_of_a_run_has_its_reason() -> None:
    tables = rows(disturbed(), STEPS_ALONE)
    key = ("round", "task", "role", "from_client", "to_client")
    moved = {tuple(row[name] for name in key) for row in tables["moves"]}
    explained = {tuple(row[name] for name in key) for row in tables["reasons"] if row["round"] != 1}
    assert moved == explained
    first = {(row["task"], row["client"], row["role"]) for row in tables["assignments"] if row["round"] == 1}
    assert first == {(row["task"], row["to_client"], row["role"]) for row in tables["reasons"] if row["round"] == 1}


def test_cycles_in_the_table_are_closed_and_add_up() -> None:
    tables = rows(disturbed(rack_aware_traffic_cost=10, rack_aware_non_overlap_cost=1), ExplanationRequest())
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
        for even in {edge["cycle_break_even"] for edge in edges} - {None}:
            assert traffic + len(edges) * even >= 0  # type: ignore[operator]
            assert traffic + len(edges) * (even - 1) < 0  # type: ignore[operator]


def test_only_the_tasks_that_are_asked_about_are_explained() -> None:
    asked = TaskId(1, 3)
    tables = rows(disturbed(), ExplanationRequest(frozenset([asked]), break_evens=False))
    every = rows(disturbed(), STEPS_ALONE)
    assert {row["task"] for row in tables["reasons"]} == {"1_3"}
    assert tables["reasons"] == [row for row in every["reasons"] if row["task"] == "1_3"]


def test_an_assignor_that_does_not_tell_has_moves_without_reasons() -> None:
    tables = rows(disturbed(), ExplanationRequest(), Mute())
    assert {row["kind"] for row in tables["reasons"]} == {NOT_RECORDED, MEMBER_LOST}
    whys = {row["no_break_even"] for row in tables["reasons"] if row["role"] == "active"}
    assert whys == {"new", "untold", "member_lost"}


def test_without_being_asked_for_no_cost_is_looked_for() -> None:
    tables = rows(disturbed(), STEPS_ALONE)
    whys = Counter(row["no_break_even"] for row in tables["reasons"] if row["role"] == "active")
    assert whys["not_asked"] > 0
    assert "any_cost" not in whys
    assert all(row["break_even"] is None for row in tables["reasons"])


def test_balance_is_told_with_the_loads_before_and_after() -> None:
    tables = rows(with_configs(world(5)), STEPS_ALONE)
    steps = [row for row in tables["reasons"] if row["kind"] == StepKind.BALANCED]
    for row in steps:
        assert row["load_from_after"] == row["load_from"] - 0.5  # type: ignore[operator]
        assert row["load_to_after"] == row["load_to"] + 0.5  # type: ignore[operator]
        assert row["load_to"] < row["load_from"]  # type: ignore[operator]
    assert np.all([row["acceptable_lag"] is None for row in steps])
