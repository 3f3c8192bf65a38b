"""Preparation of a sweep: everything that is checked and predicted before it runs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assignors.containment.limits import DEFAULT_LIMITS, CallLimits
from assignors.registry import AssignorLike
from scenarios.language.errors import ScenarioError, SweepError, format_value
from scenarios.load import AssignorSpec, PackedImports, Scenario, assignor_specs, load, pack_imports
from scenarios.run_estimate import predict_run_ms
from scenarios.sweeps.design import Sweep
from simulator.plurals import counted

_MAX_LOADED_VALUES = 8
"""Maximum number of values per numeric factor for which the scenario is loaded.

Other values use the prediction for the nearest loaded value. The smallest and the largest are loaded.
"""


@dataclass(frozen=True, eq=False)
class PreparedSweep:
    """A sweep that is ready to run.

    `scenario`: in the first setting. `assignors`: in place of the sweep's; empty for the sweep's. `imports`: SHA-256 of
    each file that the scenario imports in any setting, by its name there; `packed_imports`: those files. `run_ms`:
    shape (settings, assignors); predicted time per run. `warnings`: error messages for invalid factor values.
    """

    sweep: Sweep
    scenario: Scenario
    assignors: tuple[AssignorLike, ...]
    labels: tuple[str, ...]
    imports: dict[str, str]
    packed_imports: PackedImports
    run_ms: NDArray[np.float64]
    command: str
    warnings: tuple[str, ...]
    limits: CallLimits = DEFAULT_LIMITS

    @property
    def total(self) -> int:
        """Return the number of runs."""
        return len(self.sweep.settings) * len(self.labels) * len(self.sweep.seeds)

    @property
    def remarks(self) -> Iterator[str]:
        """Yield the warnings and notes, one line each."""
        yield from self.scenario.remarks
        for warning in self.warnings:
            yield f"warning: runs with this value will fail: {warning}"

    def __str__(self) -> str:
        factors = (("setting", self.sweep.settings), ("assignor", self.labels), ("seed", self.sweep.seeds))
        product = " × ".join(counted(len(values), noun) for noun, values in factors)
        return f"{self.sweep.name}: {product} = {counted(self.total, 'run')}"


def prepare_sweep(
    sweep: Sweep, assignors: Sequence[AssignorLike] = (), command: str = "", limits: CallLimits = DEFAULT_LIMITS
) -> PreparedSweep:
    """Load the scenario of a sweep and predict its run times.

    The scenario is loaded in the first setting, then with the other values of each factor, one factor at a time. The
    effects of the factors on the run time are multiplied. `assignors`: assignors in place of the sweep's; names may
    import code. `command`: the command line, for the manifest. `limits`: limits of custom assignors. Raises SweepError
    if the baseline is not one of the assignors, or an assignor does not have the release of a factor.
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
    _check_releases(sweep, specs)
    base_ms = np.array([predict_run_ms(scenario, spec) for spec in specs])
    run_ms = np.tile(base_ms, (len(sweep.settings), 1))
    imports = dict(scenario.imports)
    warnings: list[str] = []
    for overrides, rows in variants:
        try:
            varied = load(sweep.scenario, overrides, sweep.name_override)
        except ScenarioError as error:
            warnings.append(str(error))
        else:
            imports |= dict(varied.imports)
            varied_specs = assignor_specs(varied, names, may_import=may_import)
            run_ms[rows] *= np.array([predict_run_ms(varied, spec) for spec in varied_specs]) / base_ms
    packed = pack_imports(sweep.scenario.parent.resolve(), sorted(imports))
    return PreparedSweep(
        sweep, scenario, tuple(assignors), labels, imports, packed, run_ms, command, tuple(warnings), limits
    )


def _check_releases(sweep: Sweep, specs: Sequence[AssignorSpec]) -> None:
    """Reject a factor that sets a release of the scenario if an assignor states its own, on which it has no effect.

    Raises SweepError if there is such a factor.
    """
    for factor in sweep.factors:
        for path, runner in (("cluster.kafka", "brokers"), ("application.kafka", "clients")):
            own = [spec.label for spec in specs if runner in spec.states]
            if path in factor.paths and own:
                names = ", ".join(format_value(label) for label in own)
                raise SweepError(
                    f"{sweep.file}: factor '{factor.name}': {path} has no effect on {names}: kafka of the assignor "
                    "states the release; remove kafka there, or vary it (assignors[0].kafka)"
                )


def _variants(sweep: Sweep) -> Iterator[tuple[list[tuple[str, str]], NDArray[np.int64]]]:
    """Yield the first setting with each other loaded value of a factor, as overrides of the scenario.

    With them come the rows of the settings with this value of the factor, or with one that is predicted like it.
    """
    first = sweep.settings[0]
    for index, factor in enumerate(sweep.factors):
        values = {repr(setting[index]): setting[index] for setting in sweep.settings}
        nearest = _nearest_loaded(values) if factor.is_number else {key: key for key in values}
        rows: dict[str, list[int]] = {key: [] for key in nearest.values()}
        for row, setting in enumerate(sweep.settings):
            rows[nearest[repr(setting[index])]].append(row)
        for key in values:
            if key in rows:
                setting = (*first[:index], values[key], *first[index + 1 :])
                yield sweep.overrides(setting), np.array(rows[key])


def _nearest_loaded(values: Mapping[str, Any]) -> dict[str, str]:
    """Return the key of the loaded number by which each one is predicted: itself, or the nearest one.

    The smallest and the largest number are loaded, so that the prediction knows the most expensive value of a factor
    that makes runs more expensive. Null counts as the smallest.
    """
    ordered = sorted(values, key=lambda key: (values[key] is not None, values[key] or 0))
    if len(ordered) <= _MAX_LOADED_VALUES:
        return {key: key for key in values}
    last = _MAX_LOADED_VALUES - 1
    loaded = [ordered[i * (len(ordered) - 1) // last] for i in range(_MAX_LOADED_VALUES)]

    def distance(key: str, other: str) -> float:
        return abs(float(values[key]) - float(values[other])) if None not in (values[key], values[other]) else math.inf

    return {key: key if key in loaded else min(loaded, key=lambda other: distance(key, other)) for key in values}
