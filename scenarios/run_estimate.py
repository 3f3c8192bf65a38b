"""An estimate of the time and the memory of runs, before they start."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from assignors.model.configs import RackAwareStrategy
from scenarios.load import AssignorSpec, Scenario
from scenarios.run_time import count_tasks, predict_rebalances
from scenarios.sampling.event_plans import ChurnPlan, PlannedEvent, RollingBouncePlan
from simulator.plurals import counted
from simulator.world.disturbances import Join, Leave, RollingBounce
from simulator.world.group_configs import GroupProtocol

MAX_SECONDS: Final = 3_600.0
"""Longest estimated time that `assignor-sim run` starts without `--force`."""

MAX_BYTES: Final = 16_000_000_000
"""Largest estimated memory that `assignor-sim run` starts without `--force`."""

LONG_SECONDS: Final = 20.0
"""Estimated time from which `assignor-sim run` prints the estimate."""

_HOUR_MS = 3_600_000
_START_SECONDS = 1.0
_TASK_SECONDS = 1e-5
_BASE_BYTES = 150e6
_TASK_BYTES = 20e3
_PAIR_BYTES = 150.0
_PAIR_SECONDS: Final = {
    RackAwareStrategy.NONE: 1.2e-7,
    RackAwareStrategy.MIN_TRAFFIC: 2e-7,
    RackAwareStrategy.BALANCE_SUBTOPOLOGY: 2e-6,
}
_STREAMS_PAIR_SECONDS = 7e-7


@dataclass(frozen=True, slots=True)
class RunEstimate:
    """An estimate of the resources of some runs, one after the other.

    Attributes:
        tasks: number of tasks, those of the neighbors included.
        clients: number of clients, those of the neighbors included.
        rebalances: rebalances of all runs.
        seconds: CPU time of all runs.
        memory_bytes: memory of the largest run.
    """

    runs: int
    tasks: int
    clients: int
    rebalances: int
    seconds: float
    memory_bytes: float

    @property
    def is_long(self) -> bool:
        """Whether users should know the estimate before the runs start."""
        return self.seconds >= LONG_SECONDS or self.memory_bytes > MAX_BYTES

    @property
    def excess(self) -> str | None:
        """Which limit the estimate exceeds, with its value; None if it exceeds none."""
        if self.seconds > MAX_SECONDS:
            return f"estimated time {_duration(self.seconds)} exceeds the limit of {_duration(MAX_SECONDS)}"
        if self.memory_bytes > MAX_BYTES:
            return f"estimated memory {_gigabytes(self.memory_bytes)} exceeds the limit of {_gigabytes(MAX_BYTES)}"
        return None

    def __str__(self) -> str:
        size = f"{self.tasks:,} tasks on {self.clients:,} clients"
        work = f"{counted(self.runs, 'run')}, about {counted(self.rebalances, 'rebalance')}"
        return f"about {_duration(self.seconds)} and {_gigabytes(self.memory_bytes)} ({size}; {work})"


def estimate_runs(scenario: Scenario, specs: Sequence[AssignorSpec], seeds: int) -> RunEstimate:
    """Estimate the runs of a scenario with some assignors and a number of seeds.

    The time of a rebalance grows with the number of tasks and, mostly in rack-aware flows, with pairs of task and
    client. The constants are rough: runs of 1,000 tasks on 100 clients to 20,000 tasks on 2,000 clients took a seventh
    of the estimate to a little more than it. The number of rebalances is a prediction. Returns the times of all runs
    added, the memory of the largest.
    """
    applications = [(scenario, spec) for spec in specs]
    applications += [(other, other.assignors[0]) for other in scenario.neighbors for _ in specs]
    worlds = (scenario, *scenario.neighbors)
    return RunEstimate(
        runs=len(specs) * seeds,
        tasks=sum(map(count_tasks, worlds)),
        clients=sum(len(world.blueprint.clients) for world in worlds),
        rebalances=round(seeds * sum(_rebalances(*application) for application in applications)),
        seconds=_START_SECONDS + seeds * sum(_seconds(*application) for application in applications),
        memory_bytes=_BASE_BYTES + sum(map(_memory_bytes, worlds)),
    )


def estimate_again(scenario: Scenario, spec: AssignorSpec, rebalances: int) -> RunEstimate:
    """Estimate a run whose number of rebalances is known, because a similar one has finished.

    `scenario`: the scenario; its neighbors are taken to rebalance as predicted. Returns the time and the memory of one
    run.
    """
    estimate = estimate_runs(scenario, [spec], 1)
    more = rebalances - _rebalances(scenario, spec)
    return replace(
        estimate,
        rebalances=round(estimate.rebalances + more),
        seconds=estimate.seconds + more * _seconds_per_rebalance(scenario, spec),
    )


def _rebalances(scenario: Scenario, spec: AssignorSpec) -> float:
    """Predict the number of rebalances: as `predict_rebalances`, with one for each client that an event restarts."""
    events = scenario.blueprint.events
    return predict_rebalances(scenario, spec) + sum(_changes(event) - 1 for event in events)


def _changes(event: PlannedEvent) -> float:
    """Return how many times an event changes the group, about: clients that it changes together count as one."""
    match event:
        case RollingBouncePlan(clients=clients) | RollingBounce(clients=clients):
            return len(clients)
        case Join(clients=clients, every_ms=every_ms) | Leave(clients=clients, every_ms=every_ms) if every_ms:
            return len(clients)
        case ChurnPlan(at_ms=at_ms, until_ms=until_ms, crashes_per_h=crashes_per_h, joins_per_h=joins_per_h):
            changes_per_h = (1 if event.down_ms is None else 2) * crashes_per_h + joins_per_h
            return changes_per_h * (until_ms - at_ms) / _HOUR_MS
    return 1.0


def _seconds(scenario: Scenario, spec: AssignorSpec) -> float:
    return _rebalances(scenario, spec) * _seconds_per_rebalance(scenario, spec)


def _seconds_per_rebalance(scenario: Scenario, spec: AssignorSpec) -> float:
    tasks = count_tasks(scenario)
    protocol = scenario.protocol_of(spec)
    is_classic = protocol is GroupProtocol.CLASSIC
    pair_seconds = _PAIR_SECONDS[_strategy(spec)] if is_classic else _STREAMS_PAIR_SECONDS
    return tasks * _TASK_SECONDS + _pairs(scenario, tasks) * pair_seconds


def _memory_bytes(scenario: Scenario) -> float:
    tasks = count_tasks(scenario)
    return tasks * _TASK_BYTES + _pairs(scenario, tasks) * _PAIR_BYTES


def _pairs(scenario: Scenario, tasks: int) -> int:
    return tasks * len(scenario.blueprint.clients)


def _strategy(spec: AssignorSpec) -> RackAwareStrategy:
    return spec.configs.rack_aware_assignment_strategy


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5_400 else f"{seconds / 3600:,.1f} h"


def _gigabytes(memory_bytes: float) -> str:
    return f"{memory_bytes / 1e9:.1f} GB"
