"""Estimates of runs before they start: their time and memory, and their run times relative to each other.

Relative run times serve to start long runs first and to cut work into even chunks. Their constants were measured on a
slow core; only their ratios matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from assignors.model.configs import RackAwareStrategy
from scenarios.load import AssignorSpec, Scenario
from simulator.plurals import counted
from simulator.world.group_configs import GroupProtocol

_RUN_MS = 8.0
_EVENT_MS = 0.5
_ROUND_MS = 1.0
_TASK_MS = 0.1
_PAIR_MS = 0.004


def count_tasks(scenario: Scenario) -> int:
    """Return the number of tasks: per subtopology, the largest number of partitions of its source topics."""
    blueprint = scenario.blueprint
    partitions = {topic.name: topic.num_partitions for topic in blueprint.topics}
    return sum(
        max((partitions.get(source, 1) for source in subtopology.source_topics), default=1)
        for subtopology in blueprint.application.subtopologies
    )


def predict_rebalances(scenario: Scenario, spec: AssignorSpec) -> float:
    """Predict the number of rebalances of a run: one per event, and with warm-ups those that probe."""
    blueprint, configs = scenario.blueprint, spec.configs
    events = len(blueprint.events)
    if spec.info.name_without_release != "high_availability" or not events:
        return 1.0 + events
    moves = 0.4 * count_tasks(scenario) / max(1, configs.max_warmup_replicas)
    return 1.0 + events + min(events * moves, blueprint.duration_ms / max(1, configs.probing_rebalance_interval_ms))


def predict_run_ms(scenario: Scenario, spec: AssignorSpec) -> float:
    """Predict how long one run of a scenario with an assignor takes, in ms, those of the neighbors included.

    The time of a round grows with the number of tasks, and with pairs of task and client if the assignor considers
    racks. The number of rounds follows from the events and, if the assignor uses warm-ups, from `max.warmup.replicas`.
    """
    return _predict_ms(scenario, spec) + sum(_predict_ms(other, other.assignors[0]) for other in scenario.neighbors)


def _predict_ms(scenario: Scenario, spec: AssignorSpec) -> float:
    blueprint, configs = scenario.blueprint, spec.configs
    tasks = count_tasks(scenario)
    events = len(blueprint.events)
    rounds = predict_rebalances(scenario, spec)
    is_rack_aware = configs.rack_aware_assignment_strategy is not RackAwareStrategy.NONE
    pairs_ms = _PAIR_MS * tasks * len(blueprint.clients) if is_rack_aware else 0.0
    return _RUN_MS + events * _EVENT_MS + rounds * (_ROUND_MS + _TASK_MS * tasks + pairs_ms)


MAX_SECONDS: Final = 3_600.0
"""Longest estimated time that `assignor-sim run` starts without `--force`."""

MAX_BYTES: Final = 16_000_000_000
"""Largest estimated memory that `assignor-sim run` starts without `--force`."""

LONG_SECONDS: Final = 20.0
"""Estimated time from which `assignor-sim run` prints the estimate."""

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

    `tasks`, `clients`: those of the neighbors included. `rebalances`, `seconds` of CPU time: of all runs.
    `memory_bytes`: of the largest run.
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

    Its neighbors are taken to rebalance as predicted.
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
    return predict_rebalances(scenario, spec) + sum(event.num_changes - 1 for event in events)


def _seconds(scenario: Scenario, spec: AssignorSpec) -> float:
    return _rebalances(scenario, spec) * _seconds_per_rebalance(scenario, spec)


def _seconds_per_rebalance(scenario: Scenario, spec: AssignorSpec) -> float:
    tasks = count_tasks(scenario)
    is_classic = scenario.protocol_of(spec) is GroupProtocol.CLASSIC
    strategy = spec.configs.rack_aware_assignment_strategy
    pair_seconds = _PAIR_SECONDS[strategy] if is_classic else _STREAMS_PAIR_SECONDS
    return tasks * _TASK_SECONDS + _pairs(scenario, tasks) * pair_seconds


def _memory_bytes(scenario: Scenario) -> float:
    tasks = count_tasks(scenario)
    return tasks * _TASK_BYTES + _pairs(scenario, tasks) * _PAIR_BYTES


def _pairs(scenario: Scenario, tasks: int) -> int:
    return tasks * len(scenario.blueprint.clients)


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5_400 else f"{seconds / 3600:,.1f} h"


def _gigabytes(memory_bytes: float) -> str:
    return f"{memory_bytes / 1e9:.1f} GB"
