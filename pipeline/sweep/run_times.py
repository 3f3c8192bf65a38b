"""Prediction of the run time of simulations, used to start long runs first and to cut work into even chunks.

The constants were measured on a slow core; only their ratios matter.
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

_MAX_LOADED_VALUES = 8
"""Maximum number of values per numeric factor for which the scenario is loaded.

Other values use the prediction for the nearest loaded value.
"""

_RUN_MS = 8.0
_EVENT_MS = 0.5
_ROUND_MS = 1.0
_TASK_MS = 0.1
_PAIR_MS = 0.004


def predict_run_ms(scenario: Scenario, assignor_spec: AssignorSpec) -> float:
    """Predict how long one run of a scenario with an assignor takes, in ms.

    The time of a round grows with the number of tasks, and with pairs of task and client if the assignor considers
    racks. The number of rounds follows from the events and, if the assignor uses warm-ups, from `max.warmup.replicas`.

    Args:
        scenario: the scenario in one setting.
        assignor_spec: the assignor.

    Returns:
        Milliseconds.
    """
    blueprint, configs = scenario.blueprint, assignor_spec.choice.configs
    partitions = {topic.name: topic.num_partitions for topic in blueprint.topics}
    tasks = sum(
        max((partitions.get(source, 1) for source in subtopology.source_topics), default=1)
        for subtopology in blueprint.application.subtopologies
    )
    events = len(blueprint.events)
    rounds = 1.0 + events
    if assignor_spec.info.name == "high_availability" and events:
        moves = 0.4 * tasks / max(1, configs.max_warmup_replicas)
        rounds += min(events * moves, blueprint.duration_ms / max(1, configs.probing_rebalance_interval_ms))
    is_rack_aware = configs.rack_aware_assignment_strategy is not RackAwareStrategy.NONE
    pairs_ms = _PAIR_MS * tasks * len(blueprint.clients) if is_rack_aware else 0.0
    return _RUN_MS + events * _EVENT_MS + rounds * (_ROUND_MS + _TASK_MS * tasks + pairs_ms)


@dataclass(frozen=True, slots=True, eq=False)
class SweepPrediction:
    """What is known about a sweep before it runs.

    Attributes:
        scenario: the scenario in the first setting.
        assignor_specs: the assignors.
        costs_ms: shape (settings, assignors); predicted time per run.
        imports: SHA-256 of each file that the scenario imports in any setting, by its name there.
        wrong: error messages for invalid factor values.
    """

    scenario: Scenario
    assignor_specs: list[AssignorSpec]
    costs_ms: NDArray[np.float64]
    imports: dict[str, str]
    wrong: tuple[str, ...]


def predict_sweep(sweep: Sweep, assignors: Sequence[AssignorLike] = ()) -> SweepPrediction:
    """Load the scenario in its first setting and predict the effect of each factor on the run time.

    The values of each factor are tried one at a time in place of the first setting's; the effects are multiplied.

    Args:
        sweep: the sweep.
        assignors: names of assignors, overriding those of the sweep; these may import code.

    Returns:
        The prediction.

    Raises:
        ScenarioError: the first setting is invalid.
        UnknownAssignorError: an assignor is unknown.
    """
    first = sweep.settings[0]
    try:
        scenario = load(sweep.scenario, sweep.overrides(first))
    except ScenarioError as error:
        raise attribute_mistakes(sweep, error) from None
    names, may_import = assignors or sweep.assignors, bool(assignors)
    chosen = assignor_specs(scenario, names, may_import=may_import)
    base = np.array([predict_run_ms(scenario, assignor_spec) for assignor_spec in chosen])
    costs = np.tile(base, (len(sweep.settings), 1))
    imports = dict(scenario.imports)
    errors: list[str] = []
    for index, factor in enumerate(sweep.factors):
        values = {repr(setting[index]): setting[index] for setting in sweep.settings}
        tried_values = _spread(list(values)) if factor.is_number else list(values)
        ratios: dict[str, NDArray[np.float64]] = {}
        for key in tried_values:
            setting = (*first[:index], values[key], *first[index + 1 :])
            try:
                varied = load(sweep.scenario, sweep.overrides(setting))
            except ScenarioError as error:
                errors.append(str(attribute_mistakes(sweep, error)))
                ratios[key] = np.ones(len(chosen))
            else:
                imports |= dict(varied.imports)
                varied_costs = [
                    predict_run_ms(varied, assignor_spec)
                    for assignor_spec in assignor_specs(varied, names, may_import=may_import)
                ]
                ratios[key] = np.array(varied_costs) / base
        nearest = {key: tried_values[i * len(tried_values) // len(values)] for i, key in enumerate(values)}
        costs *= np.array([ratios[nearest[repr(setting[index])]] for setting in sweep.settings])
    return SweepPrediction(scenario, chosen, costs, imports, tuple(errors))


def _spread(keys: list[str]) -> list[str]:
    """Return evenly spaced keys, at most `_MAX_LOADED_VALUES`."""
    if len(keys) <= _MAX_LOADED_VALUES:
        return keys
    return [keys[i * len(keys) // _MAX_LOADED_VALUES] for i in range(_MAX_LOADED_VALUES)]
