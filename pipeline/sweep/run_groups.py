"""Groups of runs of a sweep: a range of the declared seeds in some cells, divided into batches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pipeline.sweep.batches import Batch


@dataclass(frozen=True, slots=True, eq=False)
class RunGroup:
    """Some runs of a sweep, numbered from 0 by cell, then seed; the chunks of its batches have these numbers.

    Attributes:
        cells: numbers of the cells, by setting, then assignor, ascending.
        seeds: places of the seeds among the declared ones.
        declared_seeds: number of declared seeds.
        batches: its batches in the order of execution.
    """

    cells: NDArray[np.int64]
    seeds: range
    declared_seeds: int
    batches: list[Batch]

    @property
    def runs(self) -> int:
        """Return the number of runs."""
        return len(self.cells) * len(self.seeds)

    def place(self, run: int) -> tuple[int, int]:
        """Return the cell of a run, and the place of its seed among the declared ones."""
        cell, seed = divmod(run, len(self.seeds))
        return int(self.cells[cell]), self.seeds[seed]

    def position(self, run: int) -> int:
        """Return the number of a run in the whole sweep."""
        cell, seed = self.place(run)
        return cell * self.declared_seeds + seed
