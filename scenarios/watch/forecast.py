"""Forecast of downtimes: the simulator crashes a process of the observed group."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from assignors.model.assignment import UNASSIGNED
from scenarios.language.yaml_reader import read_yaml
from scenarios.load import loads
from scenarios.run import run
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
    """Return for how long each task of a process is down if it crashes.

    Returns the time until each task runs elsewhere; none of tasks that do not run within six hours.
    """
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
