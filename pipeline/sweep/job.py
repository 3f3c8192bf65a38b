"""A prepared sweep as work for Spark: what its runs share, how they are divided, and its manifest."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pipeline.sweep.batches import DEFAULT_SIZES, Batch, BatchSizes, plan_batches
from pipeline.sweep.manifest import sweep_manifest
from pipeline.worker import SweepInputs, pickle_assignors
from scenarios.sweeps.errors import SweepError
from scenarios.sweeps.prepared import PreparedSweep

ALWAYS_WRITTEN = ("runs", "rounds")
"""Tables that every sweep writes."""


@dataclass(frozen=True, eq=False)
class SweepJob:
    """A sweep that is ready for Spark.

    Attributes:
        prepared: the sweep.
        sweep_inputs: inputs that all runs share.
        batch_sizes: minimum sizes of batches and chunks.
    """

    prepared: PreparedSweep
    sweep_inputs: SweepInputs
    batch_sizes: BatchSizes

    @classmethod
    def of(cls, prepared: PreparedSweep, batch_sizes: BatchSizes = DEFAULT_SIZES) -> SweepJob:
        """Return the job of a sweep.

        Args:
            prepared: the sweep.
            batch_sizes: minimum sizes of batches and chunks.

        Returns:
            The job.

        Raises:
            SweepError: an assignor cannot be pickled.
        """
        sweep, packed = prepared.sweep, prepared.packed_imports
        try:
            pickled = pickle_assignors(prepared.assignors, prepared.labels) if prepared.assignors else ()
        except ValueError as error:
            raise SweepError(str(error)) from error
        sweep_inputs = SweepInputs(
            name=str(sweep.scenario.name),
            text=prepared.scenario.text,
            folder=str(packed.folder),
            files=tuple(sorted(packed.files.items())),
            tables=(*ALWAYS_WRITTEN, *sweep.tables),
            assignors=pickled,
            limits=prepared.limits,
        )
        return cls(prepared, sweep_inputs, batch_sizes)

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """Return the manifest."""
        return sweep_manifest(self.prepared, self.sweep_inputs.tables)

    @cached_property
    def batches(self) -> list[Batch]:
        """Return the runs in the order of execution."""
        prepared = self.prepared
        return plan_batches(np.repeat(prepared.run_ms.ravel(), len(prepared.sweep.seeds)), self.batch_sizes)
