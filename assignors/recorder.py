"""Telling how an assignment came about, to whoever asks."""

from __future__ import annotations

from typing import Protocol

from assignors.assignment import TaskAssignment, TaskAssignor
from assignors.flow import FlowEffort
from assignors.state import ApplicationState


class Recorder(Protocol):
    """Is told what happens in one assignment, in the order in which it happens."""

    def flow(self, effort: FlowEffort, times: int = 1) -> None:
        """Kafka would solve a flow with so much effort, and do so `times` times over.

        Every flow that Kafka solves is told, however its answer was found here. Pairs of clients that exchange standbys
        are told together once all are done, those of equal effort in one call.
        """


class _Silent:
    """Keeps nothing."""

    def flow(self, effort: FlowEffort, times: int = 1) -> None:
        """Nobody listens."""


SILENT: Recorder = _Silent()
"""Stands for "nobody asks": what only a recorder needs is not worked out for this one."""


class RecordingTaskAssignor(TaskAssignor, Protocol):
    """A task assignor that can tell how it came to its answer."""

    def assign_recorded(self, state: ApplicationState, recorder: Recorder) -> TaskAssignment:
        """As `assign`, which is this with `SILENT`; the answer does not depend on the recorder."""
        ...
