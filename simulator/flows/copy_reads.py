"""What the assigned copies read from their changelogs: by copy since the last call, and in total to catch up."""

from __future__ import annotations

import numpy as np

from assignors.model.columns import IntArray
from simulator.flows.assigned_copies import AssignedCopies
from simulator.flows.traffic import TrafficKind
from simulator.world.layout import FloatArray


class CopyReads:
    """The bytes that K assigned copies read.

    Attributes:
        read_bytes: shape (2, K); the bytes since the last `take`: of copies that are behind, and of other standbys.
        restored_bytes: bytes read so far to catch up.
        restored_again_bytes: the part of `restored_bytes` that the same client had held before and lost.
    """

    def __init__(self) -> None:
        self.restored_bytes = 0.0
        self.restored_again_bytes = 0.0
        self.select(AssignedCopies.none())

    def select(self, copies: AssignedCopies) -> None:
        """Set which copies are assigned; what others read since the last `take` is forgotten."""
        self._copies = copies
        self._has_inactive = not copies.active.all()
        self.read_bytes: FloatArray = np.zeros((2, len(copies)), dtype=np.float64)

    def restore(self, read_bytes: FloatArray, again_bytes: FloatArray | None) -> None:
        """Count what copies read in one step in time to catch up.

        `read_bytes`, shape (K,): the bytes of each copy, 0 for one that has caught up. `again_bytes`, shape (K,): the
        part of them that it had held before; None for nothing.
        """
        self.restored_bytes += float(np.add.reduce(read_bytes))
        if again_bytes is not None:
            self.restored_again_bytes += float(np.add.reduce(again_bytes))

    def take(self) -> list[tuple[TrafficKind, FloatArray, IntArray, IntArray]]:
        """Return the reads of copies since the last call: kind, bytes (K,), tasks (K,), clients (K,)."""
        behind, follows = self.read_bytes
        active, task, client = self._copies.active, self._copies.task, self._copies.client
        self.read_bytes = np.zeros((2, len(self._copies)), dtype=np.float64)
        kinds = [(TrafficKind.RESTORE_READ, behind * active)]
        if self._has_inactive:
            kinds += [(TrafficKind.WARMUP_READ, behind * ~active), (TrafficKind.STANDBY_READ, follows)]
        reads = []
        for kind, read in kinds:
            (places,) = (read > 0).nonzero()
            if len(places):
                reads.append((kind, read[places], task[places], client[places]))
        return reads
