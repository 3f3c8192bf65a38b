"""The problems of `StreamsAssignmentScaleTest`, and the time that Kafka's assignors are predicted to need for them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from assignors.model.state import ApplicationState
from assignors.recording import LeaderWork, Recorder, RecordingTaskAssignor, work_time_ms
from assignors.tasks.high_availability import HighAvailability
from assignors.tasks.legacy_sticky import LegacySticky
from scenarios.problems import parse_problem

PROBLEMS = Path(__file__).parents[2] / "benchmarks" / "problems"


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
