"""Preparation of a sweep: everything that is decided before Spark starts."""

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
"""Tables that every sweep writes."""


@dataclass(frozen=True, slots=True, eq=False)
class PreparedSweep:
    """A sweep that is ready to run.

    Attributes:
        sweep: the sweep file.
        scenario: the scenario in the first setting.
        sweep_inputs: what all runs have in common.
        labels: labels of the assignors.
        batches: the runs, in the order of execution.
        manifest: the manifest.
        warnings: error messages for invalid factor values.
    """

    sweep: Sweep
    scenario: Scenario
    sweep_inputs: SweepInputs
    labels: tuple[str, ...]
    batches: tuple[Batch, ...]
    manifest: dict[str, Any]
    warnings: tuple[str, ...]

    @property
    def total(self) -> int:
        """Return the number of runs."""
        return len(self.sweep.settings) * len(self.labels) * len(self.sweep.seeds)


def prepare_sweep(sweep: Sweep, assignors: Sequence[AssignorLike] = (), command: str = "") -> PreparedSweep:
    """Load the scenario of a sweep and divide its runs into batches, without Spark.

    Args:
        sweep: the sweep.
        assignors: names of assignors, overriding those of the sweep; these may import code.
        command: the command line, for the manifest.

    Returns:
        The prepared sweep.

    Raises:
        ScenarioError: the first setting is invalid.
        UnknownAssignorError: an assignor is unknown.
        SweepError: the baseline is not one of the assignors.
    """
    predicted = predict_sweep(sweep, assignors)
    labels = tuple(assignor_spec.choice.label for assignor_spec in predicted.assignor_specs)
    if sweep.baseline not in (None, *labels):
        known = ", ".join(labels)
        raise SweepError(
            f"{sweep.file}: baseline: '{sweep.baseline}' is not an assignor of the sweep (assignors: {known})"
        )
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
