"""Bytes sent from rack to rack in the whole run: one matrix per assignor, in total and by kind of traffic."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reports.analysis.cells import HEAT_STEPS, NO_RACK, Cell
from reports.analysis.comparison import Tables
from reports.analysis.formatting import format_bytes
from reports.analysis.runs.breakdowns import TRAFFIC_KINDS, Key, assignor_label, runs_by_assignor, traffic_bytes

ALL = "all"
"""Key of the sum over all kinds of traffic."""

Sent = Mapping[tuple[str, str], float]
"""Bytes by source rack and target rack."""


@dataclass(frozen=True, slots=True)
class RackMatrix:
    """Bytes that the runs of an assignor sent from rack to rack, mean over seeds.

    Attributes:
        label: label of the assignor.
        racks: names of rows (source) and columns (target).
        cells: bytes of each pair, formatted.
        heat: bytes of each cross-rack pair relative to the maximum of all assignors, from 0 to `HEAT_STEPS`.
        bytes_by_kind: bytes of each pair by kind of traffic; `ALL` is the sum.
    """

    label: str
    racks: tuple[str, ...]
    cells: tuple[tuple[Cell, ...], ...]
    heat: tuple[tuple[int, ...], ...]
    bytes_by_kind: Mapping[str, Sequence[Sequence[float]]]

    def as_data(self) -> dict[str, Any]:
        """Return the data with which the page shows single kinds; `unknown_racks` are indices of racks."""
        unknown_racks = [index for index, rack in enumerate(self.racks) if rack == NO_RACK]
        return {"unknown_racks": unknown_racks, "kinds": self.bytes_by_kind}


def rack_matrices(tables: Tables) -> list[RackMatrix]:
    """Return a matrix for each assignor with traffic, in the order of the table `runs`."""
    runs = runs_by_assignor(tables)
    sums: dict[Key, dict[str, dict[tuple[str, str], float]]] = {key: {ALL: {}} for key in runs}
    for key, kind, source, target, bytes_ in traffic_bytes(tables):
        pair = (NO_RACK if source is None else source, NO_RACK if target is None else target)
        for name in (ALL, kind):
            sent = sums[key].setdefault(name, {})
            sent[pair] = sent.get(pair, 0.0) + bytes_ / len(runs[key])
    maximum = (
        max((sent for kinds in sums.values() for pair, sent in kinds[ALL].items() if _crosses(*pair)), default=0.0)
        or 1.0
    )
    return [_matrix(assignor_label(key, runs), sums[key], maximum) for key in runs if sums[key][ALL]]


def kinds_in(matrices: Sequence[RackMatrix]) -> list[tuple[str, str]]:
    """Return the kinds of traffic in any of the matrices, with their titles."""
    return [
        (kind, title)
        for kind, title in TRAFFIC_KINDS.items()
        if any(kind in matrix.bytes_by_kind for matrix in matrices)
    ]


def _matrix(label: str, sums: Mapping[str, Sent], maximum: float) -> RackMatrix:
    names = {rack for pair in sums[ALL] for rack in pair}
    racks = tuple(sorted(names, key=lambda rack: (rack == NO_RACK, rack)))
    sent_by_kind = {
        kind: [[sent.get((source, target), 0.0) for target in racks] for source in racks] for kind, sent in sums.items()
    }
    pairs = [[(source, target) for target in racks] for source in racks]
    totals = sums[ALL]
    return RackMatrix(
        label=label,
        racks=racks,
        cells=tuple(tuple(_cell(totals.get(pair, 0.0)) for pair in row) for row in pairs),
        heat=tuple(
            tuple(math.ceil(HEAT_STEPS * totals.get(pair, 0.0) / maximum) if _crosses(*pair) else 0 for pair in row)
            for row in pairs
        ),
        bytes_by_kind={kind: [[round(sent) for sent in row] for row in rows] for kind, rows in sent_by_kind.items()},
    )


def _cell(sent: float) -> Cell:
    return Cell(format_bytes(sent), (), sent)


def _crosses(source: str, target: str) -> bool:
    return source != target and NO_RACK not in (source, target)
