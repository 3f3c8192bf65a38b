"""Work of Kafka's assignors outside of flows, and its time on a group leader."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from assignors.model.state import ApplicationState
from assignors.recording.leader_time import NEGLIGIBLE_MS, WORK_NS, work_time_ms
from assignors.recording.leader_work import LeaderWork
from assignors.recording.recorder import Recorder, RecordingTaskAssignor
from assignors.tasks.high_availability import HighAvailability
from assignors.tasks.legacy_sticky import LegacySticky
from scenarios.problems import parse_problem
from simulator.assignment.rebalance import compute_assignment

PROBLEMS = Path(__file__).parents[2] / "benchmarks" / "problems"

MEASURED_MS = {
    "ha-large_partition_count-first": 30,
    "ha-large_partition_count-second": 45,
    "ha-large_num_consumers-first": 1_874,
    "ha-large_num_consumers-second": 3_608,
    "ha-many_standbys-first": 545,
    "ha-many_standbys-second": 3_718,
    "ha-many_threads_per_client-first": 17,
    "ha-many_threads_per_client-second": 23,
    "sticky-large_partition_count-first": 5_763,
    "sticky-large_partition_count-second": 6_104,
    "sticky-large_num_consumers-first": 103,
    "sticky-large_num_consumers-second": 73,
    "sticky-many_standbys-first": 1_110,
    "sticky-many_standbys-second": 1_162,
    "sticky-many_threads_per_client-first": 111,
    "sticky-many_threads_per_client-second": 100,
}
"""The median time of Kafka's own `assign`, of five calls after two that warm up, on a quiet machine (AMD EPYC, two
cores, OpenJDK 17.0.15, trunk of 2024-10-25), over the shapes of `StreamsAssignmentScaleTest`."""

FACTOR = 2.0
"""How far off a prediction may be, either way."""


def read(name: str) -> dict[str, Any]:
    problem_json: dict[str, Any] = json.loads(gzip.decompress((PROBLEMS / f"scale-{name}.json.gz").read_bytes()))
    return problem_json


def problem(name: str) -> ApplicationState:
    return parse_problem(read(name))


def assignor_of(name: str) -> RecordingTaskAssignor:
    return HighAvailability() if name.startswith("ha-") else LegacySticky()


class Worked(Recorder):
    """Sums the time of all work."""

    ms = 0.0

    def work(self, kind: LeaderWork, count: float) -> None:
        self.ms += work_time_ms(kind, count)


def predicted_ms(assignor: RecordingTaskAssignor, state: ApplicationState) -> float:
    worked = Worked()
    assignor.assign_recorded(state, worked)
    return worked.ms


@pytest.mark.parametrize(("name", "measured_ms"), MEASURED_MS.items())
def test_time_without_racks_is_predicted_within_the_stated_factor(name: str, measured_ms: float) -> None:
    assert measured_ms / FACTOR < predicted_ms(assignor_of(name), problem(name)) < measured_ms * FACTOR


def test_leader_of_twice_the_speed_needs_half_the_time() -> None:
    state = problem("sticky-many_threads_per_client-first")
    once, twice = (compute_assignment(state, LegacySticky(), speed).leader_compute_ms for speed in (1.0, 2.0))
    assert once == pytest.approx(predicted_ms(LegacySticky(), state))
    assert once == pytest.approx(2 * twice)


def test_negligible_work_is_left_out_of_simulations() -> None:
    state = problem("ha-many_threads_per_client-first")
    assert 0 < predicted_ms(HighAvailability(), state) < NEGLIGIBLE_MS
    assert compute_assignment(state, HighAvailability()).leader_compute_ms == 0


def test_time_of_the_sticky_assignor_grows_with_the_cube_of_the_tasks() -> None:
    def of(tasks: int) -> float:
        few = read("sticky-large_partition_count-first")
        return predicted_ms(LegacySticky(), parse_problem(few | {"tasks": few["tasks"][:tasks]}))

    assert of(1_000) / of(500) == pytest.approx(8, rel=0.05)
    assert of(2_000) / of(1_000) == pytest.approx(8, rel=0.05)


def test_every_kind_of_work_takes_time() -> None:
    assert set(WORK_NS) == set(LeaderWork)
    assert all(work_time_ms(kind, 1_000_000) > 0 for kind in LeaderWork)
