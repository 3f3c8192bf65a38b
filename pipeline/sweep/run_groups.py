"""Groups of runs of a sweep: a range of the declared seeds in some cells, divided into batches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pipeline.sweep.run_batches import Batch, Chunk


@dataclass(frozen=True, slots=True, eq=False)
class RunGroup:
    """Some runs of a sweep, numbered from 0 by cell, then seed; the chunks of its batches have these numbers.

    Attributes:
        cells: numbers of the cells, by setting, then assignor, ascending.
        seeds: places of the seeds among the declared ones.
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

    def cells_of(self, chunk: Chunk) -> Iterator[tuple[int, int, range]]:
        """Yield the runs of a chunk, cell by cell.

        Yields the number of the first run in the whole sweep, the cell, and the places of the seeds among the declared
        ones.
        """
        run = chunk.start
        while run < chunk.stop:
            index, place = divmod(run, len(self.seeds))
            cell = int(self.cells[index])
            places = self.seeds[place : place + chunk.stop - run]
            yield cell * self.declared_seeds + places[0], cell, places
            run += len(places)
