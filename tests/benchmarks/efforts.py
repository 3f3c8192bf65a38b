"""The effort of Kafka's own search for an assignment, flow by flow."""

from __future__ import annotations

from typing import Any

from assignors.flow import FlowEffort
from assignors.model.state import ApplicationState
from assignors.recording import Recorder, RecordingTaskAssignor, leader_time_ms


class Efforts(Recorder):
    """A recorder that keeps the efforts of all flows."""

    def __init__(self) -> None:
        self.kept: list[FlowEffort] = []

    def flow(self, effort: FlowEffort, times: int = 1) -> None:
        self.kept += [effort] * times


def efforts_of(assignor: RecordingTaskAssignor, state: ApplicationState) -> list[FlowEffort]:
    """Return the effort of every flow that Kafka solves for this state; none if it ignores racks."""
    efforts = Efforts()
    assignor.assign_recorded(state, efforts)
    return efforts.kept


def prediction(efforts: list[FlowEffort]) -> dict[str, Any]:
    """Return the predicted time, the number of edge scans, and the number of edges of the largest graph."""
    return {
        "predicted_ms": leader_time_ms(efforts),
        "edge_scans": sum(effort.passes * effort.edges for effort in efforts),
        "edges": max(effort.edges for effort in efforts),
    }
