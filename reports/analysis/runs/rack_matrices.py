"""What went from rack to rack in the whole run, as a matrix an assignor: all together, and kind by kind."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reports.analysis.cells import Cell
from reports.analysis.comparison import Tables
from reports.analysis.formatting import format_bytes
from reports.analysis.grids import NO_RACK, cost_note, price_of
from reports.analysis.runs.breakdowns import TRAFFIC_KINDS, Key, assignor_label, runs_by_assignor, traffic_bytes

ALL = "all"
"""Stands for all kinds together."""

HEAT_STEPS = 10

Sent = Mapping[tuple[str, str], float]
"""Bytes by from where and to where."""


@dataclass(frozen=True, slots=True)
class RackMatrix:
    """What an assignor's run sent from rack to rack; of several seeds the mean.

    Attributes:
        label: names the assignor.
        racks: the names of rows (from) and columns (to).
        cells: for each pair what was sent; a note says what it cost.
        heat: for each pair its share in the most that went between different racks in any run, from 0 to `HEAT_STEPS`.
        bytes_by_kind: the same bytes kind by kind; `ALL` is the sum of the others.
        price: what a byte between racks costs, None if that is not known.
    """

    label: str
    racks: tuple[str, ...]
    cells: tuple[tuple[Cell, ...], ...]
    heat: tuple[tuple[int, ...], ...]
    bytes_by_kind: Mapping[str, Sequence[Sequence[float]]]
    price: float | None

    def as_data(self) -> dict[str, Any]:
        """What the page needs to show one kind after another; `nowhere` are places in `racks` that are none."""
        nowhere = [place for place, rack in enumerate(self.racks) if rack == NO_RACK]
        return {"nowhere": nowhere, "price": self.price, "kinds": self.bytes_by_kind}


def rack_matrices(tables: Tables) -> list[RackMatrix]:
    """A matrix for each assignor that sent anything, in the order of `runs`.

    Raises:
        TableError: there is no table `runs` or `traffic`.
    """
    runs = runs_by_assignor(tables)
    sums: dict[Key, dict[str, dict[tuple[str, str], float]]] = {key: {ALL: {}} for key in runs}
    for key, kind, source, target, carried in traffic_bytes(tables):
        pair = (NO_RACK if source is None else source, NO_RACK if target is None else target)
        for name in (ALL, kind):
            sent = sums[key].setdefault(name, {})
            sent[pair] = sent.get(pair, 0.0) + carried / len(runs[key])
    most = (
        max((sent for one in sums.values() for pair, sent in one[ALL].items() if _crosses(*pair)), default=0.0) or 1.0
    )
    return [_matrix(assignor_label(key, runs), sums[key], price_of(runs[key]), most) for key in runs if sums[key][ALL]]


def kinds_in(matrices: Sequence[RackMatrix]) -> list[tuple[str, str]]:
    """The kinds that any of them has, with their titles."""
    return [
        (kind, title) for kind, title in TRAFFIC_KINDS.items() if any(kind in one.bytes_by_kind for one in matrices)
    ]


def _matrix(label: str, sums: Mapping[str, Sent], price: float | None, most: float) -> RackMatrix:
    named = {rack for pair in sums[ALL] for rack in pair}
    racks = tuple(sorted(named, key=lambda rack: (rack == NO_RACK, rack)))
    in_rows = {kind: [[sent.get((one, other), 0.0) for other in racks] for one in racks] for kind, sent in sums.items()}
    pairs = [[(source, target) for target in racks] for source in racks]
    every = sums[ALL]
    return RackMatrix(
        label=label,
        racks=racks,
        cells=tuple(
            tuple(_cell(every.get(pair, 0.0), price if _crosses(*pair) else None) for pair in row) for row in pairs
        ),
        heat=tuple(
            tuple(math.ceil(HEAT_STEPS * every.get(pair, 0.0) / most) if _crosses(*pair) else 0 for pair in row)
            for row in pairs
        ),
        bytes_by_kind={kind: [[round(sent) for sent in row] for row in rows] for kind, rows in in_rows.items()},
        price=price,
    )


def _cell(sent: float, price: float | None) -> Cell:
    return Cell(format_bytes(sent), cost_note(sent, price), sent)


def _crosses(source: str, target: str) -> bool:
    return source != target and NO_RACK not in (source, target)
