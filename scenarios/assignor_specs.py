"""Assignors with their labels, parameters and configs, as runs use them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from assignors.containment.limits import DEFAULT_LIMITS, CallLimits
from assignors.registry import AssignorLike
from scenarios.load import AssignorSpec, Scenario


def assignor_specs(
    scenario: Scenario,
    assignors: Iterable[AssignorLike] = (),
    *,
    may_import: bool = True,
    limits: CallLimits = DEFAULT_LIMITS,
) -> list[AssignorSpec]:
    """Return the specs of several assignors in a scenario, with unique labels.

    `assignors`: as in `Scenario.assignor_spec`; by default those that the scenario lists. `limits`: limits of custom
    assignors.
    """
    specs = [scenario.assignor_spec(assignor, may_import=may_import) for assignor in assignors]
    return [replace(spec, limits=limits) for spec in _with_unique_labels(specs or scenario.assignors)]


def _with_unique_labels(specs: Sequence[AssignorSpec]) -> list[AssignorSpec]:
    """Return the specs; labels that occur before get a number."""
    unique: dict[str, AssignorSpec] = {}
    for spec in specs:
        label, number = spec.label, 1
        while label in unique:
            number += 1
            label = f"{spec.label} #{number}"
        unique[label] = replace(spec, label=label)
    return list(unique.values())
