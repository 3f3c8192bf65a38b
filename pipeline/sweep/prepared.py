"""A sweep that has been looked at: all that is decided before Spark is needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from assignors.registry import AssignorLike
from pipeline.sweep.batches import Batch, plan_batches
from pipeline.sweep.design import Sweep
from pipeline.sweep.errors import SweepError
from pipeline.sweep.manifest import sweep_manifest
from pipeline.sweep.run_times import predict_sweep
from pipeline.sweep.sweep_inputs import pack_sweep_inputs
from pipeline.worker import SweepInputs, pickle_assignors
from scenarios.load import Scenario

ALWAYS_WRITTEN = ("runs", "rounds")


@dataclass(frozen=True, slots=True, eq=False)
class PreparedSweep:
    """A sweep that has been looked at: its scenario in the first setting, what it runs in batches, and warnings."""

    sweep: Sweep
    scenario: Scenario
    sweep_inputs: SweepInputs
    labels: tuple[str, ...]
    batches: tuple[Batch, ...]
    manifest: dict[str, Any]
    warnings: tuple[str, ...]

    @property
    def total(self) -> int:
        """How many runs it has."""
        return len(self.sweep.settings) * len(self.labels) * len(self.sweep.seeds)


def prepare_sweep(sweep: Sweep, assignors: Sequence[AssignorLike] = (), command: str = "") -> PreparedSweep:
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
    predicted = predict_sweep(sweep, assignors)
    labels = tuple(one.choice.label for one in predicted.assignor_specs)
    if sweep.baseline not in (None, *labels):
        known = ", ".join(labels)
        raise SweepError(f"{sweep.file}: baseline: '{sweep.baseline}' is no assignor of the sweep ({known})")
    sweep_inputs = pack_sweep_inputs(
        sweep, predicted.scenario.text, sorted(predicted.imports), (*ALWAYS_WRITTEN, *sweep.tables)
    )
    if assignors:
        try:
            sweep_inputs = replace(sweep_inputs, assignors=pickle_assignors(assignors, labels))
        except ValueError as error:
            raise SweepError(str(error)) from error
    manifest = sweep_manifest(sweep, predicted, sweep_inputs, command)
    batches = plan_batches(np.repeat(predicted.costs_ms.ravel(), len(sweep.seeds)))
    return PreparedSweep(sweep, predicted.scenario, sweep_inputs, labels, tuple(batches), manifest, predicted.wrong)
