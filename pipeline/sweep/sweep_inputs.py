"""Packing of the scenario of a sweep with its files, so that workers on any machine can load it."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.sweep.design import Sweep
from pipeline.worker import SweepInputs
from scenarios.packed_imports import pack_imports


def pack_sweep_inputs(sweep: Sweep, text: str, names: Sequence[str], tables: Sequence[str]) -> SweepInputs:
    """Pack the scenario of a sweep with the files that it imports.

    Files with absolute paths are not packed; they must exist on every machine.

    Args:
        sweep: the sweep.
        text: YAML of the scenario.
        names: paths of the imported files, as in the scenario.
        tables: names of the result tables.

    Returns:
        What all runs of the sweep have in common.
    """
    packed = pack_imports(sweep.scenario.parent.resolve(), names)
    return SweepInputs(
        name=str(sweep.scenario.name),
        text=text,
        folder=str(packed.folder),
        files=tuple(sorted(packed.files.items())),
        tables=tuple(tables),
    )
