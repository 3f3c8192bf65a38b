"""Preparation of a sweep: everything that is checked and predicted before it runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assignors.containment.limits import DEFAULT_LIMITS, CallLimits
from assignors.registry import AssignorLike
from scenarios.assignor_specs import assignor_specs
from scenarios.language.errors import ScenarioError
from scenarios.load import Scenario, load
from scenarios.packed_imports import PackedImports, pack_imports
from scenarios.run_time import predict_run_ms
from scenarios.sweeps.design import Sweep
from scenarios.sweeps.errors import SweepError

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
        assignors: assignors in place of the sweep's; empty for the sweep's.
        labels: labels of the assignors.
        imports: SHA-256 of each file that the scenario imports in any setting, by its name there.
        packed_imports: those files.
        run_ms: shape (settings, assignors); predicted time per run.
        command: the command line.
        warnings: error messages for invalid factor values.
        limits: limits of custom assignors.
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
        product = " × ".join(_counted(len(values), noun) for noun, values in factors)
        return f"{self.sweep.name}: {product} = {_counted(self.total, 'run')}"


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def prepare_sweep(
    sweep: Sweep, assignors: Sequence[AssignorLike] = (), command: str = "", limits: CallLimits = DEFAULT_LIMITS
) -> PreparedSweep:
    """Load the scenario of a sweep and predict its run times.

    The scenario is loaded in the first setting, then with the other values of each factor, one factor at a time. The
    effects of the factors on the run time are multiplied.

    Args:
        sweep: the sweep.
        assignors: assignors in place of the sweep's; names may import code.
        command: the command line, for the manifest.
        limits: limits of custom assignors.

    Returns:
        The prepared sweep.

    Raises:
        ScenarioError: the first setting is invalid.
        UnknownAssignorError: an assignor is unknown.
        SweepError: the baseline is not one of the assignors.
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
    return PreparedSweep(
        sweep, scenario, tuple(assignors), labels, imports, packed, run_ms, command, tuple(warnings), limits
    )


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
