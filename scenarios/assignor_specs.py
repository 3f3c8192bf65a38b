"""Assignors with their labels, parameters and configs, as runs use them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from assignors import registry
from assignors.model.assignment import TaskAssignor
from assignors.model.traffic_rates import RateAwareAssignor
from assignors.registry import AssignorInfo, AssignorLike
from scenarios.load import AssignorChoice, Scenario
from scenarios.mean_traffic import mean_traffic
from simulator.world.world import World


@dataclass(frozen=True, slots=True, eq=False)
class AssignorSpec:
    """An assignor of a run.

    Attributes:
        choice: its label, parameters and configs.
        info: its registration.
    """

    choice: AssignorChoice
    info: AssignorInfo

    @property
    def label(self) -> str:
        """The label, unique among the assignors of one run."""
        return self.choice.label


def assignor_spec(scenario: Scenario, assignor: AssignorLike, *, may_import: bool = True) -> AssignorSpec:
    """Return the spec of one assignor in a scenario.

    Args:
        scenario: the scenario, whose labels take precedence over registered names.
        assignor: a label of the scenario, a registered name, `package.module:Class`, an instance, a class, or a
            callable from state to assignment.
        may_import: whether a name may import code: yes for names from a command line or from Python, no for names
            from a file.

    Raises:
        UnknownAssignorError: the assignor is unknown, or is not an assignor.
    """
    for choice in scenario.assignors:
        if choice.label == assignor:
            return AssignorSpec(choice, registry.find(choice.assignor))
    resolved = registry.resolve(assignor, may_import=may_import)
    label = assignor if isinstance(assignor, str) else resolved.label
    choice = AssignorChoice(label, resolved.info.name, resolved.parameters, scenario.assignment_configs)
    return AssignorSpec(choice, resolved.info)


def assignor_specs(
    scenario: Scenario, assignors: Iterable[AssignorLike] = (), *, may_import: bool = True
) -> list[AssignorSpec]:
    """Return the specs of several assignors in a scenario, with unique labels.

    Args:
        scenario: the scenario.
        assignors: as in `assignor_spec`; by default those that the scenario lists.
        may_import: as in `assignor_spec`.

    Raises:
        UnknownAssignorError: an assignor is unknown, or is not an assignor.
    """
    specs = [assignor_spec(scenario, assignor, may_import=may_import) for assignor in assignors]
    if not specs:
        return [AssignorSpec(choice, registry.find(choice.assignor)) for choice in scenario.assignors]
    return _with_unique_labels(specs)


def make_assignor(spec: AssignorSpec, world: World) -> TaskAssignor:
    """Build the assignor for a run.

    An assignor that weighs bytes and has no traffic rates gets the mean rates of the world.

    Returns:
        The assignor.

    Raises:
        UnknownAssignorError: the assignor rejects its parameters.
    """
    assignor = registry.make(spec.info, spec.choice.parameters)
    if isinstance(assignor, RateAwareAssignor) and assignor.needs_rates:
        return assignor.with_rates(mean_traffic(world))
    return assignor


def _with_unique_labels(specs: Sequence[AssignorSpec]) -> list[AssignorSpec]:
    """Return the specs; labels that occur before get a number."""
    unique: dict[str, AssignorSpec] = {}
    for spec in specs:
        label, number = spec.label, 1
        while label in unique:
            number += 1
            label = f"{spec.label} #{number}"
        unique[label] = AssignorSpec(replace(spec.choice, label=label), spec.info)
    return list(unique.values())
