"""What the simulator says will come of an imported scenario, once something is going to happen in it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from scenarios.contestants import run
from scenarios.load import loads
from scenarios.reader import read
from simulator.trace import Round, Trace

EVENT_AT_MS = 10_000
"""When what is going to happen does, in the scenario's time; before, the group rests."""


@dataclass(frozen=True, slots=True)
class Shares:
    """Who has what: active and standby tasks by process id; processes without any are left out."""

    active: Mapping[str, frozenset[str]]
    standby: Mapping[str, frozenset[str]]

    def differences(self, other: Shares) -> list[str]:
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
class Forecast:
    """What will come of it between two moments.

    Attributes:
        shares: who has what in the end.
        rounds: how many rebalances there are.
        first_ms: from what happens to the first assignment, None if there is none.
        settling_ms: from the first assignment until everybody has what the last one decided; None if that never comes.
    """

    shares: Shares
    rounds: int
    first_ms: int | None
    settling_ms: int | None


def read_document(text: str) -> dict[str, Any]:
    """A scenario as plain values, to be edited."""
    document: dict[str, Any] = read(text).value
    return document


def simulate_document(document: Mapping[str, Any], assignor: str, source: str) -> Trace:
    """Simulate an edited scenario with an assignor, by a name that `registry.load` understands.

    Raises:
        ScenarioError: it is not right.
    """
    scenario = loads(json.dumps(document), source)
    return run(scenario, assignor)


def forecast(trace: Trace, from_ms: int, until_ms: int) -> Forecast:
    """What comes of what happens at one moment until the next: `from_ms` included, `until_ms` not."""
    between = [each for each in trace.rounds if from_ms <= each.at_ms < until_ms]
    before = [each for each in trace.rounds if each.at_ms < until_ms]
    settled_ms = between[-1].settled_at_ms if between else None
    return Forecast(
        shares=_shares(trace, before[-1]),
        rounds=len(between),
        first_ms=between[0].at_ms - from_ms if between else None,
        settling_ms=None if settled_ms is None else settled_ms - between[0].at_ms,
    )


def _shares(trace: Trace, last: Round) -> Shares:
    tasks, clients = trace.layout.tasks.ids, trace.world.clients
    standby = last.standbys(len(clients))
    active_of = {
        str(client.process_id): _named(tasks, np.flatnonzero(last.owner == row).tolist())
        for row, client in enumerate(clients)
    }
    standby_of = {
        str(client.process_id): _named(tasks, np.flatnonzero(standby[:, row]).tolist())
        for row, client in enumerate(clients)
    }
    return Shares(*({process: has for process, has in each.items() if has} for each in (active_of, standby_of)))


def _named(tasks: Sequence[object], rows: Sequence[int]) -> frozenset[str]:
    return frozenset(str(tasks[row]) for row in rows)
