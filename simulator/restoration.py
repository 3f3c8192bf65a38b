"""State: how far each client's copy of each task is, and how copies catch up.

Every stateful task has one changelog, counted in bytes: it grows while the task runs. A client holds a copy up to some
position. Copies that are behind read the changelog at a fair share of the client's bandwidth; copies that are level
read what is written. Actives that restore go before standbys, as Kafka's state updater has it.

The model is a fluid: between two changes every rate is constant, so positions are straight lines.

Source: KIP-441 (lags), `DefaultStateUpdater` and `StoreChangelogReader` (active restoration pauses standbys).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from assignors.columns import BoolArray, IntArray
from assignors.state import LATEST_OFFSET, NO_LAG
from simulator.layout import FloatArray, Layout

_LEVEL_BYTES = 0.5


class Restoration:
    """The copies of all tasks (T, rows of the layout) on all clients that ever take part (N, in the world's order).

    Attributes:
        restored_bytes: what was read so far to catch up.
        down_ms: shape (T,); for how long each task has not been processed so far.
    """

    def __init__(self, layout: Layout, restore_bytes_per_s: Iterable[int]) -> None:
        self._bandwidth = np.array(list(restore_bytes_per_s), dtype=np.float64)
        shape = (len(layout.tasks), len(self._bandwidth))
        self._stateful = layout.tasks.stateful
        self._write_rate = layout.state_bytes_per_s
        self._record_bytes = layout.record_bytes
        self._end: FloatArray = layout.state_bytes.copy()
        self._held: FloatArray = np.zeros(shape, dtype=np.float64)
        self._active: BoolArray = np.zeros(shape, dtype=np.bool_)
        self._standby: BoolArray = np.zeros(shape, dtype=np.bool_)
        self._rate: FloatArray = np.zeros(shape, dtype=np.float64)
        self._catching_up: BoolArray = np.zeros(shape, dtype=np.bool_)
        self._running: BoolArray = np.zeros(shape[0], dtype=np.bool_)
        self._idle_since_ms: IntArray = np.zeros(shape, dtype=np.int64)
        self._now_ms = 0
        self.restored_bytes = 0.0
        self.down_ms: IntArray = np.zeros(shape[0], dtype=np.int64)

    @property
    def active(self) -> BoolArray:
        """Shape (T, N); whether the client was given the task to run."""
        return self._active

    @property
    def running(self) -> BoolArray:
        """Shape (T,); whether the task is processed: it has an owner, and its state is there."""
        return self._running

    def advance(self, now_ms: int) -> None:
        """Let time pass."""
        passed_ms = now_ms - self._now_ms
        if passed_ms <= 0:
            return
        self._now_ms = now_ms
        seconds = passed_ms / 1000
        self.down_ms += ~self._running * passed_ms
        self._end += self._write_rate * (self._running & self._stateful) * seconds
        read = np.minimum(self._rate * seconds, np.maximum(self._end[:, None] - self._held, 0.0))
        self._held += read
        self.restored_bytes += float((read * self._catching_up).sum())
        self._settle()

    def assign(self, active: IntArray, standby: BoolArray) -> None:
        """Give the clients other tasks.

        Args:
            active: shape (T,); the client that runs each task, -1 if none.
            standby: shape (T, N).
        """
        before = self._active | self._standby
        self._active[:] = False
        rows = np.flatnonzero(active >= 0)
        self._active[rows, active[rows]] = True
        self._standby[:] = standby
        self._idle_since_ms[before & ~(self._active | self._standby)] = self._now_ms
        self._settle()

    def fill(self) -> None:
        """Bring every assigned copy level at once: the application has been running before."""
        copies = (self._active | self._standby) & self._stateful[:, None]
        self._held = np.where(copies, self._end[:, None], self._held)
        self._settle()

    def stop(self, client: int, keeps_state: bool) -> None:
        """Let a client end: it runs nothing and holds nothing open; its disk stays or is lost."""
        self._idle_since_ms[self._active[:, client] | self._standby[:, client], client] = self._now_ms
        self._active[:, client] = False
        self._standby[:, client] = False
        if not keeps_state:
            self._held[:, client] = 0.0
        self._settle()

    def clean_up(self, delay_ms: int) -> None:
        """Delete the copies that have lain unassigned for longer than `state.cleanup.delay.ms`."""
        idle = ~(self._active | self._standby)
        self._held[idle & (self._now_ms - self._idle_since_ms > delay_ms)] = 0.0

    def on_disk(self, clients: IntArray) -> BoolArray:
        """Whether the given clients (rows) have a copy of each task, shape (T, C)."""
        return (self._held[:, clients] > 0) & self._stateful[:, None]

    def next_change_ms(self) -> int | None:
        """When the next copy will have caught up, None if none ever will as things are."""
        closing = self._rate - (self._write_rate * self._running)[:, None]
        gap = self._end[:, None] - self._held
        behind = (gap > _LEVEL_BYTES) & (closing > 0)
        if not behind.any():
            return None
        seconds = float((gap[behind] / closing[behind]).min())
        return self._now_ms + max(1, int(np.ceil(seconds * 1000)))

    def lags(self, clients: IntArray) -> IntArray:
        """What the given clients (rows) would report now, shape (T, C), in records; NO_LAG at stateless tasks.

        A client without a copy is behind by the whole changelog; LATEST_OFFSET where the task runs.
        """
        behind = np.maximum(self._end[:, None] - self._held[:, clients], 0.0)
        lags = np.floor(behind / self._record_bytes[:, None]).astype(np.int64)
        runs = self._active[:, clients] & self._running[:, None]
        lags[runs] = LATEST_OFFSET
        lags[~self._stateful] = NO_LAG
        return lags

    def _settle(self) -> None:
        """Find out who is level, which tasks run, and how fast everyone reads from here on."""
        copies = (self._active | self._standby) & self._stateful[:, None]
        gap = self._end[:, None] - self._held
        level = copies & (gap <= _LEVEL_BYTES)
        self._held = np.where(level, self._end[:, None], self._held)
        self._running = np.any(self._active & (level | ~self._stateful[:, None]), axis=1)
        writer = self._active & self._running[:, None]
        restoring = self._active & copies & ~level
        self._rate = np.where(writer, self._write_rate[:, None], 0.0)
        wanted = np.where(restoring.any(axis=0), restoring, self._standby & copies)
        self._catching_up = wanted & ~level
        for client in np.flatnonzero(wanted.any(axis=0)):
            rows = np.flatnonzero(wanted[:, client])
            follows = np.where(self._running[rows], self._write_rate[rows], 0.0)
            demand = np.where(level[rows, client], follows, np.inf)
            self._rate[rows, client] = fair_shares(float(self._bandwidth[client]), demand)


def fair_shares(capacity: float, demand: FloatArray) -> FloatArray:
    """Share a capacity so that nobody gets more than asked for, nor less than another who asked for as much.

    Args:
        capacity: what there is.
        demand: shape (K,); what each asks for, infinity for as much as possible.

    Returns:
        Shape (K,); the max-min fair shares.
    """
    order = np.argsort(demand, kind="stable")
    shares = np.zeros(len(demand), dtype=np.float64)
    left = capacity
    for position, index in enumerate(order.tolist()):
        fair = left / (len(demand) - position)
        shares[index] = min(float(demand[index]), fair)
        left -= shares[index]
    return shares
