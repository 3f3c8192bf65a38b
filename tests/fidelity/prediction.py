"""Predictions of the simulator from an imported and edited scenario."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from assignors.model.assignment import UNASSIGNED
from assignors.model.columns import BoolArray, IntArray
from assignors.model.ids import TaskId
from scenarios.language.yaml_reader import read_yaml
from scenarios.load import loads
from scenarios.run import run
from simulator.processes.run_options import RunOptions
from simulator.results.trace import CapturedRound, Round, Trace
from tests.fidelity.applications import PROBING_INTERVAL_MS


@dataclass(frozen=True, slots=True)
class TaskDistribution:
    """Tasks by process id; processes without tasks are omitted.

    Attributes:
        active: Active tasks of each process.
        standby: Standby tasks of each process.
    """

    active: Mapping[str, frozenset[str]]
    standby: Mapping[str, frozenset[str]]

    @classmethod
    def of(
        cls, tasks: Sequence[TaskId], processes: Sequence[str], owner: IntArray, standby: BoolArray
    ) -> TaskDistribution:
        """Build a distribution from columns.

        Args:
            tasks: T task ids.
            processes: N process ids.
            owner: Shape (T,); index of the process that runs each task.
            standby: Shape (T, N); whether a process has a standby of a task.
        """
        active_tasks = {process: _select(tasks, owner == row) for row, process in enumerate(processes)}
        standby_tasks = {process: _select(tasks, standby[:, row]) for row, process in enumerate(processes)}
        return cls(_without_empty(active_tasks), _without_empty(standby_tasks))

    @property
    def process_of(self) -> dict[str, str]:
        """Process of each active task."""
        return {task: process for process, tasks in self.active.items() for task in tasks}

    def differences(self, observed: TaskDistribution) -> list[str]:
        """Return a sentence for each process and role whose observed tasks differ from these (predicted) ones."""
        sentences = []
        roles = (("active", self.active, observed.active), ("standby", self.standby, observed.standby))
        for role, predicted_tasks, observed_tasks in roles:
            for process in sorted({*predicted_tasks, *observed_tasks}):
                predicted = predicted_tasks.get(process, frozenset())
                actual = observed_tasks.get(process, frozenset())
                if predicted != actual:
                    sentences.append(
                        f"{process} {role}: {sorted(predicted - actual)} only predicted, "
                        f"{sorted(actual - predicted)} only observed"
                    )
        return sentences

    def to_json(self) -> dict[str, dict[str, list[str]]]:
        """Return plain values, sorted."""
        return {
            role: {process: sorted(tasks) for process, tasks in sorted(by_process.items())}
            for role, by_process in (("active", self.active), ("standby", self.standby))
        }


@dataclass(frozen=True, slots=True)
class GroupPrediction:
    """Prediction for a period of simulated time.

    Attributes:
        tasks: Task distribution at the end.
        rounds: Number of rebalances.
        probing_rounds: Number of rebalances a probing interval or more after their predecessor.
        first_ms: Time from the event to the first assignment; None if there is none.
        settling_ms: Time from the first assignment until all members have the last assignment; None if that does not
            happen.
        threads: Active tasks of each thread at the end, by process id. Threads without tasks are omitted; their order
            has no meaning.
    """

    tasks: TaskDistribution
    rounds: int
    probing_rounds: int
    first_ms: int | None
    settling_ms: int | None
    threads: Mapping[str, tuple[frozenset[str], ...]]


def read_document(text: str) -> dict[str, Any]:
    """Return a scenario as plain values, for editing."""
    document: dict[str, Any] = read_yaml(text).value
    return document


def simulate_document(
    document: Mapping[str, Any], assignor: str, source: str
) -> tuple[Trace, tuple[CapturedRound, ...]]:
    """Simulate an edited scenario.

    Args:
        document: The scenario as plain values.
        assignor: Name of the assignor, as `assignors.registry.load` accepts it.
        source: Name of the scenario in errors.

    Returns:
        The trace, and the state and assignment of each round.

    Raises:
        ScenarioError: The scenario is invalid.
    """
    scenario = loads(json.dumps(document), source)
    trace = run(scenario, assignor, options=RunOptions(capture=True))
    return trace, tuple(trace.captured_rounds)


def predict_period(trace: Trace, from_ms: int, until_ms: int) -> GroupPrediction:
    """Return the prediction for a period of simulated time: `from_ms` inclusive, `until_ms` exclusive."""
    in_period = [round for round in trace.rounds if from_ms <= round.at_ms < until_ms]
    before_end = [round for round in trace.rounds if round.at_ms < until_ms]
    settled_ms = in_period[-1].reconciled_at_ms if in_period else None
    return GroupPrediction(
        tasks=_task_distribution(trace, before_end[-1]),
        rounds=len(in_period),
        probing_rounds=count_probing_rounds([round.at_ms for round in in_period]),
        first_ms=in_period[0].at_ms - from_ms if in_period else None,
        settling_ms=None if settled_ms is None else settled_ms - in_period[0].at_ms,
        threads=_active_by_thread(trace, before_end[-1]),
    )


def count_probing_rounds(at_ms: Sequence[int]) -> int:
    """Return the number of rebalances, given by their times, a probing interval or more after their predecessor."""
    return sum(later - earlier >= PROBING_INTERVAL_MS for earlier, later in pairwise(at_ms))


def _task_distribution(trace: Trace, last: Round) -> TaskDistribution:
    processes = [str(client.process_id) for client in trace.world.clients]
    return TaskDistribution.of(trace.layout.tasks.ids, processes, last.owner, last.standbys(len(processes)))


def _active_by_thread(trace: Trace, last: Round) -> dict[str, tuple[frozenset[str], ...]]:
    """Return the active tasks of each thread that has any, by process id."""
    tasks_of: dict[str, dict[int, set[str]]] = {}
    threads = zip(trace.layout.tasks.ids, last.owner.tolist(), last.owner_thread.tolist(), strict=True)
    for task, client, thread in threads:
        if client != UNASSIGNED:
            process = str(trace.world.clients[client].process_id)
            tasks_of.setdefault(process, {}).setdefault(thread, set()).add(str(task))
    return {
        process: tuple(frozenset(tasks) for _, tasks in sorted(by_thread.items()))
        for process, by_thread in sorted(tasks_of.items())
    }


def _select(tasks: Sequence[TaskId], mask: BoolArray) -> frozenset[str]:
    return frozenset(str(tasks[row]) for row in np.flatnonzero(mask).tolist())


def _without_empty(tasks: Mapping[str, frozenset[str]]) -> dict[str, frozenset[str]]:
    return {process: ids for process, ids in tasks.items() if ids}
