"""Prediction of the run time of a simulation, used to start long runs first and to cut work into even chunks.

The constants were measured on a slow core; only their ratios matter.
"""

from __future__ import annotations

from assignors.model.configs import RackAwareStrategy
from scenarios.load import AssignorSpec, Scenario

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
    """Predict how long one run of a scenario with an assignor takes, in ms.

    The time of a round grows with the number of tasks, and with pairs of task and client if the assignor considers
    racks. The number of rounds follows from the events and, if the assignor uses warm-ups, from `max.warmup.replicas`.
    Returns milliseconds, those of the neighbors included.
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
