"""Preparation of a sweep: everything that is checked and predicted before Spark starts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assignors.registry import AssignorLike
from pipeline.sweep.batches import DEFAULT_SIZES, Batch, BatchSizes, plan_batches
from pipeline.sweep.design import Sweep
from pipeline.sweep.errors import SweepError
from pipeline.sweep.manifest import sweep_manifest
from pipeline.worker import SweepInputs, pickle_assignors
from scenarios.assignor_specs import assignor_specs
from scenarios.language.errors import ScenarioError
from scenarios.load import Scenario, load
from scenarios.packed_imports import pack_imports
from scenarios.run_time import predict_run_ms

ALWAYS_WRITTEN = ("runs", "rounds")
"""Tables that every sweep writes."""

_MAX_LOADED_VALUES = 8
"""Maximum number of values per numeric factor for which the scenario is loaded.

Other values use the prediction for the nearest loaded value.
"""


@dataclass(frozen=True, eq=False)
class PreparedSweep:
    """A sweep that is ready to run.

    Attributes:
        sweep: the sweep file.
        scenario: the scenario in the first setting.
        sweep_inputs: inputs that all runs share.
        labels: labels of the assignors.
        imports: SHA-256 of each file that the scenario imports in any setting, by its name there.
        run_ms: shape (settings, assignors); predicted time per run.
        command: the command line.
        warnings: error messages for invalid factor values.
        batch_sizes: minimum sizes of batches and chunks.
    """

    sweep: Sweep
    scenario: Scenario
    sweep_inputs: SweepInputs
    labels: tuple[str, ...]
    imports: dict[str, str]
    run_ms: NDArray[np.float64]
    command: str
    warnings: tuple[str, ...]
    batch_sizes: BatchSizes = DEFAULT_SIZES

    @property
    def total(self) -> int:
        """Return the number of runs."""
        return len(self.sweep.settings) * len(self.labels) * len(self.sweep.seeds)

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """Return the manifest."""
        return sweep_manifest(self.sweep, self.scenario, self.labels, self.imports, self.sweep_inputs, self.command)

    @cached_property
    def batches(self) -> list[Batch]:
        """Return the runs in the order of execution."""
        return plan_batches(np.repeat(self.run_ms.ravel(), len(self.sweep.seeds)), self.batch_sizes)

    @property
    def remarks(self) -> Iterator[str]:
        """Yield the warnings and notes, one line each."""
        yield from self.scenario.remarks
        for warning in self.warnings:
            yield f"warning: runs with this value will fail: {warning}"

    def __str__(self) -> str:
        settings, labels, seeds = len(self.sweep.settings), len(self.labels), len(self.sweep.seeds)
        return (
            f"{self.sweep.name}: {settings:,} settings × {labels:,} assignors × {seeds:,} seeds = {self.total:,} runs"
        )


def prepare_sweep(
    sweep: Sweep,
    assignors: Sequence[AssignorLike] = (),
    command: str = "",
    batch_sizes: BatchSizes = DEFAULT_SIZES,
) -> PreparedSweep:
    """Load the scenario of a sweep and predict its run times, without Spark.

    The scenario is loaded in the first setting, then with the other values of each factor, one factor at a time. The
    effects of the factors on the run time are multiplied.

    Args:
        sweep: the sweep.
        assignors: assignors in place of the sweep's; names may import code.
        command: the command line, for the manifest.
        batch_sizes: minimum sizes of batches and chunks.

    Returns:
        The prepared sweep.

    Raises:
        ScenarioError: the first setting is invalid.
        UnknownAssignorError: an assignor is unknown.
        SweepError: the baseline is not one of the assignors, or an assignor cannot be pickled.
    """
    first, variants = sweep.overrides(sweep.settings[0]), list(_variants(sweep))
    names, may_import = assignors or sweep.assignors, bool(assignors)
    scenario = load(sweep.scenario, first, sweep.name_override)
    specs = assignor_specs(scenario, names, may_import=may_import)
    labels = tuple(spec.label for spec in specs)
    if sweep.baseline not in (None, *labels):
        known = ", ".join(labels)
        raise SweepError(
            f"{sweep.file}: baseline: '{sweep.baseline}' is not an assignor of the sweep (assignors: {known})"
        )
    base_ms = np.array([predict_run_ms(scenario, spec) for spec in specs])
    run_ms = np.tile(base_ms, (len(sweep.settings), 1))
    imports = dict(scenario.imports)
    warnings: list[str] = []
    for variant in variants:
        try:
            varied = load(sweep.scenario, variant.overrides, sweep.name_override)
        except ScenarioError as error:
            warnings.append(str(error))
        else:
            imports |= dict(varied.imports)
            varied_specs = assignor_specs(varied, names, may_import=may_import)
            run_ms[variant.settings] *= np.array([predict_run_ms(varied, spec) for spec in varied_specs]) / base_ms
    packed = pack_imports(sweep.scenario.parent.resolve(), sorted(imports))
    try:
        pickled = pickle_assignors(assignors, labels) if assignors else ()
    except ValueError as error:
        raise SweepError(str(error)) from error
    sweep_inputs = SweepInputs(
        name=str(sweep.scenario.name),
        text=scenario.text,
        folder=str(packed.folder),
        files=tuple(sorted(packed.files.items())),
        tables=(*ALWAYS_WRITTEN, *sweep.tables),
        assignors=pickled,
    )
    return PreparedSweep(sweep, scenario, sweep_inputs, labels, imports, run_ms, command, tuple(warnings), batch_sizes)


@dataclass(frozen=True, slots=True, eq=False)
class _Variant:
    """The first setting with another value of one factor.

    Attributes:
        overrides: the overrides of the scenario.
        settings: rows of the settings with this value of the factor, or with one that is predicted like it.
    """

    overrides: list[tuple[str, str]]
    settings: NDArray[np.int64]


def _variants(sweep: Sweep) -> Iterator[_Variant]:
    """Yield the variants for which the scenario is loaded."""
    first = sweep.settings[0]
    for index, factor in enumerate(sweep.factors):
        values = {repr(setting[index]): setting[index] for setting in sweep.settings}
        keys = list(values)
        loaded = _evenly_spaced(keys) if factor.is_number else keys
        nearest = {key: loaded[place * len(loaded) // len(keys)] for place, key in enumerate(keys)}
        rows: dict[str, list[int]] = {key: [] for key in loaded}
        for row, setting in enumerate(sweep.settings):
            rows[nearest[repr(setting[index])]].append(row)
        for key in loaded:
            setting = (*first[:index], values[key], *first[index + 1 :])
            yield _Variant(sweep.overrides(setting), np.array(rows[key]))


def _evenly_spaced(keys: list[str]) -> list[str]:
    """Return evenly spaced keys, at most `_MAX_LOADED_VALUES`."""
    if len(keys) <= _MAX_LOADED_VALUES:
        return keys
    return [keys[i * len(keys) // _MAX_LOADED_VALUES] for i in range(_MAX_LOADED_VALUES)]
