"""What the simulator says will come of an imported scenario, once something is going to happen in it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from assignors.model.columns import BoolArray, IntArray
from assignors.model.ids import TaskId
from scenarios.language.yaml_reader import read_yaml
from scenarios.load import loads
from scenarios.run import run
from simulator.results.trace import CapturedRound, Round, Trace
from tools.fidelity.applications import PROBING_INTERVAL_MS


@dataclass(frozen=True, slots=True)
class TaskDistribution:
    """Who has what: active and standby tasks by process id; processes without any are left out."""

    active: Mapping[str, frozenset[str]]
    standby: Mapping[str, frozenset[str]]

    @classmethod
    def of(
        cls, tasks: Sequence[TaskId], processes: Sequence[str], owner: IntArray, standby: BoolArray
    ) -> TaskDistribution:
        """From columns: the row of the process that runs each task (T,), and who stands by (T, N)."""
        active_of = {process: _named(tasks, owner == row) for row, process in enumerate(processes)}
        standby_of = {process: _named(tasks, standby[:, row]) for row, process in enumerate(processes)}
        return cls(*({process: has for process, has in each.items() if has} for each in (active_of, standby_of)))

    def differences(self, other: TaskDistribution) -> list[str]:
        """What is not the same in the other, a sentence a process and role."""
        found = []
        for role, mine, theirs in (("active", self.active, other.active), ("standby", self.standby, other.standby)):
            for process in sorted({*mine, *theirs}):
                here, there = mine.get(process, frozenset()), theirs.get(process, frozenset())
                if here != there:
                    found.append(f"{process} {role}: {sorted(here - there)} here, {sorted(there - here)} there")
        return found

    def describe(self) -> dict[str, dict[str, list[str]]]:
        """As plain values, sorted."""
        return {
            role: {process: sorted(tasks) for process, tasks in sorted(shares.items())}
            for role, shares in (("active", self.active), ("standby", self.standby))
        }


@dataclass(frozen=True, slots=True)
class GroupPrediction:
    """What will come of it between two moments.

    Attributes:
        shares: who has what in the end.
        rounds: how many rebalances there are.
        first_ms: from what happens to the first assignment, None if there is none.
        probing_rounds: how many of the rebalances came a probing interval or more after the one before.
        settling_ms: from the first assignment until everybody has what the last one decided; None if that never comes.
    """

    shares: TaskDistribution
    rounds: int
    probing_rounds: int
    first_ms: int | None
    settling_ms: int | None


def read_document(text: str) -> dict[str, Any]:
    """A scenario as plain values, to be edited."""
    document: dict[str, Any] = read_yaml(text).value
    return document


def simulate_document(
    document: Mapping[str, Any], assignor: str, source: str
) -> tuple[Trace, tuple[CapturedRound, ...]]:
    """Simulate an edited scenario with an assignor, by a name that `registry.load` understands.

    Returns:
        What happened, and what the assignor was shown for each round.

    Raises:
        ScenarioError: it is not right.
    """
    scenario = loads(json.dumps(document), source)
    trace = run(scenario, assignor, capture=True)
    return trace, tuple(trace.captured_rounds)


def forecast(trace: Trace, from_ms: int, until_ms: int) -> GroupPrediction:
    """What comes of what happens at one moment until the next: `from_ms` included, `until_ms` not."""
    between = [each for each in trace.rounds if from_ms <= each.at_ms < until_ms]
    before = [each for each in trace.rounds if each.at_ms < until_ms]
    settled_ms = between[-1].reconciled_at_ms if between else None
    return GroupPrediction(
        shares=_shares(trace, before[-1]),
        rounds=len(between),
        probing_rounds=probing_rounds([each.at_ms for each in between]),
        first_ms=between[0].at_ms - from_ms if between else None,
        settling_ms=None if settled_ms is None else settled_ms - between[0].at_ms,
    )


def probing_rounds(at_ms: Sequence[int]) -> int:
    """Count the rebalances that came a probing interval or more after the one before, given when each came."""
    return sum(later - earlier >= PROBING_INTERVAL_MS for earlier, later in pairwise(at_ms))


def _shares(trace: Trace, last: Round) -> TaskDistribution:
    processes = [str(client.process_id) for client in trace.world.clients]
    return TaskDistribution.of(trace.layout.tasks.ids, processes, last.owner, last.standbys(len(processes)))


def _named(tasks: Sequence[TaskId], which: BoolArray) -> frozenset[str]:
    return frozenset(str(tasks[row]) for row in np.flatnonzero(which).tolist())
