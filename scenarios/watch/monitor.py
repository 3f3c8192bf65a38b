"""The monitor of a group: compares each poll with the ones before, passes it to the rules, and forecasts downtimes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from assignors.model.assignment import UNASSIGNED
from scenarios.kafka.observation.observation import GroupKind, GroupPhase, GroupSnapshot, ObservedProcess, client_names
from scenarios.language.yaml_reader import read_yaml
from scenarios.load import loads
from scenarios.run import run
from scenarios.watch.prediction import (
    ComparedPrediction,
    PredictionVerdict,
    compare_assignment,
    unknown_prediction,
)
from scenarios.watch.rules import Assignments, GroupStates, Poll, Probing, ProgressRule
from scenarios.watch.watch_events import EventKind, WatchEvent
from scenarios.watch.watched_group import WatchedGroup
from simulator.flows.task_states import TaskState
from simulator.results.trace import Trace
from simulator.world.layout import lay_out

_CRASH_MS: Final = 60_000
_DURATION: Final = "6h"
MAX_SIMULATIONS: Final = 10
"""Number of crashes that are simulated in one state: each takes about a second in a group of 400 consumers."""
_MAX_FORMER: Final = 100
"""Number of processes that may be remembered beyond twice the current ones; a consumer that restarts is a new one."""


class SimulatedDowntimes:
    """Downtimes of tasks if their process crashes and does not return, from the last state with the process.

    A simulation runs when a downtime is asked for, once for each process and state. Of many processes that are down
    together, as in a long rebalance, only some are simulated: tasks of the others are taken to be down for the longest
    of the simulated times.
    """

    def __init__(self) -> None:
        self._watched_of: dict[str, WatchedGroup] = {}
        self._newest: WatchedGroup | None = None
        self._downtimes: dict[str, Mapping[str, int]] = {}

    def remember(self, watched: WatchedGroup) -> None:
        """Use a newer state of the group for its current processes; forget those that left long ago."""
        self._newest = watched
        for process in watched.client_names:
            self._watched_of.pop(process, None)
            self._watched_of[process] = watched
            self._downtimes.pop(process, None)
        for process in list(self._watched_of)[: -2 * len(watched.client_names) - _MAX_FORMER]:
            del self._watched_of[process]
            self._downtimes.pop(process, None)

    def down_ms(self, process: str, task: str) -> int | None:
        """Return for how long a task is down if its process crashes; None if that is unknown."""
        watched = self._watched_of.get(process)
        if watched is None:
            return None
        if process not in self._downtimes:
            simulated = [known for other, known in self._downtimes.items() if self._watched_of[other] is watched]
            if len(simulated) >= MAX_SIMULATIONS:
                return max((down_ms for known in simulated for down_ms in known.values()), default=None)
            self._downtimes[process] = simulate_crash(watched, process)
        return self._downtimes[process].get(task)

    def restore_ms(self, process: str, tasks: Sequence[str]) -> int:
        """Return how long a process needs to restore tasks together; a new process restores like the slowest one."""
        watched = self._watched_of.get(process) or self._newest
        if watched is None:
            return 0
        world = watched.scenario.world(watched.scenario.seeds[0])
        layout = lay_out(world)
        rates: dict[str, int] = {str(client.process_id): client.restore_bytes_per_s for client in world.clients}
        size_of = dict(zip(map(str, layout.tasks.ids), layout.state_bytes.tolist(), strict=True))
        rate = rates.get(process, min(rates.values()))
        state_bytes = float(sum(size_of.get(task, 0.0) for task in tasks))
        return round(1_000 * state_bytes / rate)


def simulate_crash(watched: WatchedGroup, process: str) -> dict[str, int]:
    """Return the time until each task of a crashed process runs elsewhere, unless it takes more than six hours."""
    document: dict[str, Any] = dict(read_yaml(watched.scenario.text).value)
    document["events"] = [{"at": _CRASH_MS, "crash": {"clients": watched.client_names[process]}}]
    document["duration"] = _DURATION
    trace = run(loads(json.dumps(document), "the observed group"), watched.spec)
    return _times_until_running(trace, watched.client_names[process])


def _times_until_running(trace: Trace, client: str) -> dict[str, int]:
    row = [client.name for client in trace.world.clients].index(client)
    ids = trace.layout.tasks.ids
    owner = np.full(len(ids), UNASSIGNED, dtype=np.int64)
    down_ms: dict[str, int] = {}
    for transition in trace.task_states.transitions:
        for task, on in zip(transition.tasks.tolist(), transition.clients.tolist(), strict=True):
            if transition.at_ms < _CRASH_MS:
                owner[task] = on
            elif owner[task] == row and transition.state is TaskState.RUNNING:
                down_ms.setdefault(str(ids[task]), transition.at_ms - _CRASH_MS)
    return down_ms


@dataclass(frozen=True, slots=True)
class MonitorStatus:
    """What a monitor knows after a poll, for metrics.

    Attributes:
        snapshot: the last snapshot; None before the first poll.
        verdicts: number of new assignments by verdict.
        warmups: number of copies that must catch up.
        max_warmup_lag: in records.
        expected_end_ms: time at which the last task has moved if copies catch up in time; None if none moves.
        predicted_down_ms: largest predicted downtime of a stalled task.
        unassigned: number of tasks without owner; None if it is unknown.
        kind: what the members are; None while no poll has shown it.
    """

    snapshot: GroupSnapshot | None
    rebalances: int
    verdicts: Mapping[PredictionVerdict, int]
    tasks_elsewhere: int
    warmups: int
    max_warmup_lag: int
    expected_end_ms: int | None
    stalled_tasks: int
    max_stalled_ms: int
    predicted_down_ms: int
    unassigned: int | None
    alarms: Mapping[EventKind, bool]
    kind: GroupKind | None


class GroupMonitor:
    """Turns the polls of one group into events; a state machine without a clock."""

    def __init__(self, group: str) -> None:
        """Create a monitor of an `application.id` or `group.id`."""
        self._states = GroupStates(group)
        self._assignments = Assignments(group)
        self._probing = Probing(group)
        self._progress = ProgressRule(group)
        self._downtimes = SimulatedDowntimes()
        self._last: GroupSnapshot | None = None
        self._assigned: GroupSnapshot | None = None
        self._watched: WatchedGroup | None = None
        self._kind: GroupKind | None = None
        self._problem = ""
        self._clients: dict[str, str] = {}

    def is_new_assignment(self, snapshot: GroupSnapshot) -> bool:
        """Return whether a snapshot has another assignment than the last one."""
        if not snapshot.members or not (snapshot.is_coordinated or snapshot.phase is GroupPhase.STABLE):
            return False
        return self._assigned is None or self._assigned.rebalance != snapshot.rebalance

    def observe(
        self, snapshot: GroupSnapshot, watched: WatchedGroup | None = None, problem: str = ""
    ) -> list[WatchEvent]:
        """Return the events of a poll.

        `watched`: the group as observed with this snapshot; None to keep what is known so far. `problem`: why the group
        could not be observed with this snapshot, and is unknown from now on.
        """
        is_new = self.is_new_assignment(snapshot)
        if watched is not None or problem:
            self._watched, self._problem = watched, problem
        elif snapshot.kind not in (None, self._kind):
            self._watched = None  # The group id now belongs to members of another kind.
        self._kind = snapshot.kind or self._kind
        self._clients.update(snapshot.clients())
        compared = self._compare(snapshot) if is_new else None
        names = _process_names(self._clients)
        poll = Poll(snapshot, self._last, self._assigned, self._watched, compared, names, self._kind)
        events = list(self._events(poll))
        if watched is not None:
            self._downtimes.remember(watched)
        self._last = snapshot
        if poll.is_assigned:
            self._assigned = snapshot
        return events

    @property
    def status(self) -> MonitorStatus:
        """Return what is known after the last poll."""
        warmups, progress = self._probing.warmups, self._progress
        rules = (self._states, self._assignments, self._probing, self._progress)
        return MonitorStatus(
            snapshot=self._last,
            rebalances=self._assignments.rebalances,
            verdicts=dict(self._assignments.verdicts),
            tasks_elsewhere=self._assignments.num_elsewhere,
            warmups=len(warmups),
            max_warmup_lag=max((warmup.lag for warmup in warmups), default=0),
            expected_end_ms=self._probing.expected_end_ms,
            stalled_tasks=len(progress.stalled_ms),
            max_stalled_ms=max(progress.stalled_ms.values(), default=0),
            predicted_down_ms=max(progress.predicted_ms.values(), default=0),
            unassigned=self._num_unassigned(),
            alarms={kind: is_active for rule in rules for kind, is_active in rule.alarms.items()},
            kind=self._kind,
        )

    def _events(self, poll: Poll) -> Iterator[WatchEvent]:
        yield from self._states.observe(poll)
        yield from self._assignments.observe(poll)
        yield from self._probing.observe(poll)
        yield from self._progress.observe(poll, self._downtimes)

    def _num_unassigned(self) -> int | None:
        if self._watched is None or self._last is None or not self._last.members:
            return None
        actives = self._last.actives()
        return sum(task not in actives for task in self._watched.task_names)

    def _compare(self, snapshot: GroupSnapshot) -> ComparedPrediction:
        if self._watched is None:
            group = "consumer group" if self._kind is GroupKind.CONSUMERS else "application"
            return unknown_prediction(self._problem or f"the {group} is not known yet")
        return compare_assignment(self._watched, snapshot, self._last, self._assigned)


def _process_names(clients: Mapping[str, str]) -> dict[str, str]:
    """Return a short distinct name for each process."""
    processes = [ObservedProcess(process, clients[process], None, {}, ()) for process in sorted(clients)]
    return dict(client_names(processes))
