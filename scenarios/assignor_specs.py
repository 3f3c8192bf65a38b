"""Who takes part in a comparison, and one run of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from assignors import registry
from assignors.model.assignment import TaskAssignor
from assignors.model.traffic_rates import RateAwareAssignor
from assignors.registry import AssignorInfo
from scenarios.load import AssignorChoice, Scenario
from scenarios.mean_traffic import mean_traffic
from simulator.assignment.explanation import ExplanationRequest
from simulator.results.trace import Trace
from simulator.run import simulate
from simulator.world.world import World


@dataclass(frozen=True, slots=True, eq=False)
class AssignorSpec:
    """An assignor that takes part: how it is labelled, what it is, and with which settings."""

    choice: AssignorChoice
    info: AssignorInfo


def assignor_specs(
    scenario: Scenario, names: Sequence[str] = (), look_up: Callable[[str], AssignorInfo] = registry.load
) -> list[AssignorSpec]:
    """Who is compared: what the scenario lists, or those asked for by name.

    Args:
        scenario: lists assignors; what a file lists can only be built in.
        names: labels of the scenario, or names that `look_up` understands.
        look_up: finds an assignor by a name that is no label. `registry.load` may import code, and so is for names
            from a command line; for those from a file, there is `registry.find`.

    Raises:
        UnknownAssignorError: a name that is neither.
    """
    if not names:
        return [AssignorSpec(choice, registry.find(choice.assignor)) for choice in scenario.assignors]
    labelled = {choice.label: choice for choice in scenario.assignors}
    found = []
    for name in names:
        if name in labelled:
            found.append(AssignorSpec(labelled[name], registry.find(labelled[name].assignor)))
        else:
            info = look_up(name)
            choice = AssignorChoice(name, info.name, {}, scenario.assignment_configs)
            found.append(AssignorSpec(choice, info))
    return found


def make_assignor(assignor_spec: AssignorSpec, world: World) -> TaskAssignor:
    """The assignor for a run in a world: if it weighs bytes, and was not told what flows, it is told the usual."""
    made = registry.make(assignor_spec.info, assignor_spec.choice.parameters)
    return made.with_rates(mean_traffic(world)) if isinstance(made, RateAwareAssignor) and made.needs_rates else made


def run(
    scenario: Scenario,
    assignor: str | AssignorSpec,
    seed: int | None = None,
    question: ExplanationRequest | None = None,
) -> Trace:
    """Simulate a scenario with one assignor.

    Args:
        scenario: what to simulate.
        assignor: a label of the scenario, or a name that `registry.load` understands.
        seed: the scenario's first if None.
        question: of which tasks to explain the moves; of none if None.
    """
    one = assignor if isinstance(assignor, AssignorSpec) else assignor_specs(scenario, [assignor])[0]
    world = scenario.world(scenario.seeds[0] if seed is None else seed, one.choice.configs, one.choice.protocol)
    return simulate(world, make_assignor(one, world), one.info.weights, question=question)
