"""How long a client needs for the steps between an assignment and the work on it.

A stream thread opens the stores of its new tasks one after another, in the loop that also polls the consumer: while it
opens stores, it neither joins a rebalance nor starts a restored task. Each task joins the state updater of its thread
as soon as its stores are open; the state updater then asks for end offsets, seeks, and waits for the first fetch.

Source: `StreamThread.runOnceWithoutProcessingThreads` (`pollPhase` before `checkStateUpdater`),
`TaskManager.checkStateUpdater`, `.addTasksToStateUpdater` and `.handleRestoredTasksFromStateUpdater`,
`StreamTask.initializeIfNeeded`, `DefaultStateUpdater.StateUpdaterThread.runOnce`,
`StoreChangelogReader.initializeChangelogs`, Kafka 3.9.1 and 4.3.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class ClientTimes:
    """How long a client needs for each step, 0 for no time.

    Attributes:
        start_ms: from the event that starts a process until its members join. Events usually say when a process is up,
            so scenarios assume 0.
        open_store_ms: opening one persistent store of a newly assigned task. A thread opens its stores one after
            another.
        restore_start_ms: from the moment when the stores of a task are open until it reads its changelogs: the state
            updater finishes its poll (`poll.ms`, 100 ms), asks for end offsets, seeks, and fetches for the first time.
        rejoin_ms: from the moment when a member learns of a rebalance, or has to revoke tasks, until it sends its
            JoinGroup request: the poll in progress, the commit, and the closing of revoked tasks. For consumers, the
            longest time between two polls.
        uncertainty: factor by which these times may differ on another machine; reports name outcomes that depend on it.
            1 for exact times.
    """

    start_ms: int = 0
    open_store_ms: int = 0
    restore_start_ms: int = 0
    rejoin_ms: int = 0
    uncertainty: float = 1.0

    def early(self) -> ClientTimes:
        """Return the times with which copies begin to read as early as possible before members rejoin."""
        return self.scaled(1 / self.uncertainty, self.uncertainty)

    def late(self) -> ClientTimes:
        """Return the times with which copies begin to read as late as possible after members rejoin."""
        return self.scaled(self.uncertainty, 1 / self.uncertainty)

    def scaled(self, factor: float, rejoin_factor: float | None = None) -> ClientTimes:
        """Return the times multiplied by factors, in whole milliseconds and exact.

        `rejoin_factor`: another one for `rejoin_ms`; None for the same.
        """
        return ClientTimes(
            round(self.start_ms * factor),
            round(self.open_store_ms * factor),
            round(self.restore_start_ms * factor),
            round(self.rejoin_ms * (factor if rejoin_factor is None else rejoin_factor)),
        )


MEASURED: Final = ClientTimes(start_ms=0, open_store_ms=70, restore_start_ms=250, rejoin_ms=30, uncertainty=2.0)
"""The defaults of scenarios: medians of tests/fidelity/calibration.json, rounded to 10 ms."""
