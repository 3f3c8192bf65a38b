"""The lag of the consumer group as its committed offsets show it: what waits, and what is not committed yet.

Threads process as a fluid and commit every `commit.interval.ms`; a task commits first that long after its thread does.
The phase of each client's commits is drawn from the seed, so that it does not depend on the assignor. What a task has
processed since its last commit is taken to be at its current rate.
"""

from __future__ import annotations

import numpy as np

from assignors.model.columns import IntArray
from simulator.flows.execution import Execution
from simulator.flows.task_states import TaskState
from simulator.random_streams import random_stream
from simulator.world.layout import FloatArray, Layout, row_of_values
from simulator.world.world import World


class CommittedLag:
    """The lag of the partitions that the tasks of a world read.

    `partitions`, shape (S,): the rows of the partitions, in the layout, of the given topics or of all sources.
    """

    def __init__(self, world: World, layout: Layout, topics: tuple[str, ...]) -> None:
        """Create the lag of some topics; of all topics that the group reads if none is given."""
        rows: IntArray = np.unique(layout.tasks.source.values)
        self.partitions: IntArray = np.array(
            [row for row in rows.tolist() if not topics or layout.partitions[row].topic in topics], dtype=np.int64
        )
        self._reader = row_of_values(layout.tasks.source)
        values = layout.tasks.source.values
        order = np.argsort(values, kind="stable")
        self._task: IntArray = self._reader[order][np.searchsorted(values[order], self.partitions)]
        self._record_bytes: FloatArray = np.array(
            [world.cluster.topics[layout.partitions[row].topic].record_bytes for row in self.partitions.tolist()],
            dtype=np.float64,
        )
        self._interval_ms = world.application.state_configs.commit_interval_ms
        self._phase_ms: IntArray = np.array(
            [
                int(random_stream(world.seed, "commit", client.name).integers(self._interval_ms))
                for client in world.clients
            ],
            dtype=np.int64,
        )
        self._since_ms: IntArray = np.zeros(len(layout.tasks), dtype=np.int64)
        self._num_seen = 0

    def records(self, execution: Execution) -> list[int]:
        """Return the lag of each existing partition in whole records, by row, at the time of the execution."""
        for transition in execution.task_states.transitions[self._num_seen :]:
            if transition.state == TaskState.RUNNING:
                self._since_ms[transition.tasks] = transition.at_ms
        self._num_seen = len(execution.task_states.transitions)
        owner = execution.assignment.owner
        now_ms = execution.now_ms
        # Rows without owner do not run, so their phase does not matter.
        since_commit_ms = (now_ms - self._phase_ms[owner]) % self._interval_ms
        uncommitted_s = (
            execution.processing.rate * np.minimum(since_commit_ms, now_ms - self._since_ms).astype(np.float64) / 1000
        )
        waiting_s = execution.processing.backlog_s + uncommitted_s
        records_per_s = execution.rates.layout.bytes_per_s[self.partitions] / self._record_bytes
        lags: list[int] = np.floor(waiting_s[self._task] * records_per_s + 1e-6).astype(np.int64).tolist()
        exists = execution.exists[self._task].tolist()
        return lags if all(exists) else [lag for lag, is_added in zip(lags, exists, strict=True) if is_added]
