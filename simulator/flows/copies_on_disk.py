"""Which copies of task state exist on the disks of clients, be they assigned or not, and which are to be deleted.

An assigned copy exists even if it has read nothing yet. So does an empty copy that existed at the start or whose
changelog is empty. A client deletes copies that were unassigned for longer than `state.cleanup.delay.ms`.

Source: `TaskManager.taskOffsetSums`, which reports the offset sum 0 for an empty copy; `StateDirectory`.
"""

from __future__ import annotations

import numpy as np

from assignors.model.columns import BoolArray, IntArray, cells
from simulator.flows.copy_positions import CopyPositions

_NEVER_MS = np.iinfo(np.int64).max


class CopiesOnDisk:
    """The copies of T tasks on N clients.

    Attributes:
        is_empty: shape (T, N); which copies exist although they hold nothing, assigned ones aside.
    """

    def __init__(self, positions: CopyPositions, stateful: BoolArray) -> None:
        """Create empty disks.

        Args:
            positions: the positions of the copies, and which of them are assigned.
            stateful: shape (T,); which tasks are stateful.
        """
        self._positions = positions
        self._stateful = stateful
        self.is_empty: BoolArray = np.zeros(positions.shape, dtype=np.bool_)
        self._idle_since_ms: IntArray = np.zeros(positions.shape, dtype=np.int64)
        self._existing: BoolArray | None = None
        self._existing_cells: tuple[IntArray, IntArray] | None = None

    def note_change(self) -> None:
        """Note that copies were assigned, closed, loaded or deleted, before that is looked at."""
        self._existing = self._existing_cells = None

    def existing(self) -> BoolArray:
        """Return which copies exist, shape (T, N); not to be changed."""
        if self._existing is None:
            existing: BoolArray = self._positions.table > 0
            existing |= self.is_empty
            existing.reshape(-1)[self._positions.cells] = True
            existing[~self._stateful] = False
            self._existing, self._existing_cells = existing, None
        return self._existing

    def existing_cells(self) -> tuple[IntArray, IntArray]:
        """Return the tasks and clients of all copies that exist, by task."""
        if self._existing is None or self._existing_cells is None:
            self._existing_cells = cells(self.existing())
        return self._existing_cells

    def close(self, tasks: IntArray, clients: IntArray, now_ms: int) -> None:
        """Note from when on copies are unassigned."""
        self._idle_since_ms[tasks, clients] = now_ms

    def stop_client(self, client: int) -> None:
        """Stop a client, which deletes nothing until it starts."""
        self._idle_since_ms[:, client] = _NEVER_MS

    def start_client(self, client: int, now_ms: int) -> None:
        """Start a client; the cleanup delay of the copies on its disk begins."""
        self._idle_since_ms[:, client] = now_ms

    def delete(self, tasks: IntArray | slice, clients: IntArray | int) -> None:
        """Delete copies."""
        self.note_change()
        self._positions.table[tasks, clients] = 0.0
        self.is_empty[tasks, clients] = False

    def expired(self, before_ms: int) -> tuple[IntArray, IntArray]:
        """Return the tasks and clients of copies that have been unassigned since before a time."""
        tasks, clients = self.existing_cells()
        is_expired = self._idle_since_ms[tasks, clients] < before_ms
        is_expired &= ~self._positions.is_assigned().take(tasks * self.is_empty.shape[1] + clients)
        return tasks[is_expired], clients[is_expired]
