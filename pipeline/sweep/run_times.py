"""How long a run will take, roughly: enough to begin with the long ones and to cut the work into even pieces.

The figures are those of a slow core; only their ratios matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assignors.model.configs import RackAwareStrategy
from assignors.registry import AssignorLike
from pipeline.sweep.design import Sweep, attribute_mistakes
from scenarios.assignor_specs import AssignorSpec, assignor_specs
from scenarios.language.errors import ScenarioError
from scenarios.load import Scenario, load

_MOST_LOOKED_AT = 8
"""Numbers among a factor's values for which the scenario is looked at; of a longer list, the others are taken to cost
as much as the nearest of these."""

_OF_A_RUN_MS = 8.0
_OF_AN_EVENT_MS = 0.5
_OF_A_ROUND_MS = 1.0
_OF_A_TASK_MS = 0.1
_OF_A_PAIR_MS = 0.004


def predict_run_ms(scenario: Scenario, one: AssignorSpec) -> float:
    """How long one run of a scenario with an assignor takes, in ms.

    A round costs by tasks, and by pairs of a task and a client where racks are looked at. How many rounds there are
    follows from the events, and, where an assignor moves tasks a few at a time, from `max.warmup.replicas`.
    """
    plan, configs = scenario.blueprint, one.choice.configs
    partitions = {topic.name: topic.num_partitions for topic in plan.topics}
    tasks = sum(
        max((partitions.get(source, 1) for source in subtopology.source_topics), default=1)
        for subtopology in plan.application.subtopologies
    )
    events = len(plan.events)
    rounds = 1.0 + events
    if one.info.name == "high_availability" and events:
        moves = 0.4 * tasks / max(1, configs.max_warmup_replicas)
        rounds += min(events * moves, plan.duration_ms / max(1, configs.probing_rebalance_interval_ms))
    looks_at_racks = configs.rack_aware_assignment_strategy is not RackAwareStrategy.NONE
    of_pairs = _OF_A_PAIR_MS * tasks * len(plan.clients) if looks_at_racks else 0.0
    return _OF_A_RUN_MS + events * _OF_AN_EVENT_MS + rounds * (_OF_A_ROUND_MS + _OF_A_TASK_MS * tasks + of_pairs)


@dataclass(frozen=True, slots=True, eq=False)
class SweepPrediction:
    """What is known of a sweep's runs before any is made.

    Attributes:
        scenario: the sweep's scenario in the first setting.
        contestants: who takes part.
        costs_ms: shape (settings, contestants); how long a run takes, roughly.
        imports: the SHA-256 of each file that the scenario names in one setting or another, by the name it has there.
        wrong: what was found wrong with some values.
    """

    scenario: Scenario
    assignor_specs: list[AssignorSpec]
    costs_ms: NDArray[np.float64]
    imports: dict[str, str]
    wrong: tuple[str, ...]


def predict_sweep(sweep: Sweep, assignors: Sequence[AssignorLike] = ()) -> SweepPrediction:
    """Look at a sweep's scenario in its first setting, and see what each factor changes about the cost of a run.

    Each factor's values are tried one at a time in place of the first setting's, and the effects multiplied.

    Args:
        sweep: what is varied.
        assignors: who takes part, in place of those that the sweep names; these may import code.

    Raises:
        ScenarioError: the first setting cannot be run.
        UnknownAssignorError: an assignor that there is not.
    """
    first = sweep.settings[0]
    try:
        scenario = load(sweep.scenario, sweep.overrides(first))
    except ScenarioError as error:
        raise attribute_mistakes(sweep, error) from None
    chosen = assignor_specs(scenario, assignors or sweep.assignors, may_import=bool(assignors))
    base = np.array([predict_run_ms(scenario, one) for one in chosen])
    costs = np.tile(base, (len(sweep.settings), 1))
    imports = dict(scenario.imports)
    wrong: list[str] = []
    for place, factor in enumerate(sweep.factors):
        values = {repr(setting[place]): setting[place] for setting in sweep.settings}
        looked_at = _spread(list(values)) if factor.is_number else list(values)
        ratios: dict[str, NDArray[np.float64]] = {}
        for key in looked_at:
            setting = (*first[:place], values[key], *first[place + 1 :])
            try:
                there = load(sweep.scenario, sweep.overrides(setting))
            except ScenarioError as error:
                wrong.append(str(attribute_mistakes(sweep, error)))
                ratios[key] = np.ones(len(chosen))
            else:
                imports |= dict(there.imports)
                costs_there = [
                    predict_run_ms(there, one)
                    for one in assignor_specs(there, assignors or sweep.assignors, may_import=bool(assignors))
                ]
                ratios[key] = np.array(costs_there) / base
        nearest = {key: looked_at[i * len(looked_at) // len(values)] for i, key in enumerate(values)}
        costs *= np.array([ratios[nearest[repr(setting[place])]] for setting in sweep.settings])
    return SweepPrediction(scenario, chosen, costs, imports, tuple(wrong))


def _spread(keys: list[str]) -> list[str]:
    """Some of these, evenly; all if they are few."""
    if len(keys) <= _MOST_LOOKED_AT:
        return keys
    return [keys[i * len(keys) // _MOST_LOOKED_AT] for i in range(_MOST_LOOKED_AT)]
