"""Measure how evenly Kafka's balance_subtopology and the exact one spread subtopologies, on random problems.

`python -m tests.assignors.tasks.subtopology_skew` prints the table of docs/explanation/kip-925-alternatives.md.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, replace

import numpy as np

from assignors.model.assignment import AssignmentColumns, TaskAssignor
from assignors.model.configs import AssignmentConfigs, RackAwareStrategy
from assignors.model.ids import ProcessId, TaskId, TopicPartition
from assignors.model.state import ApplicationState, KafkaStreamsState, TaskInfo, TaskTopicPartition
from assignors.tasks.high_availability import HighAvailability
from assignors.tasks.rack_aware_variant import SubtopologyBalance

PROBLEMS = 1_000
MANY = 5


@dataclass(frozen=True)
class SkewResult:
    """Skew, the maximum difference of two clients in tasks of one subtopology; and partitions read across racks."""

    skew: int
    remote: int
    total_skew: int


def problem(seed: int) -> ApplicationState:
    """Return up to 5 subtopologies with up to 30 partitions on up to 12 clients of one thread, all caught up."""
    rng = random.Random(seed)
    racks = ["a", "b", "c"][: rng.randint(2, 3)]
    weights = [rng.random() for _ in racks]
    tasks = []
    for subtopology in range(rng.randint(1, 5)):
        for partition in range(rng.randint(1, 30)):
            rack = (rng.choices(racks, weights)[0],)
            name = TopicPartition(f"in{subtopology}", partition)
            tasks.append(TaskInfo(TaskId(subtopology, partition), True, (TaskTopicPartition(name, True, False, rack),)))
    lags = {task.id: 0 for task in tasks}
    clients = [
        KafkaStreamsState(ProcessId(0, number), 1, racks[number % len(racks)], task_lags=lags)
        for number in range(rng.randint(2, 12))
    ]
    configs = AssignmentConfigs(rack_aware_assignment_strategy=RackAwareStrategy.BALANCE_SUBTOPOLOGY)
    return ApplicationState.of(tasks, clients, configs)


def measure_skew(state: ApplicationState, assignor: TaskAssignor) -> SkewResult:
    active = AssignmentColumns.of(state, assignor.assign(state)).active
    of_each = [active[state.tasks.subtopology == number] for number in np.unique(state.tasks.subtopology)]
    skews = [int(np.ptp(np.bincount(owners, minlength=len(state.clients)))) for owners in (*of_each, active)]
    remote = state.remote_partitions(state.tasks.source)[np.arange(len(active)), active].sum()
    return SkewResult(max(skews[:-1]), int(remote), skews[-1])


def with_strategy(state: ApplicationState, strategy: RackAwareStrategy) -> ApplicationState:
    return replace(state, assignment_configs=replace(state.assignment_configs, rack_aware_assignment_strategy=strategy))


def skew_table() -> str:
    """Measure all problems; return a row for each strategy: its problems by skew, and partitions read across racks."""
    results: dict[str, list[SkewResult]] = {"none": [], "min_traffic": [], "balance_subtopology": [], "exact": []}
    for seed in range(PROBLEMS):
        state = problem(seed)
        for strategy in RackAwareStrategy:
            results[strategy].append(measure_skew(with_strategy(state, strategy), HighAvailability()))
        results["exact"].append(measure_skew(state, SubtopologyBalance()))
    head = f"| | {' | '.join(f'skew {skew}' for skew in range(MANY))} | {MANY} or more | cross-rack source partitions |"
    lines = [head, "|---|" + "---|" * (MANY + 2)]
    for name, every in results.items():
        counts = Counter(min(result.skew, MANY) for result in every)
        cells = [f"{counts[skew]:,}" for skew in range(MANY + 1)]
        lines.append(f"| {name} | {' | '.join(cells)} | {sum(result.remote for result in every):,} |")
    return "".join(f"{line}\n" for line in lines)


if __name__ == "__main__":
    print(skew_table(), end="")
