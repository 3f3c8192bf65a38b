"""A prepared sweep as work for Spark: what its runs share, how they are divided, its manifest, and the hash that
identifies it.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.sweep.run_batches import DEFAULT_SIZES, Batch, BatchSizes, plan_batches
from pipeline.sweep.run_groups import RunGroup
from pipeline.sweep.stop_rule import StopRule
from pipeline.worker import SweepInputs, pickle_assignors
from scenarios.language.errors import SweepError
from scenarios.sweeps.prepared import PreparedSweep
from simulator.model_version import MODEL_VERSION


def sweep_manifest(prepared: PreparedSweep, tables: Sequence[str], stop_rule: StopRule | None = None) -> dict[str, Any]:
    """Return the manifest of a sweep as a JSON-serializable mapping.

    Its `identity` is equal for sweeps with the same runs and tables. `stop_rule`: when the seeds of a pair stop; None
    for all declared seeds.
    """
    sweep, scenario, labels, imports = prepared.sweep, prepared.scenario, prepared.labels, prepared.imports
    world = _digest([version("assignor-sim"), MODEL_VERSION, scenario.text, imports])
    content = {
        "kind": "sweep",
        "name": sweep.name,
        "text": sweep.text,
        "scenario": {
            "name": scenario.name,
            "text": scenario.text,
            "sha256": hashlib.sha256(scenario.text.encode()).hexdigest(),
            "imports": imports,
        },
        "world": world,
        "factors": [
            {
                "name": factor.name,
                "paths": list(factor.paths),
                "kind": "number" if factor.is_number else "text",
                "unit": factor.unit,
            }
            for factor in sweep.factors
        ],
        "changes": [list(change) for change in sweep.changes],
        "settings": len(sweep.settings),
        "assignors": list(labels),
        "seeds": list(sweep.seeds),
        "baseline": sweep.baseline or labels[0],
        "tables": list(tables),
        "runs": len(sweep.settings) * len(labels) * len(sweep.seeds),
    }
    if stop_rule is not None:
        content["until_significant"] = stop_rule.record()
    packages = ("assignor-sim", "numpy", "ortools", "pyarrow", "pyspark", "simpy")
    versions = {"python": platform.python_version(), **{name: version(name) for name in packages}}
    settings = _digest([sweep.overrides(setting) for setting in sweep.settings])
    return {
        **content,
        "identity": _digest([world, settings, content]),
        "command": prepared.command,
        "versions": versions,
    }


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


ALWAYS_WRITTEN = ("runs", "rounds")
"""Tables that every sweep writes."""


@dataclass(frozen=True, eq=False)
class SweepJob:
    """A sweep that is ready for Spark.

    Attributes:
        sweep_inputs: inputs that all runs share.
        batch_sizes: minimum sizes of batches and chunks.
        stop_rule: when the seeds of a pair stop; None for all declared seeds.
    """

    prepared: PreparedSweep
    sweep_inputs: SweepInputs
    batch_sizes: BatchSizes
    stop_rule: StopRule | None = None

    @classmethod
    def of(
        cls,
        prepared: PreparedSweep,
        batch_sizes: BatchSizes = DEFAULT_SIZES,
        stop_rule: StopRule | None = None,
    ) -> SweepJob:
        """Return the job of a sweep.

        `batch_sizes`: minimum sizes of batches and chunks. `stop_rule`: when the seeds of a pair stop; None for all
        declared seeds. Raises SweepError if an assignor cannot be pickled.
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
        return cls(prepared, sweep_inputs, batch_sizes, stop_rule)

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """Return the manifest."""
        return sweep_manifest(self.prepared, self.sweep_inputs.tables, self.stop_rule)

    @cached_property
    def batches(self) -> list[Batch]:
        """Return all runs in the order of execution."""
        return self.all_runs.batches

    @cached_property
    def all_runs(self) -> RunGroup:
        """Return all declared runs as one group."""
        return self.group(np.arange(self.prepared.run_ms.size), range(len(self.prepared.sweep.seeds)))

    def group(self, cells: NDArray[np.int64], seeds: range, first_number: int = 0) -> RunGroup:
        """Return some runs as a group.

        `cells`: numbers of the cells, by setting, then assignor, ascending; `seeds`: places of the seeds among the
        declared ones.
        """
        prepared = self.prepared
        batches = plan_batches(np.repeat(prepared.run_ms.ravel()[cells], len(seeds)), self.batch_sizes)
        numbered = [replace(batch, number=first_number + batch.number) for batch in batches]
        return RunGroup(cells, seeds, len(prepared.sweep.seeds), numbered)
