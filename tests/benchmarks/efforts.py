"""What Kafka's own search would do over an assignment, flow by flow."""

from __future__ import annotations

from typing import Any

from assignors.flow import FlowEffort
from assignors.model.state import ApplicationState
from assignors.recording.leader_time import leader_time_ms
from assignors.recording.recorder import Recorder, RecordingTaskAssignor


class Efforts(Recorder):
    """A recorder that keeps the efforts of all flows."""

    def __init__(self) -> None:
        self.kept: list[FlowEffort] = []

    def flow(self, effort: FlowEffort, times: int = 1) -> None:
        self.kept += [effort] * times


def efforts_of(assignor: RecordingTaskAssignor, state: ApplicationState) -> list[FlowEffort]:
    """The effort of every flow that Kafka solves over this state; none if it does not look at racks."""
    efforts = Efforts()
    assignor.assign_recorded(state, efforts)
    return efforts.kept


def prediction(efforts: list[FlowEffort]) -> dict[str, Any]:
    """What is noted down of a prediction: its time, the looks it is made from, and the edges of the largest graph."""
    return {
        "predicted_ms": leader_time_ms(efforts),
        "looks": sum(effort.passes * effort.edges for effort in efforts),
        "edges": max(effort.edges for effort in efforts),
    }
