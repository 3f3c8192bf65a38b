"""What all runs of a sweep have in common, packed so that it can travel to any machine."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.sweep.design import Sweep
from pipeline.worker import SweepInputs
from scenarios.packed_imports import pack_imports


def pack_sweep_inputs(sweep: Sweep, text: str, names: Sequence[str], tables: Sequence[str]) -> SweepInputs:
    """Pack the scenario of a sweep with the files that it names.

    Files that are named by an absolute path do not travel: they have to lie there on every machine.

    Args:
        sweep: whose scenario it is.
        text: of the scenario.
        names: the files that it names, as it names them.
        tables: what is wanted of each run.
    """
    packed = pack_imports(sweep.scenario.parent.resolve(), names)
    return SweepInputs(
        name=str(sweep.scenario.name),
        text=text,
        folder=str(packed.folder),
        files=tuple(sorted(packed.files.items())),
        tables=tuple(tables),
    )
