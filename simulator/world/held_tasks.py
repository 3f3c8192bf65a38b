"""The tasks of a client of an application that already runs when a run begins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from assignors.model.ids import TaskId


@dataclass(frozen=True, slots=True)
class HeldTasks:
    """The tasks of a client at the start, if the application is already running.

    Attributes:
        active: its active tasks, one entry per thread.
        standby: its standbys and warm-ups, one entry per thread.
        lags: how many records a copy is behind: for assigned tasks that have not caught up, and for unassigned copies
            on its disk.
        lags_when_opened: how many records, at the start, what was on disk was behind when the stores of assigned tasks
            were opened; those of the others were empty.
    """

    active: tuple[tuple[TaskId, ...], ...] = ()
    standby: tuple[tuple[TaskId, ...], ...] = ()
    lags: Mapping[TaskId, int] = field(default_factory=dict)
    lags_when_opened: Mapping[TaskId, int] = field(default_factory=dict)
