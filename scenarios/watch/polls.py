"""A poll as the rules see it: the snapshot, the ones before, and the prediction of a new assignment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from scenarios.kafka.observation.observation import GroupKind, GroupPhase, GroupSnapshot, ObservedProcess, client_names
from scenarios.watch.predicted_assignment import PredictedAssignment, TaskDifference
from scenarios.watch.watch_events import counted_processes, counted_tasks
from scenarios.watch.watched_group import WatchedGroup


class PredictionVerdict(StrEnum):
    """How a new assignment compares with the predicted one."""

    MATCHED = "matched"
    DIFFERS = "differs"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, eq=False)
class ComparedPrediction:
    """A new assignment and what was predicted.

    Attributes:
        verdict: whether they are equal.
        predicted: the prediction; None if there is none.
        differences: the tasks that are elsewhere.
        reason: why the verdict is unknown; empty otherwise.
    """

    verdict: PredictionVerdict
    predicted: PredictedAssignment | None
    differences: tuple[TaskDifference, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Poll:
    """A poll.

    Attributes:
        before: the snapshot of the poll before; None at the first.
        assigned_before: the last snapshot with members before this one; None if there was none.
        watched: what the group was observed to be; None while that is unknown.
        compared: the comparison of a new assignment; None if the assignment is that of the poll before.
        names: names of all processes that were ever seen, by process id.
        kind: what the members are; None while no state has shown it.
    """

    snapshot: GroupSnapshot
    before: GroupSnapshot | None
    assigned_before: GroupSnapshot | None
    watched: WatchedGroup | None
    compared: ComparedPrediction | None
    names: Mapping[str, str]
    kind: GroupKind | None = None

    @property
    def is_assigned(self) -> bool:
        """Return whether the snapshot has an assignment: in a classic group, if it is stable."""
        snapshot = self.snapshot
        return bool(snapshot.members) and (snapshot.phase is GroupPhase.STABLE or snapshot.is_coordinated)

    @property
    def is_new(self) -> bool:
        """Return whether the assignment is another one than that of the poll before."""
        return self.compared is not None

    @property
    def gap_ms(self) -> int:
        """Return the time since the poll before; 0 at the first."""
        return 0 if self.before is None else max(0, self.snapshot.at_ms - self.before.at_ms)

    def name(self, process: str) -> str:
        """Return the name of a process."""
        return self.names.get(process, process)

    def counted_tasks(self, number: int) -> str:
        """Return a number of tasks; those of a consumer group are partitions."""
        return counted_tasks(number, self.kind)

    def counted_processes(self, number: int) -> str:
        """Return a number of processes; of a consumer group, which does not show them, of members."""
        return counted_processes(number, self.kind)


def process_names(clients: Mapping[str, str]) -> dict[str, str]:
    """Return a short distinct name for each process."""
    processes = [ObservedProcess(process, clients[process], None, {}, ()) for process in sorted(clients)]
    return dict(client_names(processes))
