"""A sweep that has been looked at: all that is decided before Spark is needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pipeline.sweep.costs import predict
from pipeline.sweep.design import Sweep
from pipeline.sweep.errors import SweepError
from pipeline.sweep.manifest import manifest_of
from pipeline.sweep.plan import Batch, plan
from pipeline.sweep.recipe import recipe_of
from pipeline.worker import Recipe
from scenarios.load import Scenario

ALWAYS = ("runs", "rounds")


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """A sweep that has been looked at: its scenario in the first setting, what it runs in batches, and warnings."""

    sweep: Sweep
    scenario: Scenario
    recipe: Recipe
    labels: tuple[str, ...]
    batches: tuple[Batch, ...]
    manifest: dict[str, Any]
    warnings: tuple[str, ...]

    @property
    def total(self) -> int:
        """How many runs it has."""
        return len(self.sweep.settings) * len(self.labels) * len(self.sweep.seeds)


def prepare(sweep: Sweep, assignors: Sequence[str] = (), command: str = "") -> Prepared:
    """Look at a sweep's scenario and make its plan; needs no Spark.

    Args:
        sweep: what to run.
        assignors: who takes part, in place of those that the sweep names; these may import code.
        command: how this came about, for the manifest.

    Raises:
        ScenarioError: its first setting cannot be run.
        UnknownAssignorError: an assignor that there is not.
        SweepError: the baseline is none of the assignors.
    """
    predicted = predict(sweep, assignors)
    labels = tuple(one.choice.label for one in predicted.contestants)
    if sweep.baseline not in (None, *labels):
        known = ", ".join(labels)
        raise SweepError(f"{sweep.file}: baseline: '{sweep.baseline}' is no assignor of the sweep ({known})")
    recipe = recipe_of(sweep, predicted.scenario.text, sorted(predicted.imports), (*ALWAYS, *sweep.tables))
    manifest = manifest_of(sweep, predicted, recipe, command)
    batches = plan(np.repeat(predicted.costs_ms.ravel(), len(sweep.seeds)))
    return Prepared(sweep, predicted.scenario, recipe, labels, tuple(batches), manifest, predicted.wrong)
